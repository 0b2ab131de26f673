"""lower(): from a graph to a plan, step by step."""

from __future__ import annotations

from dataclasses import replace

from patterns.graph import Graph
from patterns.pipeline.bounds import counters_of
from patterns.plan import Call, Plan, Rates, Refusal
from patterns.room import no_room
from patterns.units import exact
from rdu_model.buffers import Shortage
from rdu_model.emit import Section, emit
from rdu_model.fit import check_hbm, check_sockets
from rdu_model.machine import Machine, macs_per_pcu, usable_pcus
from rdu_model.orchestrate import Intended, call_ps, launch_cost, mode_named
from rdu_model.pipe import SOCKETS, Metapipe
from rdu_model.sections import Piece, build, cut, refuse, spread_out
from rdu_model.tiling import tiling_of

_WORK = ("matrix_flops", "vector_ops", "special_ops", "hbm_bytes", "network_bytes")
_LEVELS = ("hbm", "onchip", "network")


def lower(
    graph: Graph, machine: Machine, *, mode: str = "looped", orchestration: str = "hardware", members: int = 1
) -> Plan:
    """How a machine of `members` sockets runs a graph, which is that of one member.

    Raises UnknownName for a mode or orchestration, DoesNotFit for what is too large, UserError for 0 sockets.
    """
    # 1. What the machine has to have.
    check_sockets(machine, members)
    check_hbm(graph, machine, members)
    launch = launch_cost(machine, orchestration)
    # 2. Which nodes are one call.
    intended = mode_named(mode).calls(graph)
    # 3. Each as sections: tiling, parallelisation, buffers; cut where the fabric is too small; then as a program.
    call_cycles = -(-call_ps(launch) * machine.clock_hz // 10**12)
    calls: list[Call] = []
    refusals: list[Refusal] = []
    for one in intended:
        made, refused = _calls(graph, one, machine, members, call_cycles)
        calls += made
        refusals += refused
    warnings = tuple(no_room(graph, calls, machine.hbm_bytes))
    return Plan(
        machine.name, "rdu", mode, members, graph, tuple(calls), launch, rates(machine), tuple(refusals), warnings
    )


def lower_metapipe(metapipe: Metapipe, machine: Machine, *, orchestration: str = "hardware") -> Plan:
    """How a machine runs a metapipe as it is written, as one call. Raises DoesNotFit, UnknownName.

    It runs on as many sockets as its all_reduces sum over.
    """
    members = metapipe.graph.sizes.get(SOCKETS, 1)
    check_sockets(machine, members)
    launch = launch_cost(machine, orchestration)
    section = spread_out(metapipe, machine, members)
    if isinstance(section, Shortage):
        raise refuse(metapipe.graph, section, f"in metapipe {metapipe.name!r} on {machine.name}")
    call = _call(section, "written as one metapipe", machine, metapipe.of_block.count)
    return Plan(machine.name, "rdu", "metapipe", members, metapipe.graph, (call,), launch, rates(machine))


def _calls(
    graph: Graph, one: Intended, machine: Machine, members: int, call_cycles: int
) -> tuple[list[Call], list[Refusal]]:
    """The calls that become of an intended one; a loop over executions needs the whole block in one section."""
    piece = Piece(graph, one.block, one.nodes, one.iterations, members)
    reason, refusals = one.reason, []
    if one.iterations > 1:
        whole = build(piece, machine)
        if isinstance(whole, Section):
            return [_call(whole, reason, machine, one.block.count)], []
        reason = f"not looped: {_lacks(whole)}"
        refusals.append(Refusal(one.nodes, reason))
    sections, lack = cut(replace(piece, iterations=1), machine, call_cycles)
    if lack is not None:
        reason = f"one of {len(sections)} sections: {_lacks(lack)}"
        refusals.append(Refusal(one.nodes, f"cut into {len(sections)} sections: {_lacks(lack)}"))
    return [_call(section, reason, machine, one.block.count) for section in sections], refusals


def _lacks(lack: Shortage) -> str:
    return (
        f"one section needs {lack.needed:,} {lack.resource}, there are {lack.available:,} "
        f"(most, {lack.most:,}, for {lack.node!r})"
    )


def _call(section: Section, reason: str, machine: Machine, block_count: int) -> Call:
    metapipe = section.flow.metapipe
    program = emit(section)
    counters = dict(counters_of(program))
    collective = all(asked.unit_class == "network" for asked in section.flow.asked.values())
    return Call(
        name=metapipe.name,
        block=metapipe.block,
        nodes=metapipe.nodes,
        tiling=tiling_of(metapipe.body),
        program=program,
        clock_hz=machine.clock_hz,
        count=block_count // metapipe.iterations,
        iterations=metapipe.iterations,
        collective=collective,
        work=tuple((name, counters[name]) for name in _WORK if name in counters),  # type: ignore[misc]
        traffic=tuple((level, counters[f"{level}_bytes"]) for level in _LEVELS if f"{level}_bytes" in counters),  # type: ignore[misc]
        schedule="metapipe",
        reason=f"{reason}; {section.pcus} PCUs, {section.pmus} PMUs",
    )


def rates(machine: Machine) -> Rates:
    """What one socket can do in a second: by data sheet, and with the PCUs and the HBM bandwidth that can be had."""
    lanes = machine.pcus * machine.pcu_lanes * machine.clock_hz
    usable = usable_pcus(machine) * machine.clock_hz
    return Rates(
        peak=(
            ("matrix_flops", float(machine.peak_flops_per_s)),
            ("vector_ops", float(lanes * machine.pcu_stages)),
            ("special_ops", float(lanes)),
            ("hbm_bytes", float(machine.hbm_bytes_per_s)),
            ("ddr_bytes", float(machine.ddr_bytes_per_s)),
            ("network_bytes", float(machine.link_bytes_per_s)),
        ),
        achievable=(
            ("matrix_flops", float(2 * usable * macs_per_pcu(machine))),
            ("vector_ops", float(usable * machine.pcu_lanes * machine.pcu_stages)),
            ("special_ops", float(usable * machine.pcu_lanes)),
            ("hbm_bytes", float(machine.hbm_bytes_per_s * exact(machine.hbm_efficiency))),
            ("ddr_bytes", float(machine.ddr_bytes_per_s)),
            ("network_bytes", float(machine.link_bytes_per_s)),
        ),
    )
