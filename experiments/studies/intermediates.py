"""Gigabytes of intermediate results: what passes from call to call, and what of it leaves the chip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.point import Point, off_chip_bytes, run_point
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from patterns.plan import Call, Plan

MODEL = "llama-3.1-8b"
GPU, RDU = "h100_sxm", "sn40l"
MODES = (
    *((GPU, policy) for policy in ("pattern", "operator", "library", "megakernel")),
    *((RDU, mode) for mode in ("unfused", "fused", "looped")),
)
# Phase, batch, and tokens of the cache or of the prompt.
STEPS = (("decode", 1, 4096), ("decode", 32, 2048), ("prefill", 1, 2048))


def cases() -> list[Point]:
    """Every step on every machine in every mode."""
    return [
        Point(MODEL, machine, mode, phase=phase, batch=batch, context=context)
        for phase, batch, context in STEPS
        for machine, mode in MODES
    ]


def record(point: Point) -> Record:
    """What calls hand to each other, and what is moved off the chip beyond what any plan must move."""
    from patterns.count import compulsory

    outcome = run_point(point)
    plan = outcome.execution.plan
    needed = compulsory(plan.graph).total_bytes
    passed = sum(passed_bytes(plan, call) * call.count * call.iterations for call in plan.calls) - needed
    return {
        "step": f"{point.phase}, {point.context:,} tokens, batch {point.batch}",
        "machine": point.machine,
        "mode": point.mode,
        "run": f"{point.machine} {point.mode}",
        "calls": outcome.report.calls,
        "between_calls_gb": max(0, passed) / 1e9,
        "off_chip_gb": max(0, off_chip_bytes(outcome.report) - needed) / 1e9,
        "needed_gb": needed / 1e9,
        "time_ms": 1e3 * outcome.report.time_s,
    }


def passed_bytes(plan: Plan, call: Call) -> int:
    """Bytes that cross the border of one execution of a call's nodes."""
    from patterns.count import group_traffic

    found = 0
    for block in plan.graph.blocks:
        names = [node.name for node in block.nodes if node.name in call.nodes]
        if names and call.block in ("", block.name):
            found += group_traffic(plan.graph, block.name, names).total_bytes * (block.count if not call.block else 1)
    return found


def finding(rows: Sequence[Record]) -> str:
    """By step: how much there is, and how much of it leaves each chip when it is fused."""
    told = []
    for step in dict.fromkeys(row["step"] for row in rows):
        by_run = {row["run"]: row for row in rows if row["step"] == step}
        made, gpu, rdu = (by_run[run] for run in (f"{GPU} pattern", f"{GPU} library", f"{RDU} looped"))
        told.append(f"{gb(made['between_calls_gb'])} ({gb(gpu['off_chip_gb'])}, {gb(rdu['off_chip_gb'])}) in {step}")
    return (
        f"Intermediate results of {MODEL}, unfused (in brackets what leaves the chip with tuned kernels on the {GPU},"
        f" and looped on the {RDU}): {'; '.join(told)}."
    )


def details(rows: Sequence[Record]) -> str:
    """By step: what nothing fused and all fused pass on, and how much of it leaves the chip."""
    told = []
    for step in dict.fromkeys(row["step"] for row in rows):
        by_run = {row["run"]: row for row in rows if row["step"] == step}
        apart, library = (by_run[f"{GPU} {mode}"] for mode in ("pattern", "library"))
        unfused, looped = (by_run[f"{RDU} {mode}"] for mode in ("unfused", "looped"))
        told.append(
            f"in {step} kernels of a pattern hand on {gb(apart['between_calls_gb'])} and tuned ones"
            f" {gb(library['between_calls_gb'])}, of which the GPU's HBM sees {gb(apart['off_chip_gb'])} and"
            f" {gb(library['off_chip_gb'])}{kept(library)}; the {RDU}'s {gb(unfused['off_chip_gb'])} unfused and"
            f" {gb(looped['off_chip_gb'])} looped"
        )
    return f"Intermediate results of {MODEL}: {'. '.join(told)}.".replace(". in ", ". In ")


def kept(row: Record) -> str:
    """What becomes of the rest, or why it is more."""
    if row["off_chip_gb"] < row["between_calls_gb"]:
        return " (the L2 keeps the rest)"
    return " (tiles read some of it again)"


def gb(value: float) -> str:
    """'0.082 GB', '1.93 GB'."""
    return f"{value:.3f} GB" if value < 1 else f"{value:.2f} GB" if value < 100 else f"{value:,.0f} GB"


STUDY = Survey(
    question="How many gigabytes of intermediate results are there, and how many leave the chip?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "intermediates",
            label="run",
            values=("between_calls_gb", "off_chip_gb"),
            panel="step",
            title="Intermediate results of Llama 3.1 8B: passed from call to call, and moved off the chip",
            log=True,
        ),
    ),
    keys=3,
)
