"""Checkpoints in the safetensors format: what their headers say, and whether that is what a model's config asks for."""
