"""A whole pipeline without code: job files, read, checked and run."""
