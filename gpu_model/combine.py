"""Split-KV: an online kernel whose reduced dim is shared out among SMs, and the kernel that puts the parts together."""

from __future__ import annotations

from dataclasses import dataclass

from gpu_model.asked import Asked, Chosen
from gpu_model.assign import Sharing, Transfers, uses, waves
from gpu_model.choose import choose
from gpu_model.cuts import ONLINE_VALUES, PARTIAL_BYTES, Amounts
from gpu_model.fit import most_slots
from gpu_model.machine import Machine
from gpu_model.price import Transfer
from gpu_model.schedule import STREAMING, schedule_named
from gpu_model.tile import POINTS
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
    tiles: int


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
    """Tiles of `tile` results: part after part is loaded, rescaled and added up."""
    cut = split.cuts[-1].cut
    product, parts, sizes = cut.space.products[-1], cut.parts, cut.space.sizes
    row = points(product.columns, sizes)
    results = points((*product.batch, *product.rows), sizes) * row
    tile = min(tile, results)
    tiles = -(-results // tile)
    part_bytes = (tile + ONLINE_VALUES * -(-tile // row)) * PARTIAL_BYTES
    out_bytes = tile * dtype_bytes(cut.space.graph.tensor_named[cut.space.writes[-1].tensor].dtype)
    step = Amounts(vector_ops=tile)
    work = Work(
        name="combine",
        waves=waves(tiles, Transfers(Transfer(part_bytes, 1, 1, 1), Transfer(out_bytes, 1, 1, 1), parts), machine),
        steps=parts,
        slot_bytes=part_bytes,
        step=uses(step, machine, Sharing(tiles)),
        finish=(),
        latency_cycles=machine.load_latency_cycles,
    )
    schedule = schedule_named(STREAMING)
    choice = Choice(schedule.slot_counts(min(parts, most_slots(work, machine)))[-1])
    loaded, stored = part_bytes * parts * tiles, out_bytes * tiles
    predicted = schedule.predict(work, choice, machine)
    return Combine(work, choice, Moved(loaded, stored, loaded, stored), step.times(parts * tiles), predicted, tiles)
