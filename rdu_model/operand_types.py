"""What a machine's PCUs do with operands of types that they have no rate of their own for."""

from __future__ import annotations

from collections.abc import Iterator

from patterns.dtypes import BYTE_BITS, dtype_bits, multiplied_dtype
from patterns.graph import Graph
from patterns.kind import has


def widened(graph: Graph) -> Iterator[str]:
    """A warning for each type of a byte that products are of: they are priced as products of bf16."""
    products = [node for _, node in graph.nodes() if has(node, "contracts")]
    pairs = [[graph.tensor_named[name].dtype for name in node.reads[:2]] for node in products]
    for dtype in sorted({multiplied_dtype(*pair) for pair in pairs}):
        if dtype_bits(dtype) == BYTE_BITS:
            yield f"products of {dtype} are priced at the rate of bf16: no other is known"
