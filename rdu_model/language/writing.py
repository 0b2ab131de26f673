"""A metapipe while it is being written: the pipes that are open, the items in them, which tiles may be used where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from patterns.errors import UserError
from patterns.graph import Tensor
from rdu_model.language.draft import Draft, Wanted
from rdu_model.language.due import extents_of, text, whole
from rdu_model.language.written import check_written
from rdu_model.pipe import ITERATION, Carry, Item, Leaf, Load, Metapipe, Pipe, Reorder, Stage, Store, placed

Region = Tensor


@dataclass(frozen=True)
class Tile:
    """What an item makes in each step of the metapipes around it: a tile of `tensor`.

    sources: the items to wait for, which are two where a scatter of this metapipe has changed what is loaded.
    """

    item: str
    tensor: str
    sources: tuple[str, ...]


@dataclass
class OpenPipe:
    """A metapipe that is being written; extent 0 until a tile says what it cuts."""

    count: int
    dim: str
    drain: bool
    extent: int = 0
    body: list[Item] = field(default_factory=list)


@dataclass
class Writing:
    """What was written so far. within: the open pipes around each tile's item. roots: of items that only say how a
    buffer is read, the item whose buffer it is. handed: what `carry` said: the carried tile's item, region, maker, and
    whether the last leaves. scattered: items that write rows into a state; writers: such an item by the state's new
    name, once its rows are stored.
    """

    draft: Draft = field(default_factory=Draft)
    open: list[OpenPipe] = field(default_factory=list)
    body: list[Item] = field(default_factory=list)
    tiles: dict[str, Tile] = field(default_factory=dict)
    within: dict[str, tuple[OpenPipe, ...]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    roots: dict[str, str] = field(default_factory=dict)
    depths: dict[str, int] = field(default_factory=dict)
    handed: list[tuple[str, str, bool, int]] = field(default_factory=list)
    iterations: int = 1
    ended: bool = False
    scattered: set[str] = field(default_factory=set)
    writers: dict[str, str] = field(default_factory=dict)

    def begin(self, pipe: OpenPipe) -> None:
        """Open a pipe. Raises UserError if its steps do not cover its dim, where it says both."""
        if pipe.extent:
            size = self.size_of(pipe.dim)
            if not size:
                raise UserError(f"metapipe over {pipe.dim!r}: tile={pipe.extent} of a dim that no region has")
            if -(-size // pipe.extent) != pipe.count:
                cover = f"tiles of {pipe.extent} cover {pipe.dim!r} ({size}) in {-(-size // pipe.extent)}"
                raise UserError(f"metapipe of {pipe.count} steps: {cover}")
        self.open.append(pipe)

    def place(self, leaf: Leaf) -> None:
        """Put an item where the writing stands. Raises UserError for a name that another item has."""
        if leaf.name in self.names:
            raise UserError(f"{leaf.name!r} is the name of another item: each has a name of its own")
        if self.ended and not isinstance(leaf, Store):
            raise UserError(f"{leaf.name!r} stands after the iterations, which are around all stages and loads")
        self.names.add(leaf.name)
        if isinstance(leaf, Load):
            self.loads.add(leaf.name)
        (self.open[-1].body if self.open else self.body).append(leaf)

    def make(self, leaf: Leaf, tensor: str, *also: str) -> Tile:
        """Put an item there, and have its tile. also: items to wait for besides."""
        self.place(leaf)
        tile = Tile(leaf.name, tensor, (*also, leaf.name))
        self.tiles[leaf.name] = tile
        self.within[leaf.name] = tuple(self.open)
        return tile

    def name(self, wanted: str, otherwise: str) -> str:
        """The name that is wanted; else this one, with a number if it is taken. Raises UserError."""
        number, found = 2, text(f"{otherwise}: name", wanted) or otherwise
        while not wanted and found in self.names:
            found, number = f"{otherwise} {number}" if " " in otherwise else f"{otherwise}_{number}", number + 1
        return found

    def stage(self, wanted: Wanted, tiles: tuple[Tile, ...], pcus: int = 0) -> Tile:
        """A stage that reads these tiles. Raises UserError."""
        if wanted.name in self.names:
            raise UserError(f"{wanted.name!r} is the name of another item: each has a name of its own")
        node = self.draft.node(wanted)
        if self.draft.tensors[node.writes].shares:
            self.draft.overwrite(node.writes)
            self.scattered.add(node.name)
        return self.make(Stage(node.name, tuple(tile.sources for tile in tiles), pcus), node.writes)

    def load(
        self, what: str, region: Region, shape: Sequence[int], row_par: int | None, name: str, index: str = ""
    ) -> Tile:
        """A stream of a region's tiles; index: the item that says which rows. Raises UserError."""
        if region.name in self.draft.stale:
            newest = self.draft.stale[region.name]
            raise UserError(f"{what}: {newest} has written over it; load_tile what store_tile of {newest} gives")
        for dim, extent in zip(region.dims, extents_of(what, shape, region.dims), strict=True):
            if not index or extent < self.draft.extents[dim]:
                self.cut(what, dim, extent)
        streams = 0 if row_par is None else whole(f"{what}: row_par", row_par)
        load = Load(self.name(name, f"load {region.name}"), region.name, streams, index)
        scatter = self.writers.get(region.name)
        return self.make(load, region.name, *((scatter,) if scatter else ()))

    def load_rows(
        self, what: str, region: Region, shape: Sequence[int], along: str, row_par: int | None, index: str
    ) -> Tile:
        """The rows that an index names; without a shape, as the open pipes cut the other dims. Raises UserError."""
        if isinstance(shape, tuple) and not shape:
            cut = self.draft.extents | {
                pipe.dim: pipe.extent for pipe in self.open if pipe.extent and pipe.dim != along
            }
            shape = tuple(cut[dim] for dim in region.dims)
        return self.load(what, region, shape, row_par, "", index)

    def store_rows(self, region: object, tile: Tile) -> Region:
        """Write a scatter's rows to their state, and give the state as it is then. Raises UserError."""
        state = self.need_region("store_tile", region, "state", "intermediate")
        new = self.draft.tensors[self.need_tile("store_tile", tile, rows=True).tensor]
        if new.shares not in (state.name, state.shares):
            raise UserError(f"store_tile in {state.name}: {tile.item!r} writes into {new.shares}")
        self.place(Store(f"store {new.name}", new.name, tile.item))
        self.writers[new.name] = tile.item
        return new

    def need_tile(self, what: str, tile: object, *, rows: bool = False) -> Tile:
        """The tile, which may be used here. rows: also those that a scatter writes. Raises UserError."""
        if isinstance(tile, Tensor):
            raise UserError(f"{what}: {tile.name} is a region, of which no tile is loaded: load_tile({tile.name}, ...)")
        if not isinstance(tile, Tile):
            raise UserError(f"{what}: a tile is due, as load_tile or a stage gives it, found {tile!r}")
        if self.tiles.get(tile.item) is not tile:
            raise UserError(f"{what}: the tile of {tile.item!r} is of another Metapipeline")
        if tile.item in self.scattered and not rows:
            raise UserError(
                f"{what}: {tile.item!r} gives what it writes into a state; store_tile it, and load_tile what that gives"
            )
        around = self.within[tile.item]
        if tile.item in self.loads and around != tuple(self.open[: len(around)]):
            raise UserError(
                f"{what}: the tile of {tile.item!r} is read after the metapipe in which it is loaded has ended; "
                f"load it where it is used"
            )
        return tile

    def need_region(self, what: str, region: object, *roles: str) -> Region:
        """The region, which is one of this metapipeline's and of such a role. Raises UserError."""
        if not isinstance(region, Tensor):
            raise UserError(f"{what}: a region is due, found {region!r}")
        if self.draft.tensors.get(region.name) is not region:
            raise UserError(f"{what}: region {region.name} is of another Metapipeline")
        if region.role not in roles:
            due = " or ".join(_a(role) for role in roles if role != "intermediate")
            raise UserError(f"{what}: {region.name} is {_a(region.role)} region, due is {due} region")
        return region

    def hand_on(self, first: Region, result: Tile, into: Region | None, depth: int) -> None:
        """The result of one iteration is what the next one begins with. Raises UserError."""
        last = self.draft.tensors[result.tensor]
        if self.iterations < 2 or self.ended:
            raise UserError("carry stands inside `with p.iterations(count)`, of 2 or more")
        if not self.within[result.item]:
            raise UserError(f"carry: {result.item!r} is not made inside the iterations")
        if first.name in self.draft.carried:
            raise UserError(f"carry: {first.name} is carried already")
        if (first.dims, first.dtype) != (last.dims, last.dtype):
            raise UserError(
                f"carry: {first.name} is {first.dtype} [{', '.join(first.dims)}], {result.item!r} makes "
                f"{last.dtype} [{', '.join(last.dims)}]: what is carried keeps its dims and dtype"
            )
        slots = whole(f"carry of {first.name}: depth", depth)
        if into is not None:
            self.draft.store(last.name, self.need_region("carry", into, "output").name)
        self.draft.carried[first.name] = last.name
        self.handed.append((first.name, result.item, into is not None, slots))

    def cut(self, what: str, dim: str, extent: int) -> None:
        """Find the metapipe that cuts a dim into tiles of that extent. Raises UserError."""
        size = self.size_of(dim)
        cutting = [pipe for pipe in self.open if pipe.dim == dim and pipe.extent]
        if (extent >= self.draft.extents[dim] and not cutting) or (cutting and extent == size):
            return
        wanted = -(-size // extent)
        inside = self.open[self.open.index(cutting[-1]) + 1 :] if cutting else self.open
        free = [pipe for pipe in reversed(inside) if not pipe.extent and pipe.dim in ("", dim)]
        found = next((pipe for pipe in free if pipe.count == wanted and extent < size), None)
        if found is None:
            counts = [pipe.count for pipe in free]
            have = "no metapipe around it is free to cut it"
            if counts:
                have = f"the metapipes around it that cut nothing yet have {counts}"
            elif cutting:
                raise UserError(f"{what}: {extent} of {dim!r}, but its metapipe cuts {size}")
            raise UserError(f"{what}: tiles of {extent} cover {dim!r} ({size}) in {wanted} steps; {have}")
        found.dim, found.extent = dim, extent

    def size_of(self, dim: str) -> int:
        """Points of a dim in a step of the pipes that are open, 0 for a dim that no region has."""
        cut = [pipe.extent for pipe in self.open if pipe.dim == dim and pipe.extent]
        return cut[-1] if cut else self.draft.extents.get(dim, 0)

    def close(self) -> None:
        """End the innermost pipe. Raises UserError if it cuts nothing."""
        pipe = self.open.pop()
        around = self.open[-1].body if self.open else self.body
        if pipe.extent:
            around.append(Pipe(pipe.dim, pipe.extent, tuple(pipe.body), pipe.drain))
        elif pipe.count == 1:
            around += pipe.body
        elif pipe.dim:
            raise UserError(f"metapipe of {pipe.count} steps over {pipe.dim!r}: no tile loaded in it cuts {pipe.dim!r}")
        else:
            raise UserError(f"metapipe of {pipe.count} steps: no tile loaded in it is a part of its region")

    def frozen(self, name: str) -> Metapipe:
        """What was written. Raises UserError, also if a stage reads what is not complete where it reads it."""
        if self.open:
            raise UserError(f"metapipe {name!r} is not finished: {len(self.open)} with-blocks are open")
        left = sorted(self.scattered - set(self.writers.values()))
        if left:
            raise UserError(f"the rows of {left[0]!r} are not stored: store_tile them in the state's region")
        graph = self.draft.graph(name, self.iterations)
        loads = {found.name: found.leaf.tensor for found in placed(tuple(self.body)) if isinstance(found.leaf, Load)}
        carried = frozenset(load for load, region in loads.items() if region in self.draft.carried)
        body = _HandingOn(carried, frozenset(maker for _, maker, *_ in self.handed)).of(self.body)
        names = tuple(node.name for node in self.draft.nodes)
        carries = tuple(self._carry(body, *handed) for handed in self.handed)
        metapipe = Metapipe(name, graph, name, names, body, self.iterations, carries, depths=tuple(self.depths.items()))
        check_written(metapipe)
        return metapipe

    def _carry(self, body: tuple[Item, ...], region: str, maker: str, stored: bool, slots: int) -> Carry:
        everything = tuple(placed(body))
        loads = {found.name for found in everything if isinstance(found.leaf, Load) and found.leaf.tensor == region}
        readers = [
            found.name
            for found in everything
            if isinstance(found.leaf, Stage) and any(loads.intersection(sources) for sources in found.leaf.sources)
        ]
        if not readers:
            raise UserError(f"carry: no stage reads a tile of {region}")
        result = self.draft.carried[region]
        return Carry(f"carry {region}", self.draft.stored.get(result, result), maker, tuple(readers), stored, slots)


@dataclass(frozen=True)
class _HandingOn:
    """A body with what iterations hand on: its loads work once, and who reads or makes it has a buffer of its own."""

    loads: frozenset[str]
    makers: frozenset[str]

    def of(self, body: Iterable[Item], inside: bool = False) -> tuple[Item, ...]:
        """inside: the iterations, where what is handed on is loaded by the first of them."""
        return tuple(
            replace(item, body=self.of(item.body, inside or item.dim == ITERATION))
            if isinstance(item, Pipe)
            else self._leaf(item, inside)
            for item in body
        )

    def _leaf(self, leaf: Leaf, inside: bool) -> Leaf:
        if isinstance(leaf, Load) and leaf.name in self.loads:
            return replace(leaf, once=inside)
        if isinstance(leaf, Reorder) and (leaf.source in self.loads or leaf.name in self.makers):
            return Stage(leaf.name, leaf.sources)
        return leaf


def _a(role: str) -> str:
    return f"an {role}" if role[0] in "aeiou" else f"a {role}"
