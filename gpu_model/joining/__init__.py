"""Which nodes may be one kernel, and which of those ways is predicted to take the least."""
