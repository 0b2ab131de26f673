"""Kernels that sum over several GPUs: phases in which every GPU sends a share of the payload over its links.

A schedule of such kernels says its phases; what they cost and the Program that they make are here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil
from typing import cast

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.roles import RING, all_loads, assemble, drain, fed_cycles, loading_cycles, loop, needed, ramp
from gpu_model.schedule import schedule_named
from gpu_model.tiles.assign import ring_sent_bytes
from gpu_model.work import Choice, CtaDemand, Use, Work
from patterns.pipeline.program import Channel, Program, Role
from patterns.pipeline.script import Finish, Op, Release, Start, Wait
from patterns.units import cycles_of_ps

ARRIVED = "arrived"
# Any loader will do: what a kernel loads is its GPU's own payload, in rows.
LOADERS = ("tma", "cp_async", "registers")


@dataclass(frozen=True)
class Phase:
    """Every GPU sends `share` of the payload, in `rounds` one after another, and each round must arrive.

    peers: GPUs that it exchanges flags with in each round. before_cycles: until the first byte may be sent (a barrier
    among the GPUs, the filling of a pipeline).
    """

    share: Fraction
    peers: int
    rounds: int = 1
    before_cycles: int = 0


Phases = Callable[[int, Machine], tuple[Phase, ...]]


def sent_bytes(schedule: str, payload_bytes: int, members: int, machine: Machine) -> int:
    """What each GPU sends for an all_reduce, rounded up; in a ring where the schedule is not one of these."""
    phases = phases_of(schedule, members, machine)
    if not phases:
        return ring_sent_bytes(payload_bytes, members)
    return ceil(payload_bytes * sum(phase.share for phase in phases))


def phases_of(schedule: str, members: int, machine: Machine) -> tuple[Phase, ...]:
    """The phases of a schedule; () where it is not one of these."""
    phases = cast("Phases | None", getattr(schedule_named(schedule), "phases", None))
    return () if phases is None else phases(members, machine)


def hop_cycles(phase: Phase, machine: Machine) -> int:
    """From the end of a round's transfer to the moment at which this GPU has seen the flags of all its peers."""
    return in_clock(machine.network_latency_ps + phase.peers * machine.network_peer_ps, machine)


def in_clock(time_ps: int, machine: Machine) -> int:
    """What links and switches take, in cycles of the SMs' clock, which is not theirs."""
    return cycles_of_ps(time_ps, machine.clock_hz)


def predicted(work: Work, choice: Choice, machine: Machine, phases: Sequence[Phase]) -> int:
    """All phases one after another; loading overlaps with the first, unless it is in rounds, storing with the last."""
    issue = loading_cycles(work, choice, machine)
    first, last = phases[0], phases[-1]
    arrival = issue + work.waves[0].load.cycles + work.latency_cycles + first.before_cycles
    loading, sending = fed_cycles(work, issue) - work.waves[0].load.cycles, _on_link(work, first)
    start = max(loading, sending) if first.rounds == 1 else loading + sending
    rest = sum(phase.before_cycles + _on_link(work, phase) for phase in phases[1:])
    hops = sum(phase.rounds * hop_cycles(phase, machine) for phase in phases)
    stored = sum(wave.tiles * wave.store.cycles for wave in work.waves)
    hidden = _on_link(work, last) - _sent(work, last) if last.rounds == 1 else 0
    end = max(work.waves[-1].store.cycles, stored - hidden)
    return machine.kernel_ramp_cycles + arrival + start + rest + hops + end + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine, phases: Sequence[Phase]) -> Program:
    """A role that loads this GPU's own payload, and one that exchanges it and stores the sum."""
    loads = ramp(machine) + _before(phases[0]) + all_loads(work, machine, choice)
    sends = _first(work, phases[0], machine)
    for before, phase in pairwise(phases):
        sends += _arrived(work, before) + _phase(work, phase, machine)
    roles = (Role("load", loads), Role("exchange", sends + _stored(work, phases[-1]) + drain(machine)))
    return assemble(work.name, machine, (Channel(RING, choice.slots),), roles)


def _first(work: Work, phase: Phase, machine: Machine) -> tuple[Op, ...]:
    """The first phase begins with each tile as it is loaded, or, in rounds, when all are."""
    if phase.rounds > 1:
        loaded = loop(work.tiles * work.steps, (Wait(RING), Release(RING)), "loaded")
        return loaded + _rounds(work, phase, machine)
    return loop(work.tiles * work.steps, (Wait(RING), _send(work, phase, machine), Release(RING)), "sends")


def _phase(work: Work, phase: Phase, machine: Machine) -> tuple[Op, ...]:
    if phase.rounds > 1:
        return _before(phase) + _rounds(work, phase, machine)
    return _before(phase) + loop(work.tiles * work.steps, (_send(work, phase, machine),), "sends")


def _rounds(work: Work, phase: Phase, machine: Machine) -> tuple[Op, ...]:
    """Each round sends its part of all tiles, and waits for what comes."""
    cycles = -(-_on_link(work, phase) // phase.rounds)
    counts = tuple((name, amount * work.tiles * work.steps // phase.rounds) for name, amount in _counts(work, phase))
    send = Start("link", cycles, hop_cycles(phase, machine), handle=ARRIVED, label="send", counts=counts)
    return loop(phase.rounds, (send, Finish(ARRIVED)), "rounds")


def _arrived(work: Work, phase: Phase) -> tuple[Op, ...]:
    """All of a phase's data are here; rounds have waited already."""
    return () if phase.rounds > 1 else loop(work.tiles * work.steps, (Finish(ARRIVED),), "arrivals")


def _stored(work: Work, phase: Phase) -> tuple[Op, ...]:
    """Each tile is stored when it is here."""
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        here = () if phase.rounds > 1 else loop(work.steps, (Finish(ARRIVED),))
        script += loop(wave.tiles, here + needed(*work.finish, wave.store), "stores")
    return script


def _send(work: Work, phase: Phase, machine: Machine) -> Start:
    return Start(
        "link",
        _sent(work, phase),
        hop_cycles(phase, machine),
        handle=ARRIVED,
        label="send",
        counts=_counts(work, phase),
    )


def _before(phase: Phase) -> tuple[Op, ...]:
    return needed(Use("sync", phase.before_cycles, "barrier"))


def _sent(work: Work, phase: Phase) -> int:
    """Cycles on the links for one step of one tile."""
    return ceil(work.exchanged.cycles * phase.share)


def _on_link(work: Work, phase: Phase) -> int:
    """Cycles on the links for all of this SM's tiles."""
    return work.tiles * work.steps * _sent(work, phase)


def _counts(work: Work, phase: Phase) -> tuple[tuple[str, int], ...]:
    return tuple((name, ceil(amount * phase.share)) for name, amount in work.exchanged.counts)


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """Warps that load, and warps that exchange."""
    return specialized(work, choice, machine)


def slot_counts(most: int) -> tuple[int, ...]:
    """Ring depths to try, fewest first."""
    return tuple(n for n in (4, 16) if n <= most) or ((1,) if most else ())
