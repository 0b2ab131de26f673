"""Matrix products on whole GPUs: aims ranked by bounds, K shared out, clocks under load, times near measured ones."""

from __future__ import annotations

import re
from time import process_time

import numpy as np
import pytest

from gpu_model import load_machine, lower
from gpu_model.choice.rank import MOST_PRICED
from gpu_model.kernel_machine import STEP_HZ, least_clock_hz, loaded_clock_hz
from gpu_model.machine import Machine
from gpu_model.products import combine as combining
from patterns.errors import DoesNotFit, UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.memos import forget

H100 = load_machine("h100_sxm")


def gemm(m: int, n: int, k: int) -> Graph:
    return workload("gemm", overrides={"m": str(m), "n": str(n), "k": str(k)})


def plan_of(m: int, n: int, k: int, machine: Machine = H100, **options: int | str) -> Plan:
    return lower(gemm(m, n, k), machine, launch="graph", options=options)


def us(plan: Plan) -> float:
    runs = run_plan(plan, spans=False).calls
    return sum(run.duration_ps + plan.launch.device_ps for run in runs) / 10**6


# Microseconds of cuBLAS's bf16 products in a replayed graph, published beside the database (ai-dynamo/aiconfigurator).
@pytest.mark.parametrize(
    ("machine", "extent", "measured"),
    [
        ("h100_sxm", 8192, 1405),
        ("h100_sxm", 4096, 174),
        ("h200", 8192, 1364),
        ("h200", 4096, 175),
    ],
)
def test_square_products_take_what_was_measured(machine: str, extent: int, measured: float) -> None:
    assert us(plan_of(extent, extent, extent, load_machine(machine))) == pytest.approx(measured, rel=0.12)


def test_few_aims_are_priced_and_none_of_the_others_is_much_better(monkeypatch: pytest.MonkeyPatch) -> None:
    shapes = [(1, 4096, 4096), (64, 256, 65536), (300, 3000, 1000), (1793, 512, 7168), (4096, 4096, 4096)]
    ranked = [us(plan_of(*shape)) for shape in shapes]
    seen: list[int] = []
    rank = combining.best_aims

    def counted(*arguments: object) -> object:
        aims = rank(*arguments)  # type: ignore[arg-type]
        seen.append(len(aims))
        return aims

    forget()
    monkeypatch.setattr(combining, "best_aims", counted)
    plan_of(*shapes[0])
    assert 1 <= seen[0] <= MOST_PRICED <= 10
    forget()
    monkeypatch.setattr("gpu_model.choice.rank.MOST_PRICED", 10**6)
    assert all(few <= 1.05 * us(plan_of(*shape)) for few, shape in zip(ranked, shapes, strict=True))
    forget()


@pytest.mark.parametrize("splits", [None, 2, 3, 7])
def test_a_shared_out_k_is_added_up(splits: int | None) -> None:
    graph = gemm(33, 70, 4500)
    plan = lower(graph, H100, options={} if splits is None else {"splits": splits})
    if splits:
        assert plan.calls[0].tiling.splits == (("k", splits),)
        assert [call.combines for call in plan.calls] == ["", plan.calls[0].name]
    arrays = random_arrays(graph, 5, 1)
    for name, array in evaluate(graph, arrays, 1).items():
        np.testing.assert_allclose(execute(plan, arrays)[name], array, rtol=1e-9, atol=1e-9)


def test_k_is_shared_out_where_tiles_leave_sms_idle() -> None:
    few, many = plan_of(64, 64, 16384), plan_of(8192, 8192, 16384)
    assert few.calls[0].tiling.splits
    assert not many.calls[0].tiling.splits
    assert us(few) < 0.5 * us(plan_of(64, 64, 16384, splits=1))
    # Parts are written and read again, in fp32; the result is bf16.
    parts = dict(few.calls[0].tiling.splits)["k"]
    assert dict(few.calls[1].traffic)["l2"] == 64 * 64 * (4 * parts + 2)
    assert dict(few.calls[0].traffic)["l2"] >= 64 * 64 * 4 * parts


def test_the_clock_falls_with_the_load_of_the_tensor_cores() -> None:
    skinny, square = (plan_of(*shape).calls[0].clock_hz for shape in ((1, 8192, 8192), (8192, 8192, 8192)))
    assert least_clock_hz(H100) <= square < 0.9 * skinny < skinny <= H100.boost_clock_hz
    assert square % STEP_HZ == 0
    assert loaded_clock_hz(H100, 0, 4096, 100) == H100.clock_hz
    full = loaded_clock_hz(H100, 4096 * 132 * 100, 4096, 100)
    assert abs(full - least_clock_hz(H100)) <= STEP_HZ / 2
    fixed = load_machine("h100_sxm", {"boost_clock_hz": "0 Hz"})
    assert plan_of(8192, 8192, 8192, fixed).calls[0].clock_hz == fixed.clock_hz


@pytest.mark.parametrize(
    "shape", [(8192, 8192, 8192), (4096, 4096, 64), (1, 1, 100_000), (64, 256, 65536), (257, 9, 1)]
)
def test_nothing_exceeds_a_peak_and_the_waterfall_adds_up(shape: tuple[int, int, int]) -> None:
    report = summarize(run_plan(plan_of(*shape)))
    assert all(amount >= 0 for _, amount in report.waterfall_ps)
    assert report.time_ps >= report.bound_ps


def test_a_start_of_products_comes_before_their_first_load_only() -> None:
    late = load_machine("h100_sxm", {"product_ramp_cycles": "19000 cycles"})
    assert us(plan_of(16, 64, 64, late)) - us(plan_of(16, 64, 64)) == pytest.approx(17_100 / 1980, rel=0.03)
    softmax = workload("softmax")
    assert us(lower(softmax, late)) == us(lower(softmax, H100))


def test_extents_that_no_tile_divides() -> None:
    graph = gemm(130, 37, 1)
    plan, arrays = lower(graph, H100), random_arrays(graph, 7, 1)
    for name, array in evaluate(graph, arrays, 1).items():
        np.testing.assert_allclose(execute(plan, arrays)[name], array, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_is_told_with_what_could() -> None:
    with pytest.raises(DoesNotFit, match=r"a slot has 49,152 bytes and at most 4 fit"):
        plan_of(4096, 4096, 4096, tile_m=128, tile_n=256, stages=5)
    with pytest.raises(DoesNotFit, match=r"registers per thread.*use a smaller one|smaller tiles"):
        plan_of(4096, 4096, 4096, tile_m=1024, tile_n=1024)
    with pytest.raises(UserError, match=r"option warpgroups must be a whole number greater than 0, is 0"):
        plan_of(64, 64, 64, warpgroups=0)


def test_of_candidates_that_all_do_not_fit_each_limit_says_how_many_it_refused() -> None:
    # Without a producer 512 x 256 accumulators, and 32 registers beside them, are for 128 threads; with one they move
    # no further than the 255 of a thread, less what the producer keeps.
    with pytest.raises(DoesNotFit) as found:
        plan_of(4096, 4096, 4096, tile_m=256, tile_n=512, warpgroups=1)
    what, _, told = str(found.value).partition("; none of ")
    assert "needs 1056 registers" in what.replace(",", "")
    count, _, parts = told.partition(" candidates fits: ")
    refused = re.findall(r"([\d,]+) for ([a-z ]+) \(at least ([\d,]+) of ([\d,]+)\)", parts)
    assert sum(int(number) for number, *_ in refused) == int(count) > 1
    assert all(int(least.replace(",", "")) > int(most.replace(",", "")) for *_, least, most in refused)


def test_one_prediction_with_its_search_is_fast() -> None:
    plan_of(1000, 2000, 3000)
    best = 1.0
    for extent in range(1500, 1510):
        start = process_time()
        plan_of(extent, 4096, 4096)
        best = min(best, process_time() - start)
    assert best < 0.03
