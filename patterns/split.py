"""A call on numbers that splits a dim into parts, and the call that merges them. A call without splits is one part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from patterns.graph import Graph, Node
from patterns.memory import PerMember
from patterns.online import WHOLE, MergeError, Partial, merged, partials
from patterns.plan import Tiling
from patterns.rounding import NOT_ROUNDED, all_rounded, unstored_type
from patterns.tiled import Local, Read, Schedule, TiledCall, schedule
from patterns.tiles import PlanError, Ranges, slices


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
    plan = schedule(graph, nodes, tiling, kept)
    if not tiling.splits:
        local = _run_part(graph, plan, nodes, read, {}, Local())
        return Unmerged({name: local.arrays[name] for name in visible})
    if len(tiling.splits) > 1:
        raise PlanError(f"one dim of a call is split, not {[dim for dim, _ in tiling.splits]}")
    dim, count = tiling.splits[0]
    try:
        found = partials(graph, nodes, dim)
    except MergeError as error:
        raise PlanError(str(error)) from error
    plan = replace(plan, kept={name: _kept_in_part(dtype, found[name]) for name, dtype in kept.items()})
    ranges = part_ranges(dim, graph.sizes[dim], count)
    split = tuple(node for node in nodes if found[node.writes] != WHOLE)
    parts = [_run_part(graph, plan, nodes, read, ranges[0], Local())]
    for part in ranges[1:]:
        parts.append(_run_part(graph, plan, split, read, part, _whole_of(parts[0], found)))
    return replace(_sorted_out(graph, split, visible, found, ranges, parts), kept=kept)


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
            _join(graph, node, ranges, parts)
        elif state in ("extreme", "weighted"):
            del complete[node.writes]
            incomplete.append(node.writes)
        else:
            raise PlanError(f"{node.writes} is read outside, and would have to be rescaled after the merge")
    return Unmerged(complete, tuple(incomplete), found, tuple(parts))


def _join(graph: Graph, node: Node, ranges: list[Ranges], parts: list[Local]) -> None:
    """Put every part's own elements into the first part's array."""
    for part, local in zip(ranges[1:], parts[1:], strict=True):
        tile = slices(graph, node, node.writes, None, part)
        for whole, own in zip(parts[0].arrays[node.writes], local.arrays[node.writes], strict=True):
            whole[tile] = own[tile]


def combined(graph: Graph, unmerged: Unmerged) -> dict[str, PerMember]:
    """The incomplete tensors of a call, merged, for each member."""
    members = len(next(iter(unmerged.parts[0].arrays.values())))
    views = [[{n: a[m] for n, a in local.arrays.items()} for local in unmerged.parts] for m in range(members)]
    together = {name: [merged(graph, unmerged.found, name, parts) for parts in views] for name in unmerged.incomplete}
    return {name: all_rounded(arrays, unmerged.kept.get(name)) for name, arrays in together.items()}
