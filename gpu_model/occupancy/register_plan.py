"""Registers by role: setmaxnreg moves them between the warpgroups of a CTA, out of what the CTA was launched with.

A warpgroup that asks for more waits until the pool of its CTA has as many; nobody else gives any, so a plan over the
pool never starts: the kernel hangs. It is refused here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP, WARPGROUP, most_registers
from patterns.errors import UserError

# What setmaxnreg accepts: multiples of 8 in this range, for whole warpgroups (PTX ISA).
LEAST_SETMAXNREG, MOST_SETMAXNREG, SETMAXNREG_STEP = 24, 256, 8
# What CUTLASS and FlashAttention-3 leave a producer beside consumers that need most.
PRODUCER_REGISTERS = 24


@dataclass(frozen=True)
class RegisterPlan:
    """Registers of each thread by warpgroup, as setmaxnreg sets them. launched: of each thread before."""

    launched: int
    warpgroups: tuple[int, ...]

    @property
    def pool(self) -> int:
        """Registers of the CTA: what it was launched with."""
        return self.launched * WARPGROUP * len(self.warpgroups)

    @property
    def needed(self) -> int:
        """Registers of the CTA once every warpgroup has its own."""
        return sum(self.warpgroups) * WARPGROUP


def check_setmaxnreg(registers: int, threads: int) -> None:
    """Raises UserError unless a group of `threads` may set its register count to `registers`."""
    if threads <= 0 or threads % WARPGROUP:
        raise UserError(f"setmaxnreg is for whole warpgroups of {WARPGROUP} threads, not for {threads} threads")
    if not LEAST_SETMAXNREG <= registers <= MOST_SETMAXNREG:
        raise UserError(f"setmaxnreg takes {LEAST_SETMAXNREG} to {MOST_SETMAXNREG}, not {registers}")
    if registers % SETMAXNREG_STEP:
        raise UserError(f"setmaxnreg takes multiples of {SETMAXNREG_STEP}, not {registers}")


def even_registers(machine: Machine, warpgroups: int) -> int:
    """Registers of each thread as a kernel of so many warpgroups starts: an even split of the SM's, in steps of 8."""
    split = machine.registers_per_sm // (warpgroups * WARPGROUP)
    return min(split // SETMAXNREG_STEP * SETMAXNREG_STEP, MOST_SETMAXNREG)


def register_plan(machine: Machine, warpgroups: Sequence[int], launched: int | None = None) -> RegisterPlan:
    """The plan in which each warpgroup sets its registers to its number. launched: of each thread before; as many as
    there are if not given. Raises UserError where the hardware would refuse it, or would hang.
    """
    if not warpgroups:
        raise UserError("a register plan has at least one warpgroup")
    for registers in warpgroups:
        check_setmaxnreg(registers, WARPGROUP)
    even = even_registers(machine, len(warpgroups))
    plan = RegisterPlan(launched or even, tuple(warpgroups))
    if plan.launched > even:
        most = most_registers(machine, len(warpgroups) * (WARPGROUP // WARP))
        raise UserError(
            f"{len(warpgroups)} warpgroups cannot be launched with {plan.launched} registers a thread: at most {most}"
        )
    if plan.needed > plan.pool:
        raise UserError(f"{_over(plan)}; {_help(plan)}")
    return plan


def _over(plan: RegisterPlan) -> str:
    asked = " + ".join(map(str, plan.warpgroups))
    return (
        f"the warpgroups ask for {asked} registers a thread, {plan.needed:,} of the CTA, whose pool has {plan.pool:,} "
        f"({len(plan.warpgroups)} warpgroups launched with {plan.launched}): the last setmaxnreg would wait for ever"
    )


def _help(plan: RegisterPlan) -> str:
    """What the greedier warpgroups could have beside the others, or that none of it works."""
    greatest = max(plan.warpgroups)
    greedy = plan.warpgroups.count(greatest)
    left = plan.launched * len(plan.warpgroups) - sum(r for r in plan.warpgroups if r != greatest)
    each = left // greedy // SETMAXNREG_STEP * SETMAXNREG_STEP
    if each < LEAST_SETMAXNREG:
        return "use fewer warpgroups, or launch with more registers"
    which = "each of the greatest" if greedy > 1 else "the greatest"
    return f"{which} can have {each}"


def consumer_registers(machine: Machine, consumers: int, producer: int = PRODUCER_REGISTERS) -> int:
    """The most that `consumers` warpgroups can raise their registers to when a producer's sinks to `producer`.

    One producer at 24 leaves 240 for two consumers and 160 for three; at 40 it leaves 232 for two.
    """
    check_setmaxnreg(producer, WARPGROUP)
    pool = even_registers(machine, consumers + 1) * (consumers + 1) - producer
    return min(pool // consumers // SETMAXNREG_STEP * SETMAXNREG_STEP, MOST_SETMAXNREG)


def set_registers(needed: int) -> int:
    """What a warpgroup sets its registers to where each thread needs `needed`."""
    return max(LEAST_SETMAXNREG, -(-needed // SETMAXNREG_STEP) * SETMAXNREG_STEP)
