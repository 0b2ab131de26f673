"""Off-chip bytes by tensor and reason: what every load and store of a compilation moves, and why it has to.

The sum over all rows is the traffic of the plan, for each memory. A tensor's bytes are there `once` as far as any plan
has to move them; what is read `again` is read because a stage works in tiles that each need it, or because several
calls do; what passes between calls is there because they are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from patterns.count import compulsory_by_storage, group_traffic, storage_of
from patterns.graph import Graph
from patterns.plan import Moved
from rdu_model.homes import Tier
from rdu_model.lanes import memory_for
from rdu_model.orchestrate import Intended
from rdu_model.pipe import ITERATION, Load, Placed, Store, over_steps, trips
from rdu_model.section import Section

if TYPE_CHECKING:
    from rdu_model.compilation import Compiled


@dataclass(frozen=True)
class Move:
    """What a load or a store of a section moves in one call. once_bytes and loops: as those of a Transfer."""

    tensor: str
    storage: str
    written: bool
    num_bytes: int
    once_bytes: int
    loops: tuple[str, ...] = ()


@dataclass(frozen=True)
class Transfer:
    """What a load or a store of a section moves in one run of its graph, over all its calls.

    section: its number in the order of the calls. once_bytes: of num_bytes, what it would move if its tiles needed no
    element twice. loops: the dims of the loops that make it read elements again.
    """

    section: int
    calls: int
    tensor: str
    storage: str
    tier: Tier
    written: bool
    num_bytes: int
    once_bytes: int
    loops: tuple[str, ...] = ()


def transfers(sections: Sequence[Compiled]) -> Iterator[Transfer]:
    """Every load and store, in the order of the calls."""
    for number, one in enumerate(sections):
        section = one.section
        calls = one.block.count // section.flow.metapipe.iterations
        for move in section.moves:
            tier = memory_for(section, move.tensor).unit
            total, once = move.num_bytes * calls, move.once_bytes * calls
            yield Transfer(number, calls, move.tensor, move.storage, tier, move.written, total, once, move.loops)


def moves_of(section: Section) -> Iterator[Move]:
    """Every load and store of a section."""
    for found in section.flow.leaves.values():
        if isinstance(found.leaf, Load):
            yield _load(section, found, found.leaf)
        elif isinstance(found.leaf, Store):
            yield _store(section, found, found.leaf)
    for carry in section.flow.metapipe.carries:
        if carry.stored:
            moved = section.flow.asked[carry.source].touched(section.flow.metapipe.graph.sizes)[1]
            yield _move(section, carry.tensor, True, moved, moved)


def expected(graph: Graph, intended: Sequence[Intended]) -> Iterator[Transfer]:
    """What calls would move if none brought or stored anything twice: known before there are sections.

    What all executions in a call share, or hand from one to the next, is there once.
    """
    for number, one in enumerate(intended):
        calls = one.block.count // one.iterations
        moved = group_traffic(graph, one.block.name, one.nodes)
        for written, parts in ((False, moved.reads), (True, moved.writes)):
            for name, num_bytes in parts:
                total = num_bytes * (one.block.count if graph.copies(name) > 1 else calls)
                yield Transfer(number, calls, name, name, "hbm", written, total, total)


def _load(section: Section, found: Placed, load: Load) -> Move:
    flow, sizes = section.flow, section.flow.metapipe.sizes
    path = tuple(pipe for pipe in found.path if not (load.once and pipe.dim == ITERATION))
    moved = over_steps(path, sizes, lambda cut: flow.load_bytes(found.name, cut), flow.ends)
    executions = trips(tuple(pipe for pipe in path if pipe.dim == ITERATION), sizes)
    once = min(moved, flow.load_bytes(found.name, sizes) * executions)
    own = {dim for reader, read in flow.streams[found.name] for dim in flow.asked[reader].cutting(read)}
    loops = tuple(dict.fromkeys(pipe.dim for pipe in found.path if pipe.dim not in own | {ITERATION}))
    return _move(section, load.tensor, False, moved, once, loops)


def _store(section: Section, found: Placed, store: Store) -> Move:
    flow = section.flow
    asked, sizes = flow.asked[store.source], flow.metapipe.sizes
    moved = over_steps(found.path, sizes, lambda cut: asked.touched(cut)[1], flow.ends)
    return _move(section, store.tensor, True, moved, moved)


def _move(section: Section, tensor: str, written: bool, moved: int, once: int, loops: tuple[str, ...] = ()) -> Move:
    return Move(tensor, storage_of(section.flow.metapipe.graph, tensor), written, moved, once, loops)


def off_chip(graph: Graph, sections: Sequence[Compiled]) -> tuple[Moved, ...]:
    """Bytes by tensor, memory and reason, in the order of the calls; equal reasons of a tensor are one row."""
    reads, writes = compulsory_by_storage(graph)
    left = {(name, False): count for name, count in reads.items()} | {(n, True): count for n, count in writes.items()}
    handed = {name for block in graph.blocks for pair in block.carried for name in pair}
    found: dict[tuple[str, Tier, str], tuple[int, int]] = {}
    for stream in transfers(sections):
        first = min(stream.once_bytes, left.get((stream.storage, stream.written), 0))
        left[stream.storage, stream.written] = left.get((stream.storage, stream.written), 0) - first
        what = _what(graph, stream, stream.tensor in handed)
        around = f"for each tile of {', '.join(stream.loops)}" if stream.loops else "where tiles overlap"
        parts = (
            (what, first),
            (what if _passing(graph, stream) else f"{what} again by another call", stream.once_bytes - first),
            (f"{what} again {around}", stream.num_bytes - stream.once_bytes),
        )
        for reason, moved in parts:
            key = (stream.storage, stream.tier, reason)
            before = found.get(key, (0, 0))
            if moved:
                found[key] = (before[0] + moved, before[1] + stream.calls)
    return tuple(Moved(*key, *amounts) for key, amounts in found.items())


def _passing(graph: Graph, stream: Transfer) -> bool:
    """Whether a tensor is only there because there are several calls."""
    return graph.tensor_named[stream.storage].role == "intermediate" and stream.storage not in graph.results


def _what(graph: Graph, stream: Transfer, handed: bool) -> str:
    """What moving a tensor is for."""
    role = graph.tensor_named[stream.storage].role
    done = "written" if stream.written else "read"
    if role in ("weight", "state", "input"):
        return f"{role} {done}"
    if stream.storage in graph.results:
        return f"output {done}"
    between = "executions" if handed else "calls"
    return f"{done} between {between}"
