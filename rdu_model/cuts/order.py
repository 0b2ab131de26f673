"""Orders of a block's nodes: as they are written, and one that keeps few bytes alive, where a cut costs less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from patterns.count import tensor_bytes
from patterns.graph import Graph, Node
from patterns.order import waits_for


@dataclass(frozen=True)
class Line:
    """Nodes in an order. crossing_bytes[i]: of what those before node i make and others read from i on."""

    nodes: tuple[Node, ...]
    crossing_bytes: tuple[int, ...]


def lines(graph: Graph, nodes: Sequence[Node]) -> tuple[Line, ...]:
    """The order in which they are written, then another that has fewer bytes alive, if there is one."""
    written = _line(graph, tuple(nodes))
    other = _line(graph, _few_alive(graph, nodes))
    return (written, other) if sum(other.crossing_bytes) < sum(written.crossing_bytes) else (written,)


def _line(graph: Graph, nodes: tuple[Node, ...]) -> Line:
    last = {read: at for at, node in enumerate(nodes) for read in node.reads}
    ending: dict[int, int] = {}
    crossing, alive = [], 0
    for at, node in enumerate(nodes):
        crossing.append(alive)
        if last.get(node.writes, at) > at:
            size = tensor_bytes(graph, node.writes)
            alive += size
            ending[last[node.writes]] = ending.get(last[node.writes], 0) + size
        alive -= ending.get(at, 0)
    return Line(nodes, tuple(crossing))


def _few_alive(graph: Graph, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """Of the nodes that can be next always the one after which the fewest bytes are alive, ties as written."""
    waiting = {name: set(before) for name, before in waits_for(graph, nodes).items()}
    next_ones: dict[str, list[int]] = {}
    left: dict[str, set[int]] = {}
    for at, node in enumerate(nodes):
        for before in waiting[node.name]:
            next_ones.setdefault(before, []).append(at)
        for read in node.reads:
            left.setdefault(read, set()).add(at)
    made = {node.writes for node in nodes}

    def grows(at: int) -> int:
        node = nodes[at]
        freed = sum(tensor_bytes(graph, read) for read in {*node.reads} & made if left[read] == {at})
        return (tensor_bytes(graph, node.writes) if node.writes in left else 0) - freed

    ready = [(grows(at), at) for at, node in enumerate(nodes) if not waiting[node.name]]
    ready.sort()
    order: list[Node] = []
    done: set[int] = set()
    while ready:
        bytes_more, at = heappop(ready)
        if at in done or bytes_more != grows(at):
            continue
        node = nodes[at]
        done.add(at)
        order.append(node)
        for follower in next_ones.get(node.name, ()):
            waiting[nodes[follower].name].discard(node.name)
            if not waiting[nodes[follower].name]:
                heappush(ready, (grows(follower), follower))
        for read in {*node.reads} & made:
            left[read].discard(at)
            for last in left[read] if len(left[read]) == 1 else ():
                if not waiting[nodes[last].name] and last not in done:
                    heappush(ready, (grows(last), last))
    return tuple(order)
