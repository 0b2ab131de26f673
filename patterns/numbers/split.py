"""A call on numbers that splits a dim into parts, and the call that merges them. A call without splits is one part.

A part may go through its own in steps (an online softmax): each is computed as if it were all there is, and what was
added up so far is rescaled and added to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from patterns.graph import Graph, Node
from patterns.numbers.memory import PerMember
from patterns.numbers.online import WHOLE, MergeError, Partial, merged, partials
from patterns.numbers.rounding import NOT_ROUNDED, all_rounded, unstored_type
from patterns.numbers.tiled import Local, Read, Schedule, TiledCall, schedule
from patterns.numbers.tiles import PlanError, Ranges, slices
from patterns.plan import Tiling


@dataclass(frozen=True)
class Unmerged:
    """What a call made: tensors that are complete, and names of those that are still in parts."""

    complete: Mapping[str, PerMember]
    incomplete: tuple[str, ...] = ()
    found: Mapping[str, Partial] = field(default_factory=dict)
    parts: tuple[Local, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)


def run_split(
    graph: Graph,
    nodes: tuple[Node, ...],
    tiling: Tiling,
    read: Read,
    visible: tuple[str, ...],
    kept: Mapping[str, str] = NOT_ROUNDED,
) -> Unmerged:
    """Run a call's nodes, part by part if its tiling splits a dim. visible: what others read. Raises PlanError.

    kept: the type that each result is rounded to. What is to be merged is not, before it is.
    """
    if not tiling.loops and any(nest.tiling.splits or nest.tiling.online for nest in tiling.nests):
        return Unmerged(_nest_by_nest(graph, nodes, tiling, read, visible, kept))
    plan = schedule(graph, nodes, tiling, kept)
    if not tiling.splits and not tiling.online:
        local = _run_part(graph, plan, nodes, read, {}, Local())
        return Unmerged({name: local.arrays[name] for name in visible})
    dim, count, step = _cut(graph, tiling)
    try:
        found = partials(graph, nodes, dim)
    except MergeError as error:
        raise PlanError(str(error)) from error
    plan = replace(plan, kept={name: _kept_in_part(dtype, found[name]) for name, dtype in kept.items()})
    ranges = part_ranges(dim, graph.sizes[dim], count)
    split = tuple(node for node in nodes if found[node.writes] != WHOLE)
    parts: list[Local] = []
    for part in ranges:
        blocks = block_ranges(dim, part, step)
        local = Local() if not parts else _whole_of(parts[0], found)
        running = _run_part(graph, plan, split if parts else nodes, read, blocks[0], local)
        for block in blocks[1:]:
            added = _run_part(graph, plan, split, read, block, _whole_of(running, found))
            running = _rescaled(graph, split, found, running, added, block)
        parts.append(running)
    sorted_out = _sorted_out(graph, split, visible, found, ranges, parts)
    return replace(sorted_out, kept=kept) if tiling.splits else _finished(sorted_out, kept)


def _nest_by_nest(
    graph: Graph,
    nodes: tuple[Node, ...],
    tiling: Tiling,
    read: Read,
    visible: tuple[str, ...],
    kept: Mapping[str, str],
) -> dict[str, PerMember]:
    """Nests one after the other, each with its own parts and steps, which the call itself merges."""
    made: dict[str, PerMember] = {}

    def known(name: str) -> PerMember:
        return made[name] if name in made else read(name)

    pieces = _pieces(nodes, tiling)
    for number, (own, inside) in enumerate(pieces):
        later = {name for others, _ in pieces[number + 1 :] for node in others for name in node.reads}
        shown = tuple(node.writes for node in own if node.writes in later or node.writes in visible)
        types = {node.writes: kept[node.writes] for node in own if node.writes in kept}
        found = run_split(graph, own, inside, known, shown, types)
        made.update(found.complete)
        if found.incomplete:
            made.update(combined(graph, found))
    return {name: made[name] for name in visible}


def _pieces(nodes: tuple[Node, ...], tiling: Tiling) -> list[tuple[tuple[Node, ...], Tiling]]:
    """The nodes of each nest with its tiling, and each that is in none by itself. Raises PlanError."""
    nests = {nest.nodes[0]: nest for nest in tiling.nests}
    pieces: list[tuple[tuple[Node, ...], Tiling]] = []
    at = 0
    while at < len(nodes):
        nest = nests.pop(nodes[at].name, None)
        own = nodes[at : at + (len(nest.nodes) if nest else 1)]
        if nest and tuple(node.name for node in own) != nest.nodes:
            raise PlanError(f"a nest holds {nest.nodes}, and the call's nodes there are {[n.name for n in own]}")
        pieces.append((own, nest.tiling if nest else Tiling()))
        at += len(own)
    if nests:
        raise PlanError(f"nests begin with {sorted(nests)}, which are not nodes of the call")
    return pieces


def _cut(graph: Graph, tiling: Tiling) -> tuple[str, int, int]:
    """The dim that is cut, into how many parts, and the step in which each goes through its own. Raises PlanError."""
    dims = list(dict.fromkeys([*(dim for dim, _ in tiling.splits), *(tile.dim for tile in tiling.online)]))
    if len(dims) > 1 or len(tiling.splits) > 1 or len(tiling.online) > 1:
        raise PlanError(f"one dim of a call is split, not {dims}")
    count = tiling.splits[0][1] if tiling.splits else 1
    return dims[0], count, tiling.online[0].extent if tiling.online else graph.sizes[dims[0]]


def block_ranges(dim: str, part: Ranges, step: int) -> list[Ranges]:
    """The steps of an online reduction through a part; the last takes what is left."""
    begin, end = part[dim]
    if step < 1:
        raise PlanError(f"a loop over {dim!r} has tiles of {step}")
    return [{dim: (start, min(start + step, end))} for start in range(begin, end, step)]


def _rescaled(
    graph: Graph, split: tuple[Node, ...], found: Mapping[str, Partial], running: Local, added: Local, block: Ranges
) -> Local:
    """What was added up so far together with one step more."""
    _join(graph, [node for node in split if found[node.writes].state == "sliced"], running, added, block)
    names = [node.writes for node in split if found[node.writes].state in ("extreme", "weighted")]
    return Local({**running.arrays, **_together(graph, found, names, (running, added))}, running.written)


def _together(
    graph: Graph, found: Mapping[str, Partial], names: Sequence[str], parts: Sequence[Local]
) -> dict[str, PerMember]:
    members = len(next(iter(parts[0].arrays.values())))
    views = [[{n: a[m] for n, a in local.arrays.items()} for local in parts] for m in range(members)]
    return {name: [merged(graph, found, name, own) for own in views] for name in names}


def _finished(made: Unmerged, kept: Mapping[str, str]) -> Unmerged:
    """What one part alone made, complete."""
    last = {name: all_rounded(made.parts[0].arrays[name], kept.get(name)) for name in made.incomplete}
    return Unmerged({**made.complete, **last})


def _kept_in_part(dtype: str, partial: Partial) -> str:
    """A sum or an extreme of one part waits for the others in the type that it was computed in."""
    return unstored_type(dtype) if partial.state in ("extreme", "weighted") else dtype


def part_ranges(dim: str, extent: int, count: int) -> list[Ranges]:
    """The ranges of a dim's parts: equal, the last takes what is left; parts that would be empty are left out."""
    if count < 1:
        raise PlanError(f"{dim!r} is split into {count} parts")
    step = -(-extent // count)
    return [{dim: (start, min(start + step, extent))} for start in range(0, extent, step)]


def _whole_of(first: Local, found: Mapping[str, Partial]) -> Local:
    whole = [name for name, partial in found.items() if partial == WHOLE]
    return Local({name: first.arrays[name] for name in whole}, {name: first.written[name] for name in whole})


def _run_part(graph: Graph, plan: Schedule, nodes: tuple[Node, ...], read: Read, ranges: Ranges, local: Local) -> Local:
    """Run nodes within ranges. Raises PlanError unless every element of a result is written once."""
    TiledCall(graph, plan, read, local, frozenset(node.name for node in nodes)).run(ranges)
    for node in nodes:
        if node.writes not in local.written:
            raise PlanError(f"{node.name} never runs")
        times = local.written[node.writes][slices(graph, node, node.writes, None, ranges)]
        if (times != 1).any():
            missing, twice = int((times == 0).sum()), int((times > 1).sum())
            raise PlanError(f"{node.writes}: {missing} elements are never written, {twice} more than once")
    return local


def _sorted_out(
    graph: Graph,
    split: tuple[Node, ...],
    visible: tuple[str, ...],
    found: Mapping[str, Partial],
    ranges: list[Ranges],
    parts: list[Local],
) -> Unmerged:
    complete = {name: parts[0].arrays[name] for name in visible}
    incomplete = []
    for node in split:
        state = found[node.writes].state
        if node.writes not in visible:
            continue
        if state == "sliced":
            for part, local in zip(ranges[1:], parts[1:], strict=True):
                _join(graph, (node,), parts[0], local, part)
        elif state in ("extreme", "weighted"):
            del complete[node.writes]
            incomplete.append(node.writes)
        else:
            raise PlanError(f"{node.writes} is read outside, and would have to be rescaled after the merge")
    return Unmerged(complete, tuple(incomplete), found, tuple(parts))


def _join(graph: Graph, nodes: Sequence[Node], whole: Local, part: Local, ranges: Ranges) -> None:
    """Put the elements of a part that are its own into the arrays of the whole."""
    for node in nodes:
        tile = slices(graph, node, node.writes, None, ranges)
        for array, own in zip(whole.arrays[node.writes], part.arrays[node.writes], strict=True):
            array[tile] = own[tile]


def combined(graph: Graph, unmerged: Unmerged) -> dict[str, PerMember]:
    """The incomplete tensors of a call, merged, for each member."""
    together = _together(graph, unmerged.found, unmerged.incomplete, unmerged.parts)
    return {name: all_rounded(arrays, unmerged.kept.get(name)) for name, arrays in together.items()}
