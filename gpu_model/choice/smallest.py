"""Whether even the smallest tile of a kernel fits an SM: its operands in shared memory, its sums in registers."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP, WARPGROUP, most_registers
from gpu_model.occupancy.tmem import LANES
from gpu_model.tiles.space import Space

# CTAs of a cluster that share a row: powers of two up to 16, which Hopper allows beyond the portable 8. Rows under
# 32 KiB are not shared: two of them are in flight on every SM anyway.
CLUSTERS = (2, 4, 8, 16)
SHORT_ROW_BYTES = 32 * 1024


@lru_cache(maxsize=2048)
def row_clusters(spaces: tuple[Space, ...], machine: Machine) -> tuple[int, ...]:
    """Numbers of CTAs that may share the rows of a kernel's tiles: one, and clusters of more where rows are long."""
    able = "clusters" in machine.features
    if not able or not all(space.row_dim and space.least_bytes() > SHORT_ROW_BYTES for space in spaces):
        return (1,)
    shortest = min(space.sizes[space.row_dim] for space in spaces)
    return (1, *(size for size in CLUSTERS if size <= min(shortest, machine.sm_count)))


@lru_cache(maxsize=4096)
def why_no_tile(space: Space, machine: Machine) -> str:
    """Which resource the smallest tile of a kernel takes more of than there is; '' if it fits."""
    return _short_of_smem(space, machine) or _short_of_registers(space, machine)


def _short_of_smem(space: Space, machine: Machine) -> str:
    most = row_clusters((space,), machine)[-1]
    needed, available = space.least_bytes(most), machine.smem_bytes_per_cta
    if needed + machine.barrier_bytes <= available:
        return ""
    whole = ", ".join(space.whole_dims) or "nothing"
    shared = f", shared by a cluster of {most} CTAs" if most > 1 else ""
    said = f"its smallest tile has {needed:,} bytes with {whole} whole{shared}, and shared memory holds {available:,}"
    longest = _longest(space, most, available - machine.barrier_bytes)
    return f"{said}; {longest}" if longest else said


def _longest(space: Space, cluster: int, available: int) -> str:
    """How long the longest dim that a tile has whole may be for it to fit, '' if no length would do."""
    dim = max(space.whole_dims, key=lambda name: space.sizes[name], default="")
    if not dim:
        return ""
    fits, too_long = 0, space.sizes[dim]
    while too_long - fits > 1:
        length = (fits + too_long) // 2
        cut = replace(space, graph=replace(space.graph, extents=tuple({**space.sizes, dim: length}.items())))
        if cut.least_bytes(cluster) <= available:
            fits = length
        else:
            too_long = length
    return f"{dim} of {fits:,} would fit" if fits else ""


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
