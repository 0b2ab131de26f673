"""A laid-out kernel as a Call: its Program, its tiling, and what it moves and computes on the whole GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gpu_model.asked import Chosen
from gpu_model.energy import combine_events, kernel_events
from gpu_model.exchange import sent_bytes
from gpu_model.joining.legal import Group
from gpu_model.machine import Machine
from gpu_model.occupancy.resident import program
from gpu_model.products.combine import Combine
from gpu_model.products.lookups import EACH, FOUND
from gpu_model.schedule import STREAMING, matrix_reach, partial_tiles, schedule_named
from gpu_model.smem_layout import USUAL
from gpu_model.tiles.cuts import PARTIAL_BYTES, Amounts, Cut
from gpu_model.traffic import Moved
from gpu_model.work import Choice, Work
from patterns.graph import Block
from patterns.pipeline.hashed import changed
from patterns.pipeline.program import Program
from patterns.plan import Call, Level, Nest, Resource, Tiling
from patterns.plural import number_of


def call_of(name: str, block: Block, group: Group, chosen: Chosen, members: int, machine: Machine) -> Call:
    """The kernel of a group."""
    return _call(name, (block.name, block.count), (group.online, group.reason), chosen, members, machine)


@lru_cache(maxsize=2048)
def _call(
    name: str,
    block: tuple[str, int],
    group: tuple[tuple[str, ...], str],
    chosen: Chosen,
    members: int,
    machine: Machine,
) -> Call:
    """Memo of `call_of` by what it has of the block (name, count) and of the group (online, reason)."""
    passed = _passed(chosen, machine)
    amounts = sum((priced.total for priced in chosen.cuts), Amounts(vector_ops=passed // PARTIAL_BYTES))
    total = changed(chosen.total, loaded=chosen.total.loaded + passed, stored=chosen.total.stored + passed)
    cuts = tuple(priced.cut for priced in chosen.cuts)
    sent = sent_bytes(chosen.schedule, amounts.network_bytes, members, machine)
    return Call(
        name=name,
        block=block[0],
        nodes=tuple(node.name for cut in cuts for node in cut.space.nodes),
        tiling=tiling_of(cuts, group[0]),
        program=_program(name, chosen.work, chosen.schedule, chosen.choice, chosen.machine),
        clock_hz=chosen.machine.clock_hz,
        count=block[1],
        collective=amounts.network_bytes > 0,
        work=_work(amounts, total, sent),
        traffic=_traffic(total, sent),
        schedule=_described(chosen.schedule, chosen.choice),
        reason=group[1],
        schedule_reason=chosen.reason,
        reach=_reach(chosen),
        events=kernel_events(chosen, amounts, total, machine),
    )


def programs_of(name: str, chosen: Chosen, combine: Combine | None) -> Iterator[tuple[Program, int]]:
    """The Programs of a kernel, and of the one that puts its parts together, each with its clock in Hz."""
    yield _program(name, chosen.work, chosen.schedule, chosen.choice, chosen.machine), chosen.machine.clock_hz
    if combine is not None:
        yield _program(name, combine.work, STREAMING, combine.choice, combine.machine), combine.machine.clock_hz


def _reach(chosen: Chosen) -> tuple[tuple[Resource, float], ...]:
    """The tensor core's rate as far as the schedule's instructions let it come, where that is not all of it."""
    share = matrix_reach(schedule_named(chosen.schedule), chosen.work, chosen.choice, chosen.machine)
    return (("matrix_flops", share),) if share < 1 else ()


def _passed(chosen: Chosen, machine: Machine) -> int:
    """Bytes of sums that SMs hand to each other through the L2, each written and read."""
    return (
        partial_tiles(chosen.schedule, chosen.work, chosen.choice, machine) * chosen.work.accumulators * PARTIAL_BYTES
    )


def combine_call(name: str, block: Block, of: Call, combine: Combine) -> Call:
    """The kernel that puts the parts of a split call together."""
    return Call(
        name=name,
        block=block.name,
        nodes=(),
        tiling=Tiling(),
        program=_program(name, combine.work, STREAMING, combine.choice, combine.machine),
        clock_hz=combine.machine.clock_hz,
        count=block.count,
        combines=of.name,
        work=_work(combine.amounts, combine.total, 0),
        traffic=_traffic(combine.total, 0),
        schedule=_described(STREAMING, combine.choice),
        reason=f"puts together the parts of {of.name}, which are there because its tiles alone leave SMs idle",
        events=combine_events(combine, combine.machine),
    )


def tiling_of(cuts: Sequence[Cut], online: Sequence[str]) -> Tiling:
    """The loops of a kernel: over free dims, then over reduced ones; a nest for each space where there are several.

    Steps over online dims are inside all others. The rows that lookups find are no loop: which they are is known when
    it runs.
    """
    if len(cuts) > 1:
        return Tiling(
            nests=tuple(Nest(tuple(n.name for n in cut.space.nodes), tiling_of([cut], online)) for cut in cuts)
        )
    cut = cuts[0]
    steps = tuple(step for step in cut.steps if step.dim not in online)
    rescaled = tuple(step for step in cut.steps if step.dim in online)
    splits = tuple((step.dim, cut.parts) for step in cut.steps) if cut.parts > 1 and not cut.meets else ()
    loops = tuple(loop for loop in cut.loops if loop.dim not in (FOUND, EACH))
    return Tiling((*loops, *steps), splits, online=rescaled)


def _program(name: str, work: Work, schedule: str, choice: Choice, machine: Machine) -> Program:
    return program(schedule_named(schedule), work.named(name), choice, machine)


def _described(schedule: str, choice: Choice) -> str:
    special = f", clusters of {choice.cluster}" if choice.cluster > 1 else ""
    special += f", {choice.dma_warps} DMA warps" if choice.dma_warps > 1 else ""
    special += f", {choice.ctas} CTAs on an SM" if choice.ctas > 1 else ""
    special += f", {choice.layout} operands" if choice.layout != USUAL else ""
    return f"{schedule} ({number_of(choice.slots, 'slot')}, {choice.loader}{special})"


def _work(amounts: Amounts, total: Moved, sent: int) -> tuple[tuple[Resource, int], ...]:
    return (
        ("matrix_flops", amounts.matrix_flops),
        ("vector_ops", amounts.vector_ops),
        ("special_ops", amounts.special_ops),
        ("hbm_bytes", total.hbm_read + total.hbm_written),
        # The L2's rate is that of reads; writes go the other way.
        ("l2_bytes", total.loaded),
        ("network_bytes", sent),
    )


def _traffic(total: Moved, sent: int) -> tuple[tuple[Level, int], ...]:
    return (
        ("hbm", total.hbm_read + total.hbm_written),
        ("l2", total.loaded + total.stored),
        ("network", sent),
    )
