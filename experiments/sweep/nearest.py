"""The nearest change that would make an infeasible point feasible: more members, a smaller batch, fewer stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from experiments.sweep.engine import BUGS, graph_of, need_room, plan_of
from experiments.sweep.greatest import greatest
from patterns.count import exchanged_bytes, parameter_bytes, state_capacity_bytes
from patterns.counting.room import held_bytes
from patterns.errors import DoesNotFit, UserError
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.point import Point

# Members that are tried beyond the number that size alone asks for, one by one and then doubled: heads and widths must
# divide by it.
TRIED = 16
DOUBLED = 6
KEPT = 4096
# What many graphs grow with; the first of these that would do is told.
OWN_SIZES = ("batch", "context")


@dataclass(frozen=True)
class Held:
    """Bytes that a member holds at worst and as expected, the weights of these, and the extents of its graph."""

    whole: int
    expected: int
    weights: int
    sizes: tuple[tuple[str, int], ...]


def nearest_change(point: Point, misfit: DoesNotFit, content: str) -> str:
    """What would do, in words: found by trying, or as the machine's model says of it where nothing is found."""
    held = _held(point, content)
    if misfit.would_do or held is None:
        return misfit.nearest
    if not misfit.memory:
        return _would_do((*_fewer_members(point, content), *_options(point, content))) or misfit.nearest
    of_all = misfit.needed >= held.expected  # else of one tensor, for which no memory has room
    least = -(-held.whole * point.members // misfit.available) if of_all else 0
    ways = (*_more_members(point, content, least), *_sizes(point, content, held, misfit.available))
    told = _would_do(ways) or "neither more members nor smaller sizes alone would do"
    if not of_all:
        return told
    weights = f"{_amount(held.weights)} of weights and " if held.weights else ""
    rest, there = _amount(held.whole - held.weights), _amount(misfit.available)
    return f"{weights}{rest} of cache, inputs and outputs, {there} there are; {told}"


def _would_do(ways: Iterable[str]) -> str:
    found = " or ".join(ways)
    return found and f"{found} would do"


def _more_members(point: Point, content: str, by_size: int) -> Iterator[str]:
    """The fewest members that hold it, of as many as the machine links, and at least as many as its size asks for."""
    least = max(point.members + 1, by_size)
    doubled = (2 ** ((least + TRIED - 1).bit_length() + more) for more in range(DOUBLED))
    tried = (*range(least, least + TRIED), *doubled)
    able = (members for members in tried if _has_room(replace(point, members=members), content))
    yield from (number_of(members, "member") for members in islice(able, 1))


def _fewer_members(point: Point, content: str) -> Iterator[str]:
    """The most members that the machine links and that can share it, where the point has more."""
    if not _has_room(point, content):
        fewer = (replace(point, members=members) for members in range(point.members - 1, 0, -1))
        able = (changed for changed in fewer if _has_room(changed, content))
        yield from (number_of(changed.members, "member") for changed in islice(able, 1))


def _sizes(point: Point, content: str, held: Held, available: int) -> Iterator[str]:
    """The greatest smaller batch or else context that fits, and the greatest of each extent that the point gives."""
    given = [name.removeprefix("graph.") for name, _ in point.settings if name.startswith("graph.")]
    most = {name: _greatest(point, name, content, held, available) for name in (*OWN_SIZES, *given)}
    yield from islice((f"a {name} of at most {most[name]:,}" for name in OWN_SIZES if most[name]), 1)
    yield from (f"{name} of at most {most[name]:,}" for name in given if most[name])


def _greatest(point: Point, name: str, content: str, held: Held, available: int) -> int | None:
    """The greatest smaller value of a size that fits; None where there is none, or no such extent."""
    value = dict(held.sizes).get(name)

    def sized(size: int) -> Point:
        if name in OWN_SIZES:
            return replace(point, batch=size) if name == "batch" else replace(point, context=size)
        return replace(point, settings=_with(point.settings, f"graph.{name}", size))

    def bytes_of(size: int) -> int | None:
        found = _held(sized(size), content)
        return found.whole if found else None

    return greatest(lambda size: _has_room(sized(size), content), bytes_of, value, available) if value else None


def _options(point: Point, content: str) -> Iterator[str]:
    """The nearest value of each number that is fixed of a schedule with which the point has a plan."""
    for name, text in point.options:
        near = _near(int(text)) if text.isdigit() else ()
        tried = ((value, replace(point, options=_with(point.options, name, value))) for value in near)
        yield from islice((f"{name} {value:,}" for value, changed in tried if _has_plan(changed, content)), 1)


def _near(value: int) -> tuple[int, ...]:
    """One less and more, half, double, a quarter and four times as much, the nearest first."""
    tried = {value - 1, value + 1, value // 2, value * 2, value // 4, value * 4} - {0, value}
    return tuple(sorted(tried, key=lambda near: (max(near / value, value / near), near)))


def _with(pairs: tuple[tuple[str, str], ...], name: str, value: int) -> tuple[tuple[str, str], ...]:
    """The pairs with another value of a name."""
    return tuple((key, str(value) if key == name else text) for key, text in pairs)


def _has_room(point: Point, content: str) -> bool:
    """Whether memory and sockets are no reason against a point."""
    return _has_room_by(replace(point, options=(), schedule="auto", launch="stream"), content)


@lru_cache(KEPT)
def _has_room_by(point: Point, content: str) -> bool:
    try:
        need_room(point, content)
    except (UserError, *BUGS):
        return False
    return True


@lru_cache(KEPT)
def _has_plan(point: Point, content: str) -> bool:
    try:
        plan_of(point, content)
    except (UserError, *BUGS):
        return False
    return True


def _held(point: Point, content: str) -> Held | None:
    """What a member holds; None where members cannot share it so, or there is no such size."""
    settings = tuple(setting for setting in point.settings if setting[0].startswith("graph."))
    return _held_by(replace(point, machine="", mode="", options=(), settings=settings), content)


@lru_cache(KEPT)
def _held_by(point: Point, content: str) -> Held | None:
    try:
        graph = graph_of(point, content)
    except UserError:
        return None
    weights = parameter_bytes(graph)
    expected = weights + state_capacity_bytes(graph) + exchanged_bytes(graph)
    return Held(held_bytes(graph), expected, weights, tuple(graph.sizes.items()))


def _amount(num_bytes: int) -> str:
    return f"{num_bytes / 1e9:,.1f} GB" if num_bytes >= 1e8 else f"{num_bytes / 1e6:,.1f} MB"
