"""The data-centric language behind metapipe.py: what is written, what can be wrong with it, and its text."""
