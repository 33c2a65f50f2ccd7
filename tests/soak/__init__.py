"""A query runs for half an hour at 80% of what it can do, and nothing may grow: `python -m tests.soak --minutes 30`."""
