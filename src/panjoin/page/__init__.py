"""A page to look at while a job runs, and a report of it afterwards: one HTML document, with all that it needs inside.

Moment ──> Board ──┬──> document ──> report.html
                   └──> serve ──> http://127.0.0.1:PORT/TOKEN/
"""
