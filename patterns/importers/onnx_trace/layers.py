"""Layers that repeat: the same nodes on the same dims, one after another, become one block with a count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from patterns.graph import Node
from patterns.importers.onnx_trace.sketch import Sketch

# Shorter bodies are no layers.
_FEWEST_NODES = 5


@dataclass(frozen=True)
class Segment:
    """Nodes that are executed `count` times: those of the first time.

    carried: (inside, result), as a block has them. weights: of each weight or state that differs from time to time, all
    of them.
    last: of what the body makes, that of the last time.
    """

    count: int
    nodes: tuple[Node, ...]
    carried: tuple[tuple[str, str], ...] = ()
    weights: tuple[tuple[str, ...], ...] = ()
    last: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Run:
    """`count` bodies of `length` nodes from `start`."""

    start: int
    length: int
    count: int

    @property
    def end(self) -> int:
        return self.start + self.length * self.count


def segments(sketch: Sketch) -> tuple[Segment, ...]:
    """The nodes of a sketch in order, repeated ones once."""
    signs = _signs(sketch)
    return tuple(_segments(sketch, signs, 0, len(sketch.nodes)))


def _segments(sketch: Sketch, signs: Sequence[int], start: int, end: int) -> Iterator[Segment]:
    best: tuple[_Run, Segment] | None = None
    for run in _runs(signs, start, end):
        if best is not None and run.length * run.count <= best[0].length * best[0].count:
            continue
        found = _folded(sketch, run)
        if found is not None:
            best = (run, found)
    if best is None:
        if end > start:
            yield Segment(1, sketch.nodes[start:end])
        return
    run, segment = best
    yield from _segments(sketch, signs, start, run.start)
    yield segment
    yield from _segments(sketch, signs, run.end, end)


def _signs(sketch: Sketch) -> list[int]:
    """A number for every node: the same for nodes that do the same on the same dims."""
    known: dict[object, int] = {}
    found = []
    for node in sketch.nodes:
        tensors = [sketch.tensors[name] for name in (*node.reads, node.writes)]
        shapes = tuple((t.dims, t.dtype, t.role == "weight", t.role == "output") for t in tensors)
        sign = (node.kind, node.fn, node.over, node.along, node.arguments, shapes)
        found.append(known.setdefault(sign, len(known)))
    return found


def _runs(signs: Sequence[int], start: int, end: int) -> Iterator[_Run]:
    """Runs of equal bodies, those with most nodes first; of one stretch every place where a body can begin."""
    import numpy

    row = numpy.asarray(signs[start:end])
    found = []
    for length in range(_FEWEST_NODES, len(row) // 2 + 1):
        same = numpy.concatenate([[0], row[length:] == row[:-length], [0]]).astype(int)
        edges = numpy.flatnonzero(numpy.diff(same))
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            for offset in range(int(last - first) % length + 1 if last - first >= length else 0):
                count = int(last - first - offset) // length + 1
                found.append(_Run(start + int(first) + offset, length, count))
    yield from sorted(found, key=lambda run: (-run.length * run.count, run.length, run.start))


def _folded(sketch: Sketch, run: _Run) -> Segment | None:
    """The segment of a run; None if its bodies are not connected alike."""
    bodies = [
        sketch.nodes[run.start + time * run.length : run.start + (time + 1) * run.length] for time in range(run.count)
    ]
    places = {node.writes: (time, at) for time, body in enumerate(bodies) for at, node in enumerate(body)}
    carried: dict[str, str] = {}
    shared: set[str] = set()
    weights: dict[str, tuple[str, ...]] = {}
    for at in range(run.length):
        for position, first in enumerate(bodies[0][at].reads):
            reads = tuple(body[at].reads[position] for body in bodies)
            if not _connected(sketch, bodies, places, reads, first, carried, shared, weights):
                return None
    if shared & (carried.keys() | weights.keys()):
        return None
    if not _seen_outside(sketch, run, places, set(carried.values()), bodies):
        return None
    last = tuple((node.writes, bodies[-1][at].writes) for at, node in enumerate(bodies[0]))
    return Segment(run.count, bodies[0], tuple(carried.items()), tuple(weights.values()), last)


def _connected(
    sketch: Sketch,
    bodies: Sequence[Sequence[Node]],
    places: Mapping[str, tuple[int, int]],
    reads: tuple[str, ...],
    first: str,
    carried: dict[str, str],
    shared: set[str],
    weights: dict[str, tuple[str, ...]],
) -> bool:
    """Whether one read of a node is the same thing every time; notes which."""
    made = [places.get(name) for name in reads]
    if made[0] is not None:
        return made == [(time, made[0][1]) for time in range(len(bodies))]
    if all(name == first for name in reads):
        shared.add(first)
        return True
    if all(name in sketch.constants or sketch.tensors[name].role == "state" for name in reads) and first not in carried:
        return weights.setdefault(first, reads) == reads
    later = made[1:]
    if later[0] is None or later != [(time, later[0][1]) for time in range(len(later))]:
        return False
    result = bodies[0][later[0][1]].writes
    return carried.setdefault(first, result) == result and first not in sketch.constants


def _seen_outside(
    sketch: Sketch,
    run: _Run,
    places: Mapping[str, tuple[int, int]],
    results: set[str],
    bodies: Sequence[Sequence[Node]],
) -> bool:
    """Whether all that later nodes, or users, see of the bodies is what the last of them carries."""
    outputs = {name for name in places if sketch.tensors[name].role == "output"}
    read = {name for node in sketch.nodes[run.end :] for name in node.reads if name in places}
    if outputs:
        return False
    return all(places[name][0] == run.count - 1 and bodies[0][places[name][1]].writes in results for name in read)
