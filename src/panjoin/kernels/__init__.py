"""Compiled loops that several rooms share: search, merge, emit. Bare loops over arrays, no checks, no errors."""
