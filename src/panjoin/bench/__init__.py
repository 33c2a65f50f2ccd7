"""Experiments that write records (lists of plain dicts); plots and tables are made from the records by a command."""
