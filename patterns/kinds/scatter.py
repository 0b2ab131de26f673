"""scatter: write rows into a tensor through integer indices along one of its dims.

YAML: {kind: scatter, fn: set, reads: [cache, index, rows], along: context}. The rows have the target's dims with
those of the index in the place of `along`. `fn` says what repeated indices do: set (the last one stays), add, max.
The result is a new name. Of a state it shares the storage, and only the rows are touched; another target is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from patterns.axes import aligned, points
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.kinds.gather import need_index, need_inside, places
from patterns.shape import kept, listed, need_dim, need_reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"indexes", "updates"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(("set", "add", "max"), ())


class Spec(NodeSpec):
    """A scatter as written."""

    fn: Literal["set", "add", "max"]
    """What repeated indices do: set (the last one stays), add, max."""
    along: str
    """The dim of the target that the index writes to."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    need_reads(node, 3, "a scatter reads a target, an index and rows")
    target, index, rows = operands
    need_dim(target, node.along, "to write along")
    need_index(index)
    due = {dim for dim in target.dims if dim != node.along} | set(index.dims)
    if set(rows.dims) != due:
        raise WrongShape(
            f"{rows.name} {listed(rows.dims)} must have the dims of {target.name} {listed(target.dims)}, "
            f"with those of {index.name} {listed(index.dims)} in the place of {node.along}"
        )
    return node


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The target under a new name; `shares` says whose storage it is. Raises WrongShape."""
    target = operands[0]
    tensor = kept(node, target.dims, target, declared, f"a scatter keeps the dims of {target.name}")
    return replace(tensor, shares=_storage(target))


def _storage(target: Tensor) -> str:
    return target.name if target.role == "state" else target.shares


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """One op for each element that is combined with what is there."""
    rows = points(graph.tensor_named[node.reads[2]].dims, sizes)
    return Demand(vector_ops=0 if node.fn == "set" else rows)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Of a state the rows (read only if they are combined); another target is read and written whole."""
    target, index, rows = (points(graph.tensor_named[name].dims, sizes) for name in node.reads)
    if not _storage(graph.tensor_named[node.reads[0]]):
        return (target, index, rows), target
    changed = min(rows, target)
    return (0 if node.fn == "set" else changed, index, rows), changed


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """A copy of the target with the rows written, in the order of their dims. Raises UserError for a wrong index."""
    import numpy

    target, index, rows = operands
    need_inside(node, index, target.array.shape[target.dims.index(node.along)])
    result = target.array.copy()
    where = places(target, node.along, index, rows.dims)
    _WRITE[node.fn](numpy, result, where, rows.array)
    return aligned(Operand(result, target.dims), out_dims)


def _set(np: Any, target: Any, where: Any, rows: Any) -> None:
    # One after another, in one axis: with several, numpy goes by how the arrays lie in memory.
    target[tuple(np.broadcast_to(at, rows.shape).ravel() for at in where)] = rows.ravel()


_WRITE: Mapping[str, Any] = {
    "set": _set,
    "add": lambda np, target, where, rows: np.add.at(target, where, rows),
    "max": lambda np, target, where, rows: np.maximum.at(target, where, rows),
}
