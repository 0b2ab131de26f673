"""Estimates on paper: what pipelines, register budgets and attention come to before anything is simulated.

Each is one formula of a lecture on warp specialisation (CMU 15-779, lecture 6). They leave queueing out, so bounds are
above what a run reaches and needs are above what it takes. Percent are of the tensor core's time.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.occupancy.register_plan import PRODUCER_REGISTERS, consumer_registers, even_registers
from patterns.errors import UserError

REGISTER_BYTES = 4
PERCENT = 100


def in_flight_bytes(bytes_per_cycle: int | Fraction, latency_cycles: int) -> int:
    """Little's law: bytes that must be under way to keep a path of this rate and latency busy, rounded up."""
    return ceil(bytes_per_cycle * latency_cycles)


def in_flight_bytes_at_hbm(machine: Machine) -> int:
    """Little's law for the whole GPU: bytes under way that keep the HBM busy at its datasheet rate, rounded up."""
    return in_flight_bytes(Fraction(machine.hbm_bytes_per_s, machine.clock_hz), machine.load_latency_cycles)


def in_flight_bytes_per_sm(machine: Machine, sm_count: int = 0) -> int:
    """The share of one SM in what keeps the HBM busy, rounded up. sm_count: 0 for the machine's own."""
    return ceil(Fraction(in_flight_bytes_at_hbm(machine), sm_count or machine.sm_count))


def tiles_in_flight(bytes_per_cycle: int | Fraction, latency_cycles: int, tile_bytes: int) -> float:
    """How many tiles of operands Little's law asks to be under way."""
    return in_flight_bytes(bytes_per_cycle, latency_cycles) / tile_bytes


def achieved_bytes_per_s(peak_bytes_per_s: float, flying_bytes: int, latency_s: float) -> float:
    """What a path gives to so many bytes under way: the least of its rate and bytes / latency."""
    return min(peak_bytes_per_s, flying_bytes / latency_s)


def ideal_cycles(steps: int, mma_cycles: int) -> int:
    """Cycles of a tile if the tensor core never waited."""
    return steps * mma_cycles


def ideal_time_us(steps: int, mma_cycles: int, clock_hz: int) -> float:
    """Microseconds of a tile if the tensor core never waited."""
    return ideal_cycles(steps, mma_cycles) * 1e6 / clock_hz


def stages_needed(issue_cycles: int, transfer_cycles: int, latency_cycles: int, mma_cycles: int) -> int:
    """Stages that hide a load behind the steps before it: S >= 1 + ceil((issue + transfer + latency) / (MMA + issue)).

    Queueing on the load path is left out, and a step's own slack too: a run may reach its best with one stage less.
    """
    return 1 - -(issue_cycles + transfer_cycles + latency_cycles) // (mma_cycles + issue_cycles)


def stages_within(percent_by_stages: Mapping[int, float], points: float = 1.0) -> int:
    """The fewest stages whose runs come within so many percentage points of the best. Raises UserError for no runs."""
    if not percent_by_stages:
        raise UserError("no runs to choose stages from: give at least one")
    best = max(percent_by_stages.values())
    return min(stages for stages, percent in percent_by_stages.items() if percent >= best - points)


def multistage_bound_percent(mma_cycles: int, issue_cycles: int) -> float:
    """The computing warps issue the loads themselves, between their MMAs."""
    return PERCENT * mma_cycles / (mma_cycles + issue_cycles)


def producer_bound_percent(mma_cycles: int, issue_cycles: int) -> float:
    """A producer issues the loads: it limits only where issuing takes longer than a step."""
    return PERCENT * min(1.0, mma_cycles / issue_cycles) if issue_cycles else float(PERCENT)


def single_consumer_bound_percent(steps: int, mma_cycles: int, epilogue_cycles: int) -> float:
    """One consumer computes and finishes tile after tile: every epilogue is exposed."""
    busy = ideal_cycles(steps, mma_cycles)
    return PERCENT * busy / (busy + epilogue_cycles)


def pingpong_bound_percent(tiles: int, steps: int, mma_cycles: int, epilogue_cycles: int) -> float:
    """Two consumers take tiles in turn: main loops hide epilogues, except the last, and what is longer than a loop."""
    busy = ideal_cycles(steps, mma_cycles)
    whole = tiles * busy + max(0, epilogue_cycles - busy) * max(0, tiles // 2 - 1) + epilogue_cycles
    return PERCENT * tiles * busy / whole


def busy_percent(busy_cycles: int, total_cycles: int) -> float:
    """Share of a run in which a unit is at work: of the load path, loads times what each takes."""
    return PERCENT * busy_cycles / total_cycles


def staging_registers(tile_bytes: int, threads: int = WARPGROUP) -> int:
    """Registers of each thread that a tile on its way through the registers takes, rounded up."""
    return -(-tile_bytes // (threads * REGISTER_BYTES))


def registers_left(machine: Machine, warpgroups: int, accumulators: int) -> int:
    """Registers beside the accumulators where warpgroups share the SM's evenly."""
    return even_registers(machine, warpgroups) - accumulators


def registers_gained(machine: Machine, consumers: int, producer: int = PRODUCER_REGISTERS) -> int:
    """What setmaxnreg gives each consumer beyond an even split, with one producer that keeps `producer`."""
    return consumer_registers(machine, consumers, producer) - even_registers(machine, consumers + 1)


def tensor_to_exp_ratio(matrix_flops_per_s: float, exp_per_s: float) -> float:
    """How many FLOP the tensor cores do while the special function units evaluate one exp."""
    return matrix_flops_per_s / exp_per_s


def exp_to_gemm_ratio(queries: int, keys: int, head_dim: int, machine: Machine) -> float:
    """Time of the exp of an attention block over the time of its two matrix products, each unit at its rate."""
    exp_cycles = Fraction(queries * keys, machine.special_ops_per_cycle)
    return float(exp_cycles / Fraction(4 * queries * keys * head_dim, machine.bf16_flops_per_cycle))


def intra_warpgroup_percent(gemm_cycles: int, softmax_cycles: int) -> float:
    """One warpgroup that computes the next block's scores during the softmax: the second product is exposed.

    A block takes max(GEMM0, softmax) + GEMM1, of which two GEMMs are the tensor core's.
    """
    return PERCENT * 2 * gemm_cycles / (max(gemm_cycles, softmax_cycles) + gemm_cycles)


def percent_of_peak(achieved_per_s: float, peak_per_s: float) -> float:
    """A rate that was reached, of the datasheet's."""
    return PERCENT * achieved_per_s / peak_per_s
