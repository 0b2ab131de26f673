"""What a kernel does that costs energy beside its ops and its bytes: matrix FLOP by type, shared memory, instructions.

Instructions are those of warps, counted from the work: a matrix instruction, 32 lanes' vector or special op, a load as
its loader has it, 512 bytes that warps read of shared memory or store. Those that only compute addresses, loop or wait
are not counted, so that the number is a lower bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, get_args

from gpu_model.loader import loader_named
from gpu_model.loaders.cp_async import INSTRUCTION_BYTES
from gpu_model.machine import Machine
from gpu_model.products.product import Product
from gpu_model.tiles.cuts import Amounts, Cut, mma_of
from gpu_model.traffic import Moved
from patterns.dtypes import dtype_bits
from patterns.energy import Event

if TYPE_CHECKING:
    from gpu_model.asked import Chosen
    from gpu_model.products.combine import Combine

Events = tuple[tuple[Event, int], ...]
LANES = 32
# Warps that issue one matrix instruction, by the feature that has it; one warp where none of these is.
ISSUING_WARPS: Mapping[str, int] = {"wgmma": 4}
# The price of FLOP of a type that the tensor core multiplies; what it does not multiply becomes two-byte floats.
OF_BITS: Mapping[int, Event] = {8: "fp8_flops", 16: "bf16_flops"}


def kernel_events(chosen: Chosen, amounts: Amounts, total: Moved, machine: Machine) -> Events:
    """Of one launch of a kernel over the whole GPU, as issued. amounts, total: all that it computes and moves."""
    events: Counter[Event] = Counter(_op_events(amounts))
    for priced in chosen.cuts:
        events.update(_moving_events(priced.cut, chosen.choice.loader, machine))
    events["instructions"] += register_instructions(total.stored)
    events.update(_matrix_events(chosen, amounts.matrix_flops, machine))
    return _in_order(events)


def combine_events(combine: Combine, machine: Machine) -> Events:
    """Of the kernel that puts parts together: parts are loaded, added up and stored."""
    events: Counter[Event] = Counter(_op_events(combine.amounts))
    events["smem_bytes"] += 2 * combine.total.loaded
    # Its loads are of whole rows of parts, each part's in one piece.
    loads = loader_named(combine.choice.loader).instructions(machine, combine.work.slot_bytes)
    pieces = -(-combine.total.loaded // combine.work.slot_bytes) if combine.work.slot_bytes else 0
    events["instructions"] += loads * pieces + register_instructions(combine.total.loaded + combine.total.stored)
    return _in_order(events)


def register_instructions(num_bytes: int) -> int:
    """Warp instructions that move bytes between registers and memory, 16 bytes a thread."""
    return -(-num_bytes // INSTRUCTION_BYTES)


def issuing_warps(machine: Machine) -> int:
    """Warps that issue one matrix instruction together."""
    return max((count for feature, count in ISSUING_WARPS.items() if feature in machine.features), default=1)


def flops_event(dtype: str, machine: Machine) -> Event:
    """What FLOP of products of a type count as."""
    bits = dtype_bits(dtype)
    converted = bits == 8 and dtype != "int8" and "fp8" not in machine.features
    return "bf16_flops" if converted else OF_BITS.get(bits, "fp32_flops")


def _moving_events(cut: Cut, loader: str, machine: Machine) -> Counter[Event]:
    """What its tiles load, and what warps read of that: all but operands of products."""
    loads = sum(
        cut.loads_of(access) * loader_named(loader).instructions(machine, access.num_bytes(cut.sizes))
        for access in cut.space.reads
    )
    by_warps = cut.finish_bytes * cut.tiles if cut.space.products else cut.loaded_bytes
    return Counter({"instructions": loads + register_instructions(by_warps), "smem_bytes": cut.loaded_bytes + by_warps})


def _matrix_events(chosen: Chosen, matrix_flops: int, machine: Machine) -> Counter[Event]:
    """The matrix products of all tiles. Where kernels issue more than the products alone would, of all in proportion,
    because rows are padded to what warps have: online ones.
    """
    events: Counter[Event] = Counter()
    for priced in chosen.cuts:
        cut = priced.cut
        in_step = {node.name: cut.in_step(node) for node in cut.space.nodes}
        for product in cut.space.products:
            times = cut.all_steps if in_step[product.node] else cut.tiles
            events.update(_product_events(cut, product, times, chosen.choice.layout, machine))
    alone = sum(amount for name, amount in events.items() if name.endswith("flops"))
    if alone in (0, matrix_flops):
        return events
    scaled: Counter[Event] = Counter({name: amount * matrix_flops // alone for name, amount in events.items()})
    flops = [name for name in scaled if name.endswith("flops")]
    scaled[flops[0]] += matrix_flops - sum(scaled[name] for name in flops)
    return scaled


def _product_events(cut: Cut, product: Product, times: int, layout: str, machine: Machine) -> Counter[Event]:
    """So many times one step's product."""
    mma = mma_of(cut, product, machine, layout)
    read = register_instructions(mma.operand_bytes) if machine.warp_rows else 0
    return Counter(
        {
            flops_event(product.dtype, machine): mma.flops * times,
            "instructions": (mma.instructions * issuing_warps(machine) + read) * times,
            "smem_bytes": mma.operand_bytes * times,
        }
    )


def _op_events(amounts: Amounts) -> Counter[Event]:
    """Vector and special ops, 32 lanes an instruction."""
    return Counter({"instructions": -(-amounts.vector_ops // LANES) - -amounts.special_ops // LANES})


def _in_order(events: Counter[Event]) -> Events:
    """Those that there are."""
    return tuple((name, events[name]) for name in get_args(Event) if events[name])
