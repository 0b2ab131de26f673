"""The nearest machine on which every node of a graph fits a section: where one does not even alone, what would do.

A block is cut down to single nodes where nothing else fits, so it is enough that they do. One parameter is made
greater, until none lacks anything.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from patterns.errors import DoesNotFit
from patterns.graph import Graph
from rdu_model.homes import Homes
from rdu_model.machine import Machine
from rdu_model.sections import Piece, build
from rdu_model.shortage import PARAMETERS_OF, Shortage

# How often a parameter is doubled.
DOUBLINGS = 12
KIB = 1024


def with_nearest(misfit: DoesNotFit, graph: Graph, machine: Machine, members: int, homes: Homes) -> DoesNotFit:
    """The same error, which also says what value of a parameter would do, where one alone does."""
    pieces = [Piece(graph, block, (node,), 1, members, homes) for block, node in graph.nodes()]
    if not _first_lack(pieces, machine):
        return misfit
    found = ((name, _enough(pieces, machine, name)) for name in PARAMETERS_OF.get(misfit.resource, ()))
    ways = {name: value for name, value in found if value is not None}
    if not ways:
        return misfit
    nearest = f"{' or '.join(f'{name}={_written(name, value)}' for name, value in ways.items())} would do"
    if ways.get(misfit.resource.lower(), misfit.needed) < misfit.needed:
        nearest = f"with other tiles {nearest}"
    told = f"{misfit.help_text}; {nearest}"
    return DoesNotFit(misfit.what, misfit.resource, misfit.needed, misfit.available, told, would_do=nearest)


def _written(name: str, value: int) -> str:
    """A value as `--set` takes it."""
    if not name.endswith("_bytes"):
        return str(value)
    return f"{value // KIB} KiB" if value % KIB == 0 else f"{value} B"


def _enough(pieces: list[Piece], machine: Machine, name: str) -> int | None:
    """A value of a parameter with which every piece fits, None if none is found.

    Of bytes it is its own times a power of two. Else it is the end of a bisection: with other tiles, which go by the
    room there is, a smaller one may do.
    """
    own: int = getattr(machine, name)
    high = own
    lack = _first_lack(pieces, machine)
    for _ in range(DOUBLINGS):
        high *= 2
        before, lack = lack, _first_lack(pieces, _changed(machine, name, high))
        if lack is None or _same(lack, before):
            break
    if lack is not None or name.endswith("_bytes"):
        return high if lack is None else None
    low = max(own, high // 2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _first_lack(pieces, _changed(machine, name, middle)) else (low, middle)
    return high


def _changed(machine: Machine, name: str, value: int) -> Machine:
    values: dict[str, Any] = {name: value}
    return replace(machine, **values)


def _same(lack: Shortage, before: Shortage | None) -> bool:
    """Whether a greater value changed nothing."""
    return before is not None and (lack.node, lack.needed, lack.available) == (
        before.node,
        before.needed,
        before.available,
    )


def _first_lack(pieces: list[Piece], machine: Machine) -> Shortage | None:
    """What the first piece lacks that does not fit; it comes first from then on, as it may again."""
    for number, piece in enumerate(pieces):
        built = build(piece, machine)
        if isinstance(built, Shortage):
            pieces.insert(0, pieces.pop(number))
            return built
    return None
