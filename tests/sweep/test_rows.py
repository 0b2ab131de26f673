"""What a point comes to: the numbers of its whole report, why it does not fit and what would, bugs told by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.api import lower
from experiments.point import Point, run_point
from experiments.sweep.engine import graph_of
from experiments.sweep.export import records_of, shown_reasons
from experiments.sweep.identity import Task
from experiments.sweep.row import METRICS, Row, metrics_of, row_of
from experiments.sweep.store import opened
from experiments.sweep.workers import alone
from patterns.brief import brief
from patterns.counting.needed import needed_demand
from patterns.errors import BrokenInvariant
from patterns.report import Execution, Report
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.sweep.sweeps import run_in, written

SOFTMAX = Point("softmax", "h100_sxm", "pattern", settings=(("graph.rows", "64"),))


@pytest.fixture(scope="module")
def execution() -> Execution:
    """Softmax as three kernels."""
    return run_point(Point("softmax", "h100_sxm", "pattern")).execution


@pytest.mark.parametrize(("machine", "mode"), [("h100_sxm", "pattern"), ("h100_sxm", "library"), ("sn40l", "fused")])
def test_a_row_has_the_numbers_of_the_whole_report(machine: str, mode: str) -> None:
    point = Point("softmax", machine, mode)
    report = run_point(point).report
    row = row_of(point, ())
    assert (row.status, row.mode, row.bound) == ("ok", mode, report.bound)
    assert row.metrics == metrics_of(report)
    whole = row_of(point, ("overlap", "waterfall"))
    assert whole.metrics == row.metrics
    parts = dict(whole.more)
    for extra in ("overlap", "waterfall"):
        total = sum(seconds for name, seconds in parts.items() if name.startswith(extra))
        assert total == pytest.approx(report.time_s)


def test_stages_of_a_tile_that_fit_and_the_rest_with_what_would_do(tmp_path: Path) -> None:
    text = """
    fixed: {workload: gemm, machine: h100_sxm, schedule: multistage, option.tile_m: 128, option.tile_n: 256}
    grid: {option.stages: {range: [1, 8]}}
    """
    with opened(None) as store:
        summary = run_in(store, written(tmp_path, text))
        records = records_of(store, store.sweep("cheap"))
    assert dict(summary.statuses) == {"ok": 4, "infeasible": 4}
    assert [record["option.stages"] for record in records] == list(range(1, 9))
    assert [record["status"] for record in records] == ["ok"] * 4 + ["infeasible"] * 4
    # A stage is 128 x 64 and 64 x 256 elements of 2 bytes: 48 KiB, and a barrier of 16 bytes; an SM has 227 KiB.
    assert [record["needed"] for record in records[4:]] == [stages * (48 * 1024 + 16) for stages in range(5, 9)]
    assert {record["available"] for record in records[4:]} == {227 * 1024}
    assert {record["resource"] for record in records[4:]} == {"bytes of shared memory"}
    assert {record["nearest"] for record in records[4:]} == {"4 stages would do"}
    assert all(records[4][name] is None for name in METRICS)


def test_a_model_that_is_too_large_says_what_would_hold_it() -> None:
    row = row_of(Point("llama-3.1-70b", "h100_sxm", batch=1, context=4096), ())
    assert (row.status, row.resource, row.available) == ("infeasible", "bytes of memory", 80 * 10**9)
    # 70.55 billion parameters of 2 bytes and a cache of 80 layers x 2 x 8 heads x 128 x 2 bytes x 4,096 tokens.
    assert row.nearest == (
        "141.1 GB of weights and 1.3 GB of cache, inputs and outputs, 80.0 GB there are; 2 members would do"
    )
    row = row_of(Point("llama-3.1-8b", "h100_sxm", batch=64, context=8192), ())
    # 80 GB less 16.06 GB of weights hold 59 caches of 8,192 tokens of 131,072 bytes each.
    assert row.nearest.endswith("; 2 members or a batch of at most 59 would do")
    row = row_of(Point("llama-3.1-8b", "sn40l", batch=2048, context=8192), ())
    # Both caches of 1,536 sequences, 2 x 512 MiB each, are the 1.5 TiB of DDR; HBM has the weights, and no whole cache.
    assert row.nearest.endswith("2 members or a batch of at most 1,536 would do")


def test_a_machine_that_both_families_have_is_named_with_its_family() -> None:
    rows = [row_of(Point("softmax", machine), ()) for machine in ("gpu.unit", "rdu.unit", "unit", "gpu.sn40l")]
    assert [(row.status, row.mode) for row in rows[:2]] == [("ok", "library"), ("ok", "looped")]
    assert rows[0].metrics == metrics_of(lowered("gpu.unit"))
    assert rows[2].message == "'unit' is a machine of both families: say gpu.unit or rdu.unit"
    assert rows[3].message.startswith("unknown machine 'gpu.sn40l' (did you mean 'sn40l'?)")


def test_what_is_no_machine_or_no_file_is_a_failed_row() -> None:
    row = row_of(replace(SOFTMAX, mode="looped"), ())
    assert (row.status, row.metrics) == ("failed", (None,) * len(METRICS))
    assert row.message.startswith("unknown GPU policy 'looped'")
    assert row_of(replace(SOFTMAX, workload="/nowhere/graph.yaml"), ()) == Row(
        "failed", message="there is no file '/nowhere/graph.yaml'"
    )


def test_a_bug_is_told_in_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("lane")

    monkeypatch.setattr("experiments.sweep.engine.lower", broken)
    row = row_of(SOFTMAX, ())
    assert row.status == "failed"
    assert row.message.startswith("bug: KeyError: 'lane' (test_rows.py:")


def test_an_impossible_run_is_a_failed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice_as_fast(plan: Any, **_: Any) -> Execution:
        done = run_plan(plan, spans=False)
        return replace(done, calls=tuple(replace(call, duration_ps=call.duration_ps // 1000) for call in done.calls))

    monkeypatch.setattr("experiments.sweep.engine.run_plan", twice_as_fast)
    row = row_of(SOFTMAX, ())
    assert row.status == "failed"
    assert "BrokenInvariant: h100_sxm: call softmax.e exceeds the peak rate of" in row.message


def lowered(machine: str) -> Report:
    """Softmax as the verbs of a script run it."""
    return summarize(run_plan(lower("softmax", machine)))


def made_worse(execution: Execution, what: str) -> Execution:
    """A run of which one number cannot be."""
    first, *others = execution.calls
    timeline = first.timeline
    unit, cycles = timeline.busy[0]
    if what == "busy":
        first = replace(first, timeline=replace(timeline, busy=((unit, 10**12), *timeline.busy[1:])))
    elif what == "idle":
        first = replace(first, timeline=replace(timeline, busy=((unit, -cycles - 1), *timeline.busy[1:])))
    elif what == "negative":
        first = replace(first, duration_ps=-1)
    elif what == "parts":
        first = replace(first, duration_ps=first.duration_ps + 1)
    else:
        return replace(execution, schedule=replace(execution.schedule, total_cycles=1))
    return replace(execution, calls=(first, *others))


@pytest.mark.parametrize("what", ["busy", "idle", "negative", "parts", "fast"])
def test_every_invariant_is_checked_of_a_brief_too(execution: Execution, what: str) -> None:
    assert brief(execution).time_ps == summarize(execution).time_ps
    with pytest.raises(BrokenInvariant, match="h100_sxm: "):
        brief(made_worse(execution, what))


def test_reasons_are_told_once_below_the_table(tmp_path: Path) -> None:
    text = """
    fixed: {workload: softmax, machine: h100_sxm, mode: pattern}
    grid: {rows: [16, 0], columns: [64, 128]}
    """
    with opened(None) as store:
        run_in(store, written(tmp_path, text))
        sweep = store.sweep("cheap")
        told = shown_reasons(sweep, records_of(store, sweep))
    assert told == "rows 0, columns 64 and 1 row more: rows:1:1: an extent is greater than 0, found 0"


@pytest.mark.parametrize("machine", ["a100_sxm", "b200", "h100_sxm", "v100", "sn10", "sn30", "sn40l", "sn50"])
def test_a_small_product_is_never_below_its_floor(machine: str) -> None:
    # The shape for which a public simulator told negative latencies: 2 x 12,544 x 32 x 27 operations.
    point = Point("gemm", machine, settings=(("graph.m", "12544"), ("graph.n", "32"), ("graph.k", "27")))
    row = row_of(point, ("overlap", "waterfall"))
    numbers = dict(zip(METRICS, row.metrics, strict=True))
    flops = needed_demand(graph_of(point, "")).matrix_flops
    assert (row.status, flops) == ("ok", 21_676_032)
    assert all(seconds >= 0 for _, seconds in row.more)
    assert numbers["time_us"] is not None
    assert numbers["bound_us"] is not None
    assert numbers["time_us"] >= numbers["bound_us"] >= flops / 1e15 * 1e6


def singly(chunks: Iterable[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
    """Chunks of one task each."""
    return ((task,) for chunk in chunks for task in chunk)


@pytest.mark.parametrize("sizes", [[], [4], [1, 2, 4, 8, 16]])
@pytest.mark.parametrize("ends", [list, lambda done: reversed(list(done))])
def test_n_points_give_n_rows_in_their_order(
    sizes: list[int], ends: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What several workers have done comes back in another order.
    monkeypatch.setattr("experiments.sweep.workers.alone", lambda chunks, extras: ends(alone(singly(chunks), extras)))
    text = f"fixed: {{workload: gemm, machine: h100_sxm}}\nlist: [{', '.join(f'{{m: {m}}}' for m in sizes)}]\n"
    text += "" if sizes else "where: 0 > 1\n"
    with opened(None) as store:
        run_in(store, written(tmp_path, text))
        assert [record.get("m") for record in records_of(store, store.sweep("cheap"))] == sizes
