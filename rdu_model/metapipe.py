"""The data-centric language as Python: regions, nested metapipes, tiles. What is written becomes a frozen Metapipe.

    p = Metapipeline("matmul")
    a = p.input_region("A", "m k", (M, K))
    b = p.input_region("B", "k n", (K, N))
    c = p.output_region("C", "m n", (M, N))
    with p.metapipe(steps_of(M, 256)):
        a_tile = p.load_tile(a, (256, K))
        with p.metapipe(steps_of(N, 64)):
            b_tile = p.load_tile(b, (K, 64), row_par=4)
            c_tile = p.buffer(p.mat_mul(a_tile, b_tile))
            p.store_tile(c, c_tile)
    pipeline = p.build()

Dims have names. A metapipe cuts the dim along which a tile loaded in it is smaller than its region; a tile that reaches
over the end of its region is smaller in the last step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from patterns.errors import UserError
from patterns.graph import Argument, Tensor
from rdu_model.draft import Arguments, Draft
from rdu_model.pipe import SOCKETS, Item, Load, Metapipe, Pipe, Reorder, Stage, Store
from rdu_model.written import check_written

Region = Tensor


@dataclass(frozen=True)
class Tile:
    """What an item makes in each step of the metapipes around it: a tile of `tensor`."""

    item: str
    tensor: str


@dataclass
class _Open:
    """A metapipe that is being written; extent 0 until a tile says what it cuts."""

    count: int
    dim: str
    extent: int = 0


def steps_of(extent: int, tile: int) -> int:
    """Steps of `tile` points that cover `extent` points; the last may be smaller."""
    return -(-extent // tile)


class Metapipeline:
    """Writes one Metapipe; `build` gives it as frozen data."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._draft = Draft()
        self._pipes: list[_Open] = []
        self._body: list[Item] = []
        self._loads: set[str] = set()
        self._depths: dict[str, int] = {}

    def input_region(self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16") -> Region:
        """An array to read. dims: their names, outermost first, with spaces between. Raises UserError."""
        return self._draft.region(name, dims, shape, dtype, "input")

    def output_region(self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16") -> Region:
        """An array to write. Raises UserError."""
        return self._draft.region(name, dims, shape, dtype, "output")

    @contextmanager
    def metapipe(self, count: int, over: str = "", *, drain: bool = False) -> Iterator[None]:
        """A pipe of `count` steps around what is written inside. over: the dim it cuts ('' to see from the tiles).

        drain: the pipe is empty before the next step of the pipe around it. Raises UserError.
        """
        if count < 1:
            raise UserError(f"metapipe of {count} steps: at least 1 is needed")
        pipe = _Open(count, over)
        around, self._body = self._body, []
        self._pipes.append(pipe)
        yield
        inside, self._body = self._body, around
        self._pipes.pop()
        if pipe.extent:
            self._body.append(Pipe(pipe.dim, pipe.extent, tuple(inside), drain))
        elif count == 1:
            self._body += inside
        else:
            raise UserError(f"metapipe of {count} steps: no tile loaded in it is a part of its region")

    def load_tile(self, region: Region, shape: Sequence[int], row_par: int = 1) -> Tile:
        """The tile of a region in each step, through `row_par` parallel AGCU streams. Raises UserError."""
        if len(shape) != len(region.dims):
            raise UserError(f"load_tile of {region.name}: a tile has {len(region.dims)} extents, found {tuple(shape)}")
        if row_par < 1:
            raise UserError(f"load_tile of {region.name}: row_par must be at least 1, is {row_par}")
        for dim, extent in zip(region.dims, shape, strict=True):
            self._cut(region.name, dim, extent)
        number = sum(1 for name in self._loads if name.split(" ")[1] == region.name)
        name = f"load {region.name}" + (f" {number + 1}" if number else "")
        self._loads.add(name)
        self._body.append(Load(name, region.name, row_par))
        return Tile(name, region.name)

    def mat_mul(self, a: Tile, b: Tile, *, pcus: int = 0, name: str = "mat_mul") -> Tile:
        """Sums over the dim that both have. pcus: of the stage, 0 to have them allocated. Raises UserError."""
        return self._stage("mm", "", (a, b), name, pcus)

    def map(self, fn: str, x: Tile, *, pcus: int = 0, name: str = "", **arguments: Argument) -> Tile:
        """A function of every element. Raises UserError."""
        return self._stage("map", fn, (x,), name or fn, pcus, (), tuple(sorted(arguments.items())))

    def zip(self, fn: str, *tiles: Tile, pcus: int = 0, name: str = "") -> Tile:
        """A function of several tiles, broadcast by the names of dims. Raises UserError."""
        return self._stage("zip", fn, tiles, name or fn, pcus)

    def reduce(self, fn: str, x: Tile, over: str, *, pcus: int = 0, name: str = "") -> Tile:
        """A reduction over named dims. Raises UserError."""
        return self._stage("reduce", fn, (x,), name or fn, pcus, tuple(over.split()))

    def all_reduce(self, x: Tile, members: int, *, name: str = "all_reduce") -> Tile:
        """The sum over `members` sockets, through their links. Raises UserError."""
        if self._draft.extents.setdefault(SOCKETS, members) != members or members < 1:
            raise UserError(f"{name}: {members} members, elsewhere {self._draft.extents[SOCKETS]}")
        return self._stage("all_reduce", "", (x,), name, 0, along=SOCKETS)

    def buffer(self, x: Tile, order: str = "", *, depth: int = 0) -> Tile:
        """The tile in its PMU buffer, read in another order of its dims if one is given.

        depth: tiles that it holds, 0 for as many as the distance to its last reader asks for. Raises UserError.
        """
        if depth < 0:
            raise UserError(f"buffer of {x.item}: depth {depth}")
        if depth:
            self._depths[x.item] = depth
        if not order:
            return x
        node = self._draft.node("buffer", "permute", (x.tensor,), "buffer", (), (("order", order),))
        self._body.append(Reorder(node.name, x.item))
        return Tile(node.name, node.writes)

    def store_tile(self, region: Region, tile: Tile) -> None:
        """Write each step's tile to its place in a region. Raises UserError."""
        if tile.item in self._loads:
            tile = self.buffer(tile, " ".join(region.dims))
        self._draft.store(tile.tensor, region.name)
        self._body.append(Store(f"store {region.name}", region.name, tile.item))

    def build(self) -> Metapipe:
        """What was written, frozen. Raises UserError, also if a stage reads what is not complete where it reads it."""
        graph = self._draft.graph(self._name)
        names = tuple(node.name for node in self._draft.nodes)
        metapipe = Metapipe(self._name, graph, self._name, names, tuple(self._body), depths=tuple(self._depths.items()))
        check_written(metapipe)
        return metapipe

    def _cut(self, region: str, dim: str, extent: int) -> None:
        """Find the metapipe that cuts a dim into tiles of that extent. Raises UserError."""
        whole = self._draft.extents[dim]
        cutting = next((pipe for pipe in self._pipes if pipe.dim == dim and pipe.extent), None)
        if cutting is not None:
            if cutting.extent != min(extent, whole):
                raise UserError(f"load_tile of {region}: {extent} of {dim!r}, but its metapipe cuts {cutting.extent}")
            return
        if not 1 <= extent < whole:
            if extent < 1:
                raise UserError(f"load_tile of {region}: {extent} of {dim!r}")
            return
        wanted = steps_of(whole, extent)
        open_pipes = [pipe for pipe in reversed(self._pipes) if not pipe.extent and pipe.dim in ("", dim)]
        found = next((pipe for pipe in open_pipes if pipe.count == wanted), None)
        if found is None:
            raise UserError(
                f"load_tile of {region}: tiles of {extent} cover {dim!r} ({whole}) in {wanted} steps; "
                f"the metapipes around it that cut nothing yet have {[pipe.count for pipe in open_pipes]}"
            )
        found.dim, found.extent = dim, extent

    def _stage(
        self,
        kind: str,
        fn: str,
        tiles: tuple[Tile, ...],
        name: str,
        pcus: int,
        over: tuple[str, ...] = (),
        arguments: Arguments = (),
        along: str = "",
    ) -> Tile:
        node = self._draft.node(kind, fn, tuple(tile.tensor for tile in tiles), name, over, arguments, along)
        self._body.append(Stage(node.name, tuple((tile.item,) for tile in tiles), pcus))
        return Tile(node.name, node.writes)
