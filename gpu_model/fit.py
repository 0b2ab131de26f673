"""Whether a CTA fits an SM: registers by role, shared memory, threads; limits by name.

Rules of cuda_occupancy.h for compute capability 9.0: registers of a warp are rounded up to 256, shared memory is
rounded up to 128 bytes with 1 KiB reserved for each CTA.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_model.loader import is_staged
from gpu_model.machine import Machine
from gpu_model.work import Choice, CtaDemand, RoleDemand, Work
from patterns.errors import DoesNotFit, UserError

WARP = 32
WARPGROUP = 128
REGISTER_BYTES = 4
# What setmaxnreg accepts: multiples of 8 in this range, for whole warpgroups.
LEAST_SETMAXNREG, MOST_SETMAXNREG, SETMAXNREG_STEP = 24, 256, 8
# What CUTLASS and FlashAttention-3 leave a producer beside consumers that need most.
PRODUCER_REGISTERS = 24


@dataclass(frozen=True)
class Occupancy:
    """CTAs that are resident on an SM together, and what keeps it from more."""

    ctas_per_sm: int
    limit: str


def occupancy(machine: Machine, threads: int, registers: int, smem_bytes: int) -> Occupancy:
    """CTAs per SM for a kernel with equal registers in all threads. Raises DoesNotFit where not one fits."""
    warps = -(-threads // WARP)
    limits = {
        "threads": machine.threads_per_sm // (warps * WARP),
        "registers": _warps_by_registers(machine, registers) // warps,
        "shared memory": machine.smem_bytes // _allocated_smem(machine, smem_bytes),
        "CTAs": machine.ctas_per_sm,
    }
    _need_cta(machine, threads, registers, smem_bytes)
    limit = min(limits, key=lambda name: limits[name])
    return Occupancy(limits[limit], limit)


def _need_cta(machine: Machine, threads: int, registers: int, smem_bytes: int) -> None:
    warps = -(-threads // WARP)
    what = f"a CTA of {threads} threads"
    if threads > machine.threads_per_cta:
        raise DoesNotFit(what, "threads", threads, machine.threads_per_cta, "use fewer warps")
    most = most_registers(machine, warps)
    if registers > most:
        raise DoesNotFit(what, "registers per thread", registers, most, "use fewer threads or a smaller tile")
    if smem_bytes > machine.smem_bytes_per_cta:
        help_text = "use fewer or smaller slots"
        raise DoesNotFit(what, "bytes of shared memory", smem_bytes, machine.smem_bytes_per_cta, help_text)


def _allocated_smem(machine: Machine, smem_bytes: int) -> int:
    grain = machine.smem_granularity_bytes
    return -(-(smem_bytes + machine.smem_reserved_bytes) // grain) * grain


def _warps_by_registers(machine: Machine, registers: int) -> int:
    grain = machine.register_granularity
    of_warp = max(grain, -(-registers * WARP // grain) * grain)
    parts = machine.sub_partitions
    return parts * (machine.registers_per_sm // parts // of_warp)


def most_registers(machine: Machine, warps: int) -> int:
    """The greatest register count with which `warps` warps fit on an SM, every thread having equally many."""
    parts = machine.sub_partitions
    of_warp = machine.registers_per_sm // parts // -(-warps // parts)
    step = machine.register_granularity // WARP
    return min(machine.most_registers_per_thread, of_warp // WARP // step * step)


def check_setmaxnreg(registers: int, threads: int) -> None:
    """Raises UserError unless a group of `threads` may set its register count to `registers`."""
    if threads % WARPGROUP:
        raise UserError(f"setmaxnreg is for whole warpgroups of {WARPGROUP} threads, not for {threads} threads")
    if registers % SETMAXNREG_STEP:
        raise UserError(f"setmaxnreg takes multiples of {SETMAXNREG_STEP}, not {registers}")
    if not LEAST_SETMAXNREG <= registers <= MOST_SETMAXNREG:
        raise UserError(f"setmaxnreg takes {LEAST_SETMAXNREG} to {MOST_SETMAXNREG}, not {registers}")


def even_registers(machine: Machine, warpgroups: int) -> int:
    """Registers of each thread as a kernel of so many warpgroups starts: an even split of the SM's, in steps of 8."""
    split = machine.registers_per_sm // (warpgroups * WARPGROUP)
    return min(split // SETMAXNREG_STEP * SETMAXNREG_STEP, MOST_SETMAXNREG)


def consumer_registers(machine: Machine, consumers: int, producer: int = PRODUCER_REGISTERS) -> int:
    """The most that `consumers` warpgroups can raise their registers to when a producer's sinks to `producer`.

    One producer at 24 leaves 240 for two consumers and 160 for three; at 40 it leaves 232 for two.
    """
    check_setmaxnreg(producer, WARPGROUP)
    pool = even_registers(machine, consumers + 1) * (consumers + 1) - producer
    return min(pool // consumers // SETMAXNREG_STEP * SETMAXNREG_STEP, MOST_SETMAXNREG)


def uniform(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Warps that all load and compute: one role. A loader that stages holds a slot's bytes in their registers too."""
    threads = choice.warpgroups * WARPGROUP
    staged = -(-work.slot_bytes // (REGISTER_BYTES * threads)) if is_staged(choice.loader) else 0
    registers = _registers(work, threads, machine) + staged
    return CtaDemand((RoleDemand("cta", threads, registers),), _ring(work, choice, machine))


def specialized(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """A producer warpgroup with few registers, and a consumer of `choice.warpgroups`.

    Without setmaxnreg all threads have as many registers as the consumer needs.
    """
    threads = choice.warpgroups * WARPGROUP
    registers = _registers(work, threads, machine)
    moves = "setmaxnreg" in machine.features
    producer = RoleDemand("producer", WARPGROUP, PRODUCER_REGISTERS if moves else registers)
    consumer = RoleDemand("consumer", threads, registers)
    return CtaDemand((producer, consumer), _ring(work, choice, machine), setmaxnreg=moves)


def _registers(work: Work, threads: int, machine: Machine) -> int:
    return -(-work.accumulators // threads) + machine.registers_beside_accumulators


def _ring(work: Work, choice: Choice, machine: Machine) -> int:
    return choice.slots * (work.slot_bytes + machine.barrier_bytes) + work.held_bytes


def most_slots(work: Work, machine: Machine) -> int:
    """Slots of the work's ring that the shared memory of a CTA holds beside what tiles keep."""
    return max(0, (machine.smem_bytes_per_cta - work.held_bytes) // (work.slot_bytes + machine.barrier_bytes))


def misfit(what: str, demand: CtaDemand, work: Work, choice: Choice, machine: Machine) -> DoesNotFit | None:
    """Why a CTA does not fit on an SM, with what would; None if it fits."""
    if demand.smem_bytes > machine.smem_bytes_per_cta:
        most = most_slots(work, machine)
        help_text = f"a slot has {work.slot_bytes:,} bytes and at most {most} fit" if most else "use smaller tiles"
        return DoesNotFit(
            f"{what} with {choice.slots} slots",
            "bytes of shared memory",
            demand.smem_bytes,
            machine.smem_bytes_per_cta,
            help_text,
        )
    if demand.threads > machine.threads_per_cta:
        return DoesNotFit(what, "threads", demand.threads, machine.threads_per_cta, "use fewer warpgroups")
    if demand.tmem_columns > machine.tmem_columns:
        help_text = "use a smaller tile"
        return DoesNotFit(what, "columns of tensor memory", demand.tmem_columns, machine.tmem_columns, help_text)
    last = demand.roles[-1]
    most = _most_for(demand, machine)
    if last.registers > most:
        help_text = f"spread the tile over more than {choice.warpgroups} warpgroups, or use a smaller one"
        return DoesNotFit(f"the {last.role} of {what}", "registers per thread", last.registers, most, help_text)
    return None


def _most_for(demand: CtaDemand, machine: Machine) -> int:
    if demand.setmaxnreg:
        raised = consumer_registers(machine, demand.roles[-1].threads // WARPGROUP)
        return min(raised, machine.most_registers_per_thread)
    return most_registers(machine, demand.threads // WARP)
