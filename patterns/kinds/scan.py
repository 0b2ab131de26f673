"""scan: a recurrence along a dim, with a state that each element takes from the one before.

YAML, besides `kind: scan`:
  {fn: sum, reads: [x], along: seq}         y_t = y_(t-1) + x_t; also max and mul
  {fn: linear, reads: [a, b], along: seq}   y_t = a_t y_(t-1) + b_t
  {.., reads: [.., before]}                 the state before the first element: a tensor without the dim `along`;
                                            if none is read, a zero (sum, linear), a one (mul) or nothing (max)
  {.., exclusive: true}                     y_t is the state before element t
The result has all dims of what it reads; integers of less than 32 bits add up to int32, as in a reduce. The state after
the last element is what a `reduce` with fn: last takes of it; a `store` keeps it for the next run. One op (add,
multiply, compare or multiply-add) for every element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from patterns.axes import aligned, extents_of, points, union
from patterns.dtypes import result_dtype, summed_dtype
from patterns.errors import did_you_mean
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.plural import number_of
from patterns.shape import listed, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"carries"})


@dataclass(frozen=True)
class Recurrence:
    """operands: tensors that it takes an element of in each step. start: the state before the first, None for none.

    step(numpy, state, *elements) is the next state. joining_ops: vector ops that put two neighbouring parts together.
    grows: states outgrow the elements.
    """

    operands: int
    start: float | None
    step: Callable[..., Any]
    joining_ops: int = 1
    grows: bool = True


RECURRENCES: Mapping[str, Recurrence] = {
    "sum": Recurrence(1, 0.0, lambda np, y, x: y + x),
    "max": Recurrence(1, None, lambda np, y, x: np.maximum(y, x), grows=False),
    "mul": Recurrence(1, 1.0, lambda np, y, x: y * x),
    "linear": Recurrence(2, 0.0, lambda np, y, a, b: a * y + b, joining_ops=2),
}
FUNCTIONS: Mapping[str, tuple[str, ...]] = dict.fromkeys(RECURRENCES, ("exclusive",))


class Spec(NodeSpec):
    """A scan as written."""

    fn: Literal["sum", "max", "mul", "linear"]
    """How an element takes the state of the one before."""
    along: str
    """The dim that the recurrence goes along."""
    exclusive: bool | None = None
    """true: an element has the state before it, not after it."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    taken = RECURRENCES[node.fn].operands
    if len(operands) not in (taken, taken + 1):
        what = "a and b of y = a y + b" if taken == 2 else "what it goes through"
        found = number_of(len(operands), "tensor")
        raise WrongShape(f"reads {found}; a scan with fn {node.fn} reads {what}, and a state before it")
    axes = union(*(tensor.dims for tensor in operands[:taken]))
    if node.along not in axes:
        shapes = " and ".join(f"{tensor.name} {listed(tensor.dims)}" for tensor in operands[:taken])
        raise WrongShape(f"{shapes} has no dim {node.along!r} to go along{did_you_mean(node.along, axes)}")
    for before in operands[taken:]:
        _need_before(node, operands[:taken], before)
    if node.argument("exclusive", False) and len(operands) == taken and RECURRENCES[node.fn].start is None:
        raise WrongShape(f"an exclusive scan with fn {node.fn} has no first element unless it reads a state before it")
    return node


def _need_before(node: Node, operands: Sequence[Tensor], before: Tensor) -> None:
    if node.along in before.dims:
        raise WrongShape(f"{before.name} has the dim {node.along!r}; the state before the first element is one of it")
    foreign = [dim for dim in before.dims if all(dim not in tensor.dims for tensor in operands)]
    if foreign:
        raise WrongShape(
            f"{before.name} {listed(before.dims)} has {listed(foreign)}, which nothing that is scanned has"
        )


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The dims of all operands together. Raises WrongShape if nothing says their order."""
    together = union(*(tensor.dims for tensor in operands))
    own = result_dtype(tensor.dtype for tensor in operands)
    dtype = summed_dtype(own) if RECURRENCES[node.fn].grows else own
    widest = next((tensor for tensor in operands if len(tensor.dims) == len(together)), None)
    if widest is not None:
        return written(node, widest.dims, dtype, declared, f"{widest.name} has all dims of this scan")
    if declared is not None and set(declared.dims) == set(together):
        return written(node, declared.dims, dtype, declared, "the result has all dims")
    raise WrongShape(f"no operand has all of {listed(together)}: declare {node.writes} with these dims")


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """One op for every element of the result."""
    return Demand(vector_ops=points(graph.tensor_named[node.writes].dims, sizes))


def demand_beside(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """Two parts put together for every element, and again on the way back; all these recurrences are associative."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return Demand(vector_ops=2 * RECURRENCES[node.fn].joining_ops * elements)


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """Every element, once."""
    tensors = graph.tensor_named
    return tuple(points(tensors[name].dims, sizes) for name in node.reads), points(tensors[node.writes].dims, sizes)


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """All elements, from the state before the first."""
    return advance(node, operands, out_dims, None)[0]


def advance(
    node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...], before: NDArray[np.generic] | None
) -> tuple[NDArray[np.generic], NDArray[np.generic]]:
    """The elements of one part of the dim, and the state after it. before: after the part before it, None for none."""
    import numpy

    recurrence, along = RECURRENCES[node.fn], out_dims.index(node.along)
    extents = extents_of(operands)
    shape = tuple(extents[dim] for dim in out_dims)
    each = [numpy.broadcast_to(aligned(o, out_dims), shape) for o in operands]
    scanned = [numpy.moveaxis(array, along, 0) for array in each[: recurrence.operands]]
    state: Any = before
    if state is None and len(operands) > recurrence.operands:
        state = numpy.moveaxis(each[-1], along, 0)[0]
    elif state is None and recurrence.start is not None:
        state = numpy.full_like(scanned[-1][0], recurrence.start)
    made = []
    for elements in zip(*scanned, strict=True):
        following = elements[0] if state is None else recurrence.step(numpy, state, *elements)
        made.append(state if node.argument("exclusive", False) else following)
        state = following
    return numpy.stack(made, axis=along), state
