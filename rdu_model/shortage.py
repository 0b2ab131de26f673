"""What a section lacks: by which resource, how much, for whom; and why a section ends where it does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from patterns.count import node_dims
from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.plural import number_of

STREAMS = "AGCU streams"
ROUTES = "places for flows on mesh links"
# The parameters of a machine that say how many there are: a greater value of any is more of the resource.
PARAMETERS_OF = {
    "PCUs": ("pcus",),
    "PMUs": ("pmus", "pmu_bytes"),
    STREAMS: ("agcus", "agcu_streams"),
    ROUTES: ("mesh_links", "mesh_flows"),
}

# What takes at least one of a resource, and what of it is a node's part.
_TAKERS = {"PMUs": "a buffer takes at least one", "PCUs": "a stage takes at least one"}


@dataclass(frozen=True)
class Shortage:
    """A section asks for more than there is; `node` is its greatest part, which asks for `most` of it.

    tilings: how many choices of its tiles were tried, all in vain.
    """

    resource: str
    needed: int
    available: int
    node: str
    most: int
    tilings: int = 1

    @property
    def text(self) -> str:
        """For people: what one section would need."""
        return (
            f"one section needs {self.needed:,} {self.resource}, there are {self.available:,} "
            f"(most, {self.most:,}, for {self.node!r})"
        )


@dataclass(frozen=True)
class Stop:
    """Why a section ends before `node`, the next one of its block.

    lack: what the section would lack if it held that node, too; None where it would fit, but a cut here costs less.
    """

    node: str
    lack: Shortage | None

    @property
    def text(self) -> str:
        """For people."""
        if self.lack is None:
            return f"ends before {self.node!r}, where a cut costs least"
        more = self.lack.needed - self.lack.available
        return (
            f"ends before {self.node!r}: with it {self.lack.needed:,} {self.lack.resource} would be needed, "
            f"{more:,} more than the {self.lack.available:,} there are"
        )


def refuse(graph: Graph, lack: Shortage, where: str, tried: Sequence[Shortage] = ()) -> DoesNotFit:
    """The error for a node that cannot be where it has to be. tried: of all sections with it that were tried."""
    node = next(node for _, node in graph.nodes() if node.name == lack.node)
    why = f"{_TAKERS[lack.resource]}; " if lack.resource in _TAKERS else ""
    if lack.most > 1:
        why = f"its part is {lack.most:,} of them; "
        # A stream is a stream however small its tensor.
        dims = node_dims(graph, node) if lack.resource != STREAMS else ()
        for greatest in sorted(dims, key=lambda dim: graph.sizes[dim])[-1:]:
            why += f"a smaller extent of {greatest!r} (now {graph.sizes[greatest]:,}) or "
    help_text = f"{why}a machine with more {_named(lack.resource)} would help"
    told = f"{help_text}{_in_vain(tried or (lack,))}"
    return DoesNotFit(f"node {lack.node!r} ({where})", lack.resource, lack.needed, lack.available, told)


def _named(resource: str) -> str:
    """A resource as people look for it in a machine's file: units by what they are called, others by parameters."""
    return resource if resource in _TAKERS else " or ".join(PARAMETERS_OF.get(resource, (resource,)))


def _in_vain(tried: Sequence[Shortage]) -> str:
    """How many sections and tilings were tried and what each lacked, where they are several; else ''."""
    tilings = sum(lack.tilings for lack in tried)
    if tilings < 2:
        return ""
    counts = Counter(lack.resource for lack in tried)
    lacks = []
    for resource, count in counts.most_common():
        own = [lack for lack in tried if lack.resource == resource]
        how_many = f"{count:,} for " if len(tried) > 1 else ""
        lacks.append(f"{how_many}{resource} (at least {min(lack.needed for lack in own):,} of {own[0].available:,})")
    sections = f" of {len(tried):,} sections with it" if len(tried) > 1 else ""
    return f"; none of {number_of(tilings, 'tiling')}{sections} fits: {', '.join(lacks)}"
