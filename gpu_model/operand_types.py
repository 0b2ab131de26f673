"""What a machine's tensor cores do with operands of a type that they do not multiply.

The kernel is priced all the same: a bf16 product on a V100 as the fp16 product that people run there instead, at the
same bytes; an fp8 product on an A100 as one of 16-bit operands, at fp8's bytes; int4 as int8, into which it is
unpacked, and fp4 as fp8. Operands of two types are multiplied in one of them (see dtypes.multiplied_dtype), as int4
weights are beside bf16 activations. What is converted costs a vector op each. The plan says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.plausible import FEATURES
from gpu_model.products.product import product_of
from patterns.dtypes import is_converted
from patterns.graph import Graph
from patterns.kind import has

# What floats are multiplied as where their own type is missing.
INSTEAD = "fp16"


@lru_cache(maxsize=256)
def converted(graph: Graph, machine: Machine) -> tuple[str, ...]:
    """A warning for each type of a graph's products that the machine lacks, and for each that it is converted from."""
    return tuple(_converted(graph, machine))


def _converted(graph: Graph, machine: Machine) -> Iterator[str]:
    products = [(node, product_of(graph, node).dtype) for _, node in graph.nodes() if has(node, "contracts")]
    for dtype in sorted({dtype for _, dtype in products} & set(FEATURES) - set(machine.features)):
        yield f"{machine.name} does not multiply {dtype}: its products are priced at the rate of {INSTEAD}"
    operands = {(dtype, graph.tensor_named[name].dtype) for node, dtype in products for name in node.reads[:2]}
    for dtype in sorted({dtype for dtype, _ in operands}):
        own = sorted(own for to, own in operands if to == dtype and is_converted(own, dtype))
        if own:
            yield f"operands of {' and '.join(own)} are converted to be multiplied as {dtype}"
