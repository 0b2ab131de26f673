"""The units of a section's Program: memories, AGCU streams with a path of their own, a unit a stage, the links."""

from __future__ import annotations

from fractions import Fraction

from patterns.pipeline.program import Unit
from rdu_model.banks import turns_of
from rdu_model.collective import exchange
from rdu_model.flow import Flow
from rdu_model.homes import Memory, first_memory, memory_of
from rdu_model.pipe import Load, Stage, Store
from rdu_model.section import Section

# Where tiles are on their way: nothing holds it, many pass at once.
WAY = "way"
NETWORK = "network"


def units(section: Section) -> tuple[Unit, ...]:
    """Memories first: of units that limit equally, the waterfall names the first."""
    flow = section.flow
    found = [Unit(memory.unit, "memory") for memory in _memories(section)]
    arrivals = [arrival_cycles(section, buffer.link.source, buffer.link.name) for buffer in section.buffers]
    arrivals += [arrival_cycles(section, carry.source, carry.name) for carry in flow.metapipe.carries]
    if any(arrivals):
        found.append(Unit(WAY, "memory"))
    for name, place in flow.leaves.items():
        if isinstance(place.leaf, Load) and is_narrow(section, place.leaf):
            found.append(Unit(stream_unit(place.leaf), "memory"))
        elif isinstance(place.leaf, Stage) and flow.asked[name].unit_class != "network":
            found.append(Unit(stage_unit(flow, name), flow.asked[name].unit_class))
    if any(asked.unit_class == "network" for asked in flow.asked.values()):
        found.append(Unit(NETWORK, "network"))
    return tuple(found)


def _memories(section: Section) -> list[Memory]:
    """The first memory, then those that the section's streams need besides."""
    leaves = [found.leaf for found in section.flow.leaves.values()]
    tensors = [leaf.tensor for leaf in leaves if isinstance(leaf, Load | Store)]
    memories = [first_memory(section.machine), *(memory_for(section, tensor) for tensor in tensors)]
    return list({memory.unit: memory for memory in memories}.values())


def memory_for(section: Section, tensor: str) -> Memory:
    """The memory that a stream of this tensor reads or writes."""
    found = section.flow.metapipe.graph.tensor_named[tensor]
    return memory_of(section.machine, section.homes, found.shares or found.name)


def arrival_cycles(section: Section, source: str, link: str) -> int:
    """Cycles after a tile left its memory or its stage until its readers have it."""
    leaf = section.flow.leaves[source].leaf
    behind = memory_for(section, leaf.tensor).latency_cycles if isinstance(leaf, Load) else 0
    return behind + summed_after(section, source) + section.wire(link).latency_cycles


def summed_after(section: Section, source: str) -> int:
    """Cycles after a tile left for the other sockets until its sum is here; none for what does not communicate."""
    asked = section.flow.asked.get(source)
    if asked is None or asked.unit_class != "network":
        return 0
    return exchange(asked, section.flow.sizes_at(source), section.machine).latency_cycles


def own_pace(section: Section, load: Load) -> Fraction | int:
    """Bytes in a cycle that a stream's AGCUs, its way and the ports of its PMUs let through."""
    machine = section.machine
    buffers = [buffer for buffer in section.buffers_of[load.name] if buffer.link.source == load.name]
    ports = [
        b.pmus / Fraction(turns_of(section.flow, b, section.groups, load.name)) if b.turns else b.pmus for b in buffers
    ]
    limits = [min(ports, default=machine.pmus) * machine.pmu_bytes_per_cycle]
    limits += [_pace_of(section.wire(buffer.link.name).bytes_per_cycle) for buffer in buffers]
    if load.row_par:
        limits.append(load.row_par * machine.agcu_bytes_per_cycle)
    return min([limit for limit in limits if limit])


def _pace_of(bytes_per_cycle: float) -> Fraction | int:
    """Whole bytes in a cycle; less than one as it is, because 0 is a way that holds nothing up."""
    return int(bytes_per_cycle) or Fraction(bytes_per_cycle)


def is_narrow(section: Section, load: Load) -> bool:
    """Whether a stream's own path is slower than its memory."""
    pace = memory_for(section, load.tensor).pace
    return own_pace(section, load) * pace.cycles < pace.amount


def stream_unit(load: Load) -> str:
    """The unit of a narrow stream."""
    return f"agcu {load.name}"


def stage_unit(flow: Flow, name: str) -> str:
    """The unit of a stage."""
    unit_class = flow.asked[name].unit_class
    if unit_class == "network":
        return NETWORK
    return f"{'pmu' if unit_class == 'memory' else 'pcu'} {name}"
