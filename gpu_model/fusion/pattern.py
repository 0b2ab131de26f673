"""One kernel for each node: nothing is fused."""

from __future__ import annotations

from gpu_model.joining.legal import Grouping

# How much a policy fuses, for listing them in order.
RANK = 0
BY_STRUCTURE = True


def fuse(grouping: Grouping) -> Grouping:
    """Every node by itself."""
    return grouping
