"""What a machine's tensor cores do with operands of a type that they do not multiply.

The kernel is priced all the same: a bf16 product on a V100 as the fp16 product that people run there instead, at the
same bytes; an fp8 product on an A100 as one of 16-bit operands, at fp8's bytes. The plan says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu_model.machine import Machine
from gpu_model.plausible import FEATURES
from gpu_model.product import product_of
from patterns.graph import Graph
from patterns.kind import has

# What floats are multiplied as where their own type is missing.
INSTEAD = "fp16"


def converted(graph: Graph, machine: Machine) -> Iterator[str]:
    """A warning for each type of a graph's products that the machine lacks."""
    used = {product_of(graph, node).dtype for _, node in graph.nodes() if has(node, "contracts")}
    for dtype in sorted(used & set(FEATURES) - set(machine.features)):
        yield f"{machine.name} does not multiply {dtype}: its products are priced at the rate of {INSTEAD}"
