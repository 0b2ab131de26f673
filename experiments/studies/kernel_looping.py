"""All layers in one call against a call for each: what looping gains by model, sockets, batch and who launches.

Published: Koeplinger et al., Kernel Looping, arXiv 2410.23668: up to 2.2 times faster, the geometric mean 1.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from experiments.plot.bars import Bars
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

MACHINE, CONTEXT = "sn40l", 1024
MODELS = (("llama-3.2-1b", 1), ("llama-3.1-8b", 1), ("llama-3.1-8b", 16), ("llama-3.1-70b", 16))
BATCHES = (1, 16)
ORCHESTRATIONS = ("hardware", "software")
PUBLISHED_GAIN = (1.3, 2.2)


@dataclass(frozen=True)
class Pair:
    """The same step with a call for each layer, and with all layers in one."""

    fused: Point
    looped: Point


def cases() -> list[Pair]:
    """Every model, batch and orchestration."""
    found = []
    for model, members in MODELS:
        for batch in BATCHES:
            for who in ORCHESTRATIONS:
                point = Point(model, MACHINE, "fused", "decode", batch, CONTEXT, members, orchestration=who)
                found.append(Pair(point, replace(point, mode="looped")))
    return found


def record(case: Pair) -> Record:
    """Both, and what a call that is saved was worth."""
    fused, looped = (run_point(point).report for point in (case.fused, case.looped))
    saved_us = 1e6 * (fused.time_s - looped.time_s)
    calls = fused.calls - looped.calls
    point = case.fused
    return {
        "model": point.workload,
        "sockets": point.members,
        "batch": point.batch,
        "launched_by": point.orchestration,
        "run": f"{point.workload} x {point.members}, batch {point.batch}",
        "fused_calls": fused.calls,
        "looped_calls": looped.calls,
        "fused_ms": 1e3 * fused.time_s,
        "looped_ms": 1e3 * looped.time_s,
        "bound_ms": 1e3 * looped.bound_s,
        "gain": fused.time_s / looped.time_s,
        "saved_us_a_call": saved_us / calls if calls else None,
    }


def finding(rows: Sequence[Record]) -> str:
    """The gain by orchestration, where it is greatest and least, and what a call is worth."""
    told = []
    for who in dict.fromkeys(row["launched_by"] for row in rows):
        own = [row for row in rows if row["launched_by"] == who]
        most, least = (choose(own, key=lambda row: row["gain"]) for choose in (max, min))
        ends = (f"{row['gain']:.2f} ({row['run']})" for row in (least, most))
        told.append(f"{' to '.join(ends)} times launched by {who}")
    saved = [row["saved_us_a_call"] for row in rows if row["saved_us_a_call"] is not None]
    so = "so short layers gain most" if falls_with_layers(rows) else "yet short layers need not gain most"
    return (
        f"Looping over layers makes decoding faster: {', '.join(told)}. Each call that is not made saves"
        f" {min(saved):.0f} to {max(saved):.0f} us, {so}."
    )


def details(rows: Sequence[Record]) -> str:
    """The published range, and the same runs here."""
    among = [row for row in rows if row["launched_by"] == "hardware" and row["sockets"] == 16 and row["batch"] == 1]
    low, high = PUBLISHED_GAIN
    beside = ", ".join(f"{row['gain']:.2f} times with {row['model']}" for row in among)
    return f"On 16 sockets at batch 1, launched by hardware: {beside} (published {low} to {high})." if among else ""


def falls_with_layers(rows: Sequence[Record]) -> bool:
    """Whether of any two runs by the same launcher the one with shorter steps for its calls gains more, mostly."""
    pairs = [
        (one, two)
        for one in rows
        for two in rows
        if one["launched_by"] == two["launched_by"] and step_us(one) < step_us(two)
    ]
    return sum(bool(one["gain"] >= two["gain"]) for one, two in pairs) > 0.9 * len(pairs)


def step_us(row: Record) -> float:
    """The looped time for each call that looping saves."""
    return 1e3 * float(row["looped_ms"]) / max(1, int(row["fused_calls"] - row["looped_calls"]))


STUDY = Survey(
    question="What does it gain to run all layers in one call, by model, batch and orchestration?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Bars("looping_gain", label="run", values=("gain",), by="launched_by", title="Times as fast with layers looped"),
        Bars(
            "looping_time",
            label="run",
            values=("fused_ms", "looped_ms"),
            panel="launched_by",
            bound="bound_ms",
            title="A decode step with a call for each layer, and with one for all",
            log=True,
        ),
    ),
    keys=4,
)
