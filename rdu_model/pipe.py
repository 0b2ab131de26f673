"""A metapipeline as data: what the language in metapipe.py writes, and what tiling.py makes of a graph.

A tree: pipes hold items and pipes. An item inside pipes handles, in each of their steps, the tile that the steps cut
out of its tensors: dims of the pipes around it are cut, all others are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, singledispatch
from math import prod

from patterns.follow import FIRST, LAST
from patterns.graph import Block, Graph

# The dim of the outermost pipe of a looped block: its executions. Weights and states of the block have it.
ITERATION = "(iteration)"
# The extent that is the number of sockets, where a written metapipe sums over them.
SOCKETS = "sockets"


@dataclass(frozen=True)
class Load:
    """An AGCU stream from off-chip memory into PMUs. row_par: rows in parallel, 0 for as many as keep up with HBM.

    after: the item whose tile holds the addresses ('' if they are known before). once: in the first iteration only,
    because iterations hand the tensor on.
    """

    name: str
    tensor: str
    row_par: int = 0
    after: str = ""
    once: bool = False


@dataclass(frozen=True)
class Stage:
    """A node of the graph on units of its own. sources: for each of its reads the items whose tiles it waits for.

    A read has no source if nothing of it is touched, and two if rows of it come from a scatter of this section.
    pcus: how many it has, 0 to have them allocated.
    """

    name: str
    sources: tuple[tuple[str, ...], ...]
    pcus: int = 0


@dataclass(frozen=True)
class Reorder:
    """A node that only says how the buffer of `source` is read (transposed, rolled ...): it takes no unit, no time.

    index: the items with the addresses of what is read, where an index has them.
    """

    name: str
    source: str
    index: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[tuple[str, ...], ...]:
        """For each of its reads the items that have it."""
        return ((self.source,), self.index) if self.index else ((self.source,),)


@dataclass(frozen=True)
class Store:
    """An AGCU stream from PMUs to off-chip memory: the tiles of `source`, which are those of `tensor`."""

    name: str
    tensor: str
    source: str


@dataclass(frozen=True)
class Pipe:
    """A metapipe: its items and pipes as stages that work on different steps at the same time.

    Its steps cut `dim` into tiles of `extent`, the last step takes what is left. drain: the pipe is empty before the
    next step of the pipe around it begins.
    """

    dim: str
    extent: int
    body: tuple[Item, ...]
    drain: bool = False


Leaf = Load | Stage | Reorder | Store
Item = Leaf | Pipe


@dataclass(frozen=True)
class Carry:
    """A result that the next iteration reads: `source` writes it, the `readers` get it one iteration later.

    stored: after the last iteration it goes to off-chip memory. slots: two, so that iteration n + 1 may begin while
    iteration n ends.
    """

    name: str
    tensor: str
    source: str
    readers: tuple[str, ...]
    stored: bool
    slots: int = 2


@dataclass(frozen=True)
class Spill:
    """A result that the next iteration reads from off-chip memory: the loads `readers` wait for its store."""

    name: str
    source: str
    readers: tuple[str, ...]


@dataclass(frozen=True)
class Metapipe:
    """One section: some nodes of one block of a graph as a pipeline, executed `iterations` times in one call.

    nodes: names in the order of the stages. carries: what one iteration hands to the next in PMUs; spills: what it does
    through off-chip memory. depths: slots of an item's buffers where they are not those that its distance to its
    readers asks for.
    """

    name: str
    graph: Graph
    block: str
    nodes: tuple[str, ...]
    body: tuple[Item, ...]
    iterations: int = 1
    carries: tuple[Carry, ...] = ()
    depths: tuple[tuple[str, int], ...] = ()
    spills: tuple[Spill, ...] = ()

    @cached_property
    def of_block(self) -> Block:
        """The block that the nodes are of."""
        return self.graph.block_named[self.block]

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Extent by dim, iterations included."""
        return {**self.graph.sizes, ITERATION: self.iterations}


@dataclass(frozen=True)
class Placed:
    """A leaf of the tree with the pipes around it, outermost first."""

    leaf: Leaf
    path: tuple[Pipe, ...]

    @property
    def name(self) -> str:
        """The leaf's name."""
        return self.leaf.name


def placed(body: tuple[Item, ...], path: tuple[Pipe, ...] = ()) -> Iterator[Placed]:
    """Every leaf, in order."""
    for item in body:
        if isinstance(item, Pipe):
            yield from placed(item.body, (*path, item))
        else:
            yield Placed(item, path)


def pipes_in(body: tuple[Item, ...]) -> Iterator[Pipe]:
    """Every pipe, those inside after those around them."""
    for item in body:
        if isinstance(item, Pipe):
            yield item
            yield from pipes_in(item.body)


def nodes_of(body: tuple[Item, ...]) -> tuple[str, ...]:
    """The nodes in a body, those that only say how a buffer is read included."""
    return tuple(found.name for found in placed(body) if isinstance(found.leaf, Stage | Reorder))


def shared(one: tuple[Pipe, ...], other: tuple[Pipe, ...]) -> int:
    """How many pipes, from the outermost on, two paths have in common."""
    level = 0
    while level < min(len(one), len(other)) and one[level] is other[level]:
        level += 1
    return level


def steps(pipe: Pipe, size: int) -> int:
    """Steps of a pipe over a dim of that size."""
    return -(-size // pipe.extent)


def trips(path: tuple[Pipe, ...], sizes: Mapping[str, int]) -> int:
    """How often something inside these pipes happens.

    A pipe inside another over the same dim cuts its tiles again, and the last of those may have fewer steps.
    """
    if len({pipe.dim for pipe in path}) == len(path):
        return prod(steps(pipe, sizes[pipe.dim]) for pipe in path)
    return over_steps(path, sizes, lambda cut: 1)


def over_steps(
    path: tuple[Pipe, ...],
    sizes: Mapping[str, int],
    amount: Callable[[Mapping[str, int]], int],
    ends: Collection[str] = (),
) -> int:
    """The sum of an amount over all steps of the pipes, the last, smaller ones included. ends: see steps_in."""
    if not path:
        return amount(sizes)
    return sum(count * over_steps(path[1:], cut, amount, ends) for count, cut in steps_in(path[0], sizes, ends))


def steps_in(pipe: Pipe, sizes: Mapping[str, int], ends: Collection[str] = ()) -> Iterator[tuple[int, dict[str, int]]]:
    """The steps of a pipe in order: so many with these extents.

    ends: dims that others follow, so that the first and the last step along them differ from those between.
    """
    full, rest = divmod(sizes[pipe.dim], pipe.extent)
    found = [(full, pipe.extent), (1, rest)] if rest else [(full, pipe.extent)]
    found = [(count, extent) for count, extent in found if count]
    if pipe.dim not in ends or (full + bool(rest)) == 1:
        yield from ((count, {**sizes, pipe.dim: extent}) for count, extent in found)
        return
    last = found[-1][1]
    yield 1, {**sizes, pipe.dim: pipe.extent, FIRST + pipe.dim: 1}
    if full + bool(rest) > 2:
        yield full + bool(rest) - 2, {**sizes, pipe.dim: pipe.extent}
    yield 1, {**sizes, pipe.dim: last, LAST + pipe.dim: 1}


@singledispatch
def reads_of(leaf: Leaf) -> tuple[str, ...]:
    """The items whose tiles a leaf waits for, each once."""
    raise TypeError(leaf)


@reads_of.register
def _(leaf: Load) -> tuple[str, ...]:
    return (leaf.after,) if leaf.after else ()


@reads_of.register
def _(leaf: Stage) -> tuple[str, ...]:
    return tuple(dict.fromkeys(source for sources in leaf.sources for source in sources))


@reads_of.register
def _(leaf: Reorder) -> tuple[str, ...]:
    return (leaf.source, *leaf.index)


@reads_of.register
def _(leaf: Store) -> tuple[str, ...]:
    return (leaf.source,)
