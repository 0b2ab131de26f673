"""Blackwell's SM: products issued by one thread into tensor memory, pairs of CTAs, and what measured loops say of both.

Cycles and times of a B200 are SemiAnalysisAI/microbench-blackwell's: tcgen05.mma alone, and CUTLASS main loops of one
CTA at 1.965 GHz by the number of stages.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from gpu_model.occupancy.tmem import allocated_columns, results_held
from gpu_model.price import mma
from gpu_model.schedule import schedule_named
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from tests.gpu.random_work import prediction_errors

B200 = load_machine("b200")
TCGEN05 = schedule_named("tcgen05")
BF16_BYTES = 2


def work_of(rows: int, columns: int, tiles: int = 1, steps: int = 64, store: int = 500) -> Work:
    """Tiles of `rows` x `columns` with k-steps of 64, loads at the rate of one SM."""
    slot_bytes = (rows + columns) * 64 * BF16_BYTES
    load = Use("load", -(-slot_bytes // B200.load_bytes_per_cycle), "load")
    return Work(
        name=f"{rows}x{columns}",
        waves=(Wave(tiles, load, Use("store", store, "store")),),
        steps=steps,
        slot_bytes=slot_bytes,
        step=(Use("tc", mma(B200, rows, columns, 64, "bf16").cycles, "mma"),),
        finish=(Use("vector", rows * columns // 128, "convert"),),
        latency_cycles=B200.load_latency_cycles,
        accumulators=rows * columns,
    )


def cycles_of(work: Work, slots: int) -> int:
    return simulate(TCGEN05.program(work, Choice(slots), B200)).total_cycles


@pytest.mark.parametrize(("rows", "columns", "measured"), [(128, 64, 48.6), (128, 128, 64.6), (128, 256, 128.6)])
def test_products_follow_each_other_as_measured(rows: int, columns: int, measured: float) -> None:
    # At N = 64 the operands come out of shared memory more slowly than they are multiplied: 32 + N / 4 cycles.
    assert mma(B200, rows, columns, 16, "bf16").cycles == pytest.approx(measured, abs=1)


@pytest.mark.parametrize(("columns", "measured"), [(64, 168), (128, 200), (256, 264)])
def test_one_product_alone_is_seen_after_its_commit(columns: int, measured: int) -> None:
    alone = mma(B200, 128, columns, 16, "bf16").cycles + B200.mma_wait_cycles
    assert alone == pytest.approx(measured, rel=0.1)


@pytest.mark.parametrize(
    ("columns", "held", "allocated"), [(16, 2, 64), (128, 2, 256), (256, 2, 512), (512, 1, 512), (1024, 1, 1024)]
)
def test_tensor_memory_holds_two_tiles_where_they_fit(columns: int, held: int, allocated: int) -> None:
    work = work_of(128, columns)
    assert (results_held(work, B200), allocated_columns(work, B200)) == (held, allocated)


def test_columns_are_allocated_in_powers_of_two() -> None:
    assert allocated_columns(work_of(128, 96), B200) == 2 * 128
    assert allocated_columns(work_of(128, 160), B200) == 2 * 256


def test_a_tile_beyond_tensor_memory_is_refused() -> None:
    with pytest.raises(DoesNotFit, match=r"needs 1,024 columns of tensor memory, there is 512"):
        lower(
            workload("gemm", overrides={"m": "512", "n": "256"}),
            B200,
            schedule="tcgen05",
            options={"tile_m": 512, "tile_n": 256, "slots": 1},
        )


def test_the_end_of_a_tile_runs_beside_the_next_tiles_products() -> None:
    # 8 tiles of 16 steps: two halves of tensor memory hide all ends but the last; one half hides none.
    hidden, shown = work_of(128, 256, tiles=8, steps=16), work_of(256, 256, tiles=8, steps=16)
    both = cycles_of(hidden, 4)
    assert (
        both
        < 8 * 16 * hidden.waves[0].load.cycles + B200.load_latency_cycles + hidden.end_cycles(hidden.waves[0]) + 3000
    )
    whole = replace(B200, tmem_columns=1024)
    one, two = (simulate(TCGEN05.program(shown, Choice(3), machine)).total_cycles for machine in (B200, whole))
    assert one - two >= 7 * (shown.finish_cycles - 200)


def test_sums_are_held_until_they_are_read_not_until_they_are_stored() -> None:
    # One tile fills tensor memory. Loads are quick: products, their commit and reading follow each other, and only the
    # last of four stores shows.
    work = work_of(256, 256, tiles=4, steps=16, store=3000)
    quick = replace(work.waves[0], load=Use("load", 100, "load"))
    first = B200.tma_issue_cycles + 100 + work.latency_cycles
    tile = 16 * work.step_cycles + B200.mma_wait_cycles + work.finish_cycles
    around = B200.kernel_ramp_cycles + B200.kernel_drain_cycles
    assert cycles_of(replace(work, waves=(quick,)), 16) == around + first + 4 * tile + 3000


def test_no_accumulator_is_in_a_register() -> None:
    small, large = (TCGEN05.demand(work_of(128, n), Choice(2), B200) for n in (16, 256))
    assert [role.registers for role in small.roles] == [role.registers for role in large.roles]
    assert max(role.registers for role in large.roles) < 128


# ns for each k-tile of 64, by stages, one CTA at 1.965 GHz; two stages give the latency of a load.
SWEEP = {
    (64, 64): {2: 319.2, 3: 212.2, 4: 161.0, 5: 129.7, 6: 109.6, 7: 104.3, 8: 104.2},
    (128, 64): {2: 372.1, 3: 248.1, 4: 188.2, 5: 155.2, 6: 154.8, 8: 155.4},
    (128, 128): {2: 568.5, 3: 383.8, 4: 292.9, 5: 240.0, 6: 209.6, 7: 206.3},
    (128, 256): {2: 750.7, 3: 507.0, 4: 401.0},
}
SWEEP_HZ = 1.965e9
SWEEP_STEPS = 2048


def sweep_ns(tile: tuple[int, int], stages: int, latency_cycles: int) -> float:
    work = replace(work_of(*tile, steps=SWEEP_STEPS), latency_cycles=latency_cycles)
    machine = replace(B200, kernel_ramp_cycles=0, kernel_drain_cycles=0)
    total = simulate(TCGEN05.program(work, Choice(stages), machine)).total_cycles
    return total / SWEEP_STEPS / SWEEP_HZ * 1e9


@pytest.mark.parametrize("tile", SWEEP)
def test_main_loop_by_stages(tile: tuple[int, int]) -> None:
    """Stages times time is constant until the rate at which one SM takes loads in: each point within 7 %, mean 2 %."""
    measured = SWEEP[tile]
    work = work_of(*tile)
    around = work.waves[0].load.cycles + work.step_cycles + B200.mma_wait_cycles + B200.tma_issue_cycles
    latency = round(2 * measured[2] * 1e-9 * SWEEP_HZ) - around
    errors = [sweep_ns(tile, stages, latency) / ns - 1 for stages, ns in measured.items()]
    assert max(map(abs, errors)) < 0.07
    assert sum(map(abs, errors)) / len(errors) < 0.03


def test_main_loop_of_deep_rings_without_a_latency_of_its_own() -> None:
    # At the most stages only the rate counts, whatever the latency: the machine file's own gives it.
    for tile, stages in (((64, 64), 8), ((128, 64), 8), ((128, 128), 7)):
        assert sweep_ns(tile, stages, B200.load_latency_cycles) == pytest.approx(SWEEP[tile][stages], rel=0.06)


def test_predictions_are_near_the_simulation() -> None:
    errors = prediction_errors(TCGEN05, B200, 200)
    assert errors[len(errors) // 2] < 0.01
    assert errors[len(errors) * 9 // 10] < 0.05


def test_auto_takes_it_on_a_b200_only() -> None:
    graph = workload("gemm", overrides={"m": "8192", "n": "8192", "k": "8192"})
    assert lower(graph, B200).calls[0].schedule.startswith("tcgen05")
    assert not lower(graph, load_machine("h100_sxm")).calls[0].schedule.startswith("tcgen05")
    with pytest.raises(UserError, match="tcgen05 needs tcgen05, tmem, which h100_sxm lacks; cooperative works there"):
        lower(graph, load_machine("h100_sxm"), schedule="tcgen05")
