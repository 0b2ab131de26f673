"""Matrices of layers in fp8 (e4m3), as checkpoints of DeepSeek-V3 hold them; table, head and gains are not.

The scales are left out: one of 4 bytes for a block of 128 x 128 weights is 0.02 % of their bytes, and blocks cut across
heads, which are dims of their own here. Operands are widened to the model's type on their way to the matrix unit.
"""

from __future__ import annotations

from patterns.graph_file.draft import Draft

DTYPE = "fp8_e4m3"
LEFT_OUT = f"matrices of layers in {DTYPE}, their scales (0.02 % of the bytes) left out"


def with_fp8(draft: Draft) -> Draft:
    """The draft with every matrix that a block declares in fp8."""
    for block, found in draft.data["blocks"].items():
        matrices = {
            name: {**tensor, "dtype": DTYPE}
            for name, tensor in found.get("tensors", {}).items()
            if tensor["role"] == "weight" and len(tensor["dims"]) > 1
        }
        draft = draft.block_tensors(block, matrices)
    return draft
