"""The join inside Spark, measured: contestants are streaming queries of one session that take turns at the same files.

turns.py     a session in a process of its own: files in, one micro-batch of one query, then of the next one
feed.py      what they read, and what they must find
queries.py   the contestants: the join, the same pipeline that discards its tuples, queries that do less
asking.py    the other side of the process: a request, an answer
figures.py   the experiments
"""
