"""Recordings of real runs: read, divided into steps, accounted for, and set beside the model."""
