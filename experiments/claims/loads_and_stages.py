"""What a lecture on warp specialisation (CMU 15-779, lecture 6, as retold in public course notes) prints of loads.

Runs are simulated on machine `lecture_sm`, which has the lecture's round numbers.
"""

from __future__ import annotations

from functools import partial

from experiments.claim import Claim, Found, Verdict

TITLE = "warp specialisation"
LECTURE_SM = "lecture_sm"
K4096 = "one tile of 128 x 256, K = 4096, on the lecture's SM"


def of_run(run_id: str, when: str) -> Found:
    """The share of the time in which the tensor core computes, in a run of the lecture."""
    from gpu_model.lecture.gemm import lecture_run

    return percent(lecture_run(run_id).tensor_core_percent, when)


def percent(found: float, when: str) -> Found:
    """A share as a claim has it."""
    return Found(f"{found:.1f} %", when, found)


def ideal_tile() -> Found:
    """Microseconds of a tile whose tensor core never waits."""
    from gpu_model.lecture.estimates import ideal_time_us
    from gpu_model.lecture.gemm import lecture_run

    run = lecture_run("warp_specialized_tma_4_slots")
    busy, clock_hz = run.tensor_core_busy_cycles, run.plan.calls[0].clock_hz
    us = ideal_time_us(1, busy, clock_hz)
    when = f"at {clock_hz / 1e9:.2f} GHz; with the first load and the end of the tile it is {run.total_cycles:,} cycles"
    return Found(f"{busy:,} cycles, {us:.1f} us", when, us)


def bytes_in_flight() -> Found:
    """Little's law on the load path of an SM."""
    from gpu_model.lecture.estimates import in_flight_bytes
    from gpu_model.lecture.gemm import lecture_run
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(lecture_run("sync_load"))
    found = in_flight_bytes(parts.load_bytes // parts.load_cycles, parts.latency_cycles)
    ring = found + parts.load_bytes
    when = (
        f"{found / parts.load_bytes:.2f} of a step's tile; a ring of whole slots must also hold the one that is just"
        f" moving, so {ring / 1e3:.0f} KB"
    )
    return Found(f"{found / 1e3:.1f} KB", when, found / 1e3)


def bytes_in_flight_at_hbm() -> Found:
    """Little's law at the rate of HBM, for an SM."""
    from gpu_model.lecture.estimates import in_flight_bytes_at_hbm, in_flight_bytes_per_sm
    from gpu_model.machine import load_machine

    machine, gpu = load_machine(LECTURE_SM), load_machine("h100_sxm")
    whole, share = in_flight_bytes_at_hbm(machine), in_flight_bytes_per_sm(machine, sm_count=gpu.sm_count)
    own = in_flight_bytes_per_sm(gpu)
    when = f"{whole / 1e6:.2f} MB for {gpu.sm_count} SMs; with the {gpu.load_latency_cycles} cycles that were measured"
    return Found(f"{share / 1e3:.1f} KB", f"{when} on an H100, {own / 1e3:.1f} KB", share / 1e3)


def staging() -> Found:
    """Registers of each thread that a step on its way through them takes."""
    from gpu_model.lecture.estimates import staging_registers
    from gpu_model.lecture.gemm import lecture_run
    from gpu_model.lecture.parts import step_parts

    num_bytes = step_parts(lecture_run("register_double_buffer")).load_bytes
    found, shared = staging_registers(num_bytes), staging_registers(num_bytes, threads=256)
    return Found(f"{found}", f"if 128 threads load; of 256, which such a tile has, {shared} each", found)


def three_stages() -> Found:
    """What the third stage reaches, and what more stages add."""
    from gpu_model.lecture.gemm import STAGES, lecture_run

    found = {stages: lecture_run(f"multistage_{stages}_stages").tensor_core_percent for stages in STAGES}
    gained = found[max(found)] - found[3]
    return percent(found[3], f"at a latency of 700 cycles; {max(found)} stages add {gained:.1f} points")


def issue_bound() -> Found:
    """What issuing leaves of the tensor core's time in a multistage pipeline."""
    from gpu_model.lecture.estimates import multistage_bound_percent
    from gpu_model.lecture.gemm import STAGES, lecture_run
    from gpu_model.lecture.parts import step_parts

    parts = step_parts(lecture_run("multistage_4_stages"))
    bound = multistage_bound_percent(parts.mma_cycles, parts.issue_cycles)
    best = max(lecture_run(f"multistage_{stages}_stages").tensor_core_percent for stages in STAGES)
    return percent(bound, f"for endless K; with K = 4096 the best run has {best:.1f} %")


def stages_by_latency() -> tuple[list[int], list[int]]:
    """Fewest stages within a point of the best at the lecture's latencies: by simulation, and by its formula."""
    from gpu_model.lecture.estimates import stages_needed, stages_within
    from gpu_model.lecture.gemm import LATENCIES, STAGES, lecture_run
    from gpu_model.lecture.parts import step_parts

    found, formula = [], []
    for latency in LATENCIES:
        runs = {n: lecture_run(f"multistage_{n}_stages_latency_{latency}") for n in STAGES}
        parts = step_parts(runs[1])
        found.append(stages_within({n: run.tensor_core_percent for n, run in runs.items()}))
        formula.append(stages_needed(parts.issue_cycles, parts.load_cycles, latency, parts.mma_cycles))
    return found, formula


def slashed(numbers: list[int]) -> str:
    """'2 / 3 / 4 / 5'."""
    return " / ".join(map(str, numbers))


def stages_simulated() -> Found:
    """Stages that runs need."""
    found, _ = stages_by_latency()
    verdict: Verdict = "holds" if found == [2, 3, 4, 5] else "no"
    return Found(slashed(found), "counted as within one point of the best of six", None, verdict)


def stage_formula() -> Found:
    """The formula beside what runs need."""
    found, formula = stages_by_latency()
    more = sum(asked > needed for asked, needed in zip(formula, found, strict=True))
    fewer = sum(asked < needed for asked, needed in zip(formula, found, strict=True))
    few = f"asks for too few at {fewer}" if fewer else "never asks for too few"
    when = (
        f"it {few}, and for more than runs need at {more} of {len(found)} latencies: it counts an issue that has passed"
        " when a step waits (study stages_by_latency)"
    )
    verdict: Verdict = "no" if fewer else "where" if more else "holds"
    return Found(f"{slashed(formula)} against {slashed(found)}", when, None, verdict)


def five_stages() -> Found:
    """Shared memory of five stages on an H100."""
    from gpu_model import load_machine
    from gpu_model.occupancy.tile_cta import Tile, tile_cta
    from gpu_model.options import Options
    from patterns.errors import DoesNotFit

    gpu, tile = load_machine("h100_sxm"), Tile(128, 256, 64)
    most = tile_cta(gpu, tile, "multistage", Options(2)).most_slots
    try:
        tile_cta(gpu, tile, "multistage", Options(5))
    except DoesNotFit as misfit:
        when = f"a CTA may have {misfit.available / 1024:.0f} KiB: {most} such stages fit"
        return Found(f"{5 * tile.slot_bytes / 1024:.0f} KiB", when, 5 * tile.slot_bytes / 1024)
    return Found("it fits", "", None, "no")


def free_issue() -> Found:
    """Both schedules where issuing costs nothing."""
    from gpu_model.lecture.gemm import lecture_run

    multistage = lecture_run("multistage_4_stages_issue_0").total_cycles
    specialized = lecture_run("warp_specialized_cp_async_4_slots_issue_0").total_cycles
    text = f"{multistage:,} and {specialized:,} cycles"
    return Found(text, K4096, None, "holds" if multistage == specialized else "no")


def half_bandwidth() -> Found:
    """Both schedules at half the bandwidth."""
    from gpu_model.lecture.gemm import lecture_run
    from gpu_model.lecture.parts import step_parts

    name = "half_bandwidth_"
    both = [lecture_run(name + run) for run in ("multistage_4_stages", "warp_specialized_4_slots")]
    shares, parts = [run.tensor_core_percent for run in both], step_parts(both[1])
    path = 100 * both[1].timeline.busy_cycles["load"] / both[1].total_cycles
    rate, used = (parts.load_bytes / cycles for cycles in (parts.load_cycles, parts.mma_cycles))
    when = (
        f"the load path is busy {path:.0f} % of the time: its {rate:.0f} B/cycle are fewer than the {used:.0f} that the"
        " product of this tile uses"
    )
    return Found(" and ".join(f"{share:.1f} %" for share in shares), when, shares[1])


CLAIMS = (
    Claim("a tile takes 65,536 cycles if its tensor core never waits", "35.8 us", ideal_tile, 35.8),
    Claim("bytes under way that keep the load path of an SM busy", "44.8 KB", bytes_in_flight, 44.8),
    Claim("bytes under way for an SM's share of HBM", "9.7 KB", bytes_in_flight_at_hbm, 9.7),
    Claim("tensor core busy, synchronous loads", "39.2 %", partial(of_run, "sync_load", K4096), 39.2),
    Claim(
        "tensor core busy, double buffering in registers",
        "57.0 %",
        partial(of_run, "register_double_buffer", K4096),
        57.0,
    ),
    Claim("registers of a thread that this double buffering takes", "96", staging, 96, 0),
    Claim("tensor core busy, three stages; more do not help", "88.0 %", three_stages, 88.0),
    Claim("tensor core busy, any number of stages: bound", "91.1 %", issue_bound, 91.1),
    Claim("stages needed at latencies of 300, 700, 1500, 3000 cycles", "2 / 3 / 4 / 5", stages_simulated),
    Claim(
        "a formula gives them: S >= 1 + ceil((issue + transfer + latency) / (MMA + issue))",
        "4 at 1500 cycles",
        stage_formula,
    ),
    Claim("five stages exceed an H100's shared memory", "240 KB", five_stages, 240),
    Claim(
        "tensor core busy, a producer warp with TMA",
        "96.0 %",
        partial(of_run, "warp_specialized_tma_4_slots", K4096),
        96.0,
    ),
    Claim("a pipeline and a producer warp where issuing is free", "alike", free_issue),
    Claim(
        "tensor core busy, a producer that issues for 800 cycles a step",
        "94.9 %",
        partial(
            of_run, "warp_specialized_cp_async_4_slots_issue_800", "while issuing is shorter than a step's product"
        ),
        94.9,
    ),
    Claim("tensor core busy, half the bandwidth, a pipeline or a producer", "64.0 %", half_bandwidth, 64.0),
)
