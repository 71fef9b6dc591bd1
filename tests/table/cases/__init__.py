"""Cases of operations, by group."""
