"""The compile flow: which nodes are one call, each as sections on the fabric. lowering.py makes a Plan of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from patterns.counting.room import held_bytes
from patterns.errors import DoesNotFit, UnknownName
from patterns.graph import Block, Graph
from patterns.plan import Refusal
from patterns.units import PS_PER_S
from rdu_model.cache import made
from rdu_model.cuts.calls import Made
from rdu_model.cuts.cutting import Part
from rdu_model.cuts.separate import apart
from rdu_model.fit import check_family, check_memory, check_sockets, check_stages, check_streams
from rdu_model.floor.wiring import wired
from rdu_model.homes import Homes
from rdu_model.language.cut_written import cut_written
from rdu_model.language.written import check_written
from rdu_model.machine import Machine
from rdu_model.memory import expected, transfers
from rdu_model.nearest import with_nearest
from rdu_model.orchestrate import Intended, call_ps, launch_cost, mode_named
from rdu_model.pipe import SOCKETS, Metapipe
from rdu_model.section import Section
from rdu_model.sections import Piece, spread_out
from rdu_model.shortage import Stop, refuse
from rdu_model.spill import Home, as_homes, find_homes

PLACEMENTS = ("estimate", "full")
COLLECTIVES = ("overlapped", "separate")


@dataclass(frozen=True)
class Choices:
    """How a graph is compiled.

    orchestration: who starts calls, hardware or software. placement: `estimate` for hops and congestion by formula,
    `full` to place and route every section. collectives: `overlapped` as stages of a pipeline, `separate` as calls of
    their own. seed: of the placement.
    """

    mode: str = "looped"
    orchestration: str = "hardware"
    placement: str = "estimate"
    collectives: str = "overlapped"
    seed: int = 0

    def __post_init__(self) -> None:
        for what, name, known in (
            ("placement", self.placement, PLACEMENTS),
            ("way of collectives", self.collectives, COLLECTIVES),
        ):
            if name not in known:
                raise UnknownName(what, name, known)


@dataclass(frozen=True)
class Compiled:
    """A section and the block that it is of.

    reason: why it holds these nodes, for people. stopped: why it holds no more of its block, None at its end.
    cached: it was compiled before, for this graph or another that has the same there.
    """

    block: Block
    section: Section
    reason: str
    stopped: Stop | None = None
    cached: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Compilation:
    """The sections of a graph in the order of their calls, what could not be, and where every tensor lies."""

    sections: tuple[Compiled, ...]
    refusals: tuple[Refusal, ...] = ()
    homes: tuple[Home, ...] = ()


def compile_graph(graph: Graph, machine: Machine, choices: Choices, members: int = 1) -> Compilation:
    """The sections of a graph, which is that of one of `members` sockets.

    Raises UnknownName for a name that there is none of, DoesNotFit for what is too large, UserError for 0 sockets.
    """
    # 1. What the machine has to have, and which nodes are one call.
    away = expected_homes(graph, machine, choices, members)
    intended = _intended(graph, choices)
    # 2. Each as sections: tiling, parallelisation, buffers; cut where the grid is too small; then on the grid.
    try:
        sections, refusals = _all_sections(graph, machine, choices, members, intended, away)
    except DoesNotFit as misfit:
        raise with_nearest(misfit, graph, machine, members, away) from None
    # 3. A home for every tensor.
    homes = _homes(graph, machine, sections)
    if as_homes(homes, machine).ddr and not away.ddr:
        # What passes between calls may have no room either.
        away = as_homes(homes, machine)
        sections, refusals = _all_sections(graph, machine, choices, members, intended, away)
        homes = _homes(graph, machine, sections)
    return Compilation(_at_home(sections, as_homes(homes, machine)), refusals, homes)


def expected_homes(graph: Graph, machine: Machine, choices: Choices, members: int) -> Homes:
    """Where tensors are expected to lie before there are sections: streams from DDR are slower, and HBM may have no
    room for all that the graph keeps. Raises as `compile_graph` does.
    """
    check_family(machine)
    check_sockets(machine, members)
    check_memory(graph, machine, members)
    if held_bytes(graph) <= machine.hbm_bytes or not machine.hbm_bytes:
        return Homes()
    intended = _intended(graph, choices)
    return as_homes(find_homes(graph, machine, tuple(expected(graph, intended)), _blocks(intended)), machine)


def _intended(graph: Graph, choices: Choices) -> tuple[Intended, ...]:
    calls = mode_named(choices.mode).calls(graph)
    return tuple(part for one in calls for part in apart(one)) if choices.collectives == "separate" else calls


def _blocks(calls: Iterable[Intended | Compiled]) -> tuple[str, ...]:
    return tuple(one.block.name for one in calls)


def _homes(graph: Graph, machine: Machine, sections: tuple[Compiled, ...]) -> tuple[Home, ...]:
    return find_homes(graph, machine, tuple(transfers(sections)), _blocks(sections))


def _all_sections(
    graph: Graph, machine: Machine, choices: Choices, members: int, intended: Iterable[Intended], homes: Homes
) -> tuple[tuple[Compiled, ...], tuple[Refusal, ...]]:
    """The sections of all calls, with tensors where `homes` says, and what could not be."""
    call_cycles = _call_cycles(machine, choices)
    node_named = {node.name: node for _, node in graph.nodes()}
    sections: list[Compiled] = []
    refusals: list[Refusal] = []
    for one in intended:
        nodes = tuple(node_named[name] for name in one.nodes)
        piece = Piece(graph, one.block, nodes, one.iterations, members, homes)
        found, cached = made(piece, machine, call_cycles, choices.placement, choices.seed)
        sections += _compiled(one, found, cached)
        refusals += _refusals(one, found)
    return tuple(sections), tuple(refusals)


def compile_metapipe(
    metapipe: Metapipe,
    machine: Machine,
    placement: str = "estimate",
    seed: int = 0,
    orchestration: str = "hardware",
) -> Compilation:
    """A metapipe as it is written, on as many sockets as its all_reduces sum over; see Choices for the others.

    One of a single iteration that no section holds is cut between its stages.
    Raises DoesNotFit, UnknownName, UserError.
    """
    choices = Choices(orchestration=orchestration, placement=placement, seed=seed)
    check_family(machine)
    check_written(metapipe)
    members = metapipe.graph.sizes.get(SOCKETS, 1)
    check_sockets(machine, members)
    check_stages(metapipe, machine)
    check_streams(metapipe, machine)
    check_memory(metapipe.graph, machine, members)
    found = _written(metapipe, machine, members, _call_cycles(machine, choices))
    one = Intended(metapipe.of_block, metapipe.nodes, 1, "written as one metapipe")
    parts = (replace(part, section=wired(part.section, choices.placement, choices.seed)) for part in found.parts)
    sections = tuple(_compiled(one, replace(found, parts=tuple(parts)), cached=False))
    homes = _homes(metapipe.graph, machine, sections)
    return Compilation(_at_home(sections, as_homes(homes, machine)), tuple(_refusals(one, found)), homes)


def _written(metapipe: Metapipe, machine: Machine, members: int, call_cycles: int) -> Made:
    section = spread_out(metapipe, machine, members)
    if isinstance(section, Section):
        return Made((Part(section, 0),), 1)
    if metapipe.iterations > 1 or len(metapipe.nodes) == 1:
        raise refuse(metapipe.graph, section, f"in metapipe {metapipe.name!r} on {machine.name}")
    return Made(cut_written(metapipe, machine, members, call_cycles), 1, lack=section)


def _call_cycles(machine: Machine, choices: Choices) -> int:
    """What one more call costs."""
    return -(-call_ps(launch_cost(machine, choices.orchestration)) * machine.clock_hz // PS_PER_S)


def _at_home(sections: tuple[Compiled, ...], homes: Homes) -> tuple[Compiled, ...]:
    """The sections with their streams from and to where the tensors lie."""
    return tuple(
        one if one.section.homes == homes else replace(one, section=replace(one.section, homes=homes))
        for one in sections
    )


def _compiled(one: Intended, found: Made, cached: bool) -> Iterator[Compiled]:
    """The sections of an intended call, each with its reason."""
    reason = f"{one.reason}; {found.spilled}" if found.spilled else found.unlooped or one.reason
    if found.lack or found.apart:
        reason = f"one of {_why_several(found)}"
    for part in found.parts:
        why = f"{reason}; {part.stopped.text}" if part.stopped else reason
        yield Compiled(one.block, part.section, why, part.stopped, cached)


def _refusals(one: Intended, found: Made) -> Iterator[Refusal]:
    """Why it is not what was intended."""
    if found.unlooped:
        yield Refusal(one.nodes, found.unlooped)
    if found.lack or found.apart:
        yield Refusal(one.nodes, f"cut into {_why_several(found)}")


def _why_several(found: Made) -> str:
    return found.apart or (f"{len(found.parts)} sections: {found.lack.text}" if found.lack else "")
