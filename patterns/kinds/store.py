"""store: write a whole tensor over a state, as a recurrence keeps what it is at for the next run.

YAML: {kind: store, reads: [state, x]}. x has the dims of the state, in any order, and is converted to its dtype. The
result is a new name of the state, whose storage it shares; what reads the state by its old name comes before it. (A
scatter writes rows where an index says.) Touched are x and the state, which is written and not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from patterns.axes import aligned, points
from patterns.graph import Graph, Node, Tensor
from patterns.graph_file.spec import NodeSpec
from patterns.kind import Demand, Operand, Trait, WrongShape
from patterns.shape import listed, need_reads, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TRAITS: frozenset[Trait] = frozenset({"elementwise"})
FUNCTIONS: Mapping[str, tuple[str, ...]] = {}


class Spec(NodeSpec):
    """A store as written."""


def infer(node: Node, operands: Sequence[Tensor], declared: Tensor | None, sizes: Mapping[str, int]) -> Node:
    """The node as it is. Raises WrongShape."""
    need_reads(node, 2, "a store reads a state and what becomes of it")
    state, new = operands
    if not _storage(state):
        raise WrongShape(f"{state.name} is declared as {state.role}; a store writes over a state")
    if set(new.dims) != set(state.dims):
        raise WrongShape(f"{new.name} {listed(new.dims)} must have the dims of {state.name} {listed(state.dims)}")
    return node


def output(node: Node, operands: Sequence[Tensor], declared: Tensor | None) -> Tensor:
    """The state under a new name; `shares` says whose storage it is. Raises WrongShape."""
    state = operands[0]
    tensor = written(node, state.dims, state.dtype, declared, f"a store keeps the dims of {state.name}")
    if tensor.dtype != state.dtype:
        raise WrongShape(
            f"{tensor.name} is declared as {tensor.dtype}, and {state.name}, whose storage it is, {state.dtype}"
        )
    return replace(tensor, shares=_storage(state))


def _storage(state: Tensor) -> str:
    return state.name if state.role == "state" else state.shares


def demand(node: Node, graph: Graph, sizes: Mapping[str, int]) -> Demand:
    """No work but moving bytes."""
    return Demand()


def touched(node: Node, graph: Graph, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], int]:
    """All of what is written; nothing of what was there."""
    elements = points(graph.tensor_named[node.writes].dims, sizes)
    return (0, elements), elements


def compute(node: Node, operands: Sequence[Operand], out_dims: tuple[str, ...]) -> NDArray[np.generic]:
    """A copy of what is written."""
    return aligned(operands[1], out_dims).copy()
