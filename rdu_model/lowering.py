"""lower(): from a graph to a plan: its sections as Programs, each a call."""

from __future__ import annotations

from dataclasses import replace

from patterns.count import compulsory_by_storage
from patterns.graph import Graph
from patterns.plan import Call, Plan, Rates, Resource
from patterns.units import exact
from rdu_model.compilation import Choices, Compilation, compile_graph, compile_metapipe, expected_homes
from rdu_model.language.depths import shallow_buffers
from rdu_model.machine import Machine, macs_per_pcu, usable_pcus
from rdu_model.memory import off_chip
from rdu_model.operand_types import widened
from rdu_model.orchestrate import launch_cost
from rdu_model.pipe import Metapipe
from rdu_model.section import Section
from rdu_model.spill import as_homes, rooms, warnings_of

_WORK = ("matrix_flops", "vector_ops", "special_ops", "hbm_bytes", "ddr_bytes", "network_bytes")
_LEVELS = ("hbm", "ddr", "onchip", "network")


def lower(
    graph: Graph,
    machine: Machine,
    *,
    mode: str = "looped",
    orchestration: str = "hardware",
    members: int = 1,
    placement: str = "estimate",
    collectives: str = "overlapped",
    seed: int = 0,
) -> Plan:
    """How a machine of `members` sockets runs a graph, which is that of one member; see Choices for the others.

    Raises UnknownName for a name that there is none of, DoesNotFit for what is too large, UserError for 0 sockets.
    """
    choices = Choices(mode, orchestration, placement, collectives, seed)
    return plan_of(compile_graph(graph, machine, choices, members), graph, machine, members, mode, orchestration)


def check_room(
    graph: Graph,
    machine: Machine,
    *,
    mode: str = "looped",
    members: int = 1,
    collectives: str = "overlapped",
    **_: object,
) -> None:
    """Raises DoesNotFit where `lower` would for want of memory or sockets; much sooner than that."""
    expected_homes(graph, machine, Choices(mode, collectives=collectives), members)


def lower_metapipe(
    metapipe: Metapipe,
    machine: Machine,
    *,
    orchestration: str = "hardware",
    placement: str = "estimate",
    seed: int = 0,
) -> Plan:
    """How a machine runs a metapipe as it is written, as one call if it can be. Raises DoesNotFit, UnknownName.

    It runs on as many sockets as its all_reduces sum over. Warnings say which buffers are too shallow for full speed.
    """
    compiled = compile_metapipe(metapipe, machine, placement, seed, orchestration)
    members = compiled.sections[0].section.members
    plan = plan_of(compiled, metapipe.graph, machine, members, "metapipe", orchestration)
    if len(plan.calls) > 1:
        return plan
    return replace(plan, warnings=plan.warnings + tuple(found.text for found in shallow_buffers(metapipe, machine)))


def plan_of(compiled: Compilation, graph: Graph, machine: Machine, members: int, mode: str, orchestration: str) -> Plan:
    """A compilation as calls of a machine; the sections' own machines say what their stages and streams cost."""
    return Plan(
        machine.name,
        "rdu",
        mode,
        members,
        graph,
        tuple(_call(one.section, one.reason, machine, one.block.count) for one in compiled.sections),
        launch_cost(machine, orchestration),
        rates(machine, members),
        compiled.refusals,
        (*warnings_of(compiled.homes, machine), *widened(graph)),
        spilled_bytes=_spilled_bytes(graph, compiled, machine),
        rooms=rooms(compiled.homes, machine),
        moved=off_chip(graph, compiled.sections),
        prices=machine,
    )


def _spilled_bytes(graph: Graph, compiled: Compilation, machine: Machine) -> int:
    """Of the bytes that a run must move, those of tensors behind the first memory."""
    names = as_homes(compiled.homes, machine).ddr
    return sum(moved.get(name, 0) for moved in compulsory_by_storage(graph) for name in names)


def _call(section: Section, reason: str, machine: Machine, block_count: int) -> Call:
    metapipe = section.flow.metapipe
    counters = section.counters
    collective = all(asked.unit_class == "network" for asked in section.flow.asked.values())
    return Call(
        name=metapipe.name,
        block=metapipe.block,
        nodes=metapipe.nodes,
        tiling=section.tiling,
        program=section.program,
        clock_hz=machine.clock_hz,
        count=block_count // metapipe.iterations,
        iterations=metapipe.iterations,
        collective=collective,
        work=tuple((name, counters[name]) for name in _WORK if name in counters),  # type: ignore[misc]
        traffic=tuple((level, counters[f"{level}_bytes"]) for level in _LEVELS if f"{level}_bytes" in counters),  # type: ignore[misc]
        schedule="metapipe",
        reason=f"{reason}; {section.pcus} PCUs, {section.pmus} PMUs",
        events=section.events,
    )


def rates(machine: Machine, members: int = 1) -> Rates:
    """What one of `members` sockets can do in a second: by data sheet, and with the PCUs and bandwidth that can be had.

    A machine without HBM has no rate for it: its calls stream from DDR. Members on several nodes have both kinds of
    links.
    """
    links = machine.link_bytes_per_s + (machine.node_link_bytes_per_s if members > machine.node_sockets else 0)
    lanes = machine.pcus * machine.pcu_lanes * machine.clock_hz
    usable = usable_pcus(machine) * machine.clock_hz
    hbm, ddr = machine.hbm_bytes_per_s if machine.hbm_bytes else 0, machine.ddr_bytes_per_s
    peak: tuple[tuple[Resource, float], ...] = (
        ("matrix_flops", float(machine.peak_flops_per_s)),
        ("vector_ops", float(lanes * machine.pcu_stages)),
        ("special_ops", float(lanes)),
        ("hbm_bytes", float(hbm)),
        ("ddr_bytes", float(ddr)),
        ("network_bytes", float(links)),
    )
    achievable: tuple[tuple[Resource, float], ...] = (
        ("matrix_flops", float(2 * usable * macs_per_pcu(machine))),
        ("vector_ops", float(usable * machine.pcu_lanes * machine.pcu_stages)),
        ("special_ops", float(usable * machine.pcu_lanes)),
        ("hbm_bytes", float(hbm * exact(machine.hbm_efficiency))),
        ("ddr_bytes", float(ddr * exact(machine.ddr_efficiency))),
        ("network_bytes", float(links)),
    )
    return Rates(tuple(pair for pair in peak if pair[1]), tuple(pair for pair in achievable if pair[1]))
