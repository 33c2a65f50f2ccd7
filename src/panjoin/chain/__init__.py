"""Subwindows over time: a stream's window is a chain of them, filled at one end and expired whole at the other."""
