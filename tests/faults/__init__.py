"""What is done to the join that should not happen to it, and what came of it: `python -m tests.faults`."""
