"""Checkpoints in the safetensors format: what their headers say, how they hold weights, and whether all are there."""
