"""What can be wrong with a metapipe that a person wrote: tiles read before they are complete, loops that cannot be."""

from __future__ import annotations

from patterns.errors import UserError
from rdu_model.ask import Asked, ask, relation
from rdu_model.pipe import Metapipe, Pipe, Placed, Reorder, Stage, placed, reads_of, shared


def check_written(metapipe: Metapipe) -> None:
    """Raises UserError for the first stage that cannot work where it stands."""
    nodes = {node.name: ask(metapipe.graph, node) for node in metapipe.of_block.nodes}
    places = {found.name: found for found in placed(metapipe.body)}
    for name, found in places.items():
        if isinstance(found.leaf, Stage | Reorder):
            _check_loops(nodes[name], found.path)
        for source in reads_of(found.leaf):
            _check_complete(nodes, places[source], found)


def _check_loops(asked: Asked, path: tuple[Pipe, ...]) -> None:
    """A node has one accumulator: the pipes over dims that it sums must be inside those over dims of its tiles."""
    name = asked.node.name
    summed = ""
    for pipe in path:
        how = relation(asked, pipe.dim)
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
        if relation(nodes[source.name], pipe.dim) == "reduced":
            raise UserError(
                f"{reader.name} reads {source.name} inside the metapipe over {pipe.dim!r}, "
                f"which {source.name} adds up over: read it after that metapipe"
            )
