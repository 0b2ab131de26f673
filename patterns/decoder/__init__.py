"""Decoder models as changes to a ready-made decoder graph, whose repeated layer is the block of this name."""

BLOCK = "decoder"
