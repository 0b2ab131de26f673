"""map: one function on every element.

YAML: {kind: map, fn: exp, reads: [x]}; `by`, `eps`, `inverse_root`, `dtype` where the function takes them.
scale: x * by / sqrt(inverse_root), where inverse_root is a number or an expression of extents.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import field_validator

from patterns.axes import aligned, points
from patterns.dtypes import dtype_bits
from patterns.errors import UnknownName
from patterns.functions.by_name import function
from patterns.functions.of_map import MAP
from patterns.graph import Argument, Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import counts, need_reads, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"elementwise"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {name: function.arguments for name, function in MAP.items()}


class Spec(NodeSpec):
    """A map as written."""

    fn: str
    """The function of every element."""
    by: float | None = None
    """The number that the function takes."""
    eps: float | None = None
    """rsqrt: what is added to the element first."""
    inverse_root: int | str | None = None
    """scale: the operand is divided by the square root of it; a number or an expression of extents."""
    dtype: str | None = None
    """cast: the type of the result."""

    @field_validator("fn")
    @classmethod
    def _known(cls, name: str) -> str:
        return known_function("map", name)


def known_function(kind: str, name: str) -> str:
    """The name, if the kind has such a function. Raises ValueError, which pydantic turns into a mistake."""
    try:
        return function(kind, name).name
    except UnknownName as error:
        raise ValueError(str(error)) from error


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node, its arguments evaluated. Raises WrongShape."""
    need_reads(node, 1, "a map has one operand")
    taken = MAP[node.fn].arguments
    for name, _ in node.arguments:
        if name not in taken:
            raise WrongShape(f"fn {node.fn} takes no {name!r}; it takes {', '.join(taken) or 'no arguments'}")
    if "dtype" in taken:
        _known_dtype(node)
    return counts(node, ("inverse_root",), sizes) if "inverse_root" in taken else node


def _known_dtype(node: Node) -> None:
    try:
        dtype_bits(str(node.argument("dtype", "")))
    except UnknownName as error:
        raise WrongShape(str(error)) from error


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The shape of the operand. Raises WrongShape."""
    dtype = str(node.argument("dtype", operands[0].dtype))
    return written(node, operands[0].dims, dtype, declared, f"a map keeps the dims of {operands[0].name}")


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Ops of the function, for every element."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return Demand(vector_ops=MAP[node.fn].vector_ops * elements, special_ops=MAP[node.fn].special_ops * elements)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element, once."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return (elements,), elements


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The function of the array; whole numbers stay whole where the function's numbers are."""
    array = aligned(operands[0], out_dims)
    given: dict[str, Argument] = dict(node.arguments)
    if array.dtype.kind in "iu":
        given = {name: int(v) if isinstance(v, float) and v.is_integer() else v for name, v in given.items()}
    result: NDArray[np.generic] = MAP[node.fn](array, **given)
    return result
