"""zip: one function of several tensors, broadcast by the names of their dims.

YAML: {kind: zip, fn: div, reads: [e, s]}. The same tensor may be read twice. `window` (a number or an expression of
extents) where the function takes it.
The result has the dims of the first operand that has all of them, in its order; where none has all, the declared
result says the order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import field_validator

from patterns.axes import aligned, points, union
from patterns.dtypes import result_dtype
from patterns.functions.of_zip import ZIP
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.kinds.map import known_function
from patterns.shape import counts, listed, need_reads, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"elementwise"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {name: function.arguments for name, function in ZIP.items()}


class Spec(NodeSpec):
    """A zip as written."""

    fn: str
    """The function of one element of each operand."""
    window: int | str | None = None
    """sliding_window: how many positions see each other; a number or an expression of extents."""

    @field_validator("fn")
    @classmethod
    def _known(cls, name: str) -> str:
        return known_function("zip", name)


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node, its arguments evaluated. Raises WrongShape."""
    function = ZIP[node.fn]
    need_reads(node, function.arity, f"fn {node.fn} has {function.arity} operands")
    given = dict(node.arguments)
    for name in given:
        if name not in function.arguments:
            takes = ", ".join(function.arguments) or "no arguments"
            raise WrongShape(f"fn {node.fn} takes no {name!r}; it takes {takes}")
    for name in function.arguments:
        if name not in given:
            raise WrongShape(f"fn {node.fn} needs {name!r}")
    return _counted(counts(node, function.arguments, sizes), function.arguments)


def _counted(node: Node, names: Sequence[str]) -> Node:
    """The node. Raises WrongShape unless these arguments are at least 1."""
    for name in names:
        if int(node.argument(name, 1)) < 1:
            raise WrongShape(f"{name} must be at least 1, is {node.argument(name, 1)}")
    return node


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The dims of all operands together. Raises WrongShape if nothing says their order."""
    together = union(*(tensor.dims for tensor in operands))
    widest = next((tensor for tensor in operands if len(tensor.dims) == len(together)), None)
    dtype = result_dtype(tensor.dtype for tensor in operands)
    if widest is not None:
        return written(node, widest.dims, dtype, declared, f"{widest.name} has all dims of this zip")
    if declared is not None and set(declared.dims) == set(together):
        return written(node, declared.dims, dtype, declared, "the result has all dims")
    shapes = " and ".join(f"{tensor.name} {listed(tensor.dims)}" for tensor in operands)
    raise WrongShape(
        f"cannot broadcast {shapes}: no operand has all of {listed(together)}; "
        f"declare {node.writes} with these dims if an outer product is meant"
    )


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Ops of the function, for every element of the result."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return Demand(vector_ops=ZIP[node.fn].vector_ops * elements, special_ops=ZIP[node.fn].special_ops * elements)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element of each operand once, however often it is broadcast."""
    tensors = graph.tensor_named
    return tuple(points(tensors[name].dims, sizes) for name in node.reads), points(tensors[node.writes].dims, sizes)


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The function of the arrays, broadcast against each other."""
    result: NDArray[np.generic] = ZIP[node.fn](
        *(aligned(operand, out_dims) for operand in operands), **dict(node.arguments)
    )
    return result
