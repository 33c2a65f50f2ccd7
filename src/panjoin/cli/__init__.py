"""The command line: one file per command, and `app.py`, which puts them together."""
