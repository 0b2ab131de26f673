"""One kernel for the whole run: the tasks of all operators, grouped as `library` does, on SMs that stay.

What was a kernel boundary is a counter that the tasks after it wait for; until it says go, the SMs load the weights of
the operators to come into free pages of shared memory.
"""

from __future__ import annotations

from gpu_model.fusion.library import BY_STRUCTURE, fuse

__all__ = ["BY_STRUCTURE", "RANK", "TOGETHER", "fuse"]

RANK = 5
TOGETHER = True
