"""From an intended call to sections: one, looped or not, or several; whichever is predicted to take the least.

What fits one section is one call, as the mode wishes, unless several are much faster. A loop over executions needs the
whole block in one section, because each begins with what the one before it made last. What they hand on stays in PMUs,
or goes through off-chip memory where that is faster. If calls of single executions are faster still, there is no loop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from patterns.count import group_traffic
from patterns.errors import DoesNotFit
from patterns.graph import Node
from patterns.pipeline.bounds import lower_bound
from patterns.run import simulated
from rdu_model.ask import ask_all
from rdu_model.cuts.cutting import FitsNowhere, Part, Search, parts_cycles
from rdu_model.cuts.expected import expected_cycles
from rdu_model.cuts.least import Least
from rdu_model.cuts.order import lines
from rdu_model.machine import Machine
from rdu_model.section import Section
from rdu_model.sections import Piece, build
from rdu_model.shortage import Shortage, refuse

# A section of more stages and streams is not simulated, and none that handles so many tiles: half a second each is too
# much for a search that goes through a hundred of them. Of a loop so many executions count, because of most one is like
# the one before. A block of more nodes is cut in its own order only, and none of the sections that are tried for it is
# simulated.
FEW = 2
MANY = 200
MANY_TILES = 100_000
# What fits one section is cut only where it moves more than so many times the bytes that it has to, and where cutting
# saves so much of its time.
AGAIN = 1.5
WORTH = 0.1
# What a loop hands on is tried off-chip where it saves less than this part of the time of single executions.
LITTLE = 0.01

Once = Callable[[Piece], "Made"]


@dataclass(frozen=True)
class Made:
    """The sections of an intended call, each with `iterations` executions in a call.

    lack: what one section would lack, if there are several. apart, unlooped, spilled: why there are several where one
    would fit; why there is no loop; what a loop hands on through off-chip memory, and why ('' if it is as intended).
    """

    parts: tuple[Part, ...]
    iterations: int
    lack: Shortage | None = None
    apart: str = ""
    unlooped: str = ""
    spilled: str = ""


def make(piece: Piece, machine: Machine, call_cycles: int, once: Once | None = None) -> Made:
    """The sections of what is intended as one call. Raises DoesNotFit for a node that fits no section.

    once: finds the sections of a single execution, which a loop is compared with; without it they are made.
    """
    if piece.iterations == 1:
        return _once(piece, machine, call_cycles)
    try:
        alone = replace(piece, iterations=1)
        single = once(alone) if once else _once(alone, machine, call_cycles)
    except DoesNotFit:
        looped, _ = _looped(piece, machine, (), inf)
        if looped is None:
            raise
        return Made((looped,), piece.iterations)
    spilled = ""
    apart = piece.iterations * sum(map(_simulated_cycles, single.parts))
    calls = apart + piece.iterations * len(single.parts) * call_cycles
    most = calls - call_cycles
    looped, lack = _looped(piece, machine, (), most)
    if looped is None or looped.cycles > (1 - LITTLE) * apart:
        looped, spilled = _spilled(piece, machine, looped, lack, most)
    if looped is None:
        return replace(single, unlooped=f"not looped: {lack.text if lack else ''}")
    if looped.cycles > most:
        took = looped.cycles + call_cycles
        why = f"not looped: one call is predicted to take at least {took:,} cycles, single ones {calls:,}"
        return replace(single, unlooped=why)
    return Made((looped,), piece.iterations, spilled=spilled)


def section_cycles(section: Section, most: float = inf) -> int:
    """What a section is predicted to take as it is compiled: simulated, or of very many stages or tiles in closed form.

    The run of a loop is that of its call, which is found again when its plan is run. most: of what is sure to take
    longer than that, the least that it takes.
    """
    iterations = section.flow.metapipe.iterations
    few = _shortened(section, FEW) if iterations > FEW else section
    flow = few.flow
    if (iterations == 1 and len(flow.leaves) > MANY) or sum(map(flow.tiles_of, flow.leaves)) > MANY_TILES:
        return -(-expected_cycles(few) * iterations // flow.metapipe.iterations)
    program = section.estimated.program
    least = lower_bound(program).cycles if most < inf else 0
    return least if least > most else simulated(program, spans=False).total_cycles


def _simulated_cycles(part: Part) -> int:
    """What a part of a single execution is predicted to take, if it was not simulated when it was made."""
    metapipe = part.section.flow.metapipe
    unknown = len(metapipe.nodes) == 1 or len(metapipe.of_block.nodes) > MANY
    return section_cycles(part.section) if unknown else part.cycles


def _shortened(section: Section, iterations: int) -> Section:
    flow = section.flow
    return replace(section, flow=replace(flow, metapipe=replace(flow.metapipe, iterations=iterations)))


def _looped(
    piece: Piece, machine: Machine, spilled: tuple[str, ...], most: float
) -> tuple[Part | None, Shortage | None]:
    built = build(replace(piece, spilled=frozenset(spilled)), machine)
    return (None, built) if isinstance(built, Shortage) else (Part(built, section_cycles(built, most)), None)


def _spilled(
    piece: Piece, machine: Machine, kept: Part | None, lack: Shortage | None, most: float
) -> tuple[Part | None, str]:
    """A loop that hands everything on through off-chip memory and why, or `kept` if that is as fast."""
    made, read = {node.writes for node in piece.nodes}, {name for node in piece.nodes for name in node.reads}
    names = tuple(inside for inside, result in piece.block.carried if result in made and inside in read)
    part, _ = _looped(piece, machine, names, min(most, kept.cycles) if kept else most) if names else (None, None)
    if part is None or (kept and kept.cycles <= part.cycles):
        return kept, ""
    least = "at least " if kept and kept.cycles > most else ""
    why = f"that saves {least}{kept.cycles - part.cycles:,} cycles" if kept else lack.text if lack else ""
    return part, f"{' and '.join(names)} handed on through off-chip memory: {why}"


def _once(piece: Piece, machine: Machine, call_cycles: int) -> Made:
    """One section of a single execution, or several."""
    whole = build(piece, machine)
    if isinstance(whole, Section):
        if len(piece.nodes) == 1:
            return Made((Part(whole, expected_cycles(whole)),), 1)
        return _or_several(piece, machine, call_cycles, Part(whole, section_cycles(whole)))
    if len(piece.nodes) == 1:
        raise refuse(piece.graph, whole, f"alone in a section of {machine.name}")
    parts = _cut(piece, machine, call_cycles, whole)
    return Made(parts, 1, lack=whole)


def _or_several(piece: Piece, machine: Machine, call_cycles: int, whole: Part) -> Made:
    """One section, or several that are faster: what only just fits may read its weights again and again."""
    one = Made((whole,), 1)
    if not _moves_again(piece, whole.section):
        return one
    asked = ask_all(piece.graph, piece.nodes)
    least = Least(piece.graph, machine, piece.nodes, asked).cycles(0, len(piece.nodes)) or 0
    # Several need another call at least, and never less than their bytes and their work.
    if whole.cycles - least <= call_cycles:
        return one
    try:
        parts = _cut(piece, machine, call_cycles, whole.section, several=True)
    except DoesNotFit:
        # Alone a stage may be given so many units that something else runs out.
        return one
    took, alone = parts_cycles(parts, call_cycles), parts_cycles((whole,), call_cycles)
    if took > (1 - WORTH) * alone:
        return one
    why = f"{len(parts)} sections: predicted to take {took:,} cycles with their calls, one {alone:,}"
    return Made(parts, 1, apart=why)


def _moves_again(piece: Piece, section: Section) -> bool:
    """Whether a section moves far more bytes than its nodes have from and to outside."""
    counters = section.estimated.counters
    needed = group_traffic(piece.graph, piece.block.name, [node.name for node in piece.nodes]).total_bytes
    return counters.get("hbm_bytes", 0) + counters.get("ddr_bytes", 0) > AGAIN * needed


def _cut(
    piece: Piece, machine: Machine, call_cycles: int, whole: Section | Shortage, several: bool = False
) -> tuple[Part, ...]:
    """Sections of the cheapest way that was found. whole: all as one. several: one section of all is left out."""
    place = {node.name: at for at, node in enumerate(piece.nodes)}
    asked = ask_all(piece.graph, piece.nodes)

    known: dict[tuple[Node, ...], Section | Shortage] = {piece.nodes: whole}

    def built(nodes: tuple[Node, ...]) -> Section | Shortage:
        nodes = tuple(sorted(nodes, key=lambda node: place[node.name]))
        if nodes not in known:
            known[nodes] = build(replace(piece, nodes=nodes), machine)
        return known[nodes]

    found = []
    cycles = section_cycles if len(piece.block.nodes) <= MANY else expected_cycles
    orders = lines(piece.graph, piece.nodes)
    for line in orders if len(piece.nodes) <= MANY else orders[:1]:
        least = Least(piece.graph, machine, line.nodes, asked)
        try:
            limits = {0: len(piece.nodes)} if several else {}
            found.append(Search(line, least, call_cycles, built, cycles, limits=limits).best())
        except FitsNowhere as error:
            raise refuse(piece.graph, error.lack, f"alone in a section of {machine.name}", error.tried) from None
    return min(found, key=lambda parts: parts_cycles(parts, call_cycles))
