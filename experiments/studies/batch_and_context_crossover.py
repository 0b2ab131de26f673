"""Which machine decodes a token faster, and with less energy, by batch and context; where one takes over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import log
from typing import TYPE_CHECKING

from experiments.plot.heat_map import HeatMap
from experiments.point import Point
from experiments.survey import Record, Survey
from patterns.errors import DoesNotFit
from patterns.plural import number_of

if TYPE_CHECKING:
    from patterns.brief import Brief
    from patterns.energy import Energy
    from patterns.report import Report

MODEL, RDU = "llama-3.1-8b", "sn40l"
# Machines of either sort, batches, contexts. One socket's HBM holds no more.
GRIDS = (
    ("h100_sxm", 8, (1, 4, 16, 64), (512, 2048, 8192, 32768)),
    ("h200", 8, (1, 4, 16, 64), (512, 2048, 8192, 32768)),
    ("h100_sxm", 1, (1, 16), (512, 8192)),
)
# Tuned kernels in a graph; all layers in one call.
GPU_MODE, RDU_MODE, LAUNCH = "library", "looped", "graph"


@dataclass(frozen=True)
class Match:
    """The same decode step on as many GPUs as sockets. until: the next context of the grid, None for the last."""

    gpu: Point
    rdu: Point
    until: int | None = None


def cases() -> Iterator[Match]:
    """Every grid."""
    for gpu, members, batches, contexts in GRIDS:
        for batch in batches:
            for context, until in zip(contexts, (*contexts[1:], None), strict=True):
                how = ("decode", batch, context, members)
                gpu_point = Point(MODEL, gpu, GPU_MODE, *how, launch=LAUNCH)
                yield Match(gpu_point, Point(MODEL, RDU, RDU_MODE, *how), until)


@cache
def simulated(point: Point) -> Brief | Report | None:
    """A step as a sweep runs it; None where memory has no room."""
    from experiments.sweep.engine import simulate_point
    from patterns.graph_file.contents import workload_digest

    try:
        return simulate_point(point, (), workload_digest(point.workload))
    except DoesNotFit:
        return None


def record(case: Match) -> Record | None:
    """Both sides of a step; ratios above 1 are for the RDU. None where one has no room.

    last_context: a context, of those up to the next one of the grid, after which the other side is faster, with the
    times there and one token on; None where the next one of the grid has the same winner.
    """
    gpu, rdu = simulated(case.gpu), simulated(case.rdu)
    if gpu is None or rdu is None:
        return None
    last = turning(case)
    point = case.gpu
    return {
        "against": f"{point.members} x {RDU} against {point.members} x {point.machine}",
        "batch": point.batch,
        "context": point.context,
        "gpu_ms": 1e3 * gpu.time_s,
        "rdu_ms": 1e3 * rdu.time_s,
        "speed_ratio": gpu.time_s / rdu.time_s,
        **joules(gpu.energy, rdu.energy, point.batch or 1),
        "last_context": last,
        **times_at("last", case, last),
        **times_at("next", case, last + 1 if last else None),
    }


def both_s(case: Match, context: int) -> tuple[float, float] | None:
    """Seconds of a step at another context, on the GPUs and on the RDU; None where one has no room."""
    gpu, rdu = (simulated(replace(point, context=context)) for point in (case.gpu, case.rdu))
    return (gpu.time_s, rdu.time_s) if gpu and rdu else None


def times_at(name: str, case: Match, context: int | None) -> Record:
    """The GPUs' time at a context and how much sooner the RDUs are done, empty for None."""
    both = both_s(case, context) if context else None
    gpu_ms, sooner_us = (1e3 * both[0], 1e6 * (both[0] - both[1])) if both else (None, None)
    return {f"{name}_gpu_ms": gpu_ms, f"{name}_rdu_sooner_us": sooner_us}


def turning(case: Match) -> int | None:
    """The last context before one at which the other side is faster, by bisection over whole tokens.

    The winner changes from it to the next; there may be more such pairs, as times have steps in the context. None where
    the next context of the grid has the same winner, or no room.
    """
    low, high = case.gpu.context, case.until
    if low is None or high is None or both_s(case, high) is None:
        return None
    first, last = lead(case, low), lead(case, high)
    if (first > 0) == (last > 0):
        return None
    halve = False
    while high - low > 1:
        # Where a straight line turns, or half way: lines have steps, and only halves are sure to end.
        share = 0.5 if halve else first / (first - last)
        middle = min(max(low + 1, round(low + share * (high - low))), high - 1)
        found = lead(case, middle)
        before = high - low
        if (found > 0) == (first > 0):
            low, first = middle, found
        else:
            high, last = middle, found
        halve = high - low > before / 2
    return low


def lead(case: Match, context: int) -> float:
    """By how many times the RDU is faster at a context that both have room for, as a logarithm: above 0 if it is."""
    both = both_s(case, context)
    assert both is not None
    return log(both[0] / both[1])


def joules(gpu: Energy | None, rdu: Energy | None, batch: int) -> Record:
    """The energy columns: of a token each, their ratio, and whether the ranges of what is known overlap."""
    if gpu is None or rdu is None:
        return dict.fromkeys(("gpu_j_a_token", "rdu_j_a_token", "energy_ratio", "ranges_overlap"))
    return {
        "gpu_j_a_token": gpu.typical_j / batch,
        "rdu_j_a_token": rdu.typical_j / batch,
        "energy_ratio": gpu.typical_j / rdu.typical_j,
        "ranges_overlap": "yes" if gpu.low_j <= rdu.high_j and rdu.low_j <= gpu.high_j else "no",
    }


def finding(rows: Sequence[Record]) -> str:
    """In how many points which side is faster, and the range of energies."""
    told = []
    for panel in dict.fromkeys(row["against"] for row in rows):
        ratios = [row["speed_ratio"] for row in rows if row["against"] == panel]
        told.append(f"{panel} in {sum(ratio > 1 for ratio in ratios)} of {number_of(len(ratios), 'point')}")
    energies = [row["energy_ratio"] for row in rows if row["energy_ratio"] is not None]
    taken = f" The GPU takes {min(energies):.2f} to {max(energies):.2f} times the RDU's energy." if energies else ""
    return f"The RDU is faster at a token of {MODEL} with {', '.join(told)}.{taken}"


def details(rows: Sequence[Record]) -> str:
    """Where one takes over from the other at each batch, and how sure the energies are."""
    panels = list(dict.fromkeys(row["against"] for row in rows))
    told = [f"{panel}: {sides(rows, panel)}" for panel in panels]
    if all(row["energy_ratio"] is not None for row in rows):
        ratios, unsure = [row["energy_ratio"] for row in rows], sum(row["ranges_overlap"] == "yes" for row in rows)
        told.append(
            f"the GPU takes {min(ratios):.2f} to {max(ratios):.2f} times the RDU's energy, less in"
            f" {sum(ratio < 1 for ratio in ratios)} of {len(rows)} points, but the ranges that the sources of energies"
            f" leave open overlap in {unsure}"
        )
    return (
        f"A token of {MODEL}, all layers in one call on {RDU} sockets against tuned kernels in a graph on GPUs;"
        " where the winner differs between two contexts of the grid, neighbours between which it changes are found by"
        " bisection, both simulated (times have steps: it may change at others, too)."
        f" {'; '.join(told)}."
    )


def sides(rows: Sequence[Record], panel: str) -> str:
    """'sn40l is faster in 5 of 16 points (at contexts up to 9,712 at batch 1, from 700 to 2,048 at batch 4)'."""
    own = [row for row in rows if row["against"] == panel]
    ratios = [row["speed_ratio"] for row in own]
    lines = ([row for row in own if row["batch"] == batch] for batch in dict.fromkeys(row["batch"] for row in own))
    turns = [f"{told} at batch {line[0]['batch']}" for line in lines if (told := stretches(line))]
    where = f" (at contexts {', '.join(turns)})" if turns else ""
    return (
        f"{RDU} is faster in {sum(ratio > 1 for ratio in ratios)} of {number_of(len(own), 'point')}{where},"
        f" {min(ratios):.2f} to {max(ratios):.2f} times"
    )


def stretches(line: Sequence[Record]) -> str:
    """'up to 9,712 and from 20,481 on', the contexts at which the RDU is faster; '' if the winner never changes."""
    faster = line[0]["speed_ratio"] > 1
    told = []
    begin = None
    for row in line:
        if row["last_context"] is None:
            continue
        if faster:
            told.append(
                f"up to {row['last_context']:,}" if begin is None else f"from {begin:,} to {row['last_context']:,}"
            )
        begin, faster = row["last_context"] + 1, not faster
    if told or begin is not None:
        told += [f"from {begin:,} on"] if faster else []
    return " and ".join(told)


STUDY = Survey(
    question="At which batch and context does a GPU or an RDU decode faster, or with less energy?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        HeatMap(
            "speed_by_batch_and_context",
            x="context",
            y="batch",
            value="speed_ratio",
            panel="against",
            title="How many times as fast the RDU decodes (above 1: faster); the black line parts points of the grid",
            diverging_at=1.0,
        ),
        HeatMap(
            "energy_by_batch_and_context",
            x="context",
            y="batch",
            value="energy_ratio",
            panel="against",
            title="How many times the RDU's energy the GPU takes (above 1: the RDU takes less)",
            diverging_at=1.0,
        ),
    ),
    keys=3,
)
