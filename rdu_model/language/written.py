"""What can be wrong with a metapipe that a person wrote: tiles read before they are complete, loops that cannot be."""

from __future__ import annotations

from patterns.errors import UserError, did_you_mean
from patterns.order import chain_text, in_order
from rdu_model.ask import Asked, ask_all, relation
from rdu_model.language.due import whole
from rdu_model.pipe import (
    ITERATION,
    Load,
    Metapipe,
    Pipe,
    Placed,
    Reorder,
    Stage,
    Store,
    pipes_in,
    placed,
    reads_of,
    shared,
)


def check_written(metapipe: Metapipe) -> None:
    """Raises UserError for the first thing in a metapipe that cannot be, however it was made."""
    whole(f"metapipe {metapipe.name!r}: iterations", metapipe.iterations)
    for pipe in pipes_in(metapipe.body):
        whole(f"metapipe over {pipe.dim!r}: extent of a step", pipe.extent)
        if pipe.dim not in metapipe.sizes:
            raise UserError(f"metapipe over {pipe.dim!r}: no region has such a dim")
    everything = tuple(placed(metapipe.body))
    places = {found.name: found for found in everything}
    _check_names(metapipe, everything, places)
    _check_order(everything, places)
    _check_read(metapipe, everything)
    nodes = ask_all(metapipe.graph, metapipe.of_block.nodes)
    for name, found in places.items():
        if isinstance(found.leaf, Stage | Reorder):
            if name not in nodes:
                raise UserError(f"stage {name!r} is no node of block {metapipe.block!r}")
            _check_loops(nodes[name], found.path)
        for source in reads_of(found.leaf):
            _check_complete(nodes, places[source], found)
        if isinstance(found.leaf, Store):
            _check_stored_once(metapipe, found)


def _check_names(metapipe: Metapipe, everything: tuple[Placed, ...], places: dict[str, Placed]) -> None:
    if len(places) < len(everything):
        names = [found.name for found in everything]
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"{twice!r} is the name of two items: each has a name of its own")
    stored: dict[str, str] = {}
    for found in everything:
        if isinstance(found.leaf, Store) and stored.setdefault(found.leaf.tensor, found.name) != found.name:
            raise UserError(
                f"{stored[found.leaf.tensor]!r} and {found.name!r} store in one region, {found.leaf.tensor}"
            )
    for name, depth in metapipe.depths:
        whole(f"buffer of {name}: depth", depth)
        if name not in places:
            raise UserError(f"depth of a buffer of {name!r}, which is no item{did_you_mean(name, places)}")


def _check_read(metapipe: Metapipe, everything: tuple[Placed, ...]) -> None:
    """What is loaded or made is of use to somebody."""
    read = {source for found in everything for source in reads_of(found.leaf)}
    read |= {carry.source for carry in metapipe.carries}
    for found in everything:
        if found.name not in read and not isinstance(found.leaf, Store):
            what = "loads" if isinstance(found.leaf, Load) else "makes"
            raise UserError(f"nobody reads or stores what {found.name!r} {what}")


def _check_order(everything: tuple[Placed, ...], places: dict[str, Placed]) -> None:
    """Items read what is above them; loaded tiles are read in the pipes in which they are loaded."""
    needs = {found.name: reads_of(found.leaf) for found in everything}
    above: set[str] = set()
    for found in everything:
        for source in needs[found.name]:
            if source not in places:
                raise UserError(f"{found.name} reads {source!r}, which no item makes{did_you_mean(source, places)}")
            if source not in above:
                cycles = in_order(needs)[1]
                if cycles:
                    raise UserError(
                        f"a cycle: {chain_text(cycles[0][::-1])}; only iterations hand values back, with carry"
                    )
                raise UserError(f"{found.name} reads {source}, which is made below it: move it up")
            around = places[source].path
            if isinstance(places[source].leaf, Load) and shared(around, found.path) < len(around):
                raise UserError(
                    f"{found.name} reads {source} after the metapipe over {around[-1].dim!r} in which it is loaded"
                )
        above.add(found.name)


def _check_loops(asked: Asked, path: tuple[Pipe, ...]) -> None:
    """A node has one accumulator: the pipes over dims that it sums must be inside those over dims of its tiles."""
    name = asked.node.name
    summed = ""
    for pipe in path:
        how = "absent" if pipe.dim == ITERATION else relation(asked, pipe.dim)
        if how == "blocked":
            raise UserError(f"{name} needs all of {pipe.dim!r} at once, but a metapipe around it cuts it")
        if how == "reduced":
            summed = pipe.dim
        elif how == "free" and summed:
            raise UserError(
                f"{name} adds up over {summed!r} around the metapipe over {pipe.dim!r}: put {summed!r} inside"
            )


def _check_complete(nodes: dict[str, Asked], source: Placed, reader: Placed) -> None:
    if source.name not in nodes:
        return
    for pipe in source.path[: shared(source.path, reader.path)]:
        if pipe.dim != ITERATION and relation(nodes[source.name], pipe.dim) == "reduced":
            raise UserError(
                f"{reader.name} reads {source.name} inside the metapipe over {pipe.dim!r}, "
                f"which {source.name} adds up over: read it after that metapipe"
            )


def _check_stored_once(metapipe: Metapipe, store: Placed) -> None:
    assert isinstance(store.leaf, Store)
    dims = (*metapipe.graph.tensor_named[store.leaf.tensor].dims, ITERATION)
    for pipe in store.path:
        if pipe.dim not in dims:
            raise UserError(
                f"{store.name} would write the same tile in every step of the metapipe over {pipe.dim!r}, "
                f"which does not cut it: store it outside"
            )
