"""Which nodes of a section can share loops: the shape of its metapipe, before tiles have sizes.

A run over a dim is a set of nodes that each step can do for its tile alone: every node makes a tile of its result, or
adds to a result that no node of the run reads. What a run does not depend on goes before it, what depends on it after.
What writes over a state comes after all that read it as it was, or each step writes only over what it read itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patterns.axes import union
from patterns.follow import leaders
from rdu_model.ask import Asked, relation

# Loops inside loops: tokens, then heads or columns, then what those contract. More add nothing but search.
DEEPEST = 3
# A run with less than this share of the section's time gains nothing from loops of its own.
WORTH = 0.02
# What a node counts to a loop that cuts its result, by the loop's depth; to a loop that adds up its result it counts 1.
# Loops over results hold what is between nodes; loops that add up keep all columns of a product on the array at once.
STYLES = ((1.0, 1.0, 1.0), (0.1, 0.1, 0.1), (1.0, 0.1, 0.1))


@dataclass(frozen=True)
class Nest:
    """Nodes, by name, and nests that share a loop over `dim`. key: unique in the section."""

    key: int
    dim: str
    body: tuple[str | Nest, ...]


# Nodes, by name, and nests that follow one another.
Shape = tuple[str | Nest, ...]
Path = tuple[Nest, ...]


def paths_of(shape: Shape, around: Path = ()) -> Iterator[tuple[str, Path]]:
    """Every node, in order, with the nests that it is in, outermost first."""
    for item in shape:
        if isinstance(item, Nest):
            yield from paths_of(item.body, (*around, item))
        else:
            yield item, around


def without(shape: Shape, single: frozenset[int]) -> Shape:
    """A shape with the bodies of these nests, by their keys, in their place."""
    kept: list[str | Nest] = []
    for item in shape:
        if not isinstance(item, Nest):
            kept.append(item)
            continue
        body = without(item.body, single)
        kept += body if item.key in single else (Nest(item.key, item.dim, body),)
    return tuple(kept)


@dataclass(frozen=True)
class Run:
    """Nodes that can share a loop over `dim`, and the others of the section, before and after them."""

    dim: str
    before: tuple[Asked, ...]
    nodes: tuple[Asked, ...]
    after: tuple[Asked, ...]


# First runs by the names of the nodes that they are of, their dim, and the dims of the loops around them.
Known = dict[tuple[tuple[str, ...], str, frozenset[str]], Run]


def nestings(
    nodes: Sequence[Asked], sizes: Mapping[str, int], weight: Mapping[str, float], styles: Iterable[Sequence[float]]
) -> Iterator[Shape]:
    """The nodes, in an order that respects what reads what, with every loop that is worth it, in each of these styles.

    weight: time of each node, by name, in any unit. What can be in one run is found once for all styles.
    """
    least = sum(weight[asked.node.name] for asked in nodes) * WORTH
    known: Known = {}
    for style in styles:
        yield _Nesting(sizes, weight, style, least, known).of(tuple(nodes), frozenset(), DEEPEST, 1)


@dataclass(frozen=True)
class _Nesting:
    sizes: Mapping[str, int]
    weight: Mapping[str, float]
    style: Sequence[float]
    least: float
    known: Known

    def of(self, nodes: tuple[Asked, ...], used: frozenset[str], depth: int, key: int) -> Shape:
        """The heaviest run becomes a nest; what is before, in and after it is nested in its turn."""
        best = self._heaviest(nodes, used, self.style[DEEPEST - depth]) if depth and nodes else None
        if best is None:
            return tuple(asked.node.name for asked in nodes)
        # Keys are numbers with the places as digits (before 0, inside 1, after 2), so they never meet.
        inside = Nest(key, best.dim, self.of(best.nodes, used | {best.dim}, depth - 1, 3 * key + 1))
        before = self.of(best.before, used, depth, 3 * key)
        return (*before, inside, *self.of(best.after, used, depth, 3 * key + 2))

    def _heaviest(self, nodes: tuple[Asked, ...], used: frozenset[str], free: float) -> Run | None:
        best, most = None, self.least
        # Loops over windows come first: they cut what feeds them, too.
        leading = [follow.leader for follow in nodes[0].follows]
        for dim in union(leading, *(asked.dims for asked in nodes)):
            if self.sizes[dim] > 1 and not used.intersection(self._bound(nodes, dim)):
                if self._counted(nodes, dim, free) <= most:
                    continue  # no run of some of them is heavier
                for run in runs(nodes, dim, used, self.known):
                    found = self._counted(run.nodes, dim, free)
                    if found > most:
                        best, most = run, found
                    if self._weight(run.after) <= most:
                        break  # nothing that is left is heavier
        return best

    def _bound(self, nodes: tuple[Asked, ...], dim: str) -> frozenset[str]:
        """The dim, those that follow it and those that it follows: one loop cuts them all."""
        found = nodes[0].follows
        own = leaders(found, frozenset({dim}))
        return own.union(follow.dim for follow in found if dim in leaders(found, frozenset({follow.dim})))

    def _counted(self, nodes: Iterable[Asked], dim: str, free: float) -> float:
        """What those of the nodes count together that a loop over the dim can cut. free: those whose result it cuts."""
        counts = {"reduced": 1, "free": free}
        return sum([self.weight[one.node.name] * counts.get(relation(one, dim), 0) for one in nodes])

    def _weight(self, nodes: tuple[Asked, ...]) -> float:
        return sum([self.weight[asked.node.name] for asked in nodes])


def runs(
    nodes: Sequence[Asked], dim: str, around: frozenset[str] = frozenset(), known: Known | None = None
) -> Iterator[Run]:
    """Every run over a dim, each as long as it can be, from front to back. around: dims of the loops around it. known:
    first runs that were found, where the nodes are of one section.

    What gathers its result over a loop around, or carries a state along it, has one accumulator or state, for one tile:
    no free dim of it can be cut inside.
    """
    before: tuple[Asked, ...] = ()
    rest = tuple(nodes)
    known = {} if known is None else known
    while rest:
        key = tuple([asked.node.name for asked in rest]), dim, around
        run = known.get(key)
        if run is None:
            run = known[key] = _first_run(rest, dim, around)
        if not run.nodes:
            return
        yield Run(dim, (*before, *run.before), run.nodes, run.after)
        before = (*before, *run.before, *run.nodes)
        rest = run.after


def _first_run(nodes: Sequence[Asked], dim: str, around: frozenset[str]) -> Run:
    before: list[Asked] = []
    inside: list[Asked] = []
    after: list[Asked] = []
    made: set[str] = set()
    partial: set[str] = set()
    late: set[str] = set()
    # By storage, whether all that reads it in the run or after it reads in each step only what that step may change.
    reading: dict[str, bool] = {}
    for asked in nodes:
        reads, how = asked.node.reads, relation(asked, dim)
        if how == "free" and around and (asked.accumulated | asked.carried) & around:
            how = "blocked"
        inner = not made.isdisjoint(reads)
        outside = how == "absent" or how == "blocked"
        whole = asked.indexes and asked.node.along == dim and reads[0] in made
        waits = asked.over in reading and not (reading[asked.over] and how == "free" and _cuts_storage(asked, dim))
        if waits or not late.isdisjoint(reads) or whole or (inner and (outside or not partial.isdisjoint(reads))):
            after.append(asked)
            late.add(asked.node.writes)
        elif outside:
            before.append(asked)
            continue
        else:
            inside.append(asked)
            made.add(asked.node.writes)
            if how == "reduced":
                partial.add(asked.node.writes)
        for number, storage in asked.states:
            if storage != asked.over:
                apart = not waits and asked.node.writes in made and _cuts_storage(asked, dim, number)
                reading[storage] = reading.get(storage, True) and apart
    return Run(dim, tuple(before), tuple(inside), tuple(after))


def _cuts_storage(asked: Asked, dim: str, number: int = 0) -> bool:
    """Whether steps along a dim touch parts of their own of the state that a node reads there, or writes over."""
    return dim in asked.read_dims[number] and not (number == 0 and asked.indexes and dim == asked.node.along)
