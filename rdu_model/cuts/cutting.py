"""Cutting: where a block that one section cannot hold is cut, by what the calls are predicted to take.

A way to cut is a path through places between the block's nodes. Each of its sections costs a call, and its cycles as it
is compiled: bytes that cross a cut are streams of it. Of a small block all sections that fit are built.
Of a greater one those are built that are on the cheapest path, where sections that are not built yet count with what
their bytes and their work alone take; until all of the path is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf

from patterns.graph import Node
from rdu_model.cuts.least import Least
from rdu_model.cuts.order import Line
from rdu_model.section import Section
from rdu_model.shortage import Shortage, Stop

# Blocks of at most so many nodes are searched wholly.
SMALL = 12
# Greater ones have so many places at first; so many nodes for each of theirs may be in sections that are tried.
PLACES = 32
EFFORT = 24
MOST_EFFORT = 6000
# Of a block of more than so many nodes no section is tried with more than FAR times the nodes of any that fitted, or
# FIRST_NODES before any did, and none with more than MOST_NODES; so many nodes for each of its own may be in them.
MANY_NODES, FAR, FIRST_NODES, MOST_NODES, EFFORT_MANY = 200, 2, 48, 96, 2

Build = Callable[[tuple[Node, ...]], Section | Shortage]
Cycles = Callable[[Section], int]


@dataclass(frozen=True)
class Part:
    """A section of a block. cycles: what it takes, without its call.

    stopped: why it holds no more nodes, None where it holds the block's last.
    """

    section: Section
    cycles: int
    stopped: Stop | None = None


class FitsNowhere(Exception):
    """A node that lacks something even alone in a section. tried: what all sections with it lacked that were tried."""

    def __init__(self, lack: Shortage, tried: tuple[Shortage, ...]) -> None:
        super().__init__(lack.text)
        self.lack, self.tried = lack, tried


def parts_cycles(parts: tuple[Part, ...], call_cycles: int) -> int:
    """Cycles of sections with their calls."""
    return sum(part.cycles + call_cycles for part in parts)


@dataclass(frozen=True)
class Search:
    """Looks for the cheapest way to cut nodes in one order.

    build, cycles: make a section of nodes, and say what it takes. places: where cuts may be, in order, with both ends.
    tried: sections by where they begin and end, with their cycles. limits: by where sections begin, an end too far.
    """

    line: Line
    least: Least
    call_cycles: int
    build: Build
    cycles: Cycles
    places: list[int] = field(default_factory=list)
    tried: dict[tuple[int, int], tuple[Section | Shortage, float]] = field(default_factory=dict)
    limits: dict[int, int] = field(default_factory=dict)

    def best(self) -> tuple[Part, ...]:
        """The sections of the cheapest way that was found. Raises FitsNowhere."""
        count = len(self.line.nodes)
        if count <= SMALL:
            self.places[:] = range(count + 1)
            for start in range(count):
                for end in range(start + 1, min(count + 1, self.limits.get(start, count + 1))):
                    self._try(start, end)
        else:
            self.places[:] = [0, *self._narrow(), count]
        self._build_paths()
        if not self._path(only_tried=True):
            self._try_alone()
            self._build_paths()
        return self._parts(self._path(only_tried=True))

    def _build_paths(self) -> None:
        """Build what is not built yet of the cheapest path, until nothing of it is left."""
        while path := self._next_path():
            for start, end in pairwise(path):
                if (start, end) not in self.tried:
                    self._explore(start, end)

    def _try_alone(self) -> None:
        """Build every node alone: no section has room for all nodes between two places. Raises FitsNowhere."""
        count = len(self.line.nodes)
        self.places[:] = range(count + 1)
        for at in range(count):
            if not self._try(at, at + 1):
                raise self._nowhere(at)

    def _narrow(self) -> list[int]:
        """Of as many windows of the order, where in each the fewest bytes cross."""
        count = len(self.line.nodes)
        bounds = [1 + (count - 1) * at // PLACES for at in range(PLACES + 1)]
        return [
            min(range(first, last), key=lambda at: (self.line.crossing_bytes[at], -at))
            for first, last in pairwise(bounds)
            if last > first
        ]

    def _next_path(self) -> list[int]:
        """The path to build next; none if the cheapest is built, or any is and enough was tried."""
        done = self._path(only_tried=True)
        spent, count = sum(end - start for start, end in self.tried), len(self.line.nodes)
        if done and spent > min(MOST_EFFORT, (EFFORT if count <= MANY_NODES else EFFORT_MANY) * count):
            return []
        path = self._path(only_tried=False)
        return path if any(edge not in self.tried for edge in pairwise(path)) else []

    def _path(self, *, only_tried: bool) -> list[int]:
        """The cheapest path over the places, empty if there is none."""
        ratio = self._ratio()
        reached: dict[int, tuple[float, int]] = {0: (0, 0)}
        for place, end in enumerate(self.places[1:], 1):
            ways = []
            for start in reversed(self.places[:place]):
                if start in reached:
                    cycles = self._known(start, end) if only_tried else self._expected(start, end, ratio)
                    ways.append((reached[start][0] + cycles + self.call_cycles, start))
            best = min(ways, default=(inf, 0))
            if best[0] < inf:
                reached[end] = best
        if self.places[-1] not in reached:
            return []
        path = [self.places[-1]]
        while path[-1]:
            path.append(reached[path[-1]][1])
        return path[::-1]

    def _known(self, start: int, end: int) -> float:
        return self.tried[start, end][1] if (start, end) in self.tried else inf

    def _expected(self, start: int, end: int, ratio: float) -> float:
        if (start, end) in self.tried:
            return self.tried[start, end][1]
        least = self.least.cycles(start, end)
        return inf if least is None or end >= self.limits.get(start, end + 1) else least * ratio

    def _ratio(self) -> float:
        """What sections took that were built, for each cycle of the least that they could."""
        found = [(cycles, self.least.cycles(*edge) or 0) for edge, (_, cycles) in self.tried.items() if cycles < inf]
        return max(1.0, sum(took for took, _ in found) / max(1, sum(least for _, least in found)))

    def _try(self, start: int, end: int) -> bool:
        """Build a section, if it was not. Whether it fits."""
        if (start, end) not in self.tried:
            built = self.build(self.line.nodes[start:end])
            self.tried[start, end] = (built, self.cycles(built) if isinstance(built, Section) else inf)
        return self.tried[start, end][1] < inf

    def _explore(self, start: int, end: int) -> None:
        """Build a section; where it does not fit, the longest from its start, by halving, and a place if that is none.

        What fits, fits with fewer nodes as a rule.
        """
        first, fails = self.places.index(start), self.places.index(end)
        last = self._plausible(first, fails)
        fits = first
        if self._try(start, self.places[last]):
            if last == fails:
                return
            fits, fails = last, last + 1
        else:
            fails = last
        while fails - fits > 1:
            middle = (fits + fails) // 2
            if self._expected(start, self.places[middle], 1) < inf and self._try(start, self.places[middle]):
                fits = middle
            else:
                fails = middle
        limit = self.places[fails]
        for place in self.places[: first + 1]:
            self.limits[place] = min(limit, self.limits.get(place, limit))
        if fits == first:
            self._add_place(start, limit)

    def _plausible(self, first: int, last: int) -> int:
        """The farthest place up to `last` that a section from `first` may reach.

        Of a block of very many nodes a section is not tried that has far more nodes than any that fitted.
        """
        if len(self.line.nodes) <= MANY_NODES:
            return last
        fitted = max((end - start for (start, end), (_, cycles) in self.tried.items() if cycles < inf), default=0)
        most = min(FAR * fitted or FIRST_NODES, MOST_NODES)
        near = (at for at in range(first + 1, last + 1) if self.places[at] - self.places[first] <= most)
        return max(near, default=first + 1)

    def _add_place(self, start: int, end: int) -> None:
        if end - start == 1:
            raise self._nowhere(start)
        quarter = (end - start) // 4
        middle = range(start + max(1, quarter), end - quarter)
        best = min(middle, key=lambda at: (self.line.crossing_bytes[at], -at))
        self.places.insert(self.places.index(end), best)

    def _nowhere(self, at: int) -> FitsNowhere:
        """That the node at a place fits no section."""
        lack = self.tried[at, at + 1][0]
        assert isinstance(lack, Shortage)
        tried = (built for (start, end), (built, _) in self.tried.items() if start <= at < end)
        return FitsNowhere(lack, tuple(built for built in tried if isinstance(built, Shortage)))

    def _parts(self, path: list[int]) -> tuple[Part, ...]:
        found = []
        for start, end in pairwise(path):
            section, cycles = self.tried[start, end]
            assert isinstance(section, Section)
            found.append(Part(section, int(cycles), self._stop(start, end)))
        return tuple(found)

    def _stop(self, start: int, end: int) -> Stop | None:
        if end == len(self.line.nodes):
            return None
        known = self.tried.get((start, end + 1))
        longer = known[0] if known else self.build(self.line.nodes[start : end + 1])
        return Stop(self.line.nodes[end].name, longer if isinstance(longer, Shortage) else None)
