"""Which off-chip bytes of an RDU vanish by fusion, and why the others are moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.plot.bars import Bars
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from patterns.plan import Moved

RDU = "sn40l"
MODES = ("unfused", "fused", "looped")
# Workload, phase and context (None: as in the file).
WORKLOADS = (
    ("softmax", "decode", None),
    ("attention", "prefill", 4096),
    ("llama-3.1-8b", "decode", 4096),
    ("llama-3.1-8b", "prefill", 4096),
)
# Of the needed bytes: as many more are worth a word.
SEEN = 0.01
PARTS = ("needed", "between_calls", "by_other_calls", "by_tiles")


def cases() -> list[Point]:
    """Every workload and mode."""
    return [
        Point(name, RDU, mode, phase=phase, context=context) for name, phase, context in WORKLOADS for mode in MODES
    ]


def record(point: Point) -> Record:
    """One run: its calls, its time, and its off-chip bytes by what they are moved for."""
    outcome = run_point(point)
    moved = outcome.execution.plan.moved
    parts = parts_of(moved)
    return {
        "workload": f"{point.workload} {point.phase}"
        if "seq" in outcome.execution.plan.graph.sizes
        else point.workload,
        "mode": point.mode,
        "calls": outcome.report.calls,
        "time_ms": 1e3 * outcome.report.time_s,
        **{f"{part}_gb": parts[part] / 1e9 for part in PARTS},
        "whole_gb": sum(row.num_bytes for row in moved) / 1e9,
    }


def parts_of(moved: Sequence[Moved]) -> Counter[str]:
    """Bytes that every plan moves, that pass between calls, that several calls read, and that tiles read again."""
    found: Counter[str] = Counter()
    for row in moved:
        found[part_of(row.reason)] += row.num_bytes
    return found


def part_of(reason: str) -> str:
    """Of a reason, as a plan words it."""
    if "again by another call" in reason:
        return "by_other_calls"
    if "again" in reason:
        return "by_tiles"
    return "between_calls" if "between" in reason else "needed"


def finding(rows: Sequence[Record]) -> str:
    """What fusion removes of each workload, and what is left besides the needed bytes."""
    from experiments.text.quantity import digits

    told = []
    for name in dict.fromkeys(row["workload"] for row in rows):
        unfused, fused, looped = (next(r for r in rows if (r["workload"], r["mode"]) == (name, m)) for m in MODES)
        whole, left = unfused["whole_gb"], looped["whole_gb"] - looped["needed_gb"]
        rest = f", and {digits(left)} GB more than needed are left" if left > SEEN * looped["needed_gb"] else ""
        told.append(f"{100 * (whole - fused['whole_gb']) / whole:.1f} % of {digits(whole)} GB of {name}{rest}")
    return f"Fusion on one {RDU} removes {'; '.join(told)}. Elsewhere what is left is what every plan moves."


STUDY = Survey(
    question="Which off-chip bytes vanish when patterns become stages of one pipeline, and why are the others moved?",
    cases=cases,
    record=record,
    finding=finding,
    figures=(
        Bars(
            "off_chip_bytes",
            label="mode",
            values=("whole_gb",),
            panel="workload",
            bound="needed_gb",
            title="Off-chip bytes by mode; line: what every plan moves",
            x_label="off-chip, GB",
            log=True,
        ),
    ),
    keys=2,
)
