"""Tiles given to SMs: the Work of the SM with the most of them, at its share of the memory in every wave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.price import (
    Transfer,
    arrival_cycles,
    network_cycles,
    path_cycles,
    path_of,
    special_cycles,
    vector_cycles,
)
from gpu_model.tiles.cuts import PARTIAL_BYTES, Amounts, Cut, Priced
from gpu_model.traffic import Moved
from gpu_model.work import Grid, Path, Use, Wave, Work
from patterns.pipeline.hashed import changed, made_directly
from patterns.pipeline.script import Counts
from patterns.units import cycles_of_ps


@made_directly
@dataclass(frozen=True)
class Transfers:
    """What one step loads and one tile stores."""

    load: Transfer
    store: Transfer
    steps: int


NOTHING_SENT = Use("link", 0, "send", (("network_bytes", 0),))


def work_of(
    name: str, cuts: Sequence[Priced], total: Moved, machine: Machine, members: int = 1, *, collective: bool = False
) -> Work:
    """The busiest SM. Spaces side by side share the grid: their tiles are counted together, the dearest stands for all.

    members: GPUs that an all_reduce sums over. collective: whether the kernel does nothing else.
    """
    tiles = sum(priced.cut.tiles for priced in cuts)
    used = Sharing(min(tiles, machine.sm_count), 1 if collective else members)
    dearest = _dearest(cuts, machine, used)
    cut = dearest.cut
    every = [priced.cut for priced in cuts]
    transfers = transfers_of(every, cut, total)
    summed = used.members > 1 and bool(dearest.total.network_bytes)
    payload = sum(amounts.network_bytes for amounts in dearest.step) if collective else 0
    sent = network_cycles(machine, payload, used.active_sms) if payload else 0
    shared_bytes, sharing_tiles = cut.shared_in_step
    return Work(
        name=name,
        members=members,
        exchanged=Use("link", sent, "send", (("network_bytes", payload),)) if payload else NOTHING_SENT,
        waves=waves(tiles, transfers, machine),
        steps=cut.steps_per_tile,
        slot_bytes=max([one.step_bytes for one in every]),
        held_bytes=max([one.held_bytes for one in every]),
        step=(*[use for amounts in dearest.step for use in uses(amounts, machine, used)], *_meetings(cut, machine)),
        finish=(*uses(dearest.finish, machine, used), *_last_part(cut, machine)),
        latency_cycles=latency_cycles(every, total, machine, summed=summed),
        accumulators=max([one.accumulators for one in every]),
        row_blocks=dearest.row_blocks,
        shared_bytes=shared_bytes,
        sharing_tiles=sharing_tiles,
    )


def with_grid(work: Work, cuts: Sequence[Priced], total: Moved, machine: Machine) -> Work:
    """The work of a matrix product with its grid, for schedules that share out the steps of tiles."""
    tiles = sum(priced.cut.tiles for priced in cuts)
    dearest = _dearest(cuts, machine, Sharing(min(tiles, machine.sm_count), work.members))
    transfers = transfers_of([priced.cut for priced in cuts], dearest.cut, total)
    return changed(work, grid=_grid(tiles, dearest, transfers, machine)) if dearest.cut.space.matrix else work


def transfers_of(cuts: Sequence[Cut], dearest: Cut, total: Moved) -> Transfers:
    """What a step of the dearest tile loads and a tile stores: of several spaces, as much as those with most."""
    most_loaded, most_stored = max([cut.tile_bytes for cut in cuts]), max([cut.out_bytes for cut in cuts])
    return Transfers(
        Transfer(most_loaded, dearest.steps_per_tile, total.hbm_read, total.loaded),
        Transfer(most_stored, 1, total.hbm_written, total.stored),
        dearest.steps_per_tile,
    )


def latency_cycles(cuts: Sequence[Cut], total: Moved, machine: Machine, *, summed: bool) -> int:
    """Until a load arrives. A row is found by its index, loaded before it; a sum over GPUs scatters and gathers.

    The address of a product's operand is found once for a tile, while the tile before it is computed.
    """
    lookups = 2 if any(cut.space.finds_rows for cut in cuts) else 1
    on_links = cycles_of_ps(2 * machine.network_latency_ps, machine.clock_hz) if summed else 0
    return arrival_cycles(machine, total.hbm_read) * lookups + on_links


@made_directly
@dataclass(frozen=True)
class Sharing:
    """SMs that share the network, and GPUs that sum over it."""

    active_sms: int
    members: int = 1


def _meetings(cut: Cut, machine: Machine) -> tuple[Use, ...]:
    """What it takes that the CTAs which share a row reduce it together: their parts are sent, and all are awaited."""
    if cut.spread is None:
        return ()
    reduces = sum(cut.spread.dim in node.over for node in cut.space.nodes)
    return (Use("sync", reduces * (machine.remote_arrive_cycles + machine.cluster_barrier_cycles), "reduce together"),)


def _last_part(cut: Cut, machine: Machine) -> tuple[Use, ...]:
    """What the CTA that is last with its part of a reduction does: it counts the others, and adds up their parts.

    Every part leaves its values in the L2 and counts itself; the last one finds all there.
    """
    if not cut.meets:
        return ()
    added = cut.parts * cut.partial_results
    waits = Use("sync", 2 * arrival_cycles(machine, 0), "count the parts")
    return waits, Use("vector", vector_cycles(machine, added), "add up the parts", (("vector_ops", added),))


def _dearest(cuts: Sequence[Priced], machine: Machine, used: Sharing) -> Priced:
    return max(cuts, key=lambda priced: _tile_cycles(priced, machine, used)) if len(cuts) > 1 else cuts[0]


def _tile_cycles(priced: Priced, machine: Machine, used: Sharing) -> int:
    """Cycles that one tile computes."""
    step = sum(use.cycles for amounts in priced.step for use in uses(amounts, machine, used))
    return step * priced.cut.steps_per_tile + sum(use.cycles for use in uses(priced.finish, machine, used))


@lru_cache(maxsize=2048)
def uses(amounts: Amounts, machine: Machine, used: Sharing) -> tuple[Use, ...]:
    """Amounts as uses of units, those of no cycles left out: matrix, special, vector, then the network."""
    sent = ring_sent_bytes(amounts.network_bytes, used.members)
    on_link = network_cycles(machine, sent, used.active_sms)
    listed = (
        Use("tc", amounts.matrix_cycles, "mma", (("matrix_flops", amounts.matrix_flops),)),
        Use(
            "special", special_cycles(machine, amounts.special_ops), "special", (("special_ops", amounts.special_ops),)
        ),
        Use(
            "vector",
            vector_cycles(machine, amounts.vector_ops, amounts.compare_ops, amounts.dependent_ops),
            "vector",
            (("vector_ops", amounts.vector_ops),),
        ),
        Use("link", on_link, "send", (("network_bytes", sent),)),
    )
    return tuple(use for use in listed if use.cycles)


def ring_sent_bytes(payload_bytes: int, members: int) -> int:
    """What each member of a ring sends for an all_reduce: 2 (members - 1) / members of the payload, rounded up."""
    return -(-2 * (members - 1) * payload_bytes // members)


def waves(tiles: int, transfers: Transfers, machine: Machine) -> tuple[Wave, ...]:
    """Full waves with every SM at work, then the rest of the tiles on as many SMs, which share the memory."""
    full, rest = divmod(tiles, machine.sm_count)
    first = _paths(transfers, machine.sm_count if full else rest, machine)
    moved = transfers.load.counts, transfers.store.counts
    together = hbm_limits(transfers, *first)
    wave = _wave(full or 1, moved, *first, together)
    return (wave, _wave(1, moved, *_paths(transfers, rest, machine), together)) if full and rest else (wave,)


def _paths(transfers: Transfers, active: int, machine: Machine) -> tuple[Path, Path]:
    """Of loads and of stores, where so many SMs do the same."""
    return (
        path_of(machine, transfers.load, active, machine.load_bytes_per_cycle),
        path_of(machine, transfers.store, active, machine.store_bytes_per_cycle),
    )


def _grid(tiles: int, dearest: Priced, transfers: Transfers, machine: Machine) -> Grid:
    """All SMs at work on steps; sums of a tile pass the workspace in the L2."""
    active = min(machine.sm_count, tiles * transfers.steps)
    paths = _paths(transfers, active, machine)
    together = hbm_limits(transfers, *paths)
    wave = _wave(1, (transfers.load.counts, transfers.store.counts), *paths, together)
    sums = dearest.cut.accumulators
    moved = Transfer(sums * PARTIAL_BYTES, 1, 0, 1)
    counts = (("l2_bytes", moved.num_bytes),)
    return Grid(
        tiles,
        wave,
        Use(wave.store.unit, path_cycles(machine, moved, active, machine.store_bytes_per_cycle), "partial", counts),
        Use(wave.load.unit, path_cycles(machine, moved, active, machine.load_bytes_per_cycle), "take", counts),
        Use("vector", vector_cycles(machine, sums), "add", (("vector_ops", sums),)),
    )


def hbm_limits(transfers: Transfers, load: Path, store: Path) -> bool:
    """Whether a tile's loads and its store take longer on the HBM, which they share, than each on its own path."""
    shared = load.hbm_cycles * transfers.steps + store.hbm_cycles
    return shared > max(load.cycles * transfers.steps, store.cycles)


def _wave(tiles: int, moved: tuple[Counts, Counts], load: Path, store: Path, together: bool) -> Wave:
    """moved: what a load and a store count. together: whether both wait for the HBM alone."""
    loaded, stored = moved
    if together:
        return Wave(
            tiles, Use("hbm", load.hbm_cycles, "load", loaded), Use("hbm", store.hbm_cycles, "store", stored), load
        )
    return Wave(tiles, Use("load", load.cycles, "load", loaded), Use("store", store.cycles, "store", stored), load)
