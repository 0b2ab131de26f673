"""memory: what moves off the chip by tensor and reason, where each tensor lies, and how full the memories are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patterns.plan import Moved
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Rows, Shown
from rdu_model.memory import off_chip
from rdu_model.spill import Home, rooms

RANK = 5
PLACED = False


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """Bytes of one run, of one socket; where not all calls are chosen, of these alone."""
    return tuple(_shown(compilation, chosen))


def _shown(compilation: Compilation, chosen: tuple[Compiled, ...]) -> Iterator[Shown]:
    metapipe, machine = chosen[0].section.flow.metapipe, chosen[0].section.machine
    rows = off_chip(metapipe.graph, chosen)
    total = sum(row.num_bytes for row in rows)
    calls = ", ".join(compiled.section.name for compiled in chosen)
    yield f"Off-chip bytes of one run of {metapipe.graph.name} on one {machine.name}: {total:,}, of the calls {calls}"
    yield Rows(("reason", "memory", "tensors", "bytes", "share"), tuple(_by_reason(rows, total)))
    named = tuple(
        (row.tensor, row.level.upper(), row.reason, row.num_bytes, row.calls) for row in _greatest_first(rows)
    )
    yield Rows(("tensor", "memory", "reason", "bytes", "calls\nthat do"), named)
    yield "Where tensors lie; those that do not live at the same time share addresses:"
    yield Rows(("tensor", "memory", "from address", "bytes", "as", "moved bytes", "calls"), tuple(_homes(compilation)))
    yield Rows(("memory", "bytes", "taken", "full", "held"), tuple(_rooms(compilation)))


def _greatest_first(rows: Sequence[Moved]) -> list[Moved]:
    return sorted(rows, key=lambda row: -row.num_bytes)


def _by_reason(rows: Sequence[Moved], total: int) -> Iterator[tuple[str, str, int, int, float]]:
    """Reasons, those with most bytes first."""
    reasons: dict[tuple[str, str], list[Moved]] = {}
    for row in rows:
        reasons.setdefault((row.reason, row.level), []).append(row)
    summed = [(*key, len(mine), sum(row.num_bytes for row in mine)) for key, mine in reasons.items()]
    for reason, tier, tensors, moved in sorted(summed, key=lambda one: -one[-1]):
        yield reason, tier.upper(), tensors, moved, moved / total


def _homes(compilation: Compilation) -> Iterator[tuple[str, str, int, int, str, int, str]]:
    for home in compilation.homes:
        symbol = home.symbol
        name = " and ".join(symbol.names)
        yield name, home.tier.upper(), home.address, symbol.num_bytes, symbol.use, symbol.moved_bytes, _life(home)


def _life(home: Home) -> str:
    """The calls between which a symbol lives, counted from 1."""
    first, last = home.symbol.first + 1, home.symbol.last + 1
    return f"{first}" if first == last else f"{first} to {last}"


def _rooms(compilation: Compilation) -> Iterator[tuple[str, int, int, float, str]]:
    for room in rooms(compilation.homes, compilation.sections[0].section.machine):
        held = ", ".join(f"{use} {amount:,}" for use, amount in room.held)
        yield room.level.upper(), room.num_bytes, room.taken_bytes, room.taken_bytes / room.num_bytes, held
