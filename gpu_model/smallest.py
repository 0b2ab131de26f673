"""Whether even the smallest tile of a kernel fits an SM: its operands in shared memory, its sums in registers."""

from __future__ import annotations

from gpu_model.machine import Machine
from gpu_model.occupancy import WARP, WARPGROUP, most_registers
from gpu_model.space import Space
from gpu_model.tmem import LANES


def why_no_tile(space: Space, machine: Machine) -> str:
    """Which resource the smallest tile of a kernel takes more of than there is; '' if it fits."""
    return _short_of_smem(space, machine) or _short_of_registers(space, machine)


def _short_of_smem(space: Space, machine: Machine) -> str:
    needed, available = space.least_bytes(), machine.smem_bytes_per_cta
    if needed + machine.barrier_bytes <= available:
        return ""
    whole = ", ".join(space.whole_dims) or "nothing"
    return f"its smallest tile has {needed:,} bytes with {whole} whole, and shared memory holds {available:,}"


def _short_of_registers(space: Space, machine: Machine) -> str:
    """A matrix product sums up in registers (or in tensor memory), also what later nodes need whole rows of."""
    needed, available = space.least_accumulators(), most_accumulators(machine)
    if needed <= available:
        return ""
    made = ", ".join(product.node for product in space.products)
    return (
        f"its smallest tile holds {needed:,} sums of {made}, and the registers of a CTA hold {available:,} "
        "beside what threads need"
    )


def most_accumulators(machine: Machine) -> int:
    """fp32 sums that a CTA can hold: in the registers of as many warpgroups as hold most, or in tensor memory."""
    groups = range(1, machine.threads_per_cta // WARPGROUP + 1)
    held = (
        (most_registers(machine, n * WARPGROUP // WARP) - machine.registers_beside_accumulators) * n * WARPGROUP
        for n in groups
    )
    return max(*held, machine.tmem_columns * LANES)
