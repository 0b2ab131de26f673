"""Room in a machine's memory: what a graph holds there, and what its calls hand to each other through it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from patterns.count import exchanged_bytes, group_traffic, parameter_bytes, state_capacity_bytes
from patterns.graph import Graph
from patterns.plan import Call


def held_bytes(graph: Graph) -> int:
    """Bytes that a run holds from its beginning to its end: weights, states, inputs and results."""
    return parameter_bytes(graph) + state_capacity_bytes(graph) + exchanged_bytes(graph)


def between_bytes(graph: Graph, call: Call) -> int:
    """Bytes of intermediates that one execution of a call reads from other calls and writes for them."""
    traffic = group_traffic(graph, call.block, call.nodes)
    moved = (*traffic.reads, *traffic.writes)
    return sum(amount for name, amount in moved if graph.tensor_named[name].role == "intermediate")


def no_room(graph: Graph, calls: Iterable[Call], memory_bytes: int) -> Iterator[str]:
    """A warning where the memory has no room for what a call finds and leaves in it, about the call with most."""
    room = memory_bytes - held_bytes(graph)
    needed, name = max(((between_bytes(graph, call), call.name) for call in calls if call.nodes), default=(0, ""))
    if needed > room:
        yield (
            f"{name} reads and writes {needed:,} bytes of intermediates, and memory has room for {room:,}: only a plan "
            "that fuses them away can run"
        )
