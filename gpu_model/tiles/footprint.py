"""What one tile of a space has in one step, in however many parts its steps are: extents, and bytes that it reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpu_model.tiles.access import Access
from gpu_model.tiles.frame import frame_of
from gpu_model.tiles.space import Space
from patterns.count import storage_of
from patterns.graph import Node
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once
from patterns.plan import Tile


@hashed_once
@dataclass(frozen=True)
class Footprint:
    """A tile of these extents in one step, or a CTA's part of it. stepped: dims that steps go along.

    space: without extents where it has a frame, so that equal tiles of all contexts are one.
    """

    space: Space
    extents: tuple[tuple[str, int], ...]
    stepped: tuple[str, ...]

    @computed_once
    def sizes(self) -> Mapping[str, int]:
        """Its extents by dim."""
        return dict(self.extents)

    @computed_once
    def reads(self) -> tuple[tuple[Access, int], ...]:
        """What a tile has of each tensor that it reads, in bytes."""
        return tuple((access, access.num_bytes(self.sizes)) for access in self.space.reads)

    @computed_once
    def different(self) -> tuple[tuple[Access, int, bool], ...]:
        """Of each tensor that a tile reads: its bytes, each element once, and whether steps go along it."""
        return tuple(
            (access, access.different_bytes(self.sizes), self.is_stepped(access.changes)) for access in self.space.reads
        )

    @computed_once
    def step_bytes(self) -> int:
        """Bytes that change from step to step."""
        return sum(num_bytes for access, num_bytes in self.reads if self.is_stepped(access.changes))

    @computed_once
    def held_bytes(self) -> int:
        """Bytes that a tile loads once and holds."""
        return sum(num_bytes for access, num_bytes in self._once if self._is_held(access))

    @computed_once
    def finish_bytes(self) -> int:
        """Bytes that only the end of a tile reads: they pass through it piece by piece, and nothing holds them."""
        return sum(num_bytes for access, num_bytes in self._once if not self._is_held(access))

    @computed_once
    def _once(self) -> tuple[tuple[Access, int], ...]:
        """What a tile reads once, in bytes."""
        return tuple((access, num_bytes) for access, num_bytes in self.reads if not self.is_stepped(access.dims))

    @computed_once
    def _read_in_steps(self) -> frozenset[str]:
        """Storages that the steps read."""
        graph = self.space.graph
        nodes = (node for node in self.space.nodes if self.in_step(node))
        return frozenset(storage_of(graph, name) for node in nodes for name in node.reads)

    def _is_held(self, access: Access) -> bool:
        return access.tensor in self._read_in_steps

    def in_step(self, node: Node) -> bool:
        """Whether a node runs in every step, not once at a tile's end."""
        return not self.stepped or self.is_stepped(self.space.dims_of(node))

    def is_stepped(self, dims: Collection[str]) -> bool:
        """Whether steps go along one of the dims, or there are none and all is one step."""
        return not self.stepped or any(dim in dims for dim in self.stepped)


def footprint(space: Space, loops: tuple[Tile, ...], steps: tuple[Tile, ...], spread: Tile | None) -> Footprint:
    """The tile of loops over free dims and steps inside them. spread: the part of a whole dim that each CTA has."""
    sizes = space.tile_sizes((*loops, *steps, spread) if spread else (*loops, *steps))
    return _only(frame_of(space) or space, tuple(sizes.items()), tuple([step.dim for step in steps]))


@lru_cache(maxsize=4096)
def _only(space: Space, extents: tuple[tuple[str, int], ...], stepped: tuple[str, ...]) -> Footprint:
    """The same one for all numbers of parts and all contexts: what is known of it is found once."""
    return Footprint(space, extents, stepped)
