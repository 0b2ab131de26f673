"""Which machine decodes a token faster, and with less energy, by batch and context; where one takes over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING

from experiments.plot.heat_map import HeatMap
from experiments.point import Point, run_if_it_fits
from experiments.survey import Record, Survey
from patterns.plural import number_of

if TYPE_CHECKING:
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
    """The same decode step on as many GPUs as sockets."""

    gpu: Point
    rdu: Point


def cases() -> Iterator[Match]:
    """Every grid."""
    for gpu, members, batches, contexts in GRIDS:
        for batch in batches:
            for context in contexts:
                how = ("decode", batch, context, members)
                yield Match(Point(MODEL, gpu, GPU_MODE, *how, launch=LAUNCH), Point(MODEL, RDU, RDU_MODE, *how))


@cache
def simulated(point: Point) -> Report | None:
    """A step; None where memory has no room."""
    outcome = run_if_it_fits(point)
    return outcome.report if outcome else None


def record(case: Match) -> Record | None:
    """Both sides of a step; ratios above 1 are for the RDU. None where one has no room."""
    gpu, rdu = simulated(case.gpu), simulated(case.rdu)
    if gpu is None or rdu is None:
        return None
    point = case.gpu
    return {
        "against": f"{point.members} x {RDU} against {point.members} x {point.machine}",
        "batch": point.batch,
        "context": point.context,
        "gpu_ms": 1e3 * gpu.time_s,
        "rdu_ms": 1e3 * rdu.time_s,
        "speed_ratio": gpu.time_s / rdu.time_s,
        **joules(gpu.energy, rdu.energy, point.batch or 1),
    }


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
        " contexts at which one takes over are interpolated between those that were run."
        f" {'; '.join(told)}."
    )


def sides(rows: Sequence[Record], panel: str) -> str:
    """'sn40l is faster in 5 of 16 points; it takes over below 8,400 tokens at batch 1'."""
    own = [row for row in rows if row["against"] == panel]
    ratios = [row["speed_ratio"] for row in own]
    turns = []
    for batch in dict.fromkeys(row["batch"] for row in own):
        line = sorted((row["context"], row["speed_ratio"]) for row in own if row["batch"] == batch)
        found = [f"{context:,.0f}" for context in crossings(line)]
        side = "between" if len(found) > 1 else "below" if line[0][1] > 1 else "above"
        if found:
            turns.append(f"{side} {' and '.join(found)} tokens at batch {batch}")
    where = f" ({', '.join(turns)})" if turns else ""
    return (
        f"{RDU} is faster in {sum(ratio > 1 for ratio in ratios)} of {number_of(len(own), 'point')}{where},"
        f" {min(ratios):.2f} to {max(ratios):.2f} times"
    )


def crossings(line: Sequence[tuple[int, float]]) -> list[float]:
    """The contexts at which a ratio is 1, between two points of a line, both logarithmic."""
    found = []
    for (low, before), (high, after) in pairwise(line):
        if (before - 1) * (after - 1) < 0:
            share = log(before) / (log(before) - log(after))
            found.append(float(f"{exp(log(low) + share * (log(high) - log(low))):.2g}"))
    return found


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
            title="How many times as fast the RDU decodes (above 1: faster); the black line parts points that were run",
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
