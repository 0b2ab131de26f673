"""What was compiled before: sections by their content, so that what did not change is not compiled again.

The content of an intended call is all that its sections follow from: its nodes, their tensors, the extents they have,
the machine and the choices; not the rest of the graph.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from patterns.graph import Graph, Node, Tensor
from patterns.pipeline.hashed import changed
from rdu_model.cuts.calls import Made, make
from rdu_model.cuts.cutting import Part
from rdu_model.extents import named_extents
from rdu_model.floor.wiring import wired
from rdu_model.homes import Homes
from rdu_model.machine import Machine
from rdu_model.section import Section
from rdu_model.sections import Piece

# What is worked out of a section and follows from its content: once for all graphs that have it.
SAME = ("program", "counters", "moves", "tiling", "events", "buffers_of", "pmus", "pcus")
# Intended calls that are kept; the ones that were not asked for the longest go. A decoder's takes about 0.3 MB.
KEPT = 512


class CacheInfo(NamedTuple):
    """Intended calls found, compiled, and kept."""

    hits: int
    misses: int
    kept: int


@dataclass(frozen=True)
class Content:
    """An intended call by its content; `piece` is one that has it. placement: '' of sections that are not placed yet.

    elsewhere: what its nodes make and others read, or the graph is for.
    """

    machine: Machine
    placement: str
    seed: int
    call_cycles: int
    members: int
    iterations: int
    block: str
    whole: bool
    nodes: tuple[Node, ...]
    carried: tuple[tuple[str, str], ...]
    tensors: tuple[Tensor, ...]
    elsewhere: frozenset[str]
    extents: tuple[tuple[str, int], ...]
    homes: frozenset[str]
    piece: Piece = field(compare=False, repr=False)


def made(piece: Piece, machine: Machine, call_cycles: int, placement: str, seed: int) -> tuple[Made, bool]:
    """The sections of an intended call, and whether they were compiled before. Raises DoesNotFit, UserError."""
    before = _made.cache_info().misses
    found = _made(_content(piece, machine, call_cycles, placement, seed))
    cached = _made.cache_info().misses == before
    return replace(found, parts=tuple(_of_piece(part, piece) for part in found.parts)), cached


def cache_info() -> CacheInfo:
    """How often sections were found."""
    info = _made.cache_info()
    return CacheInfo(info.hits, info.misses, info.currsize)


def forget() -> None:
    """Empties the cache."""
    _made.cache_clear()
    _unwired.cache_clear()


@lru_cache(maxsize=KEPT)
def _made(content: Content) -> Made:
    found = _unwired(replace(content, placement="", seed=0))
    parts = [replace(part, section=wired(part.section, content.placement, content.seed)) for part in found.parts]
    for section in (part.section for part in parts):
        vars(section).update({name: getattr(section, name) for name in SAME})
    return replace(found, parts=tuple(parts))


@lru_cache(maxsize=KEPT)
def _unwired(content: Content) -> Made:
    """The sections of an intended call wherever they are placed. A loop finds those of a single execution here."""

    def once(piece: Piece) -> Made:
        found = _unwired(_content(piece, content.machine, content.call_cycles))
        return replace(found, parts=tuple(_of_piece(part, piece) for part in found.parts))

    return make(content.piece, content.machine, content.call_cycles, once)


def _content(piece: Piece, machine: Machine, call_cycles: int, placement: str = "", seed: int = 0) -> Content:
    graph = piece.graph
    names = dict.fromkeys(name for node in piece.nodes for name in (*node.reads, node.writes))
    storages = dict.fromkeys(graph.tensor_named[name].shares or name for name in names)
    tensors = tuple(graph.tensor_named[name] for name in {**names, **storages})
    carried = tuple(pair for pair in piece.block.carried if pair[0] in names or pair[1] in names)
    own = {node.name for node in piece.nodes}
    handed_on = {result for block in graph.blocks for _, result in block.carried}
    kept = (node.writes for node in piece.nodes)
    return Content(
        machine=machine,
        placement=placement,
        seed=seed,
        call_cycles=call_cycles,
        members=piece.members,
        iterations=piece.iterations,
        block=piece.block.name,
        whole=len(own) == len(piece.block.nodes),
        nodes=piece.nodes,
        carried=carried,
        tensors=tensors,
        elsewhere=frozenset(
            name
            for name in kept
            if name in graph.results or name in handed_on or any(reader not in own for reader in graph.readers(name))
        ),
        extents=named_extents(graph, piece.nodes, tensors),
        homes=piece.homes.ddr & {tensor.name for tensor in tensors},
        piece=piece,
    )


def _of_piece(part: Part, piece: Piece) -> Part:
    """A part that was compiled for another piece with the same content."""
    return replace(part, section=_moved(part.section, piece.graph, piece.homes))


def _moved(section: Section, graph: Graph, homes: Homes) -> Section:
    flow = section.flow
    if flow.metapipe.graph is graph and section.homes == homes:
        return section
    asked = {name: changed(found, graph=graph) for name, found in flow.asked.items()}
    flow = replace(flow, metapipe=replace(flow.metapipe, graph=graph), asked=asked)
    moved = replace(section, flow=flow, homes=homes)
    vars(moved).update({name: kept for name, kept in vars(section).items() if name in SAME})
    return moved
