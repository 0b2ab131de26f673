"""What a leaf of a metapipe does with one tile, as ops of its role: streams in and out, stages, exchanges."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from patterns.pipeline.script import Counts, Finish, Op, Run, Start
from rdu_model.banks import turns_of
from rdu_model.buffers import read_bytes
from rdu_model.collective import exchange
from rdu_model.homes import Memory
from rdu_model.lanes import NETWORK, is_narrow, memory_for, own_pace, stage_unit, stream_unit
from rdu_model.pipe import Leaf, Load, Stage, Store, reads_of
from rdu_model.price import cycles, grid, issued_flops
from rdu_model.section import Section


@singledispatch
def leaf_ops(leaf: Leaf, section: Section, sizes: Mapping[str, int]) -> tuple[Op, ...]:
    """The ops of one step in which the pipes around the leaf have cut the dims to `sizes`."""
    raise TypeError(leaf)


def stream(memory: Memory, moved: int, label: str) -> Run:
    """So many bytes from or to a memory."""
    counts: Counts = ((f"{memory.unit}_bytes", moved), ("onchip_bytes", moved))
    return Run(memory.unit, memory.pace.cycles_for(moved), label, counts)


@leaf_ops.register
def _(leaf: Load, section: Section, sizes: Mapping[str, int]) -> tuple[Op, ...]:
    """A stream in: its memory, and its own path if that is slower."""
    moved = section.flow.load_bytes(leaf.name, sizes)
    from_memory = stream(memory_for(section, leaf.tensor), moved, leaf.name)
    if not is_narrow(section, leaf):
        return (from_memory,)
    # Its own path is busy from its first byte on, while others may have the memory.
    alone = -(-moved // own_pace(section, leaf))
    return (Start(stream_unit(leaf), alone, handle=leaf.name, label=leaf.name), from_memory, Finish(leaf.name))


@leaf_ops.register
def _(leaf: Store, section: Section, sizes: Mapping[str, int]) -> tuple[Op, ...]:
    """A stream out."""
    moved = section.flow.asked[leaf.source].touched(sizes)[1]
    return (stream(memory_for(section, leaf.tensor), moved, leaf.name),)


@leaf_ops.register
def _(leaf: Stage, section: Section, sizes: Mapping[str, int]) -> tuple[Op, ...]:
    """A tile on the stage's units: as long as the slowest of its PCUs, its buffers' ports and the ways between."""
    flow, machine, name = section.flow, section.machine, leaf.name
    asked, on = flow.asked[name], section.groups[name]
    if asked.unit_class == "network":
        return _exchange(section, name, sizes)
    if sizes == flow.full_sizes[name]:
        work, computed, (touched, written) = on.work, on.cycles, flow.touched[name]
    else:
        work, (touched, written) = grid(asked, sizes, machine), asked.touched(sizes)
        computed = cycles(work, on.pcus) if on.pcus else 0
    demand = asked.demand(sizes)
    reads = {source: read_bytes(flow, name, source, touched, on) for source in _roots(section, name)}
    busy = max(computed, _moving_cycles(section, name, reads, written)) + machine.step_cycles
    counts = (
        ("matrix_flops", issued_flops(asked, work, machine)),
        ("vector_ops", demand.vector_ops),
        ("special_ops", demand.special_ops),
        ("onchip_bytes", sum(reads.values()) + written),
    )
    return (Run(stage_unit(flow, name), busy, name, _present(counts)),)


def stage_cycles(section: Section, name: str) -> int:
    """What a full tile takes a stage."""
    flow, on = section.flow, section.groups[name]
    if flow.asked[name].unit_class == "network":
        return exchange(flow.asked[name], flow.full_sizes[name], section.machine).cycles
    touched, written = flow.touched[name]
    reads = {source: read_bytes(flow, name, source, touched, on) for source in _roots(section, name)}
    return max(on.cycles, _moving_cycles(section, name, reads, written)) + section.machine.step_cycles


def _exchange(section: Section, name: str, sizes: Mapping[str, int]) -> tuple[Op, ...]:
    """A tile leaves over the links; its sum arrives later (see arrival_cycles), while the next tile leaves."""
    asked = section.flow.asked[name]
    done, payload = exchange(asked, sizes, section.machine), asked.demand(sizes).network_bytes
    counts = (("network_bytes", done.sent_bytes), ("onchip_bytes", 2 * payload))
    return (Run(NETWORK, done.cycles, name, _present(counts)),)


def _moving_cycles(section: Section, name: str, reads: Mapping[str, int], written: int) -> int:
    """Cycles that the PMUs of the operands and of the result, and the ways to them, need: whichever needs most."""
    port = section.machine.pmu_bytes_per_cycle
    slowest = 0
    for buffer in section.buffers_of[name]:
        link, wire = buffer.link, section.wire(buffer.link.name)
        if name in link.readers:
            moved = reads.get(link.source, 0)
            over_mesh = wire.read_cycles(moved, link.readers.index(name))
        else:
            moved = written if name == link.source else 0
            over_mesh = wire.write_cycles(moved)
        busy_bytes = moved * turns_of(section.flow, buffer, section.groups, name)
        slowest = max(slowest, -(-busy_bytes // (buffer.pmus * port)), over_mesh)
    return slowest


def _roots(section: Section, name: str) -> dict[str, None]:
    flow = section.flow
    return dict.fromkeys(flow.roots[source] for source in reads_of(flow.leaves[name].leaf))


def _present(counts: Counts) -> Counts:
    return tuple((name, amount) for name, amount in counts if amount)
