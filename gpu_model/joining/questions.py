"""What the legality of a group asks of extents and of a machine: whether dims can be in parts, and a tile that fits."""

from __future__ import annotations

from functools import lru_cache

from gpu_model.asked import Asked
from gpu_model.choice.choose import choose, fits
from gpu_model.choice.smallest import why_no_tile
from gpu_model.machine import Machine
from gpu_model.options import Options
from gpu_model.schedule import AUTO
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from gpu_model.tiles.tile import SMALLEST
from patterns.errors import DoesNotFit
from patterns.graph import Graph, Node
from patterns.numbers.online import why_not_split
from patterns.seen import part_with_rows


def why_not_in_parts(
    graph: Graph, machine: Machine, nodes: tuple[Node, ...], inside: frozenset[str], online: tuple[str, ...]
) -> str:
    """Why one of a group's online dims cannot be taken in parts, '' if all can."""
    visible = frozenset(node.writes for node in nodes) - inside
    reasons = (why_not_split(graph, nodes, dim, visible) for dim in online)
    return next((reason for reason in reasons if reason), "")


def why_no_room(
    graph: Graph, machine: Machine, nodes: tuple[Node, ...], inside: frozenset[str], online: tuple[str, ...]
) -> str:
    """What a group's smallest tile takes more of than there is, '' if it fits."""
    made = frozenset(node.writes for node in nodes).intersection(inside)
    return _why_no_room(part_with_rows(graph, nodes), machine, nodes, made, online)


@lru_cache(maxsize=4096)
def _why_no_room(
    part: Graph, machine: Machine, nodes: tuple[Node, ...], inside: frozenset[str], online: tuple[str, ...]
) -> str:
    """Memo of `why_no_room`. The key has of the graph what the nodes see."""
    spaces = spaces_of(part, nodes, inside, online)
    short = next(filter(None, (why_no_tile(space, machine) for space in spaces)), "")
    return short or (_why_not_online(spaces, machine) if online else "")


@lru_cache(maxsize=1024)
def _why_not_online(spaces: tuple[Space, ...], machine: Machine) -> str:
    """Why no schedule has room for the smallest tile of a kernel with a reduce in parts, '' if one has.

    Its rings have several slots, and its threads all columns of their rows; what a user fixed is no reason.
    """
    smallest = Asked("its smallest tile", spaces, AUTO, Options(), online=True, reasons=False)
    try:
        if not fits(smallest, machine, (SMALLEST,)):
            choose(smallest, machine, (SMALLEST,))
    except DoesNotFit as error:
        return str(error)
    return ""
