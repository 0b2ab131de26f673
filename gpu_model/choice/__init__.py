"""Candidates of a kernel, what is known of them at least, and the one that is predicted to be fastest."""
