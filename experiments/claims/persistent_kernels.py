"""What a lecture on warp specialisation (CMU 15-779, lecture 6, as retold in public course notes) prints of Hopper's
kernels: registers by role, and persistent GEMM.

Runs are simulated on machine `lecture_sm`; what fits is asked of an H100.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from experiments.claim import Claim, Found, Verdict

if TYPE_CHECKING:
    from gpu_model.lecture.gemm import LectureRun

TITLE = "warp specialisation"
GPU = "h100_sxm"
TILE = (128, 256, 64)
FITS = "fits an H100"


def share(run_id: str) -> float:
    """The share of the time in which the tensor core computes, in a run of the lecture."""
    from gpu_model.lecture.gemm import lecture_run

    return lecture_run(run_id).tensor_core_percent


def accumulators() -> Found:
    """Accumulators of a thread where two warpgroups compute a tile, and where one does."""
    rows, columns, _ = TILE
    two, one = (rows * columns // (128 * groups) for groups in (2, 1))
    return Found(
        f"{two}", f"with two consumer warpgroups; one alone would need {one}, of 255 that a thread can have", two
    )


def even_split() -> Found:
    """Registers beside the accumulators where three warpgroups share the SM's evenly."""
    from gpu_model import load_machine
    from gpu_model.lecture.estimates import registers_left
    from gpu_model.occupancy.register_plan import even_registers

    machine, (rows, columns, _) = load_machine(GPU), TILE
    left = registers_left(machine, 3, rows * columns // 256)
    return Found(f"{left}", f"of the {even_registers(machine, 3)} that each of 384 threads is launched with", left)


def consumer(consumers: int, producer: int) -> Found:
    """Registers of a consumer's thread beside a producer that keeps so many."""
    from gpu_model import load_machine
    from gpu_model.lecture.estimates import registers_gained
    from gpu_model.occupancy.register_plan import consumer_registers

    machine = load_machine(GPU)
    found, gained = consumer_registers(machine, consumers, producer), registers_gained(machine, consumers, producer)
    return Found(f"{found}", f"{gained} more than by an even split, in steps of 8", found)


def one_cta() -> Found:
    """CTAs of an SM where a CTA has the lecture's tile and four slots."""
    from gpu_model import load_machine
    from gpu_model.occupancy.tile_cta import Tile, tile_cta
    from gpu_model.options import Options

    cta = tile_cta(load_machine(GPU), Tile(*TILE), "cooperative", Options(4, warpgroups=2))
    limits = dict(cta.occupancy.limits)
    held = cta.occupancy.warps_per_sm
    when = f"limited by shared memory ({limits['shared memory']} CTA) and registers ({limits['registers']})"
    verdict: Verdict = "holds" if cta.occupancy.ctas_per_sm == 1 and 8 <= held <= 12 else "no"
    return Found(f"{cta.occupancy.ctas_per_sm} CTA, {held} warps", when, None, verdict)


def one_consumer() -> Found:
    """One consumer at short K, and its bound."""
    found, k512 = share("persistent_8_tiles_k256_one_consumer"), share("persistent_8_tiles_k512_one_consumer")
    when = f"every epilogue and the first load are exposed; {k512:.1f} % at K = 512"
    return Found(f"{found:.1f} %", f"{when}. A consumer of the tile {room_for('warp_specialized')}", found)


def room_for(schedule: str) -> str:
    """'needs 288 registers per thread, an H100 has 255', or that the tile fits."""
    from gpu_model import load_machine
    from gpu_model.occupancy.tile_cta import Tile, tile_demand

    _, misfit = tile_demand(load_machine(GPU), Tile(*TILE), schedule, 4, 1)
    return f"needs {misfit.needed} {misfit.resource}, an H100 has {misfit.available}" if misfit else FITS


def one_consumer_bound() -> Found:
    """The lecture's bound of one consumer."""
    from gpu_model.lecture.estimates import single_consumer_bound_percent
    from gpu_model.lecture.gemm import lecture_run

    run = lecture_run("persistent_8_tiles_k256_one_consumer")
    bound = single_consumer_bound_percent(1, *tile_cycles(run))
    short = bound - run.tensor_core_percent
    return Found(f"{bound:.1f} %", f"the run stays {short:.1f} points below: the first load is not counted", bound)


def tile_cycles(run: LectureRun) -> tuple[int, int]:
    """Cycles of the main loop of a tile, and of its end."""
    ends = run.timeline.busy_cycles["vector"] + run.timeline.busy_cycles["store"]
    return run.tensor_core_busy_cycles // run.tiles, ends // run.tiles


def turns() -> Found:
    """Ping-pong at short K, and whether an H100 holds its tile."""
    found, together = share("persistent_8_tiles_k256_pingpong"), share("cooperative_8_tiles_k256")
    room = room_for("pingpong")
    when = f"each consumer has a tile of its own, which {room}; two that share each tile reach {together:.1f} %"
    return Found(f"{found:.1f} %", when, found, None if room == FITS else "where")


def heavy(ways: str) -> Found:
    """Eight times the epilogue."""
    found = share(f"persistent_8_tiles_k1024_epilogue_x8_{ways}")
    together = share("cooperative_8_tiles_k1024_epilogue_x8")
    return Found(f"{found:.1f} %", f"two consumers that share each tile: {together:.1f} %", found)


def heavy_bound() -> Found:
    """The bound of ping-pong where epilogues are long."""
    from gpu_model.lecture.estimates import pingpong_bound_percent
    from gpu_model.lecture.gemm import lecture_run

    run = lecture_run("persistent_8_tiles_k1024_epilogue_x8_pingpong")
    busy, epilogue = tile_cycles(run)
    bound = pingpong_bound_percent(run.tiles, 1, busy, epilogue)
    when = f"while the epilogue ({epilogue:,} cycles) is shorter than a main loop ({busy:,})"
    return Found(f"{bound:.1f} %", when, bound)


def alike_at_long_k() -> Found:
    """What turns bring at long K, with the lecture's epilogue and with a heavy one."""
    from gpu_model.lecture.gemm import EPILOGUE_X8, PERSISTENT_TILES, SLOTS, LectureRun

    one, two = (share(f"persistent_8_tiles_k4096_{ways}") for ways in ("one_consumer", "pingpong"))
    slow_one, slow_two = (
        LectureRun(schedule, schedule, SLOTS, EPILOGUE_X8, PERSISTENT_TILES).tensor_core_percent
        for schedule in ("warp_specialized", "pingpong")
    )
    when = (
        f"{two - one:.1f} points at K = 4096; with an epilogue 8 times as long {slow_two - slow_one:.1f}"
        f" ({slow_one:.1f} and {slow_two:.1f} %)"
    )
    return Found(f"{one:.1f} and {two:.1f} %", when, None, "where" if two - one < 2 else "no")


def slow_producer() -> Found:
    """A producer that issues for longer than a step's product."""
    from gpu_model.lecture.estimates import producer_bound_percent

    found = share("warp_specialized_cp_async_4_slots_issue_1500")
    bound = producer_bound_percent(1024, 1500)
    return Found(
        f"{found:.1f} %",
        f"the formula says {bound:.0f} %: the first load and the end of the tile come on top",
        found,
        "where",
    )


CLAIMS = (
    Claim("accumulators of a thread, a tile of 128 x 256 on two warpgroups", "128", accumulators, 128, 0),
    Claim("registers that an even split leaves beside accumulators", "40", even_split, 40, 0),
    Claim("registers of each of two consumers, the producer keeps 24", "240", partial(consumer, 2, 24), 240, 0),
    Claim("registers of each of two consumers, the producer keeps 40", "232", partial(consumer, 2, 40), 232, 0),
    Claim("registers of each of three consumers, the producer keeps 24", "160", partial(consumer, 3, 24), 160, 0),
    Claim("a tile of 128 x 256 with 4 slots leaves room for one CTA, of 8 to 12 warps", "1 CTA", one_cta),
    Claim("tensor core busy if a producer issues for 1500 cycles a step", "about 68 %", slow_producer, 68, 0),
    Claim("8 tiles of K = 256, one consumer: tensor core busy", "73.7 %", one_consumer, 73.7),
    Claim("8 tiles of K = 256, one consumer: bound", "76.2 %", one_consumer_bound, 76.2),
    Claim("8 tiles of K = 256, two consumers in turn", "92.2 %", turns, 92.2),
    Claim("K = 1024, epilogue x8, one consumer", "61.1 %", partial(heavy, "one_consumer"), 61.1),
    Claim("K = 1024, epilogue x8, two consumers in turn", "91.8 %", partial(heavy, "pingpong"), 91.8),
    Claim("K = 1024, epilogue x8, two consumers in turn: bound", "92.8 %", heavy_bound, 92.8),
    Claim("at long K one consumer and two in turn hardly differ", "hardly", alike_at_long_k),
)
