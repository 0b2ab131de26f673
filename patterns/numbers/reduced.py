"""The same graph with small extents, so that it can be run on numbers in a moment.

Kept are the relations between extents: what the file writes as an expression of others is computed again, and every
condition that it states holds. What is 1 stays 1, what is more stays more, what is even stays even; extents up to 4
are left as they are, and blocks are repeated at most three times. The numbers that remain are chosen small, and so
that tiles do not divide them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from patterns.errors import UserError
from patterns.expression import ExpressionError, evaluate, parse
from patterns.graph import Graph
from patterns.graph_file.conditions import broken, names_of
from patterns.kind import has

# A graph again, with other extents: what the reader of its file does with them as overrides.
Read = Callable[[Mapping[str, str]], Graph]

LEFT = 4
MOST_REPEATS = 3
# Extents up to so many become one of these, the first that suits.
_SIZES: Sequence[tuple[int, tuple[int, ...]]] = (
    (16, (4, 3, 2, 6, 5)),
    (256, (6, 5, 4, 7, 8)),
    (8192, (8, 7, 12, 9, 10, 16)),
)
_LARGEST = (10, 11, 12, 9, 14, 16)
_OTHERS = (*range(2, 129), *(2**power for power in range(8, 40)))
# An extent that is divisible by a power of two stays divisible by it, up to the first of these with which it loads.
_GRAINS = (2, 4, 8, 16, 64, 256)
# An extent from 16 on should not come out as less than this, if that can be had.
_LEAST = (4, 2)
_SMALL = 16
_TRIALS = 20_000
# A tensor of more elements is not small.
_MOST_ELEMENTS = 2_000_000


def reduced(graph: Graph, read: Read) -> Graph:
    """The graph with extents as small as its relations allow. Raises UserError if none are found that can be read."""
    refused: UserError | None = None
    for grain in _GRAINS:
        sizes = next((found for least in _LEAST if (found := _chosen(graph, grain, least))), None)
        if sizes is None:
            break
        try:
            small = read({name: str(size) for name, size in sizes.items()})
        except UserError as error:
            refused = refused or error
            continue
        return _few_repeats(small)
    return _few_repeats(_one_by_one(graph, read, refused))


def _few_repeats(graph: Graph) -> Graph:
    return replace(graph, blocks=tuple(replace(b, count=min(b.count, MOST_REPEATS)) for b in graph.blocks))


def _one_by_one(graph: Graph, read: Read, refused: UserError | None) -> Graph:
    """The graph with those extents small with which it can be read: where its nodes relate them, as no formula says.

    Extents of one size are tried together first. Raises UserError if what is left is too large to run.
    """
    search = _Search(graph, _GRAINS[0], _LEAST[-1], {})
    formulas = dict(graph.formulas)
    free = [name for name in graph.sizes if name not in formulas and graph.sizes[name] > LEFT]
    alike = [[name for name in free if graph.sizes[name] == size] for size in sorted({graph.sizes[n] for n in free})]
    found, changed = graph, dict[str, str]()
    for names in [*reversed(alike), *([name] for name in free)]:
        size = str(search.smallest(names[0]))
        tried = {**changed, **{name: size for name in names if name not in changed}}
        if tried == changed:
            continue
        try:
            found, changed = read(tried), tried
        except UserError as error:
            refused = refused or error
    if max(found.elements(tensor.name) for tensor in found.tensors) > _MOST_ELEMENTS:
        reason = f": {refused}" if refused else ""
        raise UserError(f"{graph.name}: no small extents keep what its extents are to each other{reason}")
    return found


@dataclass
class _Search:
    """Small numbers for extents that depend on each other. values: those that are known so far."""

    graph: Graph
    grain: int
    least: int
    values: dict[str, int]
    trials: int = 0
    formulas: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.formulas = dict(self.graph.formulas)

    def found(self, free: Sequence[str], due: Sequence[Sequence[str]], at: int = 0) -> bool:
        """Whether extents from `at` on have numbers; `due`: what can be computed once each of them has one."""
        if at == len(free):
            return True
        for size in self._candidates(free[at]):
            self.trials += 1
            if self.trials > _TRIALS:
                return False
            self.values[free[at]] = size
            if self._holds(due[at]) and self.found(free, due, at + 1):
                return True
        return False

    def smallest(self, name: str) -> int:
        """The number that an extent would have by itself."""
        return next(self._candidates(name))

    def _candidates(self, name: str) -> Iterator[int]:
        full = self.graph.sizes[name]
        wished = next((sizes for most, sizes in _SIZES if full <= most), _LARGEST)
        for size in dict.fromkeys((*wished, *_OTHERS, full)):
            if self.alike(full, size):
                yield size

    def alike(self, full: int, size: int) -> bool:
        """Whether a number may stand for an extent."""
        if full == 1 or size == 1 or size > full:
            return full == size
        kept = all(size % grain == 0 for grain in _GRAINS if grain <= self.grain and full % grain == 0)
        return kept and (full < _SMALL or size >= self.least)

    def _holds(self, due: Sequence[str]) -> bool:
        for text in due:
            try:
                if text not in self.formulas:
                    if broken(text, self.values):
                        return False
                    continue
                self.values[text] = evaluate(self.formulas[text], self.values)
            except ExpressionError:
                return False
            if not self.alike(self.graph.sizes[text], self.values[text]):
                return False
        return True


def _chosen(graph: Graph, grain: int, least: int) -> dict[str, int] | None:
    """Numbers for the extents that no formula gives; None if none are found."""
    formulas = dict(graph.formulas)
    fixed = {node.along for _, node in graph.nodes() if has(node, "communicates")}
    written = [name for name in graph.sizes if name not in formulas]
    free = [name for name in written if graph.sizes[name] > LEFT and name not in fixed]
    needs = _needs(graph, set(free))
    values = {name: size for name, size in graph.extents if name not in free and not needs.get(name)}
    for linked in _linked(free, needs):
        search = _Search(graph, grain, least, values)
        due = _due(linked, needs)
        if not search.found(linked, due):
            return None
        values = search.values
    return {name: values[name] for name in written}


def _needs(graph: Graph, free: set[str]) -> dict[str, set[str]]:
    """Of every formula and condition the free extents that it depends on, each formula after those that it uses."""
    formulas = dict(graph.formulas)
    found: dict[str, set[str]] = {}

    def of(name: str) -> set[str]:
        if name in formulas and name not in found:
            used = [below for needed, _ in parse(formulas[name]).names for below in of(needed)]
            found[name] = set(used)
        return found.get(name, {name} & free)

    for name in formulas:
        of(name)
    return found | {text: {below for name in names_of(text) for below in of(name)} for text in graph.requires}


def _linked(free: Sequence[str], needs: Mapping[str, set[str]]) -> list[list[str]]:
    """The free extents in groups that no formula and no condition connects."""
    groups = [{name} for name in free]
    for together in needs.values():
        joined = [group for group in groups if group & together]
        if len(joined) > 1:
            groups = [group for group in groups if group not in joined] + [set().union(*joined)]
    return [[name for name in free if name in group] for group in groups]


def _due(linked: Sequence[str], needs: Mapping[str, set[str]]) -> list[list[str]]:
    """What can be computed once each of the linked extents has a number, and could not before."""
    due: list[list[str]] = [[] for _ in linked]
    for text, used in needs.items():
        if used and used <= set(linked):
            due[max(linked.index(name) for name in used)].append(text)
    return due
