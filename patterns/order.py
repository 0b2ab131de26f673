"""Order and cycles of things that need one another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from patterns.graph import Graph, Node

# A long ring with many chords has more cycles than memory.
_MOST_CYCLES = 10
_SHOWN_NAMES = 12

Needs = Mapping[str, Sequence[str]]


def in_order(needs: Needs) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """(names, each after all it needs; cycles, as (a, b) for a -> b -> a, at most ten of them).

    Needs that are not keys are ignored. With cycles the order still has every name.
    """
    done: dict[str, bool] = {}
    cycles: list[tuple[str, ...]] = []
    for start in needs:
        if start not in done:
            _visit(start, needs, done, cycles)
    return tuple(done), tuple(cycles)


def _visit(start: str, needs: Needs, done: dict[str, bool], cycles: list[tuple[str, ...]]) -> None:
    # A stack of our own: chains may be longer than Python's.
    open_names: dict[str, Iterator[str]] = {start: iter(needs[start])}
    while open_names:
        name, rest = next(reversed(open_names.items()))
        for needed in rest:
            if needed in open_names and len(cycles) < _MOST_CYCLES:
                names = list(open_names)
                cycles.append(tuple(names[names.index(needed) :]))
            elif needed in needs and needed not in done and needed not in open_names:
                open_names[needed] = iter(needs[needed])
                break
        else:
            del open_names[name]
            done[name] = True


def waits_for(graph: Graph, nodes: Sequence[Node]) -> dict[str, frozenset[str]]:
    """The nodes that each must come after: those that make what it reads, and that read what it writes over."""
    makers: dict[str, str] = {}
    readers: dict[str, set[str]] = {}
    found = {}
    for node in nodes:
        before = {makers[read] for read in node.reads if read in makers}
        over = graph.tensor_named[node.writes].shares
        if over:
            before |= readers.get(over, set())
            readers[over] = set()
        for read in node.reads:
            readers.setdefault(graph.tensor_named[read].shares or read, set()).add(node.name)
        makers[node.writes] = node.name
        found[node.name] = frozenset(before - {node.name})
    return found


def chain_text(cycle: Sequence[str]) -> str:
    """`a -> b -> a`; the middle of a very long one is left out."""
    ring = (*cycle, cycle[0])
    if len(ring) > _SHOWN_NAMES:
        ring = (*ring[: _SHOWN_NAMES - 2], f"... ({len(cycle)} in all)", ring[-1])
    return " -> ".join(ring)
