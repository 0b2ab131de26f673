"""Attention on Blackwell: halves take turns at the tensor core by themselves, exponentials are evened out."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from gpu_model.rates import rates
from gpu_model.schedule import schedule_named
from gpu_model.schedules.attention_tmem import POLYNOMIAL_OPS, RESCALED_SHARE
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import UserError
from patterns.library import workload
from patterns.pipeline.listing import listing
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import real_spans
from tests.test_laws import check_run

B200 = load_machine("b200")
ATTENTION = schedule_named("attention_tmem")
BOTH = Choice(2, warpgroups=2)
# One block of 256 queries x 128 keys, head dim 128: 1024 cycles for each product, 2048 of exponentials.
PRODUCT, EXPONENTIALS, OTHERS = 1024, 2048, 768


def work_of(tiles: int = 1, steps: int = 32, load: int = 0) -> Work:
    held = Use("load", 500, "queries") if load else None
    wave = Wave(tiles, Use("load", load, "load"), Use("store", 300, "store"), held=held)
    return Work(
        name="attention",
        waves=(wave,),
        steps=steps,
        slot_bytes=65_536,
        step=(
            Use("tc", PRODUCT, "scores"),
            Use("special", EXPONENTIALS, "exp"),
            Use("vector", OTHERS, "others"),
            Use("tc", PRODUCT, "values"),
        ),
        finish=(Use("vector", 512, "finish"),),
        latency_cycles=880,
        held_bytes=65_536,
        accumulators=256 * 128 * 2,
        operand_registers=256 * 128 // 2,
        row_blocks=2,
    )


def test_exponentials_are_evened_out_between_special_and_vector_units() -> None:
    # Rescaling (half of 512, most of it left out) is the correction's. Of 2048 and 768 - 256 cycles, an exponential
    # moved costs the vector units as long as it saves the special ones: 16 a cycle against 128 / 8.
    assert POLYNOMIAL_OPS == 128 // 16
    timeline = simulate(ATTENTION.program(work_of(steps=10), BOTH, B200))
    even = (EXPONENTIALS + OTHERS - 256) // 2
    rescaling = 256 * RESCALED_SHARE
    assert timeline.busy_cycles["special"] == pytest.approx(10 * even, abs=20)
    assert timeline.busy_cycles["vector"] == pytest.approx(10 * even + 9 * rescaling + 512, abs=40)
    assert timeline.busy_cycles["tc"] == 20 * PRODUCT


def test_one_halfs_softmax_runs_beside_the_others_products() -> None:
    steps = 64
    timeline = simulate(ATTENTION.program(work_of(steps=steps), BOTH, B200))
    # One after another a half takes 1280 of softmax, 1024 of products and both commits in each step.
    alone = steps * (1280 + PRODUCT + 2 * B200.mma_wait_cycles)
    assert timeline.total_cycles < 1.15 * alone
    assert timeline.busy_cycles["tc"] > 0.75 * timeline.total_cycles


def test_sums_of_a_block_come_before_the_scores_of_the_next() -> None:
    """Scores of the next block take the place of the probabilities: those must have been used."""
    timeline = simulate(ATTENTION.program(work_of(steps=4), BOTH, B200))
    products = [span.label for span in real_spans(timeline, 0, timeline.total_cycles) if span.unit == "tc"]
    assert products == ["scores"] * 2 + ["values", "scores"] * 6 + ["values"] * 2


def test_a_tile_ends_beside_the_next_ones_products() -> None:
    one, two = (simulate(ATTENTION.program(work_of(tiles, 8), BOTH, B200)).total_cycles for tiles in (1, 2))
    ending = 512 + 300
    assert two - one < one - B200.kernel_ramp_cycles - B200.kernel_drain_cycles - ending / 2


def test_a_listing_is_as_it_was_read(golden: Callable[[str, str], None]) -> None:
    # On the lecture's SM with tensor memory, so that no fit of a machine moves the page.
    machine = replace(load_machine("lecture_sm"), tmem_columns=512, mma_wait_cycles=100, barrier_cycles=0)
    golden("gpu_listing_attention_tmem.txt", listing(ATTENTION.program(work_of(2, 6, load=800), BOTH, machine)))


def test_softmax_threads_hold_scores_only() -> None:
    demand = ATTENTION.demand(work_of(), BOTH, B200)
    assert demand.tmem_columns == 512
    assert demand.setmaxnreg
    # FlashAttention-4: twice the softmax's registers, the correction's and the others' share 512 a lane of the pool.
    assert sum(role.registers * role.threads for role in demand.roles) <= 512 * 128


def test_predictions_are_near_the_simulation() -> None:
    rng, errors = random.Random(1), []
    for _ in range(60):
        work = work_of(rng.choice([1, 2, 5]), rng.choice([1, 2, 16, 64]), rng.choice([0, 800, 3000]))
        machine = replace(B200, barrier_cycles=rng.choice([0, 20, 60]))
        choice = replace(BOTH, slots=rng.choice([2, 3]))
        simulated = simulate(ATTENTION.program(work, choice, machine)).total_cycles
        errors.append(abs(ATTENTION.predict(work, choice, machine) / simulated - 1))
    errors.sort()
    assert errors[len(errors) // 2] < 0.06
    assert errors[len(errors) * 9 // 10] < 0.2


def test_the_published_peak() -> None:
    """FlashAttention-4 reaches 1605 TFLOP/s of bf16 on a B200: within 8 %, from nothing that was fitted to it.

    At the datasheet's clock: that of the B200 whose products the fall under load was fitted to would not reach it.
    """
    extents = {"batch": "2", "seq": "8192", "context": "8192", "kv_heads": "16", "group": "1"}
    steady = load_machine("b200", {"boost_clock_hz": "0 Hz"})
    call = lower(workload("attention", phase="prefill", overrides=extents), steady).calls[0]
    assert call.schedule.startswith("attention_tmem")
    seconds = simulate(call.program).total_cycles / call.clock_hz
    assert dict(call.work)["matrix_flops"] / seconds == pytest.approx(1605e12, rel=0.08)


def test_other_generations_do_without() -> None:
    graph = workload("attention", phase="prefill", overrides={"context": "1024"})
    with pytest.raises(UserError, match="schedule attention_tmem needs tcgen05, tmem, which h100_sxm lacks"):
        lower(graph, load_machine("h100_sxm"), schedule="attention_tmem")


def test_no_kernel_exceeds_what_both_units_compute_of_exponentials() -> None:
    """Slow special units leave most exponentials to the vector units: the peak is of both, elsewhere of one."""
    graph = workload("attention", phase="prefill", context=1024)
    slow = load_machine("b200", {"special_ops_per_cycle": "1 ops/cycle", "bf16_flops_per_cycle": "100000 FLOP/cycle"})
    check_run(lower(graph, slow, schedule="attention_tmem"))
    of_both, of_one = (
        dict(rates(graph, load_machine(name, {"boost_clock_hz": "0 Hz", "sm_count": "1"})).peak)["special_ops"]
        for name in ("b200", "h100_sxm")
    )
    assert of_both == (16 + 128 / 8) * load_machine("b200").clock_hz
    assert of_one == 16 * load_machine("h100_sxm").clock_hz
