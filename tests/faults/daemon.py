"""Spark's daemon for Python workers, which has imported the join before it forks: a worker that was killed is there at
once. What is forked has run no kernel and has no threads.
"""

import sys

from pyspark import daemon

import tests.faults.injected  # noqa: F401

if __name__ == "__main__":
    sys.exit(daemon.manager())
