"""Iteration spaces of kernels, the tiles that they are cut into, and which SM has which of them."""
