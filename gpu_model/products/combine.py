"""Split-KV and split-K: a kernel whose reduced dim SMs share out, and the one that puts its parts together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_model.asked import Asked, Chosen
from gpu_model.choice.able_schedules import able_schedules
from gpu_model.choice.choose import choose, fits
from gpu_model.choice.rank import best_aims
from gpu_model.fit import most_slots
from gpu_model.kernel_machine import highest_clock_hz, started
from gpu_model.loader import usable_loaders
from gpu_model.machine import Machine
from gpu_model.price import Transfer, arrival_cycles
from gpu_model.schedule import STREAMING, all_bound, schedule_named
from gpu_model.tiles.assign import Sharing, Transfers, uses, waves
from gpu_model.tiles.cuts import PARTIAL_BYTES, Amounts
from gpu_model.tiles.tile import POINTS, all_cuttings, targets_of
from gpu_model.traffic import Moved, parts_stay
from gpu_model.work import Choice, Work
from patterns.axes import points
from patterns.dtypes import bytes_of
from patterns.pipeline.hashed import changed

# Share of the SMs from which on FlashAttention-3 does not split (its heuristic for the number of splits).
NEARLY_ALL = 0.8
# Assumed: a kernel more must save a seventh, since what is saved on paper is not always there.
WORTH_SPLITTING = 0.85
# Share of the SMs from which on the whole is tried before its parts: it often takes less than they can. This changes
# what is tried, not what is chosen.
MANY = 0.4
# Results of the smallest tile that puts parts together: wherever a part fits, it does too.
LEAST = 1
# So many times what parts take is more than a prediction can be wrong by, roundings and steps of clocks included.
CLEARLY = 1.5


@dataclass(frozen=True)
class Combine:
    """The second kernel: its work, and what all of it moves and computes."""

    work: Work
    choice: Choice
    total: Moved
    amounts: Amounts
    predicted_cycles: int
    tiles: int
    machine: Machine


def choose_parts(asked: Asked, machine: Machine, gap_cycles: int) -> tuple[Chosen, Combine | None]:
    """One kernel, or as many parts as make it fastest with the kernel that combines them and the gap before that.

    Parts are tried where the tiles that are independent leave SMs without work (see _part_counts).
    """
    if asked.is_product:
        return _choose_product(asked, machine, gap_cycles)
    asked_for = asked.options.splits
    known = None if asked_for else _alone(asked, machine)
    if known is not None:
        tiles, at_least = known
        best, total = _choose_split(asked, machine, gap_cycles, _part_counts(tiles, machine))
        if best is not None and at_least > CLEARLY * total:
            return best
        alone = choose(asked, machine)
    else:
        alone = choose(asked, machine)
        counts = (asked_for,) if asked_for else _faster_counts(asked, alone, machine, gap_cycles)
        best, total = _choose_split(asked, machine, gap_cycles, counts)
    return best if best is not None and (asked_for or total < alone.predicted_cycles) else (alone, None)


def _faster_counts(asked: Asked, alone: Chosen, machine: Machine, gap_cycles: int) -> tuple[int, ...]:
    """Numbers of parts that are not known to take as long as the whole does."""
    counts, least = _part_counts(alone.tiles, machine), alone.predicted_cycles
    return tuple(parts for parts in counts if _least_split(asked, alone, parts, machine, gap_cycles) < least)


def _choose_split(
    asked: Asked, machine: Machine, gap_cycles: int, counts: Iterable[int]
) -> tuple[tuple[Chosen, Combine | None] | None, int]:
    """The fastest with its steps in so many parts, with what it takes; None where they are not in parts."""
    best: tuple[Chosen, Combine | None] | None = None
    least = 0
    for parts in counts:
        if best is not None and _least_split(asked, best[0], parts, machine, gap_cycles) >= least:
            continue
        split = choose(asked, machine, [changed(aim, parts=parts) for aim in targets_of(asked, machine)])
        if split.cuts[-1].cut.parts == 1:
            continue
        combine = None if split.cuts[-1].cut.meets else fastest_combine(split, machine)
        total = split.predicted_cycles + (combine.predicted_cycles + gap_cycles if combine else 0)
        if best is None or total < least:
            best, least = (split, combine), total
    return best, least


def _least_split(asked: Asked, other: Chosen, parts: int, machine: Machine, gap_cycles: int) -> int:
    """Cycles that an attention kernel in so many parts takes at least, with what combines them; 0 where none is known.

    other: the same in another number of parts. Every schedule with a bound takes as long as the HBM does for all that
    is read (see pace.py), at the highest clock; and all tiles of the same rows leave the same to be combined.
    """
    cut = other.cuts[-1].cut
    if not asked.online or asked.is_named or cut.kept or cut.finish_bytes or not cut.steps:
        return 0
    aims = tuple(targets_of(asked, machine))
    longest = max(aim.inner for aim in aims)
    alike = len({aim.rows for aim in aims}) == 1 and parts * longest <= cut.space.sizes[cut.steps[0].dim]
    if not alike or not all_bound(able_schedules(asked, machine)):
        return 0
    at_hz = highest_clock_hz(machine)
    reading = sum(asked.cold.values()) * max(machine.clock_hz, machine.boost_clock_hz)
    cycles = machine.kernel_ramp_cycles + machine.kernel_drain_cycles + reading // machine.hbm_achieved_bytes_per_s
    combine = fastest_combine(changed(other, cuts=(changed(other.cuts[-1], cut=changed(cut, parts=parts)),)), machine)
    return cycles * machine.clock_hz // at_hz + combine.predicted_cycles + gap_cycles


def _alone(asked: Asked, machine: Machine) -> tuple[int, int] | None:
    """Of an attention kernel without parts its tiles, and cycles of `clock_hz` that it takes at least.

    These are what one tile takes through the port of its SM, at any clock. None where some ways to cut it have more
    tiles than others, where they keep many SMs at work, or none fits.
    """
    if not asked.online or machine.fit != "refuse":
        return None
    aims = tuple(targets_of(asked, machine))
    cuts = [cut for (cut,) in all_cuttings(asked, aims, started(machine, False, True))]
    tiles = {cut.tiles for cut in cuts}
    if len(tiles) > 1 or min(tiles) >= MANY * machine.sm_count or not fits(asked, machine, aims):
        return None
    most_hz = max(machine.clock_hz, machine.boost_clock_hz)
    least_bytes = min(cut.tile_bytes for cut in cuts)
    return cuts[0].tiles, least_bytes * machine.clock_hz // (machine.load_bytes_per_cycle * most_hz)


def _part_counts(tiles: int, machine: Machine) -> tuple[int, ...]:
    """Parts that fill the SMs once, once with half of them, or twice; none where the tiles alone nearly fill them."""
    if tiles > NEARLY_ALL * machine.sm_count:
        return ()
    once = machine.sm_count // tiles
    return tuple(parts for parts in sorted({once // 2, once, 2 * machine.sm_count // tiles}) if parts > 1)


def _choose_product(asked: Asked, machine: Machine, gap_cycles: int) -> tuple[Chosen, Combine | None]:
    """Of the aims with the least bounds, those of equally many parts together: the best of each with its combine."""
    aims = best_aims(asked, targets_of(asked, machine), machine, gap_cycles)
    best: tuple[Chosen, Combine | None] | None = None
    least = 0
    for parts in sorted({aim.parts for aim in aims}):
        chosen = choose(asked, machine, [aim for aim in aims if aim.parts == parts])
        combine = fastest_combine(chosen, machine) if chosen.cuts[-1].cut.parts > 1 else None
        total = chosen.predicted_cycles + (gap_cycles + combine.predicted_cycles if combine else 0)
        if best is None or total < least * (1 if best[1] else WORTH_SPLITTING):
            best, least = (chosen, combine), total
    assert best is not None
    return best


def fastest_combine(split: Chosen, machine: Machine) -> Combine:
    """The kernel that puts the parts of a split one together, in the tiles that are predicted to be fastest."""
    every = [_combine(split, tile, machine) for tile in POINTS]
    every = every if any(every) else [_combine(split, LEAST, machine)]
    return min((one for one in every if one is not None), key=lambda combine: combine.predicted_cycles)


def _combine(split: Chosen, tile: int, machine: Machine) -> Combine | None:
    """Tiles of `tile` results: part after part is loaded, rescaled and added up. None where they do not fit."""
    cut = split.cuts[-1].cut
    product, parts, sizes = cut.space.products[-1], cut.parts, cut.space.sizes
    row = points(product.columns, sizes)
    results = points((*product.batch, *product.rows), sizes) * row
    tile = min(tile, results)
    tiles = -(-results // tile)
    part_bytes = (tile + cut.rescaling_values * -(-tile // row)) * PARTIAL_BYTES
    out_bytes = bytes_of(tile, cut.space.writes[-1].dtype)
    step = Amounts(vector_ops=tile)
    read = 0 if parts_stay(cut, machine) else 1
    work = Work(
        name="combine",
        waves=waves(tiles, Transfers(Transfer(part_bytes, 1, read, 1), Transfer(out_bytes, 1, 1, 1), parts), machine),
        steps=parts,
        slot_bytes=part_bytes,
        step=uses(step, machine, Sharing(tiles)),
        finish=(),
        latency_cycles=arrival_cycles(machine, read),
    )
    schedule = schedule_named(STREAMING)
    slots = schedule.slot_counts(min(parts, max(most_slots(work, machine), tile == LEAST)))
    if not slots:
        return None
    choice = Choice(slots[-1], usable_loaders(STREAMING, schedule.LOADERS, None, machine)[0])
    loaded, stored = part_bytes * parts * tiles, out_bytes * tiles
    predicted = schedule.predict(work, choice, machine)
    amounts = step.times(parts * tiles)
    return Combine(work, choice, Moved(loaded, stored, read * loaded, stored), amounts, predicted, tiles, machine)
