"""Room in a machine's memory: what a graph holds there, and what its calls hand to each other through it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from patterns.count import exchanged_bytes, parameter_bytes, state_capacity_bytes, tensor_bytes
from patterns.graph import Graph, Node
from patterns.kind import worst_extents
from patterns.plan import Call


@lru_cache(maxsize=64)
def held_bytes(graph: Graph) -> int:
    """Bytes that a run holds from its beginning to its end: weights, states, inputs, and results at their worst."""
    worst = _worst(graph)
    grown = (tensor_bytes(graph, name, worst) - tensor_bytes(graph, name) for name in graph.results) if worst else ()
    return parameter_bytes(graph) + state_capacity_bytes(graph) + exchanged_bytes(graph) + sum(grown)


def _worst(graph: Graph) -> dict[str, int]:
    """Extents that may be greater than is expected."""
    return worst_extents(node for _, node in graph.nodes())


@lru_cache(maxsize=64)
def most_between_bytes(graph: Graph) -> int:
    """Bytes of all tensors that calls may hand to each other, at their worst: no call finds and leaves more."""
    worst = _worst(graph)
    passing = (t.name for t in graph.tensors if t.role == "intermediate" and not t.shares)
    return sum(tensor_bytes(graph, name, worst) for name in passing)


def between_bytes(graph: Graph, calls: Iterable[Call]) -> Iterator[tuple[Call, int]]:
    """Each call of nodes with the bytes of all tensors that it finds or leaves for others, at their worst."""
    worst = _worst(graph)
    readers: dict[str, set[str]] = {}
    for _, node in graph.nodes():
        for name in node.reads:
            readers.setdefault(name, set()).add(node.name)
    seen = graph.results
    passing = {t.name for t in graph.tensors if t.role == "intermediate" and not t.shares} - seen
    nodes = {node.name: node for _, node in graph.nodes()}
    for call in calls:
        if call.nodes:
            handed = _handed_on([nodes[name] for name in call.nodes], readers) & passing
            yield call, sum(tensor_bytes(graph, name, worst) for name in handed)


def _handed_on(nodes: list[Node], readers: Mapping[str, set[str]]) -> set[str]:
    """Tensors that nodes read and none of them makes, and those that they make and others read."""
    names, made = {node.name for node in nodes}, {node.writes for node in nodes}
    read = {name for node in nodes for name in node.reads}
    return (read - made) | {name for name in made if not readers.get(name, set()) <= names or name not in readers}


def no_room(graph: Graph, calls: Iterable[Call], memory_bytes: int) -> Iterator[str]:
    """A warning where the memory has no room for what a call finds and leaves in it, about the call with most."""
    room = memory_bytes - held_bytes(graph)
    if most_between_bytes(graph) <= room:
        return
    needed, name = max(((amount, call.name) for call, amount in between_bytes(graph, calls)), default=(0, ""))
    if needed > room:
        yield (
            f"{name} reads and writes {needed:,} bytes of intermediates, and memory has room for {room:,}: only a plan "
            "that fuses them away can run"
        )
