"""What resident CTAs of one tile hide of each other's waiting, CTA by CTA up to as many as fit an SM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from gpu_model.machine import Machine
from gpu_model.occupancy.resident import program
from gpu_model.occupancy.tile_cta import TileCta
from gpu_model.price import vector_cycles
from gpu_model.schedule import is_resident, schedule_named
from gpu_model.work import Use, Wave, Work
from patterns.dtypes import bytes_of
from patterns.pipeline.simulate import simulate
from patterns.pipeline.warp_states import role_states

# A product of K = 4096 in steps of 64; each CTA computes some tiles, so that fill and drain hardly count.
STEPS = 64
TILES_OF_EACH = 8


@dataclass(frozen=True)
class Hidden:
    """So many CTAs on an SM: shares of the time in which the tensor cores and the load path are busy, and in which a
    CTA is stalled, on average."""

    ctas: int
    matrix_share: float
    load_share: float
    stalled_share: float


def hidden(machine: Machine, cta: TileCta) -> tuple[Hidden, ...]:
    """From one CTA on an SM to as many as fit; () for persistent kernels, which have one."""
    schedule = schedule_named(cta.schedule)
    if not is_resident(schedule):
        return ()
    return tuple(_run(machine, cta, ctas) for ctas in range(1, cta.occupancy.ctas_per_sm + 1))


def _run(machine: Machine, cta: TileCta, ctas: int) -> Hidden:
    work, choice = _work(machine, cta, ctas * TILES_OF_EACH), replace(cta.choice, ctas=ctas)
    made = program(schedule_named(cta.schedule), work, choice, machine)
    run = simulate(made, spans=False)
    states = role_states(made, run)
    active = sum(role.active_cycles for role in states)
    stalled = sum(role.stalled_cycles for role in states)
    busy = run.busy_cycles
    return Hidden(ctas, busy["tc"] / run.total_cycles, busy["load"] / run.total_cycles, stalled / active)


def _work(machine: Machine, cta: TileCta, tiles: int) -> Work:
    """The work of an SM whose operands all come from the L2, at its share of it."""
    tile = cta.tile
    port = min(Fraction(machine.load_bytes_per_cycle), Fraction(machine.l2_bytes_per_cycle, machine.sm_count))
    results = tile.rows * tile.columns
    load = Use("load", ceil(tile.slot_bytes / port), "load")
    store = Use("store", -(-bytes_of(results, tile.dtype) // machine.store_bytes_per_cycle), "store")
    return Work(
        "the tile",
        (Wave(tiles, load, store),),
        STEPS,
        tile.slot_bytes,
        (Use("tc", cta.mma.cycles, "mma"),),
        (Use("vector", vector_cycles(machine, results), "convert"),),
        machine.load_latency_cycles,
        accumulators=results,
    )
