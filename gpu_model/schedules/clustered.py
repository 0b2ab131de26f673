"""A cluster of CTAs with TMA multicast: each producer loads its part of the common operand into every CTA's ring.

A slot is free for a part once the consumers of all CTAs gave it back, and full once its own operand and all parts are
there. The L2 is read once for the cluster; what arrives in each SM, and the time that takes on its port, stay.
"""

from __future__ import annotations

from dataclasses import replace

from gpu_model.fit import specialized
from gpu_model.machine import Machine
from gpu_model.price import issue_cycles
from gpu_model.ring_paths import fullest_ring
from gpu_model.roles import (
    RING,
    assemble,
    computing,
    computing_cycles,
    drain,
    end_tile,
    fed_cycles,
    hand_over,
    loading_cycles,
    loop,
    needed,
    ramp,
    used_cycles,
)
from gpu_model.schedule import Job
from gpu_model.tiles.cluster import has_common_operand, meet_cluster, on_cta, remotely
from gpu_model.work import Choice, CtaDemand, Use, Wave, Work
from patterns.pipeline.program import Barrier, Channel, Program, Role
from patterns.pipeline.script import Acquire, Free, Op, Release, Start, Wait, copy, multicast

LOADERS = ("tma",)
SERVES: tuple[Job, ...] = ("mm",)
NEEDS: tuple[str, ...] = ("clusters", "tma")
AUTO = False
WARPGROUPS = (1, 2, 3)
CLUSTERS = (2, 4)
BEGIN, END = "cluster begin", "cluster end"
slot_counts = fullest_ring


def demand(work: Work, choice: Choice, machine: Machine) -> CtaDemand:
    """As a CTA on its own: a producer warpgroup and the consumer's."""
    return specialized(work, choice, machine)


def predict(work: Work, choice: Choice, machine: Machine) -> int:
    """As a producer and a consumer on their own; slots come back later, from other CTAs too, and the cluster meets."""
    issue, step = loading_cycles(work, choice, machine), computing_cycles(work.step, machine)
    remote = machine.remote_arrive_cycles if has_common_operand(work, choice.cluster) else 0
    ends = [work.end_cycles(wave) for wave in work.waves]
    used = work.waves[0].load.cycles + used_cycles(work, issue + remote, step, choice.slots, ends) - remote
    busy = max(used, fed_cycles(work, issue) + step + ends[-1])
    meetings = 2 * machine.cluster_barrier_cycles
    return machine.kernel_ramp_cycles + issue + work.latency_cycles + busy + meetings + machine.kernel_drain_cycles


def program(work: Work, choice: Choice, machine: Machine) -> Program:
    """A producer and a consumer for each CTA of the cluster, on the units of its own SM."""
    ctas = range(choice.cluster)
    roles = tuple(
        role
        for cta in ctas
        for role in (
            Role(f"producer{cta}", on_cta(_producer(work, choice, machine, cta), cta)),
            Role(f"consumer{cta}", on_cta(_consumer(work, choice, machine, cta), cta)),
        )
    )
    barriers = (Barrier(BEGIN), Barrier(END))
    return assemble(work.name, machine, _channels(work, choice), roles, barriers)


def _channels(work: Work, choice: Choice) -> tuple[Channel, ...]:
    """By CTA a ring of what its own producer loads, and one of what each other sends it."""
    own, part = _own_bytes(work, choice), _part_bytes(work, choice)
    rings = []
    for cta in range(choice.cluster):
        rings.append(Channel(_ring(cta, cta), choice.slots, slot_bytes=own + part))
        rings += [Channel(_ring(cta, other), choice.slots, slot_bytes=part) for other in _others(work, choice, cta)]
    return tuple(rings)


def _producer(work: Work, choice: Choice, machine: Machine, cta: int) -> tuple[Op, ...]:
    script: tuple[Op, ...] = (*ramp(machine), *meet_cluster(BEGIN, choice.cluster, machine))
    for wave in work.waves:
        script += loop(wave.tiles * work.steps, _load(work, wave, choice, machine, cta), "loads")
    return script


def _load(work: Work, wave: Wave, choice: Choice, machine: Machine, cta: int) -> tuple[Op, ...]:
    """Once a slot is free here and for this part in every other CTA: the own operand, then the part for all.

    Each port receives as many parts from others as it sends, so the time of all of them is held for the one sent.
    """
    issue = Use("issue", issue_cycles(machine, choice.loader, work.slot_bytes), "issue")
    others = _others(work, choice, cta)
    free = (Acquire(_ring(cta, cta)), *(Acquire(_ring(other, cta)) for other in others))
    own, part = _own_bytes(work, choice), _part_bytes(work, choice)
    loads = [_copy(_portion(wave.load, 0, own, work, part), work, cta, own if others else 0)] if own else []
    if others:
        sent = _copy(replace(_portion(wave.load, own, work.slot_bytes, work, part), label="multicast"), work, cta, part)
        for other in others:
            sent = multicast(sent, _ring(other, cta), part)
        loads.append(sent)
    return (*free, *hand_over(machine), *needed(issue), *loads)


def _portion(load: Use, first: int, last: int, work: Work, part: int) -> Use:
    """The port's time for the bytes from `first` to `last` of a slot, and what is read for them: of parts, one."""
    own = work.slot_bytes - work.shared_bytes if part else work.slot_bytes
    counts = load.between(min(first, own), min(last, own + part), own + part).counts
    return replace(load.between(first, last, work.slot_bytes), counts=counts)


def _copy(load: Use, work: Work, cta: int, num_bytes: int) -> Start:
    into = _ring(cta, cta)
    return copy(
        load.unit, load.cycles, work.latency_cycles, into, num_bytes=num_bytes, label=load.label, counts=load.counts
    )


def _consumer(work: Work, choice: Choice, machine: Machine, cta: int) -> tuple[Op, ...]:
    """Every step waits for what its own producer and the others' loaded, and tells all of them when it is through."""
    others = _others(work, choice, cta)
    step: tuple[Op, ...] = (
        Wait(_ring(cta, cta)),
        *(Wait(_ring(cta, other)) for other in others),
        *hand_over(machine),
        *computing(work.step, machine),
        Release(_ring(cta, cta)),
    )
    if others:
        step += (remotely(tuple(Free(_ring(cta, other)) for other in others), machine),)
    script: tuple[Op, ...] = ()
    for wave in work.waves:
        script += loop(wave.tiles, loop(work.steps, step, "steps") + end_tile(work, wave), "tiles")
    return script + meet_cluster(END, choice.cluster, machine) + drain(machine)


def _others(work: Work, choice: Choice, cta: int) -> tuple[int, ...]:
    """The CTAs that this one sends its part to, and gets theirs from."""
    return (
        tuple(other for other in range(choice.cluster) if other != cta)
        if has_common_operand(work, choice.cluster)
        else ()
    )


def _own_bytes(work: Work, choice: Choice) -> int:
    return work.slot_bytes - work.shared_bytes if has_common_operand(work, choice.cluster) else work.slot_bytes


def _part_bytes(work: Work, choice: Choice) -> int:
    return -(-work.shared_bytes // choice.cluster) if has_common_operand(work, choice.cluster) else 0


def _ring(cta: int, source: int) -> str:
    """The slots in one CTA's shared memory that one CTA's producer fills."""
    return f"{RING}{cta}" if cta == source else f"{RING}{cta} from {source}"
