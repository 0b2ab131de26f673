"""buffer: the same elements in another access pattern.

YAML, besides `kind: buffer`:
  {fn: permute, reads: [x], order: n m}                   or the order of the declared result
  {fn: roll, reads: [x], along: d, by: d // 2}            element i moves to (i + by) mod extent
  {fn: slice, reads: [x], along: d, start: d - 1, to: e}  as many elements as dim e has
  {fn: split, reads: [x], along: d, to: e f}              d = e * f, f fastest
  {fn: merge, reads: [x], parts: e f, to: d}              d = e * f, f fastest, in the place of e
  {fn: concat, reads: [x, y], along: d, to: e}            without `along`: each read's one own dim
  {fn: window, reads: [x], along: d, to: e k, stride: 2}  e windows of k elements; dilation too (convolution, pooling)
  {fn: pad, reads: [x], along: d, to: e, before: k - 1}   before, after, between; value: 0, or `lowest` for a maximum
  {fn: flip, reads: [x], along: d}                        in reverse order
  {fn: repeat, reads: [x], to: e}                         each element as often as dim e has points
A slice touches what it takes, a window what any of its windows has, once; a pad reads its operand, the others every
element. Whether bytes move is the machine's affair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import create_model, field_validator

from patterns.axes import points
from patterns.errors import UnknownName
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.move import Move, Whole, move_of, moves, reaching
from patterns.shape import counts, kept, listed, need_dim, need_reads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"moves"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {name: tuple(sorted(move.TAKES)) for name, move in moves().items()}


class _Spec(NodeSpec):
    """A buffer as written, without the fields of its access patterns. `extents` is what inference adds."""

    fn: str
    """The access pattern."""
    extents: str | None = None
    """Added by the loader: the extents of the new dims."""

    @field_validator("fn")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in moves():
            raise ValueError(str(UnknownName("access pattern", name, moves())))
        return name


_FIELDS: dict[str, Any] = {name: (kind | None, None) for move in moves().values() for name, kind in move.TAKES.items()}
Spec: type[NodeSpec] = create_model("Spec", __base__=_Spec, __doc__="A buffer as written.", **_FIELDS)


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node with its arguments evaluated. Raises WrongShape."""
    move = move_of(node)
    if not operands:
        raise WrongShape("reads nothing")
    if not move.JOINS:
        need_reads(node, 1, f"a {node.fn} has one operand")
    given = {name for name, _ in node.arguments} | ({"along"} if node.along else set())
    for name in sorted(given - set(move.TAKES) - {"extents"}):
        raise WrongShape(f"fn {node.fn} takes no {name!r}; it takes {', '.join(sorted(move.TAKES))}")
    for name in sorted(move.NEEDS - given):
        raise WrongShape(f"fn {node.fn} needs {name!r}")
    if node.along and not move.JOINS:
        need_dim(operands[0], node.along, f"to {node.fn}")
    return move.check(counts(node, _whole_numbers(move), sizes), operands, sizes)


def _whole_numbers(move: Move) -> tuple[str, ...]:
    return tuple(name for name, kind in move.TAKES.items() if kind == Whole)


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The dims as the access pattern says. Raises WrongShape."""
    dims = move_of(node).dims(node, [operand.dims for operand in operands], declared.dims if declared else None)
    shapes = " and ".join(f"{operand.name} {listed(operand.dims)}" for operand in operands)
    return kept(node, dims, operands[0], declared, f"{node.fn} of {shapes} gives")


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """No work but moving bytes."""
    return Demand()


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element that arrives in the result, once."""
    tensors = graph.tensor_named
    result = points(tensors[node.writes].dims, sizes)
    move = reaching(node)
    if move is not None:
        return (move.touched(node, tensors[node.reads[0]].dims, sizes),), result
    return tuple(min(points(tensors[name].dims, sizes), result) for name in node.reads), result


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """The elements in their new places."""
    result: NDArray[np.generic] = move_of(node).apply(node, operands, out_dims)
    return result
