"""What the data-centric language has for rows that an index names, and for states: gather, scatter and keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from patterns.errors import UserError
from rdu_model.language.draft import Arguments, Wanted
from rdu_model.language.due import text, truth
from rdu_model.language.writing import Region, Tile, Writing
from rdu_model.pipe import Reorder

Change = Literal["set", "add", "max"]


class RowWords:
    """The words of Metapipeline that look up rows, or write them or whole states."""

    def __init__(self, at: Writing) -> None:
        self._at = at

    def gather(
        self,
        table: Region | Tile,
        index: Tile,
        along: str,
        shape: Sequence[int] = (),
        *,
        outside: Literal["refuse", "zero"] = "refuse",
        distinct: int | str = "",
        in_place: bool = False,
        row_par: int | None = None,
        name: str = "",
    ) -> Tile:
        """Rows of a table where an index says, along one of its dims. Of a region only these rows are loaded.

        shape: the tile of a region's table; as the metapipes around cut it, if not given. outside: what an index beyond
        the table gives. distinct: how many different rows are found in all, as kinds/gather.py has it. in_place: the
        contractions that read them find the rows where the load put them; what several look up is there once.
        """
        at = self._at
        what = at.name(name, "gather")
        where = at.need_tile(f"{what}: index", index)
        if isinstance(table, Region):
            found = at.need_region(what, table, "input", "weight", "state", "intermediate")
            table = at.load_rows(what, found, shape, along, row_par, where.item)
        rows = at.need_tile(what, table)
        arguments: Arguments = (("outside", outside),) if text(f"{what}: outside", outside) != "refuse" else ()
        arguments = (("distinct", distinct), *arguments) if distinct else arguments
        wanted = Wanted("gather", "", (rows.tensor, where.tensor), what, (), arguments, along)
        if not truth(f"{what}: in_place", in_place):
            return at.stage(wanted, (rows, where))
        if rows.item not in at.loads:
            raise UserError(f"{what}: in_place is for rows that a load brings; {rows.item!r} is a stage")
        node = at.draft.node(wanted)
        return at.make(Reorder(node.name, rows.item, (where.item,)), node.writes)

    def scatter(
        self, into: Region | Tile, index: Tile, rows: Tile, along: str, fn: Change = "set", *, name: str = ""
    ) -> Tile:
        """Write rows where an index says, along a dim: into a copy of a tile, or into a state's region.

        Into a state, store_tile says where the rows leave, and gives the region by which the state is read from then
        on. fn: what happens to what is there, and to rows with the same index: set (the last one stays), add, max.
        """
        at = self._at
        what = at.name(name, "scatter")
        where, new = at.need_tile(f"{what}: index", index), at.need_tile(f"{what}: rows", rows)
        if not isinstance(into, Region):
            target = at.need_tile(what, into)
        elif text(f"{what}: fn", fn) == "set":
            target = Tile("", at.need_region(what, into, "state", "intermediate").name, ())
        else:
            found = at.need_region(what, into, "state", "intermediate")
            target = at.load_rows(what, found, (), along, None, where.item)
        reads = (target.tensor, where.tensor, new.tensor)
        return at.stage(Wanted("scatter", fn, reads, what, along=along), (target, where, new))

    def keep(self, into: Region, x: Tile, *, name: str = "") -> Tile:
        """Write a tile over its part of a state's region; store_tile says where it leaves, as for a scatter."""
        at = self._at
        what = at.name(name, "keep")
        state, new = at.need_region(what, into, "state", "intermediate"), at.need_tile(what, x)
        return at.stage(Wanted("store", "", (state.name, new.tensor), what), (Tile("", state.name, ()), new))
