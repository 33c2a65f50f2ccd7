"""Manager and workers in a simulated world: one seed decides every delay, loss, crash and restart, and repeats them."""
