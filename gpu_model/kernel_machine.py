"""The machine as one kernel finds it: what comes before its first load, and the clock that its load leaves.

Kernels run at the boost clock, less what the limit of power takes from those that keep tensor cores busy.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.machine import Machine
from patterns.units import exact

# GPUs set their clocks in steps of 15 MHz.
STEP_HZ = 15_000_000


def started(machine: Machine, is_product: bool, multiplies: bool) -> Machine:
    """The machine at the clock of kernels that hardly load the tensor cores, with what matrix products have, or not.

    Costs in cycles stay as many cycles; those of kernels that multiply nothing are of clock_hz.
    """
    at = _at(machine, machine.boost_clock_hz) if machine.boost_clock_hz and multiplies else machine
    return _for_products(at) if is_product else at


def loaded(machine: Machine, matrix_flops: int, peak_flops_per_cycle: int, cycles: int) -> Machine:
    """The machine at the clock of a kernel that does so much matrix work in so many cycles, in steps of 15 MHz.

    peak_flops_per_cycle: of one SM, for the kernel's types.
    """
    clock_hz = loaded_clock_hz(machine, matrix_flops, peak_flops_per_cycle, cycles)
    return _at(machine, clock_hz)


def loaded_clock_hz(machine: Machine, matrix_flops: int, peak_flops_per_cycle: int, cycles: int) -> int:
    """The clock alone."""
    if not machine.boost_clock_hz or not matrix_flops:
        return machine.clock_hz
    busy = min(1.0, matrix_flops / (cycles * peak_flops_per_cycle * machine.sm_count))
    clock_hz = machine.boost_clock_hz * (1 - machine.clock_droop_share * busy)
    return max(1, round(clock_hz / STEP_HZ)) * STEP_HZ


def in_clock(cycles: int, of_hz: int, clock_hz: int) -> int:
    """Cycles of one clock in cycles of another, rounded up."""
    return -(-cycles * clock_hz // of_hz)


def least_in_clock(machine: Machine, matrix_flops: int, peak_flops_per_cycle: int, cycles: int, clock_hz: int) -> int:
    """The least cycles of `clock_hz` that a kernel takes which takes this many of its own, or any number more.

    Where the clock goes up a step, some more cycles take less time: the first of each step are looked at.
    """
    own_hz = loaded_clock_hz(machine, matrix_flops, peak_flops_per_cycle, cycles)
    least = in_clock(cycles, own_hz, clock_hz)
    if not machine.boost_clock_hz or not matrix_flops:
        return least
    lost = machine.clock_droop_share * matrix_flops / (peak_flops_per_cycle * machine.sm_count)
    for clock in range(own_hz + STEP_HZ, machine.boost_clock_hz + STEP_HZ, STEP_HZ):
        room = 1 - (clock - STEP_HZ / 2) / machine.boost_clock_hz
        # A billionth is more than floats are off.
        if room > 0:
            least = min(least, int(max(cycles, lost / room) * (1 - 1e-9)) * clock_hz // clock)
        # From twice what is lost on, the first of each step take longer and longer.
        if 2 * lost <= cycles:
            break
    return least


def least_clock_hz(machine: Machine) -> int:
    """The clock with every tensor core at work all the time; clock_hz where no other is known."""
    if not machine.boost_clock_hz:
        return machine.clock_hz
    return int(machine.boost_clock_hz * (1 - machine.clock_droop_share))


def highest_clock_hz(machine: Machine) -> int:
    """The clock of a kernel with no matrix work to speak of; clock_hz where no other is known."""
    return max(machine.clock_hz, -(-machine.boost_clock_hz // STEP_HZ) * STEP_HZ)


@lru_cache(maxsize=256)
def _at(machine: Machine, clock_hz: int) -> Machine:
    return replace(machine, clock_hz=clock_hz)


@lru_cache(maxsize=256)
def _for_products(machine: Machine) -> Machine:
    return replace(
        machine,
        kernel_ramp_cycles=machine.kernel_ramp_cycles + machine.product_ramp_cycles,
        hbm_efficiency=float(exact(machine.hbm_efficiency) * exact(machine.tile_load_efficiency)),
    )
