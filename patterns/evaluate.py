"""Run a graph on numpy arrays: the reference semantics that every lowering must equal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

from patterns.count import node_dims
from patterns.dtypes import are_places, is_integer
from patterns.graph import Graph, Node, Tensor
from patterns.kind import Operand, has, kind_of
from patterns.numbers.memory import Memory, PerMember, full_shape, provided
from patterns.numbers.rounding import PRECISION, RoundedResults, all_rounded, kept_types, range_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# The operands of a node, for each member.
MemberOperands = list[list[Operand]]


def evaluate(
    graph: Graph,
    arrays: Mapping[str, NDArray[Any]],
    members: int = 1,
    *,
    also: Iterable[str] = (),
    precision: str = "float64",
    rounding: RoundedResults | None = None,
) -> dict[str, NDArray[Any]]:
    """Outputs (and what nobody reads) and final states by name; of other tensors those in `also`.

    arrays: every input, weight and state; a block's weights and states have a leading axis of its count. members: run
    so many in lockstep; an array may then have a leading axis of members (else all have the same), and every result
    has one. Computes in `precision`, whatever the graph's dtypes. A state is read as it is at that moment.
    rounding: which results of a node by itself are rounded to their dtypes, in fp32 arithmetic (see rounding.py).
    Raises UserError for arrays that are missing, too many, of another shape or not numbers, and for wrong indices.
    """
    memory = Memory(graph, arrays, members, PRECISION if rounding else precision, rounds=rounding is not None)
    kept = {name: dtype for _, node in graph.nodes() for name, dtype in kept_types(graph, (node,), rounding).items()}
    for block in graph.blocks:
        for execution in range(block.count):
            for node in block.nodes:
                read = [memory.read(name, execution) for name in node.reads]
                dims = [graph.tensor_named[name].dims for name in node.reads]
                made = computed(graph, node, operands_of(read, dims))
                memory.write(node.writes, execution, all_rounded(made, kept.get(node.writes)))
            memory.carry(block)
        memory.leave(block)
    return memory.results(also)


def operands_of(read: list[PerMember], dims: list[tuple[str, ...]]) -> MemberOperands:
    """What was read, by member and then by operand, with the names of its axes."""
    members = len(read[0])
    return [[Operand(arrays[m], names) for arrays, names in zip(read, dims, strict=True)] for m in range(members)]


def computed(graph: Graph, node: Node, operands: MemberOperands) -> PerMember:
    """The result of a node for each member; members that communicate compute together."""
    kind = kind_of(node)
    dims = graph.tensor_named[node.writes].dims
    if has(node, "communicates"):
        together = kind.compute(node, [own[0] for own in operands], dims)
        return [together.copy() for _ in operands]
    return [kind.compute(node, own, dims) for own in operands]


def random_arrays(graph: Graph, seed: int, members: int = 1) -> dict[str, NDArray[Any]]:
    """Arrays for every input, weight and state: normal numbers, and integers that are indices within their range.

    Indices along the last axis differ where there are enough, so that no order of writing matters. With several
    members, weights and states have a leading axis of members.
    """
    import numpy

    random = numpy.random.default_rng(seed)
    made = {}
    for tensor in provided(graph):
        shape = full_shape(graph, tensor)
        per_member = members > 1 and tensor.role != "input"
        made[tensor.name] = _random(graph, tensor, (members, *shape) if per_member else shape, random)
    return made


def _random(graph: Graph, tensor: Tensor, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[Any]:
    import numpy

    if is_integer(tensor.dtype):
        limit = _limit(graph, tensor)
        least, greatest = range_of(tensor.dtype)
        if not limit or limit > greatest + 1:
            return random.integers(least, greatest + 1, shape)
        row = shape[-1] if shape else 1
        if row > limit:
            return random.integers(0, limit, shape)
        return numpy.array([random.permutation(limit)[:row] for _ in range(prod(shape[:-1]))]).reshape(shape)
    # A square weight of n x n gets 1/sqrt(n): products keep their size, and softmax is not all in one place.
    scale = graph.elements(tensor.name) ** -0.25 if tensor.role == "weight" else 1.0
    return random.normal(size=shape) * scale


def _limit(graph: Graph, tensor: Tensor) -> int:
    """What an integer stays below: the extent it is an index of, else the greatest where it is used (a position).

    0 for the values of a quantised tensor, which are of few bits and no index.
    """
    readers = [node for _, node in graph.nodes() if tensor.name in node.reads]
    indexed = [graph.sizes[n.along] for n in readers if has(n, "indexes") and n.reads[1] == tensor.name]
    used = [graph.sizes[dim] for node in readers for dim in node_dims(graph, node)]
    if not indexed and not are_places(tensor.dtype):
        return 0
    return min(indexed) if indexed else max(used, default=1)
