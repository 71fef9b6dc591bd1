"""Every described operation, timed against the fastest peer."""
