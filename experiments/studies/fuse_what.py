"""What each further step of fusion saves on a GPU, in calls, bytes and time: a dense model, experts, a state space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from experiments.plot.bars import Bars
from experiments.point import Point, point_record, run_point
from experiments.survey import Record, Survey

GPU = "h100_sxm"
# A dense transformer, one with experts, one with a state instead of a cache; one decode step of each.
MODELS = ("llama-3.1-8b", "qwen3-30b-a3b", "mamba2")
# In the order in which one would write them. A megakernel is one launch anyway.
STEPS = (
    ("pattern", "stream", "a kernel for each pattern"),
    ("operator", "stream", "chains of elementwise patterns fused"),
    ("library", "stream", "as tuned libraries fuse"),
    ("epilogue", "stream", "epilogues of products too"),
    ("epilogue", "pdl", "launches that overlap too"),
    ("megakernel", "persistent", "one persistent kernel"),
)


@dataclass(frozen=True)
class Fused:
    """A model with a step of fusion, and the place of that step."""

    place: int
    point: Point


def cases() -> list[Fused]:
    """Every step of every model."""
    return [
        Fused(place, Point(model, GPU, policy, launch=launch))
        for model in MODELS
        for place, (policy, launch, _) in enumerate(STEPS)
    ]


@cache
def simulated(point: Point) -> Record:
    """The columns of a run."""
    return point_record(point, run_point(point))


def record(case: Fused) -> Record:
    """One step: what it leaves, and what it saves beside the step before."""
    row = simulated(case.point)
    policy, launch, _ = STEPS[max(0, case.place - 1)]
    before = simulated(replace(case.point, mode=policy, launch=launch))
    saved_calls = before["calls"] - row["calls"]
    saved_us = before["time_us"] - row["time_us"]
    return {
        "model": case.point.workload,
        "fusion": STEPS[case.place][2],
        "mode": case.point.mode,
        "launch": case.point.launch,
        "calls": row["calls"],
        "time_us": row["time_us"],
        "bound_us": row["bound_us"],
        "off_chip_mb": row["off_chip_bytes"] / 1e6,
        "energy_mj": 1e3 * row["energy_j"] if row["energy_j"] else None,
        "saved_calls": saved_calls,
        "saved_mb": (before["off_chip_bytes"] - row["off_chip_bytes"]) / 1e6,
        "saved_us": saved_us,
        "saved_us_a_call": saved_us / saved_calls if saved_calls > 0 else None,
    }


def finding(rows: Sequence[Record]) -> str:
    """By model: how far fusion brings it to its bound, and which step saves most."""
    shares: list[str] = []
    steps: dict[str, list[str]] = {}
    for model in models(rows):
        own = [row for row in rows if row["model"] == model]
        best, first, last = max(own, key=lambda row: row["saved_us"]), own[0], min(own, key=lambda row: row["time_us"])
        share = 100 * (first["time_us"] - last["time_us"]) / (first["time_us"] - first["bound_us"])
        shares.append(f"{share:.0f} % in {model} ({last['fusion']})")
        steps.setdefault(best["fusion"], []).append(model)
    largest = ", ".join(f"{fusion!r} in {' and '.join(of)}" for fusion, of in steps.items())
    return (
        f"Of a decode step's time above its bound on one {GPU}, fusion takes away {', '.join(shares)}. The largest step"
        f" is {largest}."
    )


def details(rows: Sequence[Record]) -> str:
    """By model: which step saves most, what a call that is not launched is worth, and what is left to the bound."""
    return f"Step by step: {'; '.join(told(rows, model) for model in models(rows))}."


def models(rows: Sequence[Record]) -> list[str]:
    """The models, in order."""
    return list(dict.fromkeys(row["model"] for row in rows))


def told(rows: Sequence[Record], model: str) -> str:
    """What one model gains."""
    own = [row for row in rows if row["model"] == model]
    best, first, last = max(own, key=lambda row: row["saved_us"]), own[0], min(own, key=lambda row: row["time_us"])
    worse = [f"{row['fusion']!r} loses {-row['saved_us']:.0f} us" for row in own if row["saved_us"] < -1]
    saved_us = first["time_us"] - last["time_us"]
    share = 100 * saved_us / (first["time_us"] - first["bound_us"])
    return (
        f"{model} goes from {first['calls']:,} calls and {first['time_us']:,.0f} us to {last['calls']:,} and"
        f" {last['time_us']:,.0f} us ({last['fusion']}), {share:.0f} % of the way to its bound; most comes with"
        f" {best['fusion']!r} ({best['saved_us']:,.0f} us, {best['saved_calls']:,} calls, {best['saved_mb']:,.0f} MB)"
        f"{''.join(f', {one}' for one in worse)}"
    )


STUDY = Survey(
    question="What should one fuse: what does each further step save, in calls, bytes and time?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars(
            "time_by_fusion",
            label="fusion",
            values=("time_us",),
            panel="model",
            bound="bound_us",
            title="A decode step, by how much is fused; the line is the bound",
            log=True,
        ),
        Bars("calls_by_fusion", label="fusion", values=("calls",), panel="model", title="Kernel launches", log=True),
    ),
    keys=2,
)
