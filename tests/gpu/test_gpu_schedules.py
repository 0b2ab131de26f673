"""Schedules of matrix products: who has which tile when, what hand-overs cost, and predictions near the simulation."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from random import Random
from statistics import median

import pytest

from gpu_model import load_machine, lower
from gpu_model.lecture.gemm import lecture_run
from gpu_model.loader import loader_named
from gpu_model.schedule import schedule_named, tried
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import real_spans

H100 = load_machine("h100_sxm")
LECTURE = load_machine("lecture_sm")
PRODUCTS = ("synchronous", "register_double_buffer", "multistage", "warp_specialized", "cooperative", "pingpong")


def small_work(tiles: int = 4, steps: int = 3, row_blocks: int = 2) -> Work:
    """Steps of 40 cycles that load in 10, an end of 6 + 8."""
    wave = Wave(tiles, Use("load", 10, "load"), Use("store", 8, "store"))
    mma, convert = Use("tc", 40, "mma", (("matrix_flops", 101),)), Use("vector", 6, "convert")
    return Work("w", (wave,), steps, 1024, (mma,), (convert,), 5, accumulators=256, row_blocks=row_blocks)


def total(schedule: str, work: Work, choice: Choice, **costs: int) -> int:
    program = schedule_named(schedule).program(work, choice, replace(LECTURE, **costs))
    return simulate(program, spans=False).total_cycles


def tensor_core_runs(run_id: str) -> list[tuple[str, int]]:
    """Who uses the tensor core in the order of time, with how many spans in a row."""
    timeline = lecture_run(run_id).timeline
    spans = (span for span in real_spans(timeline, 0, timeline.total_cycles) if span.unit == "tc")
    in_order = sorted(spans, key=lambda span: span.start)
    return [(role, len(list(row))) for role, row in groupby(in_order, key=lambda span: span.role)]


@pytest.mark.parametrize(("k", "steps"), [(256, 4), (512, 8), (1024, 16)])
def test_main_loops_of_ping_pong_are_turns_and_never_mixed(k: int, steps: int) -> None:
    in_turn = [("consumer0", steps), ("consumer1", steps)] * 4
    assert tensor_core_runs(f"persistent_8_tiles_k{k}_pingpong") == in_turn


def test_epilogues_of_ping_pong_run_beside_the_others_main_loop() -> None:
    timeline = lecture_run("persistent_8_tiles_k1024_epilogue_x8_pingpong").timeline
    spans = list(real_spans(timeline, 0, timeline.total_cycles))
    stores = sorted((span.start, span.end, span.role) for span in spans if span.unit == "store")
    assert [role for _, _, role in stores] == ["consumer0", "consumer1"] * 4
    for start, end, role in stores[:-1]:
        beside = {span.role for span in spans if span.unit == "tc" and span.start < end and span.end > start}
        assert beside == {"consumer0", "consumer1"} - {role}


@pytest.mark.parametrize("tiles", range(1, 6))
def test_ping_pong_takes_any_number_of_tiles(tiles: int) -> None:
    # The first load 10 + 10 + 5, steps of 40 without a gap, the last tile's end.
    assert total("pingpong", small_work(tiles), Choice(4)) == 25 + 40 * 3 * tiles + 14


def test_tiles_of_the_last_wave_go_to_whose_turn_it_is() -> None:
    work = small_work(3)
    dear = replace(work, waves=(work.waves[0], Wave(1, Use("load", 10, "load"), Use("store", 500, "store"))))
    program = schedule_named("pingpong").program(dear, Choice(4), LECTURE)
    stores = [span for span in simulate(program).spans if span.unit == "store"]
    assert [(span.role, span.end - span.start) for span in stores if span.end - span.start == 500] == [
        ("consumer1", 500)
    ]


def test_consumers_of_a_tile_share_its_rows_and_its_counts() -> None:
    # 2 blocks of rows for 2 consumers: 20 cycles each; for 3: one has none. 5 blocks for 2: 16 and 24 cycles.
    for blocks, consumers, cycles in ((2, 2, [20, 20]), (2, 3, [20, 20]), (3, 3, [14] * 3), (5, 2, [16, 24])):
        work = small_work(1, 1, blocks)
        program = schedule_named("cooperative").program(work, Choice(2, "tma", consumers), LECTURE)
        timeline = simulate(program)
        spans = [span for span in timeline.spans if span.unit == "tc"]
        assert sorted(span.end - span.start for span in spans) == sorted(cycles)
        assert dict(timeline.counters)["matrix_flops"] == 101


def test_cooperative_consumers_enter_and_leave_the_epilogue_together() -> None:
    run = lecture_run("cooperative_8_tiles_k256")
    spans = list(real_spans(run.timeline, 0, run.timeline.total_cycles))
    products = sorted((span.start, span.end) for span in spans if span.unit == "tc")
    ends = sorted((span.start, span.end) for span in spans if span.unit in ("vector", "store"))
    for tile in range(8):
        mine, end = products[8 * tile : 8 * tile + 8], ends[4 * tile : 4 * tile + 4]
        assert max(e for _, e in mine) <= min(s for s, _ in end)
        if tile:
            assert min(s for s, _ in mine) >= max(e for _, e in ends[4 * tile - 4 : 4 * tile])


@pytest.mark.parametrize("warpgroups", [1, 2, 3])
@pytest.mark.parametrize("loader", ["tma", "cp_async"])
@pytest.mark.parametrize("slots", [1, 2, 5])
def test_warp_specialised_with_any_slots_loader_and_warpgroups(slots: int, loader: str, warpgroups: int) -> None:
    options: dict[str, int | str] = {"slots": slots, "loader": loader, "warpgroups": warpgroups}
    call = lower(workload("gemm"), LECTURE, schedule="warp_specialized", options=options).calls[0]
    issue = {"tma": 10, "cp_async": 100}[loader]
    fill = issue + 768 + 700
    # One slot: nothing overlaps; two: a load's round trip for two steps; five hide it.
    expected = {1: 64 * (fill + 1024), 2: 32 * (fill + 1024) + 1024, 5: fill + 64 * 1024}[slots] + 1280
    assert simulate(call.program).total_cycles == expected
    assert call.program.channels[0].slots == slots


def test_hand_overs_cost_where_roles_meet() -> None:
    work = small_work(1, 3)
    assert total("warp_specialized", work, Choice(4)) == 25 + 3 * 40 + 14
    # The first load: 3 more to see that a slot is free; each step: 3 to see that it is full, 2 to issue, 4 to wait.
    costs = {"barrier_cycles": 3, "mma_issue_cycles": 2, "mma_wait_cycles": 4}
    assert total("warp_specialized", work, Choice(4), **costs) == 28 + 3 * (3 + 2 + 40 + 4) + 14
    # Two consumers hide them behind each other's products, but for the first issue and the last wait.
    hidden = 28 + 3 + 2 + 3 * 40 + 4 + 2 * 3 + 3 + 8
    assert total("cooperative", work, Choice(4, "tma", 2), **costs) == hidden


def test_a_consumer_of_ping_pong_must_hold_a_whole_tile() -> None:
    options = {"tile_m": 128, "tile_n": 256}
    with pytest.raises(DoesNotFit, match="needs 288 registers per thread, there is 240"):
        lower(workload("gemm"), H100, schedule="pingpong", options=options)
    call = lower(workload("gemm"), H100, schedule="pingpong", options={"tile_m": 64, "tile_n": 256}).calls[0]
    assert [role.name for role in call.program.roles] == ["producer", "consumer0"]
    assert lower(workload("gemm"), LECTURE, schedule="pingpong", options=options).warnings


def test_loads_through_registers_work_without_cp_async() -> None:
    v100 = load_machine("v100")
    assert set(tried("auto", "mm", v100)) == {"synchronous", "register_double_buffer"}
    assert lower(workload("gemm"), v100, schedule="synchronous").calls[0].schedule == "synchronous (1 slot, registers)"
    call = lower(workload("gemm"), v100).calls[0]
    assert call.schedule == "register_double_buffer (2 slots, registers)"
    assert loader_named("registers").THROUGH == ("l1", "registers", "smem")
    with pytest.raises(UserError, match=r"schedule multistage needs .* v100 .*; .* works there"):
        lower(workload("gemm"), v100, schedule="multistage")


def test_staging_takes_registers_beside_the_accumulators() -> None:
    # 48 KiB over 128 threads: 96 registers each, as the lecture counts; 32,768 accumulators over 256 threads and 32.
    work = replace(small_work(), slot_bytes=49_152, accumulators=16_384)
    through = schedule_named("register_double_buffer").demand(work, Choice(2, "registers", 1), LECTURE)
    past = schedule_named("multistage").demand(work, Choice(2, "cp_async", 1), LECTURE)
    assert through.roles[0].registers - past.roles[0].registers == 96


def some_work(random: Random) -> Work:
    load, mma, convert, end, latency = (int(10 ** random.uniform(0, 3.3)) for _ in range(5))
    path = random.choice(["store", "load"])
    waves = [Wave(random.randint(1, 40), Use("load", load, "load"), Use(path, end, "store"))]
    if random.random() < 0.5:
        waves.append(Wave(1, Use("load", load // 2 + 1, "load"), Use(path, end // 2 + 1, "store")))
    steps, blocks = random.choice([1, 2, 4, 8, 40]), random.choice([1, 2, 4, 8])
    step, finish = (Use("tc", mma, "mma"),), (Use("vector", convert, "convert"),)
    return Work("w", tuple(waves), steps, 1024, step, finish, latency, row_blocks=blocks)


@pytest.mark.parametrize("costs", [{}, {"barrier_cycles": 30, "mma_issue_cycles": 20, "mma_wait_cycles": 60}])
@pytest.mark.parametrize("schedule", PRODUCTS)
def test_predictions_are_near_the_simulation(schedule: str, costs: dict[str, int]) -> None:
    """Half within one per cent, nine of ten within six, whatever the shape."""
    random, how, machine = Random(11), schedule_named(schedule), replace(H100, **costs)
    errors = []
    for _ in range(150):
        work, slots = some_work(random), random.randint(1, 8)
        choice = Choice((how.slot_counts(slots) or (1,))[-1], how.LOADERS[0], how.WARPGROUPS[0])
        simulated = simulate(how.program(work, choice, machine), spans=False).total_cycles
        errors.append(abs(how.predict(work, choice, machine) / simulated - 1))
    assert median(errors) < 0.01
    assert sorted(errors)[len(errors) * 9 // 10] < 0.06


@pytest.mark.parametrize("schedule", PRODUCTS)
def test_predictions_are_exact_where_nothing_competes(schedule: str) -> None:
    how = schedule_named(schedule)
    for tiles, steps in ((1, 1), (1, 9), (4, 3), (5, 8)):
        work = small_work(tiles, steps)
        choice = Choice(how.slot_counts(4)[-1], how.LOADERS[0], how.WARPGROUPS[0])
        simulated = simulate(how.program(work, choice, H100), spans=False).total_cycles
        assert how.predict(work, choice, H100) == simulated
