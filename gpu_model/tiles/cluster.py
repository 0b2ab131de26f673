"""Clusters of CTAs: neighbouring tiles load the operand that they have in common once between them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import lru_cache

from gpu_model.machine import Machine
from gpu_model.renamed import Names, renamed
from gpu_model.roles import needed
from gpu_model.traffic import Moved
from gpu_model.work import Use, Wave, Work
from patterns.errors import DoesNotFit
from patterns.pipeline.script import Arrive, Await, Counts, Effect, Op, Start

L2_BYTES = "l2_bytes"


def has_common_operand(work: Work, size: int) -> bool:
    """Whether the CTAs of a cluster have an operand in common."""
    return 1 < size <= work.sharing_tiles


def in_cluster(work: Work, size: int, split: bool = False) -> Work:
    """The work of one CTA of a cluster of `size`, each of which loads its part of the common operand for all.

    From the L2 it is read once for the cluster. It arrives in every CTA whole, or, split, each keeps its part only.
    """
    if not has_common_operand(work, size):
        return work
    part = -(-work.shared_bytes // size)
    own = work.slot_bytes - work.shared_bytes
    arriving = own + part if split else work.slot_bytes
    waves = tuple(_loading(wave, own + part, arriving, work.slot_bytes) for wave in work.waves)
    return replace(
        work,
        waves=tuple(map(_through_hbm, waves)) if _hbm_limits(waves[0], work.steps) else waves,
        slot_bytes=arriving,
        shared_bytes=part if split else work.shared_bytes,
    )


def _loading(wave: Wave, read: int, arriving: int, of: int) -> Wave:
    """A wave of which each load reads and receives less than the `of` bytes that it would on its own."""
    path = replace(
        wave.path,
        port_cycles=-(-wave.path.port_cycles * arriving // of),
        l2_cycles=-(-wave.path.l2_cycles * read // of),
    )
    # Loads on the HBM's own unit wait for it alone; what they read of it stays the same.
    cycles = wave.load.cycles if wave.load.unit == "hbm" else path.cycles
    load = replace(wave.load, cycles=cycles, counts=_scaled(wave.load.counts, read, of))
    return replace(wave, load=load, path=path)


def _hbm_limits(wave: Wave, steps: int) -> bool:
    """Whether a tile's loads and its store, on paths of their own so far, take longer on the HBM that they share."""
    shared = wave.path.hbm_cycles * steps + _store_cycles_on_hbm(wave)
    return wave.load.unit != "hbm" and shared > max(wave.load.cycles * steps, wave.store.cycles)


def _through_hbm(wave: Wave) -> Wave:
    """The wave with loads and stores on the HBM's unit, which takes them one after another."""
    load = replace(wave.load, unit="hbm", cycles=wave.path.hbm_cycles)
    return replace(wave, load=load, store=replace(wave.store, unit="hbm", cycles=_store_cycles_on_hbm(wave)))


def _store_cycles_on_hbm(wave: Wave) -> int:
    """A store's cycles on the HBM, at the rate of its loads there, rounded up."""
    loaded, stored = (dict(use.counts).get("hbm_bytes", 0) for use in (wave.load, wave.store))
    return -(-stored * wave.path.hbm_cycles // loaded) if loaded else 0


def _scaled(counts: Counts, read: int, of: int) -> Counts:
    return tuple((name, amount * read // of if name == L2_BYTES else amount) for name, amount in counts)


def moved_in_cluster(total: Moved, work: Work, size: int) -> Moved:
    """What a kernel of clusters moves: fewer bytes out of the L2."""
    if not has_common_operand(work, size):
        return total
    saved = work.shared_bytes - -(-work.shared_bytes // size)
    return replace(total, loaded=total.loaded - total.loaded * saved // work.slot_bytes)


def on_cta(script: Iterable[Op], cta: int, own: Collection[str] = ()) -> tuple[Op, ...]:
    """A script whose units are those of one CTA's SM, and its `own` channels too: its number ends their names."""

    def channel(name: str) -> str:
        return f"{name}{cta}" if name in own else name

    return renamed(script, Names(unit=lambda name: f"{name}{cta}", channel=channel))


def meet_cluster(barrier: str, size: int, machine: Machine) -> tuple[Op, ...]:
    """Go on once a role of every CTA is here."""
    cost = Use("sync", machine.cluster_barrier_cycles, "cluster barrier")
    return (Arrive(barrier), Await(barrier, size), *needed(cost))


def remotely(effects: tuple[Effect, ...], machine: Machine) -> Start:
    """Arrivals at barriers of other CTAs, which are seen there later; nobody here waits for it."""
    return Start("sync", 0, machine.remote_arrive_cycles, effects, label="remote arrive")


@lru_cache(maxsize=256)
def reached(machine: Machine, size: int) -> Machine:
    """The machine with the SMs that clusters of `size` CTAs reach. Raises as cluster_ctas does."""
    return replace(machine, sm_count=cluster_ctas(machine, size))


def cluster_ctas(machine: Machine, size: int) -> int:
    """CTAs that run at once, one an SM, where they come in clusters of `size`: a cluster lies within one GPC.

    Where it is known how many clusters of a size are resident, no more clusters are that consist of several such.
    Raises DoesNotFit where there is room for none.
    """
    clusters = machine.sm_count // size
    for known, most in machine.most_clusters:
        of, rest = divmod(size, int(known))
        clusters = clusters if rest else min(clusters, most // of)
    if not clusters:
        help_text = "smaller clusters would fit"
        raise DoesNotFit(f"a cluster of {size} CTAs", "SMs that lie together", size, machine.sm_count, help_text)
    return clusters * size
