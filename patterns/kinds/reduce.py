"""reduce: sum, max, min, mean, argmax or the last element over named dims.

YAML: {kind: reduce, fn: sum, reads: [e], over: [columns]}. An argmax is over one dim and gives int32 indices, the
first of equals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import field_validator

from patterns.axes import aligned, axes, points, union, without
from patterns.dtypes import is_integer, summed_dtype
from patterns.errors import UnknownName
from patterns.functions.by_name import reduction
from patterns.functions.function import Parts
from patterns.functions.of_reduce import REDUCTIONS
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import listed, need_dim, need_reads, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"reduces"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(REDUCTIONS, ())


class Spec(NodeSpec):
    """A reduce as written."""

    fn: str
    """How the elements become one."""
    over: list[str]
    """The dims that are gone afterwards."""

    @field_validator("fn")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            return reduction(name).name
        except UnknownName as error:
            raise ValueError(str(error)) from error


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    need_reads(node, 1, "a reduce has one operand")
    if not node.over:
        raise WrongShape(f"over is empty: name the dims of {operands[0].name} {listed(operands[0].dims)} to reduce")
    if len(set(node.over)) != len(node.over):
        raise WrongShape(f"over {listed(node.over)} names a dim twice")
    for dim in node.over:
        need_dim(operands[0], dim, "to reduce")
    if REDUCTIONS[node.fn].index and len(node.over) > 1:
        raise WrongShape(f"{node.fn} is over one dim, not over {listed(node.over)}")
    return node


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The dims that are left. Raises WrongShape."""
    gives_index, own = REDUCTIONS[node.fn].index, operands[0].dtype
    dtype = "int32" if gives_index else summed_dtype(own) if REDUCTIONS[node.fn].adds else own
    dims = without(operands[0].dims, node.over)
    rule = f"reducing {operands[0].name} over {listed(node.over)} leaves"
    tensor = written(node, dims, dtype, declared, rule)
    if gives_index and not is_integer(tensor.dtype):
        raise WrongShape(f"{tensor.name} is declared as {tensor.dtype}; {node.fn} gives int32 indices")
    return tensor


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Ops of the function, for every element that is read."""
    elements = points(graph.tensor_named[node.reads[0]].dims, sizes)
    function = REDUCTIONS[node.fn]
    return Demand(vector_ops=function.vector_ops * elements, special_ops=function.special_ops * elements)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element once, or those that are picked."""
    read, made = (points(graph.tensor_named[name].dims, sizes) for name in (node.reads[0], node.writes))
    return (made if REDUCTIONS[node.fn].picks else read,), made


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The reduction of the array."""
    return finish(node, part(node, operands, out_dims, {}))


def part(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], first: Mapping[str, int]) -> Parts:
    """What is kept of one part of the reduced dims; `first` is where the part begins in each (0 if not given)."""
    import numpy

    dims = union(out_dims, node.over)
    return REDUCTIONS[node.fn].part(
        numpy, aligned(operands[0], dims), axes(dims, node.over), first.get(node.over[0], 0)
    )


def merge(node: Node, left: Parts, right: Parts) -> Parts:
    """What is kept of two parts together; `left` comes first."""
    import numpy

    return REDUCTIONS[node.fn].merge(numpy, left, right)


def finish(node: Node, parts: Parts) -> NDArray[np.generic]:
    """The result, from what was kept of all parts."""
    result: NDArray[np.generic] = REDUCTIONS[node.fn].finish(parts)
    return result
