"""Random metapipes, written in the language: nested pipes whose tiles divide nothing, stages of every sort, any depths.

What is drawn is always a metapipe that can be: tiles are read where they are complete, and everything that is loaded or
made is read or stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from rdu_model import Metapipeline
from rdu_model.language.writing import Region, Tile
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe

DIMS = "abcd"


@dataclass(frozen=True)
class Pipe:
    """An open pipe of the metapipe that is being written."""

    dim: str
    tile: int
    number: int


@dataclass(frozen=True)
class Made:
    """A tile: its dims, the pipes around it when it was made, those that its item adds up over.

    state: the region into which it scatters rows.
    """

    tile: Tile
    dims: tuple[str, ...]
    path: tuple[Pipe, ...]
    summed: frozenset[Pipe] = frozenset()
    loaded: bool = False
    state: Region | None = None


@dataclass
class Draft:
    """A metapipe while it is drawn. unread: tiles that nobody has read, by item."""

    random: Random
    sizes: dict[str, int]
    p: Metapipeline = field(default_factory=lambda: Metapipeline("random"))
    path: tuple[Pipe, ...] = ()
    tiles: list[Made] = field(default_factory=list)
    unread: dict[str, Made] = field(default_factory=dict)
    members: int = 1
    number: int = 0

    def fresh(self, stem: str) -> str:
        """A new name."""
        self.number += 1
        return f"{stem}{self.number}"

    def chance(self, of: int) -> bool:
        """Once in so many times."""
        return self.random.randrange(of) == 0

    def some_dims(self, least: int = 1, most: int = 3) -> tuple[str, ...]:
        """Some dims, in any order."""
        return tuple(self.random.sample(DIMS, self.random.randint(least, most)))

    def load(self, dims: tuple[str, ...], dtype: str = "fp32") -> Made:
        """A tile of a new region, as the open pipes cut it."""
        make = self.random.choice([self.p.input_region, self.p.weight_region]) if dtype == "fp32" else None
        shape = tuple(self.sizes[dim] for dim in dims)
        region = (make or self.p.input_region)(self.fresh("x"), " ".join(dims), shape, dtype)
        cut = {pipe.dim: pipe.tile for pipe in self.path}
        extents = tuple(cut.get(dim, self.sizes[dim]) for dim in dims)
        tile = self.p.load_tile(region, extents, self.random.choice([None, 1, 2, 4]))
        return self.note(Made(tile, dims, self.path, loaded=True), keep=dtype == "fp32")

    def note(self, made: Made, *, keep: bool = True) -> Made:
        """A tile that is there now."""
        self.unread[made.tile.item] = made
        if keep:
            self.tiles.append(made)
        return made

    def readable(self) -> list[Made]:
        """Tiles that may be read here: complete ones, and loaded ones in their own pipes."""
        found = []
        for made in self.tiles:
            level = 0
            while level < min(len(made.path), len(self.path)) and made.path[level] == self.path[level]:
                level += 1
            if not made.summed.intersection(self.path[:level]) and (not made.loaded or level == len(made.path)):
                found.append(made)
        return found

    def summing(self, dims: tuple[str, ...], over: tuple[str, ...]) -> frozenset[Pipe] | None:
        """The pipes over which a stage would add up; None where an inner pipe cuts its result."""
        summed = [pipe for pipe in self.path if pipe.dim in over]
        if summed and any(pipe.dim in dims for pipe in self.path[self.path.index(summed[0]) :]):
            return None
        return frozenset(summed)

    def made(
        self, tile: Tile, dims: tuple[str, ...], read: tuple[Made, ...], summed: frozenset[Pipe], own: bool = True
    ) -> Made:
        """What a stage makes of others, in a buffer of its own."""
        for other in read:
            self.unread.pop(other.tile.item, None)
        if own and self.chance(4):
            tile = self.p.buffer(tile, depth=self.random.randint(1, 4))
        return self.note(Made(tile, dims, self.path, summed))


def add_map(d: Draft, x: Made) -> None:
    fn = d.random.choice(["neg", "square", "tanh"])
    d.made(d.p.map(fn, x.tile, pcus=d.random.choice([0, 1, 3])), x.dims, (x,), frozenset())


def add_zip(d: Draft, x: Made) -> None:
    inside = [made for made in d.readable() if set(made.dims) <= set(x.dims)]
    y = d.random.choice(inside)
    d.made(d.p.zip(d.random.choice(["add", "mul"]), x.tile, y.tile), x.dims, (x, y), frozenset())


def add_reduce(d: Draft, x: Made) -> None:
    over = tuple(d.random.sample(x.dims, d.random.randint(1, len(x.dims)))) if x.dims else ()
    left = tuple(dim for dim in x.dims if dim not in over)
    summed = d.summing(left, over)
    if over and summed is not None:
        fn = d.random.choice(["sum", "max", "mean"])
        d.made(d.p.reduce(fn, x.tile, " ".join(over), pcus=d.random.choice([0, 2])), left, (x,), summed)


def add_product(d: Draft, x: Made) -> None:
    if not x.dims:
        return
    over = (d.random.choice(x.dims),)
    others = [made for made in d.readable() if over[0] in made.dims and made is not x]
    y = d.random.choice(others) if others and d.chance(2) else d.load((over[0], *set(d.some_dims(0, 2)) - {*over}))
    dims = tuple(dim for dim in dict.fromkeys((*x.dims, *y.dims)) if dim not in over)
    summed = d.summing(dims, over)
    if summed is not None:
        d.made(d.p.mat_mul(x.tile, y.tile, over=over[0], pcus=d.random.choice([0, 4])), dims, (x, y), summed)


def add_order(d: Draft, x: Made) -> None:
    dims = tuple(d.random.sample(x.dims, len(x.dims)))
    d.made(d.p.buffer(x.tile, " ".join(dims)) if dims else d.p.map("copy", x.tile), dims, (x,), frozenset(), own=False)


def add_gather(d: Draft, x: Made) -> None:
    """Rows of a new table, or of a loaded one, along its own dim."""
    along = d.fresh("t")
    table = d.p.weight_region(d.fresh("table"), f"{along} a", (5, d.sizes["a"]), "fp32")
    cut = {pipe.dim: pipe.tile for pipe in d.path}
    index_dims = tuple(dim for dim in d.some_dims(1, 2) if dim != "a")
    if index_dims:
        index = d.load(index_dims, "int32")
        tile = d.p.gather(table, index.tile, along, (5, cut.get("a", d.sizes["a"])))
        d.made(tile, (*index_dims, "a"), (index,), frozenset())


def add_scatter(d: Draft, x: Made) -> None:
    """The rows of a tile into a state that has room for all of them, or into a copy of an input."""
    if not x.dims:
        return
    rows, along = d.random.choice(x.dims), d.fresh("t")
    left = tuple(dim for dim in x.dims if dim != rows)
    summed = d.summing(left, (rows,))
    if summed is None:
        return
    d.sizes[along] = d.sizes[rows] + 1
    shape = tuple(d.sizes[dim] for dim in (along, *left))
    fn = d.random.choice(["set", "add", "max"])
    index = d.load((rows,), "int32")
    if d.chance(2):
        into = d.p.state_region(d.fresh("state"), " ".join((along, *left)), shape, "fp32")
        tile = d.p.scatter(into, index.tile, x.tile, along, fn)
    else:
        into = d.p.input_region(d.fresh("x"), " ".join((along, *left)), shape, "fp32")
        cut = {pipe.dim: pipe.tile for pipe in d.path}
        copied = d.p.load_tile(into, (shape[0], *(cut.get(dim, d.sizes[dim]) for dim in left)))
        tile = d.p.scatter(copied, index.tile, x.tile, along, fn)
    for other in (x, index):
        d.unread.pop(other.tile.item, None)
    state = into if into.role == "state" else None
    d.note(Made(tile, (along, *left), d.path, summed, state=state), keep=False)


def add_sum(d: Draft, x: Made) -> None:
    d.members = 2
    d.made(d.p.all_reduce(x.tile, 2), x.dims, (x,), frozenset())


ADD = (add_map, add_map, add_zip, add_reduce, add_product, add_product, add_order, add_gather, add_scatter, add_sum)


def add_pipe(d: Draft, deep: int) -> None:
    """A pipe over a dim, or over the tiles that a pipe around it cuts of that dim; its own need not divide them."""
    cut = {pipe.dim: pipe.tile for pipe in d.path}
    sizes = {dim: cut.get(dim, size) for dim, size in d.sizes.items()}
    free = [dim for dim in DIMS if sizes[dim] > 1 and (dim not in cut or d.chance(3))]
    if not free:
        return
    dim = d.random.choice(free)
    tile = d.random.randint(1, sizes[dim] - 1)
    around = d.path
    with d.p.metapipe(steps_of(sizes[dim], tile), over=dim, tile=tile if dim in cut else 0, drain=d.chance(4)):
        d.path = (*around, Pipe(dim, tile, d.number))
        d.load((dim, *set(d.some_dims(0, 2)) - {dim}))
        add_items(d, deep - 1)
        for made in [made for made in d.unread.values() if made.loaded and made.path == d.path]:
            add_map(d, made)
        for made in [made for made in d.unread.values() if made.path == d.path and whole(made) and d.chance(2)]:
            store(d, made)
        d.path = around


def whole(made: Made) -> bool:
    """Whether every step makes another tile, so that it may be stored there."""
    return not made.summed and all(pipe.dim in made.dims for pipe in made.path)


def add_items(d: Draft, deep: int) -> None:
    """Some stages, loads and pipes."""
    for _ in range(d.random.randint(1, 3)):
        if deep and d.chance(2):
            add_pipe(d, deep)
        readable = d.readable()
        x = d.random.choice(readable) if readable and not d.chance(4) else d.load(d.some_dims())
        d.random.choice(ADD)(d, x)


def store(d: Draft, made: Made) -> None:
    """Write a tile to a region of its own, or rows to their state, and all of that to a region."""
    if made.state is not None:
        newer = d.p.store_tile(made.state, made.tile)
        d.unread.pop(made.tile.item)
        cut = {pipe.dim: pipe.tile for pipe in d.path}
        extents = tuple(cut.get(dim, d.sizes[dim]) for dim in made.dims)
        made = Made(d.p.map("neg", d.p.load_tile(newer, extents)), made.dims, made.path)
        d.unread[made.tile.item] = made
    shape = tuple(d.sizes[dim] for dim in made.dims)
    d.p.store_tile(d.p.output_region(d.fresh("y"), " ".join(made.dims), shape, "fp32"), made.tile)
    d.unread.pop(made.tile.item)


def random_metapipe(random: Random) -> tuple[Metapipe, int]:
    """A metapipe, and how many sockets it sums over."""
    d = Draft(random, {dim: random.choice([1, random.randint(2, 5), random.randint(2, 13)]) for dim in DIMS})
    add_items(d, 3)
    for made in [made for made in d.unread.values() if made.loaded]:
        add_map(d, made)
    for made in list(d.unread.values()):
        store(d, made)
    return d.p.build(), d.members
