"""The error band of a plan's time: those of its parts, each by its share of the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

from experiments.validation.bands import Band, band_of, known_bands
from experiments.validation.family import Part
from patterns.kind import has

if TYPE_CHECKING:
    from patterns.graph import Node
    from patterns.plan import Call, Plan
    from patterns.report import Execution

PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class PartBand:
    """A part of a plan: its share of the whole time, between 0 and 1, and its band."""

    part: Part
    share: float
    band: Band


def plan_bands(execution: Execution) -> tuple[PartBand, ...]:
    """The parts that a GPU's time is made of, with their bands; () where nothing was measured on the machine.

    Time in which no kernel runs is the launches'.
    """
    plan, whole = execution.plan, execution.schedule.total_cycles
    if plan.family != "gpu" or not whole:
        return ()
    times = dict.fromkeys(PARTS, 0)
    parts = parts_of(plan)
    for call, run in zip(plan.calls, execution.calls, strict=True):
        times[parts[call.name]] += run.duration_ps * call.count
    running = sum(times.values())
    times["launches"] += max(0, whole - running)
    shares = {part: time / max(whole, running) for part, time in times.items() if time}
    bands = {part: band_of(plan.machine, part, known_bands()) for part in shares}
    found = [PartBand(part, shares[part], band) for part, band in bands.items() if band is not None]
    return tuple(found) if len(found) == len(shares) else ()


def parts_of(plan: Plan) -> Mapping[str, Part]:
    """Which part each call is of, by its name; a call that combines another's parts is of the other's."""
    nodes = {node.name: node for _, node in plan.graph.nodes()}
    own = {call.name: part_of(call, [nodes[name] for name in call.nodes]) for call in plan.calls}
    return {call.name: own[call.combines or call.name] for call in plan.calls}


def part_of(call: Call, nodes: Sequence[Node]) -> Part:
    """A kernel of products is a GEMM; attention, where it reduces between its two; of many products, GEMMs again."""
    if call.collective:
        return "collectives"
    products = sum(has(node, "contracts") for node in nodes)
    if products == 2 and any(has(node, "reduces") for node in nodes):
        return "attention"
    return "gemm" if products else "small_kernels"


def combined(parts: Sequence[PartBand]) -> tuple[float, float] | None:
    """(low, high) in percent of the predicted time: as if all parts were off the same way at once; None of none."""
    if not parts:
        return None
    return (
        sum(one.share * one.band.low_percent for one in parts),
        sum(one.share * one.band.high_percent for one in parts),
    )
