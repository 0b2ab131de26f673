"""Mistakes in a kernel description that would make the kernel hang or compute something else."""

from __future__ import annotations

from collections import Counter

from gpu_model.authoring.description import (
    WARPGROUP_WARPS,
    ArriveFinished,
    Expect,
    KernelDescription,
    LoadAsync,
    MmaAB,
    StoreShared,
    TileRef,
)
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP
from gpu_model.occupancy.register_plan import check_setmaxnreg
from patterns.errors import DoesNotFit, UserError

NEEDS = ("tma", "wgmma", "setmaxnreg")


def check_description(kernel: KernelDescription, machine: Machine) -> None:
    """Raises UserError and says what would be right."""
    missing = [feature for feature in NEEDS if feature not in machine.features]
    if missing:
        raise UserError(f"kernel {kernel.name} needs {', '.join(missing)}, which {machine.name} lacks")
    if kernel.consumer_warps % WARPGROUP_WARPS or not kernel.consumer_warps:
        raise UserError(f"kernel {kernel.name}: {kernel.consumer_warps} consumer warps are not whole warpgroups of 4")
    for registers in (kernel.producer_registers, kernel.consumer_registers):
        check_setmaxnreg(registers, WARPGROUP)
    _check_loads(kernel)
    _check_arrivals(kernel)
    for group in range(kernel.consumers):
        _check_products(kernel, group)
    _check_registers(kernel, machine)
    if kernel.finish_bytes + kernel.stage_bytes > machine.smem_bytes_per_cta:
        needed = kernel.finish_bytes + kernel.stage_bytes
        help_text = "the finish block overlays every stage of the ring; use smaller tiles"
        raise DoesNotFit(
            f"kernel {kernel.name}", "bytes of shared memory", needed, machine.smem_bytes_per_cta, help_text
        )


def _check_loads(kernel: KernelDescription) -> None:
    """Every tile of a stage is loaded once, and the barrier expects what arrives."""
    loaded = Counter(op.into for op in kernel.first_load if isinstance(op, LoadAsync))
    for array in kernel.input_block:
        for index in range(array.count):
            times = loaded.pop(TileRef(array.name, index), 0)
            if times != 1:
                what = f"{array.name}[{index}]"
                raise UserError(f"kernel {kernel.name} loads {what} {times} times a stage; once is right")
    if loaded:
        names = ", ".join(sorted(ref.array for ref in loaded))
        raise UserError(f"kernel {kernel.name} loads {names}, which its input block has not")
    expected = sum(op.num_bytes for op in kernel.first_load if isinstance(op, Expect))
    if expected != kernel.stage_bytes:
        message = (
            f"expects {expected:,} bytes a stage and loads {kernel.stage_bytes:,}; its barrier would never be full"
        )
        raise UserError(f"kernel {kernel.name} {message}")


def _check_arrivals(kernel: KernelDescription) -> None:
    """A barrier is passed when as many have arrived as it was made for."""
    filled = sum(isinstance(op, Expect) for op in kernel.first_load)
    emptied = sum(isinstance(op, ArriveFinished) for g in range(kernel.consumers) for op in kernel.compute_of(g))
    for what, said, there in (
        ("producer", kernel.producer_arrivals, filled),
        ("consumer", kernel.consumer_arrivals, emptied),
    ):
        if said != there:
            message = f"{what} arrivals are said to be {said} a stage, its callbacks make {there}: it would hang"
            raise UserError(f"kernel {kernel.name}: {message}")


def _check_products(kernel: KernelDescription, group: int) -> None:
    """Operands and accumulator of every product go together, and so does what is stored."""
    rows, columns = WARPGROUP_WARPS * kernel.accumulator.rows, kernel.accumulator.columns
    for op in kernel.compute_of(group):
        if isinstance(op, MmaAB):
            a, b = kernel.tile(op.a), kernel.tile(op.b)
            if a.columns != b.rows or (a.rows, b.columns) != (rows, columns):
                shapes = f"{a.rows}x{a.columns} by {b.rows}x{b.columns} into {rows}x{columns}"
                raise UserError(f"kernel {kernel.name}: a warpgroup multiplies {shapes}, which do not go together")
    for op in kernel.finish_of(group):
        if isinstance(op, StoreShared):
            tile = kernel.tile(op.into)
            if (tile.rows, tile.columns) != (rows, columns):
                message = f"stores {rows}x{columns} accumulators into {tile.rows}x{tile.columns}"
                raise UserError(f"kernel {kernel.name} {message}")


def _check_registers(kernel: KernelDescription, machine: Machine) -> None:
    needed = kernel.accumulator.registers_per_thread + machine.registers_beside_accumulators
    if needed > kernel.consumer_registers:
        help_text = f"{kernel.accumulator.registers_per_thread} are accumulators; raise the registers or use more warps"
        raise DoesNotFit(
            f"a consumer of kernel {kernel.name}", "registers per thread", needed, kernel.consumer_registers, help_text
        )
