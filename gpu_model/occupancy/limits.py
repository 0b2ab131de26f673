"""CTAs that are resident on an SM together, and what keeps it from more: the rules of cuda_occupancy.h, by name.

Registers of a warp are rounded up to `register_granularity` and live in the sub-partition of the warp. Shared memory
of a CTA is rounded up to `smem_granularity_bytes` after `smem_reserved_bytes` were added. The barriers of an SM are
counted from compute capability 9.0 on. Tensor memory is not in that header: columns are allocated in powers of two
(PTX ISA). One microbenchmark saw CUDA report a single CTA for every kernel that allocates it; it is not counted here.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_model.machine import Machine
from patterns.errors import DoesNotFit, UserError

WARP = 32
WARPGROUP = 128
# PTX ISA, tcgen05.alloc: columns are allocated in powers of two from 32.
LEAST_TMEM_COLUMNS = 32


@dataclass(frozen=True)
class Kernel:
    """What a launch asks for: registers of each thread, shared memory, named barriers and tensor memory of a CTA."""

    threads: int
    registers: int
    smem_bytes: int = 0
    barriers: int = 1
    tmem_columns: int = 0

    @property
    def warps(self) -> int:
        """Warps of a CTA, the last perhaps not full."""
        return -(-self.threads // WARP)


@dataclass(frozen=True)
class Occupancy:
    """limits: CTAs that each resource of an SM would hold. carveout_bytes: the smallest part of the SM's memory that
    can be configured as shared memory and holds them; the rest is L1 (l1_bytes)."""

    kernel: Kernel
    limits: tuple[tuple[str, int], ...]
    carveout_bytes: int
    l1_bytes: int

    @property
    def ctas_per_sm(self) -> int:
        """CTAs of an SM."""
        return min(ctas for _, ctas in self.limits)

    @property
    def limit(self) -> str:
        """The resource that limits; of several, the first listed."""
        return next(name for name, ctas in self.limits if ctas == self.ctas_per_sm)

    @property
    def warps_per_sm(self) -> int:
        """Warps of all resident CTAs."""
        return self.ctas_per_sm * self.kernel.warps


def occupancy(machine: Machine, kernel: Kernel) -> Occupancy:
    """CTAs per SM for a kernel with equal registers in all threads. Raises DoesNotFit where not one fits."""
    need_cta(machine, kernel)
    smem_bytes = allocated_smem(machine, kernel.smem_bytes)
    limits = {
        "threads": machine.threads_per_sm // (kernel.warps * WARP),
        "registers": _warps_by_registers(machine, kernel.registers) // kernel.warps,
        "CTAs": machine.ctas_per_sm,
    }
    if smem_bytes:
        limits["shared memory"] = machine.smem_bytes // smem_bytes
    if machine.barriers_per_sm and kernel.barriers:
        limits["barriers"] = machine.barriers_per_sm // kernel.barriers
    if kernel.tmem_columns:
        limits["tensor memory"] = machine.tmem_columns // allocated_tmem(kernel.tmem_columns)
    for name, ctas in limits.items():
        if not ctas:
            help_text = "the SM has less than a CTA may have: set that lower too"
            raise DoesNotFit(f"a CTA of {kernel.threads} threads", f"CTAs on an SM by {name}", 1, 0, help_text)
    needed = min(limits.values()) * smem_bytes
    carveout = next((size for size in machine.smem_carveout_bytes if size >= needed), machine.smem_bytes)
    return Occupancy(kernel, tuple(limits.items()), carveout, max(0, machine.l1_smem_bytes - carveout))


def need_cta(machine: Machine, kernel: Kernel) -> None:
    """Raises UserError for what is no kernel, DoesNotFit for one of which no CTA can run, with the most that can."""
    for name, least in (("threads", 1), ("registers", 1), ("smem_bytes", 0), ("barriers", 0), ("tmem_columns", 0)):
        if getattr(kernel, name) < least:
            raise UserError(f"{name} must be at least {least}, is {getattr(kernel, name)}")
    what = f"a CTA of {kernel.threads} threads"
    for why in (_threads, _registers, _smem, _barriers, _tmem):
        resource, needed, there, help_text = why(machine, kernel)
        if needed > there:
            raise DoesNotFit(what, resource, needed, there, help_text)


_Limit = tuple[str, int, int, str]


def _threads(machine: Machine, kernel: Kernel) -> _Limit:
    return "threads", kernel.threads, machine.threads_per_cta, "use fewer warps"


def _registers(machine: Machine, kernel: Kernel) -> _Limit:
    most = most_registers(machine, kernel.warps)
    return "registers per thread", kernel.registers, most, "use fewer threads or a smaller tile"


def _smem(machine: Machine, kernel: Kernel) -> _Limit:
    return "bytes of shared memory", kernel.smem_bytes, machine.smem_bytes_per_cta, "use fewer or smaller slots"


def _barriers(machine: Machine, kernel: Kernel) -> _Limit:
    return "named barriers", kernel.barriers, machine.barriers_per_cta, "let roles meet at mbarriers in shared memory"


def _tmem(machine: Machine, kernel: Kernel) -> _Limit:
    columns = allocated_tmem(kernel.tmem_columns)
    return "columns of tensor memory", columns, machine.tmem_columns, "use a smaller tile or fewer accumulators at once"


def allocated_smem(machine: Machine, smem_bytes: int) -> int:
    """What a CTA with so many bytes takes of its SM's shared memory."""
    grain = machine.smem_granularity_bytes
    return -(-(smem_bytes + machine.smem_reserved_bytes) // grain) * grain


def allocated_tmem(columns: int) -> int:
    """Columns that are allocated where `columns` are needed: a power of two of at least 32; 0 where none are."""
    return max(LEAST_TMEM_COLUMNS, 1 << (columns - 1).bit_length()) if columns else 0


def allocated_registers(machine: Machine, registers: int) -> int:
    """Registers that a warp takes where each of its threads has `registers`."""
    grain = machine.register_granularity
    return max(grain, -(-registers * WARP // grain) * grain)


def _warps_by_registers(machine: Machine, registers: int) -> int:
    parts = machine.sub_partitions
    return parts * (machine.registers_per_sm // parts // allocated_registers(machine, registers))


def most_registers(machine: Machine, warps: int) -> int:
    """The greatest register count with which `warps` warps fit on an SM, every thread having equally many."""
    parts = machine.sub_partitions
    of_warp = machine.registers_per_sm // parts // -(-warps // parts)
    step = max(1, machine.register_granularity // WARP)
    return min(machine.most_registers_per_thread, of_warp // WARP // step * step)


def most_smem(machine: Machine, ctas: int) -> int:
    """The most shared memory that each of `ctas` CTAs of an SM may have."""
    grain = machine.smem_granularity_bytes
    each = machine.smem_bytes // ctas // grain * grain - machine.smem_reserved_bytes
    return max(0, min(each, machine.smem_bytes_per_cta))


def waves(machine: Machine, tiles: int, ctas_per_sm: int) -> tuple[int, float]:
    """(waves, share of their places that have a tile) of tiles that CTAs compute, one each, `ctas_per_sm` at once."""
    places = machine.sm_count * ctas_per_sm
    count = -(-tiles // places)
    return count, tiles / (count * places)
