"""Persistent GEMM: one consumer, two that share each tile, and two that take turns, by K and weight of the epilogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.plot.lines import Lines
from experiments.plot.spans import Run, Spans
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

ONE, TOGETHER, TURNS = "one consumer", "cooperative", "ping-pong"
WAYS = {ONE: "warp_specialized", TOGETHER: "cooperative", TURNS: "pingpong"}
EXTENTS = (256, 512, 1024, 2048, 4096)
# How many times the lecture's epilogue of 256 + 1024 cycles.
WEIGHTS = (1, 4, 8)
# What the lecture tells of.
SHORT, LONG, HEAVY, HEAVY_K, DRAWN_K = 256, 4096, 8, 1024, 512


def cases() -> Iterator[LectureRun]:
    """8 tiles of 128 x 256, one after another, with 4 slots."""
    from gpu_model.lecture.gemm import PERSISTENT_TILES, SLOTS, LectureRun

    for weight in WEIGHTS:
        slow = (
            ("vector_ops_per_cycle", f"{128 // weight} ops/cycle"),
            ("store_bytes_per_cycle", f"{64 // weight} B/cycle"),
        )
        for way, schedule in WAYS.items():
            for k in EXTENTS:
                yield LectureRun(f"{way} x{weight}", schedule, SLOTS, slow, PERSISTENT_TILES, k)


def record(run: LectureRun) -> Record:
    """The share of the time in which the tensor core computes, and the lecture's bound for it (None: it has none)."""
    from gpu_model.lecture.estimates import pingpong_bound_percent, single_consumer_bound_percent

    way, _, weight = run.id.rpartition(" x")
    busy = run.tensor_core_busy_cycles // run.tiles
    epilogue = (run.timeline.busy_cycles["vector"] + run.timeline.busy_cycles["store"]) // run.tiles
    bounds = {
        ONE: single_consumer_bound_percent(1, busy, epilogue),
        TURNS: pingpong_bound_percent(run.tiles, 1, busy, epilogue),
    }
    return {
        "way": way,
        "epilogue": f"x{weight}",
        "k": run.k,
        "main_loop_cycles": busy,
        "epilogue_cycles": epilogue,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
        "bound_percent": bounds.get(way),
    }


def finding(rows: Sequence[Record]) -> str:
    """What turns bring for short and long main loops, and for light and heavy epilogues."""
    at = {(row["way"], row["k"], row["epilogue"]): row["tensor_core_percent"] for row in rows}
    short, long = (SHORT, "x1"), (LONG, "x1")
    best = {ways: max((at[way, *ways], way) for way in WAYS)[1] for ways in ((k, weight) for _, k, weight in at)}
    others = [f"{best[ways]} at K = {ways[0]:,} and {ways[1]}" for ways in best if best[ways] != TURNS]
    always = f"everywhere but {', '.join(others)}" if others else "for every K and every epilogue"
    gain = {ways: at[TURNS, *ways] - at[TOGETHER, *ways] for ways in best}
    return (
        f"At K = {SHORT} the tensor core computes {at[ONE, *short]:.1f} % of the time with one consumer,"
        f" {at[TOGETHER, *short]:.1f} % with two that share tiles, {at[TURNS, *short]:.1f} % with two that take turns;"
        f" at K = {LONG:,} {at[ONE, *long]:.1f}, {at[TOGETHER, *long]:.1f} and {at[TURNS, *long]:.1f} %. Turns are best"
        f" {always}: {min(gain.values()):.1f} to {max(gain.values()):.1f} points over sharing, most for long epilogues."
    )


def details(rows: Sequence[Record]) -> str:
    """What a heavy epilogue costs each way."""
    at = {(row["way"], row["k"], row["epilogue"]): row["tensor_core_percent"] for row in rows}
    one, together, turns = (at[way, HEAVY_K, f"x{HEAVY}"] for way in (ONE, TOGETHER, TURNS))
    return (
        f"With an epilogue {HEAVY} times as long and K = {HEAVY_K:,} the tensor core computes {one:.1f}, {together:.1f}"
        f" and {turns:.1f} % of the time."
    )


def runs() -> list[Run]:
    """The three ways with the lecture's epilogue, at the K that it draws."""
    shown = [run for run in cases() if run.k == DRAWN_K and run.id.endswith(" x1")]
    return [(run.id.removesuffix(" x1"), run.plan.calls[0].program, run.timeline, None) for run in shown]


STUDY = Survey(
    question="What hides the end of a tile in a persistent GEMM, and when does it matter?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "tensor_core_by_k",
            x="k",
            y="tensor_core_percent",
            by="way",
            panel="epilogue",
            bound="bound_percent",
            x_log=True,
            title="Tensor core busy, 8 tiles in turn, by K and by the weight of the epilogue; dashed: the formula",
            x_label="K",
            y_label="Tensor core busy [%]",
        ),
        Spans("eight_tiles", runs, title=f"8 tiles of K = {DRAWN_K}"),
    ),
    keys=3,
)
