"""Choosing structures: what is observed, what is known of costs, what follows."""
