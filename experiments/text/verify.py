"""A verification as text: what was run, a row for each mapping, what went wrong, what could not be run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.table import Column, Table
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.verify import Allowed, Checked, Refused, Verification, Way

COLUMNS = (
    Column("machine", right=False),
    Column("policy\nor mode", right=False),
    Column("schedule", right=False),
    Column("calls"),
    Column("ragged\nloops"),
    Column("largest\nerror"),
    Column("error\nrounded"),
    Column("merged parts", right=False),
    Column("where", right=False),
)
READING = (
    "calls: of one run at the real extents; the run on numbers has the same calls a block.\n"
    "ragged loops: those over tiles in all calls whose last tile has less to do, of how many.\n"
    "merged parts: at the real extents, dims in so many parts that another call merges (context / 16: split-KV), or in "
    "steps of which each rescales what was added up before (context by 64: online softmax), or both.\n"
    "largest error: in float64, of all tensors that calls leave in memory: |found - reference| by the largest number "
    "in the tensor and in what it is computed from; where: in which element.\n"
    "error rounded: the same where the machine rounds what it stores, and what its matrix units read, to its type; "
    "sums are fp32."
)


def verification_parts(result: Verification) -> list[Part]:
    """Everything there is to say, in order."""
    rows = tuple(row(one, result.allowed) for one in result.checked)
    return [
        title(result),
        Table(COLUMNS, rows, keys=3),
        READING,
        rule(result),
        *same_mappings(result.checked),
        *idle_line(result),
        *(f"WRONG: {line}" for line in wrong_lines(result)),
        *refused_lines(result.refused),
        *zeros_line(result),
        verdict(result),
    ]


def zeros_line(result: Verification) -> list[str]:
    """What the numbers say little of."""
    if not result.zeros:
        return []
    names = ", ".join(result.zeros)
    return [f"Zero everywhere for these random numbers, so that little is shown of what makes it: {names}."]


def title(result: Verification) -> str:
    """What was run: real extents and small ones."""
    full, small = result.graph, result.small
    dims = {dim for tensor in full.tensors for dim in tensor.dims}
    changed = [f"{n} {size:,} -> {small.sizes[n]}" for n, size in full.extents if n in dims and small.sizes[n] != size]
    changed += [
        f"{block.name} x {block.count} -> x {less.count}"
        for block, less in zip(full.blocks, small.blocks, strict=True)
        if block.count != less.count
    ]
    members = f" for each of {result.members} members" if result.members > 1 else ""
    made = "Plans are made for the real extents and run on numbers with small ones: same calls, groups and splits."
    return f"{full.name}{members}, random numbers of seed {result.seed}\n{made}\n{', '.join(changed) or 'as they are'}"


def row(one: Checked, allowed: Allowed) -> tuple[str, ...]:
    """The cells of one mapping."""
    way = one.ways[0]
    difference = one.difference
    where = f"{difference.tensor}[{','.join(map(str, difference.index))}]" if difference.error else ""
    return (
        way.side.machine,
        way.mode,
        schedule_text(one.ways),
        f"{one.calls:,}",
        f"{one.ragged} of {one.loops}",
        ("WRONG " if one.is_wrong(allowed) else "") + ("-" if one.fault else f"{difference.error:.1e}"),
        "-" if one.fault else f"{one.rounded.error:.1e}",
        parts_text(one),
        "" if one.fault else where,
    )


def parts_text(one: Checked) -> str:
    """Dims that are computed in parts: into how many, and by which steps."""
    steps = {tile.dim: f" by {tile.extent}" for tile in one.online}
    told = [f"{dim} / {count}{steps.pop(dim, '')}" for dim, count in one.splits]
    return ", ".join([*told, *(dim + step for dim, step in steps.items())])


def schedule_text(ways: Sequence[Way]) -> str:
    """The schedule that was run, and how many others come to the same mapping."""
    others = f" + {len(ways) - 1}" if len(ways) > 1 else ""
    return way_text(ways[0]) + others


def way_text(way: Way) -> str:
    """A schedule of a GPU, or what an RDU does with sums over members."""
    return way.schedule or (str(dict(way.side.keywords)["collectives"]) if way.side.members > 1 else "")


def rule(result: Verification) -> str:
    """How the largest error that is allowed comes about."""
    return (
        f"Allowed is an error of {result.allowed.exact:.1e}: the unit roundoff of float64, 2**-53, times the roundings "
        "that a result may pass through (one a node, one a term of a sum, again in every execution of a block).\n"
        f"Rounded, {result.allowed.rounded:.1e}: 4 unit roundoffs of the graph's coarsest type, or 4 times the error "
        f"of the reference rounded node by node ({result.rounded.error:.1e}), or what fp32 explains, if that is more. "
        "Inputs and weights are numbers that their types have."
    )


def same_mappings(checked: Sequence[Checked]) -> Iterator[str]:
    """Schedules that differ in when things happen, not in what is computed: they were run once."""
    lines = [
        f"  {one.ways[0].mode} {way_text(one.ways[0])}  {', '.join(map(way_text, one.ways[1:]))}"
        for one in checked
        if len(one.ways) > 1
    ]
    if lines:
        yield "Run once, because what differs is when work is done, and how long tiles are:\n" + "\n".join(lines)


def wrong_lines(result: Verification) -> Iterator[str]:
    """What is wrong, with the numbers."""
    for one in result.wrong:
        way, d = one.ways[0], one.difference
        if d.error <= result.allowed.exact:
            d = one.rounded
        numbers = f"{d.tensor}[{', '.join(map(str, d.index))}] is {d.found:.6g}, should be {d.expected:.6g}"
        yield f"{way.side.machine} {way.mode} {way_text(way)}: {one.fault or numbers}"


def idle_line(result: Verification) -> Iterator[str]:
    """Schedules that no kernel here could have."""
    names = dict.fromkeys(way_text(one.way) for one in result.refused if one.idle)
    machines = dict.fromkeys(one.way.side.machine for one in result.refused if one.idle)
    if names:
        able = f"that {', '.join(machines)} cannot run, or that {result.graph.name} has no kernel for"
        yield f"Left out are schedules {able}: {', '.join(names)}."


def refused_lines(refused: Sequence[Refused]) -> Iterator[str]:
    """Ways that do not fit the machine, by reason; a schedule's is told once for all policies."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in refused:
        if one.idle:
            continue
        by_reason.setdefault((way_text(one.way), one.reason), []).append(one.way.mode)
    lines = [f"  {name}  ({', '.join(modes)}) {reason}" for (name, reason), modes in by_reason.items()]
    if lines:
        yield "Not run, because it does not fit:\n" + "\n".join(lines)


def verdict(result: Verification) -> str:
    """The result in one line."""
    ways = sum(len(one.ways) for one in result.checked)
    run = f"{number_of(len(result.checked), 'mapping')} of {number_of(ways, 'way')} to run {result.graph.name}"
    if result.wrong:
        return f"{run}: {len(result.wrong)} WRONG"
    most = max(one.difference.error for one in result.checked)
    most_rounded = max(one.rounded.error for one in result.checked)
    return f"{run}: all compute what the reference does, largest error {most:.1e}, rounded {most_rounded:.1e}"


def verification_record(result: Verification) -> dict[str, object]:
    """The verification as JSON data; an error that is not finite is null."""
    return {
        "workload": result.graph.name,
        "members": result.members,
        "seed": result.seed,
        "extents": dict(result.graph.extents),
        "small_extents": dict(result.small.extents),
        "allowed_error": result.allowed.exact,
        "allowed_error_rounded": finite(result.allowed.rounded),
        "reference_error_rounded": finite(result.rounded.error),
        "zero_outputs": list(result.zeros),
        "mappings": [checked_record(one, result.allowed) for one in result.checked],
        "not_run": [{**way_record(one.way), "reason": one.reason} for one in result.refused],
    }


def checked_record(one: Checked, allowed: Allowed) -> dict[str, object]:
    """One mapping as JSON data."""
    d = one.difference
    return {
        **way_record(one.ways[0]),
        "same": [way_text(way) for way in one.ways[1:]],
        "calls": one.calls,
        "loops": one.loops,
        "ragged_loops": one.ragged,
        "splits": [{"dim": dim, "parts": parts} for dim, parts in one.splits],
        "online": [{"dim": tile.dim, "step": tile.extent} for tile in one.online],
        "error": None if one.fault else finite(d.error),
        "tensor": d.tensor,
        "index": list(d.index),
        "error_rounded": None if one.fault else finite(one.rounded.error),
        "tensor_rounded": one.rounded.tensor,
        "index_rounded": list(one.rounded.index),
        "fault": one.fault,
        "wrong": one.is_wrong(allowed),
    }


def finite(number: float) -> float | None:
    """The number, None (null) if it is infinite."""
    return number if number < float("inf") else None


def way_record(way: Way) -> dict[str, object]:
    """One way as JSON data."""
    return {"machine": way.side.machine, "mode": way.mode, "schedule": way_text(way)}
