"""Bytes from anywhere, at the four places where they come in: `make fuzz`."""
