"""What place and route find for a section, as data: the cells of its units, and the ways between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rdu_model.floor.fabric import Edge, Fabric


@dataclass(frozen=True)
class Placement:
    """pcus: cells of each stage's PCUs. pmus: cells of the PMUs of each link's buffer, and of each carry's.

    agcus: numbers of the AGCUs of each load, store and exchange with other sockets. Names are those of the section's
    leaves, links and carries (a store of a carry is `store TENSOR`, as its role).
    """

    pcus: Mapping[str, tuple[int, ...]]
    pmus: Mapping[str, tuple[int, ...]]
    agcus: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Route:
    """One flow of a link: from a cell to one or several, as a tree of mesh edges.

    reader: which reader of the link it is for, '' if it fills the link's buffer. bytes_per_cycle: on each edge, on
    average while its phase works.
    """

    link: str
    reader: str
    source: int
    targets: tuple[int, ...]
    bytes_per_cycle: float
    phase: str
    edges: tuple[Edge, ...]


@dataclass(frozen=True)
class Routes:
    """All flows of a section, and what they put on the mesh.

    load: bytes in a cycle of each edge that is used, in the phase in which it has most. flows: routes on each edge.
    capacity: bytes in a cycle that an edge carries.
    """

    routes: tuple[Route, ...]
    load: Mapping[Edge, float]
    flows: Mapping[Edge, int]
    capacity: int

    @cached_property
    def trees(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges that each link uses, each once."""
        found: dict[str, dict[Edge, None]] = {}
        for route in self.routes:
            found.setdefault(route.link, {}).update(dict.fromkeys(route.edges))
        return {link: tuple(edges) for link, edges in found.items()}

    @property
    def byte_hops(self) -> float:
        """Bytes in a cycle of all flows times their links."""
        return sum(found.bytes_per_cycle * len(found.edges) for found in self.routes)

    @property
    def busiest(self) -> float:
        """Load of the busiest edge as a part of what it carries."""
        return max(self.load.values(), default=0.0) / self.capacity


@dataclass(frozen=True)
class Placed:
    """A section on the grid. byte_hops: bytes in a cycle times links, by how the units were placed: `random`, `start`,
    `annealed`.
    """

    fabric: Fabric
    placement: Placement
    routes: Routes
    byte_hops: Mapping[str, float] = field(default_factory=dict)
