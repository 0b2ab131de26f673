"""Whether a CTA of a schedule fits an SM: registers by role, shared memory, threads, barriers, tensor memory; and how
many do."""

from __future__ import annotations

from functools import lru_cache

from gpu_model.loader import is_staged
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import (
    WARP,
    WARPGROUP,
    Kernel,
    Occupancy,
    allocated_tmem,
    most_registers,
    occupancy,
)
from gpu_model.occupancy.register_plan import (
    PRODUCER_REGISTERS,
    SETMAXNREG_STEP,
    even_registers,
    set_registers,
)
from gpu_model.work import Choice, CtaDemand, RoleDemand, Work
from patterns.errors import DoesNotFit
from patterns.plural import number_of

REGISTER_BYTES = 4


def uniform(work: Work, choice: Choice, machine: Machine, accumulators: int | None = None) -> CtaDemand:
    """Warps that all load and compute: one role. A loader that stages holds a slot's bytes in their registers too.

    accumulators: that all of them hold, if not the work's.
    """
    threads = choice.warpgroups * WARPGROUP
    staged = -(-work.slot_bytes // (REGISTER_BYTES * threads)) if is_staged(choice.loader) else 0
    registers = _registers(work, threads, machine, accumulators) + staged
    return CtaDemand((RoleDemand("cta", threads, registers),), ring_bytes(work, choice, machine))


def specialized(work: Work, choice: Choice, machine: Machine, accumulators: int | None = None) -> CtaDemand:
    """A producer warpgroup with few registers, and a consumer of `choice.warpgroups`.

    Without setmaxnreg all threads have as many registers as the consumer needs. accumulators: see uniform.
    """
    threads = choice.warpgroups * WARPGROUP
    moves = "setmaxnreg" in machine.features
    roles = _producer_and_consumer(threads, _registers(work, threads, machine, accumulators), moves)
    return CtaDemand(roles, ring_bytes(work, choice, machine), setmaxnreg=moves)


@lru_cache(maxsize=1024)
def _producer_and_consumer(threads: int, registers: int, moves: bool) -> tuple[RoleDemand, RoleDemand]:
    """The roles of all that are specialized: few sorts of them."""
    producer = RoleDemand("producer", WARPGROUP, PRODUCER_REGISTERS if moves else registers)
    return producer, RoleDemand("consumer", threads, registers)


def _registers(work: Work, threads: int, machine: Machine, accumulators: int | None) -> int:
    return (
        -(-(work.accumulators if accumulators is None else accumulators) // threads)
        + machine.registers_beside_accumulators
    )


def ring_bytes(work: Work, choice: Choice, machine: Machine) -> int:
    """Shared memory of a ring with its barriers, and of what a tile keeps."""
    return choice.slots * _slot_smem_bytes(work, machine) + work.held_bytes


def _slot_smem_bytes(work: Work, machine: Machine) -> int:
    return work.slot_bytes + work.padding_bytes + work.transposed_bytes + machine.barrier_bytes


def most_slots(work: Work, machine: Machine) -> int:
    """Slots of the work's ring that the shared memory of a CTA holds beside what tiles keep."""
    return max(0, (machine.smem_bytes_per_cta - work.held_bytes) // _slot_smem_bytes(work, machine))


def misfit(what: str, demand: CtaDemand, work: Work, choice: Choice, machine: Machine) -> DoesNotFit | None:
    """Why a CTA does not fit on an SM, with what would; None if it fits."""
    if demand.smem_bytes > machine.smem_bytes_per_cta:
        most = most_slots(work, machine)
        help_text = (
            f"a slot has {_slot_smem_bytes(work, machine) - machine.barrier_bytes:,} bytes and at most {most} fit"
            if most
            else "use smaller tiles"
        )
        what_with = f"{what} with {number_of(choice.slots, 'slot')}"
        needed, available = demand.smem_bytes, machine.smem_bytes_per_cta
        would_do = f"{number_of(most, 'stage')} would do" if most else ""
        return DoesNotFit(what_with, "bytes of shared memory", needed, available, help_text, would_do=would_do)
    if demand.threads > machine.threads_per_cta:
        return DoesNotFit(what, "threads", demand.threads, machine.threads_per_cta, "use fewer warpgroups")
    if demand.barriers > machine.barriers_per_cta:
        return DoesNotFit(what, "named barriers", demand.barriers, machine.barriers_per_cta, "use fewer buffers")
    columns = allocated_tmem(demand.tmem_columns)
    if columns > machine.tmem_columns:
        return DoesNotFit(what, "columns of tensor memory", columns, machine.tmem_columns, "use a smaller tile")
    found = _role_short_of_registers(demand.roles, demand.setmaxnreg, machine)
    if found is None:
        return None
    role, most = found
    groups = number_of(choice.warpgroups, "warpgroup")
    help_text = f"spread the tile over more than {groups}, or use a smaller one"
    return DoesNotFit(f"the {role.role} of {what}", "registers per thread", role.registers, most, help_text)


@lru_cache(maxsize=4096)
def _role_short_of_registers(
    roles: tuple[RoleDemand, ...], setmaxnreg: bool, machine: Machine
) -> tuple[RoleDemand, int] | None:
    """A role that needs more registers than its threads can have, and these; None if all have enough.

    The last role is the one that has the accumulators: it is told of first.
    """
    demand = CtaDemand(roles, 0, setmaxnreg)
    short = ((role, most_for_role(role, demand, machine)) for role in reversed(demand.roles))
    return next(((role, most) for role, most in short if role.registers > most), None)


def most_for_role(role: RoleDemand, demand: CtaDemand, machine: Machine) -> int:
    """Registers that each thread of a role can have: beside the other roles' where setmaxnreg moves them."""
    if not demand.setmaxnreg:
        return most_registers(machine, demand.threads // WARP)
    threads = demand.threads
    pool = even_registers(machine, threads // WARPGROUP) * threads
    others = sum([set_registers(other.registers) * other.threads for other in demand.roles if other is not role])
    most = (pool - others) // role.threads // SETMAXNREG_STEP * SETMAXNREG_STEP
    return max(0, min(most, machine.most_registers_per_thread))


def kernel_of(demand: CtaDemand) -> Kernel:
    """A CTA as it is launched: all threads with the registers that, moved between roles, are enough."""
    registers = max(role.registers for role in demand.roles)
    if demand.setmaxnreg:
        needed = sum(set_registers(role.registers) * role.threads for role in demand.roles)
        registers = -(-needed // (demand.threads * SETMAXNREG_STEP)) * SETMAXNREG_STEP
    return Kernel(demand.threads, registers, demand.smem_bytes, demand.barriers, demand.tmem_columns)


def resident(demand: CtaDemand, machine: Machine) -> Occupancy:
    """CTAs of this demand that an SM holds at once, and what limits them. Raises DoesNotFit where not one fits."""
    return occupancy(machine, kernel_of(demand))
