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
over the end of its region is smaller in the last step. A pipe inside another may cut its tiles again. What a stage
makes may be read after its metapipe: it is whole then, and what the stage adds up is complete. Every name is unique;
without one, a stage is named after what it does. Every method raises UserError for what cannot be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from patterns.errors import UserError
from patterns.graph import Argument
from patterns.kind import kind_named
from rdu_model.language.draft import Arguments, Wanted
from rdu_model.language.due import name_of, names_of, new_dims, text, truth, whole
from rdu_model.language.rows import RowWords
from rdu_model.language.writing import OpenPipe, Region, Tile, Writing
from rdu_model.pipe import ITERATION, SOCKETS, Load, Metapipe, Reorder, Store


def steps_of(extent: int, tile: int) -> int:
    """Steps of `tile` points that cover `extent` points; the last may be smaller."""
    return -(-whole("steps_of: extent", extent) // whole("steps_of: tile", tile))


class Metapipeline(RowWords):
    """Writes one Metapipe; `build` gives it as frozen data."""

    def __init__(self, name: str) -> None:
        self._name = name_of("Metapipeline", name)
        super().__init__(Writing())

    def input_region(self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16") -> Region:
        """An array to read. dims: their names, outermost first, with spaces between. An index has dtype int32."""
        return self._at.draft.region(name, dims, shape, dtype, "input")

    def weight_region(
        self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16", *, each: bool = False
    ) -> Region:
        """An array to read whose streams may run ahead of their stages. each: another one in every iteration."""
        return self._at.draft.region(name, dims, shape, dtype, "weight", self._block(each))

    def state_region(
        self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16", *, each: bool = False
    ) -> Region:
        """An array that stays from run to run, to read and to scatter into: a KV cache. each: one an iteration."""
        return self._at.draft.region(name, dims, shape, dtype, "state", self._block(each))

    def output_region(self, name: str, dims: str, shape: Sequence[int], dtype: str = "bf16") -> Region:
        """An array to write."""
        return self._at.draft.region(name, dims, shape, dtype, "output")

    def _block(self, each: bool) -> str:
        return self._name if truth("each", each) else ""

    @contextmanager
    def metapipe(self, count: int, over: str = "", *, tile: int = 0, drain: bool = False) -> Iterator[None]:
        """A pipe of `count` steps around what is written inside. over: the dim it cuts ('' to see from the tiles).

        tile: points of `over` in a step, where no tile loaded inside says so. drain: the pipe is empty before the next
        step of the pipe around it.
        """
        steps, extent = whole("metapipe: steps", count), whole("metapipe: tile", tile, least=0)
        self._at.begin(OpenPipe(steps, text("metapipe: over", over), truth("metapipe: drain", drain), extent))
        yield
        self._at.close()

    @contextmanager
    def iterations(self, count: int) -> Iterator[None]:
        """The outermost pipe, around all stages: `count` executions of them, which `carry` hands values on between."""
        at = self._at
        if at.open or at.iterations > 1 or any(not isinstance(item, Load) for item in at.body):
            raise UserError("iterations are around all metapipes and stages; only loads stand before them")
        at.iterations = whole("iterations", count)
        at.open.append(OpenPipe(at.iterations, ITERATION, False, extent=int(at.iterations > 1)))
        yield
        at.close()
        at.ended = at.iterations > 1

    def load_tile(
        self,
        region: Region,
        shape: Sequence[int],
        row_par: int | None = 1,
        *,
        at: Tile | None = None,
        name: str = "",
    ) -> Tile:
        """The tile of a region in each step, through `row_par` parallel AGCU streams (None: as many as keep up).

        at: an index, where a gather or a scatter needs no other rows than those that it names.
        """
        found = self._at.need_region("load_tile", region, "input", "weight", "state", "intermediate")
        what = f"load_tile of {found.name}"
        index = self._at.need_tile(what, at).item if at is not None else ""
        return self._at.load(what, found, shape, row_par, name, index)

    def mat_mul(
        self, a: Tile, b: Tile, *, over: str = "", dims: str = "", dtype: str = "", pcus: int = 0, name: str = ""
    ) -> Tile:
        """Sums over the dims that both have. pcus: of the stage, 0 to have them allocated.

        over: the summed dims, where some that both have stay. dims, dtype: of the result, if they are to be others.
        """
        return self._stage("mm", "", (a, b), name, "mat_mul", pcus, over=over, dims=dims, dtype=dtype)

    def map(self, fn: str, x: Tile, *, pcus: int = 0, name: str = "", **arguments: Argument) -> Tile:
        """A function of every element."""
        dtype = str(arguments.pop("dtype", ""))
        return self._stage("map", fn, (x,), name, fn, pcus, dtype=dtype, arguments=tuple(arguments.items()))

    def zip(
        self,
        fn: str,
        *tiles: Tile,
        dims: str = "",
        dtype: str = "",
        pcus: int = 0,
        name: str = "",
        **arguments: Argument,
    ) -> Tile:
        """A function of several tiles, broadcast by the names of dims. dims: where none of them has all (outer)."""
        given = tuple(arguments.items())
        return self._stage("zip", fn, tiles, name, fn, pcus, dims=dims, dtype=dtype, arguments=given)

    def select(
        self,
        fn: str,
        x: Tile,
        along: str,
        *,
        to: Mapping[str, int],
        kind: str = "select",
        dtype: str = "",
        pcus: int = 0,
        name: str = "",
        **arguments: Argument,
    ) -> Tile:
        """The greatest elements along a dim, or their indices; or by another kind that keeps elements of one.

        to: the dim of those that are kept, with its extent. arguments: as the kind has them.
        """
        what = self._at.name(name, fn or kind)
        new = new_dims(what, to)
        self._at.draft.dims(what, new)
        given: Arguments = (("to", " ".join(new)), *arguments.items())
        return self._stage(kind, fn, (x,), what, what, pcus, over=along, dtype=dtype, arguments=given)

    def reduce(self, fn: str, x: Tile, over: str, *, dtype: str = "", pcus: int = 0, name: str = "") -> Tile:
        """A reduction over named dims; over those that metapipes cut it adds up until they end."""
        return self._stage("reduce", fn, (x,), name, fn, pcus, over=over, dtype=dtype)

    def scan(
        self,
        fn: str,
        *tiles: Tile,
        along: str,
        exclusive: bool = False,
        dims: str = "",
        dtype: str = "",
        pcus: int = 0,
        name: str = "",
    ) -> Tile:
        """A recurrence along a dim, as kinds/scan.py has it; metapipes that cut the dim hand the state on."""
        arguments: Arguments = (("exclusive", True),) if truth(f"{fn}: exclusive", exclusive) else ()
        return self._stage("scan", fn, tiles, name, fn, pcus, along=along, dims=dims, dtype=dtype, arguments=arguments)

    def all_reduce(self, x: Tile, members: int, *, name: str = "") -> Tile:
        """The sum over `members` sockets, through their links."""
        what = self._at.name(name, "all_reduce")
        sockets = self._at.draft.extents.setdefault(SOCKETS, whole(f"{what}: members", members))
        if sockets != members:
            raise UserError(f"{what}: {members} members, elsewhere {sockets}")
        return self._stage("all_reduce", "", (x,), name, "all_reduce", 0, along=SOCKETS)

    def buffer(
        self,
        x: Tile,
        order: str = "",
        *,
        depth: int | None = None,
        pattern: str = "permute",
        along: str = "",
        to: Mapping[str, int] | None = None,
        name: str = "",
        **arguments: Argument,
    ) -> Tile:
        """The tile in its PMU buffer, read in another order of its dims if one is given, or in another pattern.

        depth: tiles that it holds, as many as the distance to its last reader asks for if not given. pattern, along,
        arguments: as moves/ has them (roll, slice, split, window ...); to: the dims that it makes, with extents.
        """
        at = self._at
        what = at.name(name, "buffer")
        x = at.need_tile(what, x)
        if depth is not None:
            root = at.roots.get(x.item, x.item)
            depth = whole(f"buffer of {root}: depth", depth)
            if at.depths.setdefault(root, depth) != depth:
                raise UserError(f"buffer of {root}: depth {depth}, elsewhere {at.depths[root]}")
        if not text(f"{what}: order", order) and text(f"{what}: pattern", pattern) == "permute":
            return x
        if order:
            arguments["order"] = " ".join(names_of(f"{what}: order", order))
        if to is not None:
            new = new_dims(what, to)
            at.draft.dims(what, new)
            arguments["to"] = " ".join(new)
        wanted = Wanted("buffer", pattern, (x.tensor,), what, (), tuple(arguments.items()), along)
        if len(x.sources) > 1:
            return at.stage(wanted, (x,))
        node = at.draft.node(wanted)
        at.roots[node.name] = at.roots.get(x.item, x.item)
        return at.make(Reorder(node.name, x.item), node.writes)

    def concat(self, *tiles: Tile, to: Mapping[str, int], along: str = "", name: str = "") -> Tile:
        """Tiles one after another. along: the dim that all have, or each has a dim of its own; to: what it becomes."""
        what = self._at.name(name, "concat")
        new = new_dims(what, to)
        self._at.draft.dims(what, new)
        return self._stage(
            "buffer", "concat", tiles, what, "concat", 0, along=along, arguments=(("to", " ".join(new)),)
        )

    def store_tile(self, region: Region, tile: Tile) -> Region:
        """Write each step's tile to its place in a region. Gives the region as it is then: of a state, to load from."""
        at = self._at
        if isinstance(tile, Tile) and tile.item in at.scattered:
            return at.store_rows(region, tile)
        to = at.need_region("store_tile", region, "output")
        tile = at.need_tile(f"store_tile in {to.name}", tile)
        if tile.item in at.loads:
            tile = self.buffer(tile, " ".join(to.dims))
        at.draft.store(tile.tensor, to.name)
        at.place(Store(f"store {to.name}", to.name, tile.item))
        return to

    def carry(self, before: Region | Tile, result: Tile, into: Region | None = None, *, depth: int = 2) -> None:
        """From the second iteration on, `before` is what `result` was in the one before. into: where the last leaves.

        before: an input, or a tile of it; its tiles are loaded for the first iteration only.
        depth: results that the buffer between holds.
        """
        at = self._at
        region = before if isinstance(before, Region) else at.draft.tensors[at.need_tile("carry", before).tensor]
        at.hand_on(at.need_region("carry", region, "input", "weight"), at.need_tile("carry", result), into, depth)

    def build(self) -> Metapipe:
        """What was written, frozen; checked for stages that read what is not complete where they read it."""
        return self._at.frozen(self._name)

    def _stage(
        self,
        kind: str,
        fn: str,
        tiles: tuple[Tile, ...],
        name: str,
        otherwise: str,
        pcus: int,
        *,
        over: str = "",
        dims: str = "",
        dtype: str = "",
        along: str = "",
        arguments: Arguments = (),
    ) -> Tile:
        at = self._at
        what = at.name(name, text(f"{kind}: fn", otherwise))
        read = tuple(at.need_tile(what, tile) for tile in tiles)
        if text(f"{what}: dtype", dtype) and "dtype" in kind_named(kind).FUNCTIONS.get(fn, ()):
            arguments, dtype = (*arguments, ("dtype", dtype)), ""
        wanted = Wanted(
            kind,
            fn,
            tuple(tile.tensor for tile in read),
            what,
            names_of(f"{what}: over", over),
            arguments,
            along,
            names_of(f"{what}: dims", dims),
            dtype,
        )
        return at.stage(wanted, read, whole(f"{what}: pcus", pcus, least=0))
