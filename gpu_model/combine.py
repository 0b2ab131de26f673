"""Split-KV: an online kernel whose reduced dim is shared out among SMs, and the kernel that puts the parts together."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_model.assign import Sharing, Transfers, uses, waves
from gpu_model.cuts import ONLINE_VALUES, PARTIAL_BYTES, Amounts
from gpu_model.fit import misfit, most_slots
from gpu_model.machine import Machine
from gpu_model.price import Transfer
from gpu_model.schedule import schedule_named
from gpu_model.tile import POINTS, STREAMING, Asked, Chosen, choose
from gpu_model.traffic import Moved
from gpu_model.work import Choice, Work
from patterns.axes import points
from patterns.dtypes import dtype_bytes


@dataclass(frozen=True)
class Combine:
    """The second kernel: its work, and what all of it moves and computes."""

    work: Work
    choice: Choice
    total: Moved
    amounts: Amounts
    predicted_cycles: int


def choose_parts(asked: Asked, machine: Machine, gap_cycles: int) -> tuple[Chosen, Combine | None]:
    """One kernel, or as many parts as make it fastest with the kernel that combines them and the gap before that.

    Parts are tried where the tiles that are independent leave SMs without work.
    """
    alone = choose(asked, machine)
    asked_for = asked.options.splits
    most = asked_for or machine.sm_count // alone.tiles
    best: tuple[Chosen, Combine | None] = (alone, None)
    least = None if asked_for else alone.predicted_cycles
    for parts in sorted({most if asked_for else most // 2, most} - {0, 1}):
        split = choose(asked, machine, parts)
        if split.cuts[-1].cut.parts == 1:
            continue
        combine = fastest_combine(split, machine)
        total = split.predicted_cycles + combine.predicted_cycles + gap_cycles
        if least is None or total < least:
            best, least = (split, combine), total
    return best


def fastest_combine(split: Chosen, machine: Machine) -> Combine:
    """The kernel that puts the parts of a split one together, in the tiles that are predicted to be fastest."""
    every = (_combine(split, tile, machine) for tile in POINTS)
    return min(every, key=lambda combine: combine.predicted_cycles)


def _combine(split: Chosen, tile: int, machine: Machine) -> Combine:
    """Tiles of `tile` results: each reads as many partial ones of every part, rescales them and adds them up."""
    cut = split.cuts[-1].cut
    product, parts, sizes = cut.space.products[-1], cut.parts, cut.space.sizes
    row = points(product.columns, sizes)
    results = points((*product.batch, *product.rows), sizes) * row
    element_bytes = dtype_bytes(cut.space.graph.tensor_named[cut.space.writes[-1].tensor].dtype)
    tile = min(tile, results)
    tiles = -(-results // tile)
    loaded = parts * (tile + ONLINE_VALUES * -(-tile // row)) * PARTIAL_BYTES
    amounts = Amounts(vector_ops=parts * tile)
    transfers = Transfers(Transfer(loaded, 1, 1, 1), Transfer(tile * element_bytes, 1, 1, 1), 1)
    work = Work(
        name="combine",
        waves=waves(tiles, transfers, machine),
        steps=1,
        slot_bytes=loaded,
        step=uses(amounts, machine, Sharing(tiles)),
        finish=(),
        latency_cycles=machine.load_latency_cycles,
    )
    choice = Choice(max(1, min(2, most_slots(work, machine))))
    streaming = schedule_named(STREAMING)
    fits = misfit("combine", streaming.demand(work, choice, machine), work, choice, machine) is None
    predicted = streaming.predict(work, choice, machine) if fits else machine.clock_hz
    stored = tile * element_bytes * tiles
    total = Moved(loaded * tiles, stored, loaded * tiles, stored)
    return Combine(work, choice, total, amounts.times(tiles), predicted)
