"""Who hands tiles to whom in a metapipe: the links between its leaves, and how deep each must be.

A link belongs to an item and a level: how many pipes, outermost first, the item and a reader are both in. A slot holds
all that the item writes in one step of the innermost of these. Depth = distance in stages between the writer and its
last reader + 1 (Spatial's N-buffers), and at most the tiles that there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from patterns.graph import Node
from patterns.pipeline.hashed import made_directly
from rdu_model.ask import Asked, ask_all
from rdu_model.pipe import ITERATION, Load, Metapipe, Pipe, Placed, Reorder, Stage, placed, reads_of, shared, trips

Edge = tuple[str, str, int]


@made_directly
@dataclass(frozen=True)
class Link:
    """Tiles of `source` for its readers at one level, `tiles` of them in the whole run.

    depth: slots it should have. last: the reader that is the most stages behind.
    """

    name: str
    source: str
    level: int
    readers: tuple[str, ...]
    depth: int
    tiles: int
    last: str = ""


@dataclass(frozen=True)
class Flow:
    """A metapipe, taken apart: its roles by name and in order, the links between them, its nodes asked.

    streams: for each load, the (leaf, position of the read) that read its tensor. roots: for each leaf the one whose
    buffer it is, which is another where a leaf only says how a buffer is read.
    """

    metapipe: Metapipe
    leaves: Mapping[str, Placed]
    links: tuple[Link, ...]
    asked: Mapping[str, Asked]
    streams: Mapping[str, tuple[tuple[str, int], ...]]
    roots: Mapping[str, str]

    def sizes_at(self, name: str, level: int | None = None) -> dict[str, int]:
        """Extents of all dims in one full step of the pipes around a leaf, or of the outer `level` of them."""
        return cut_sizes(self.metapipe.sizes, self.leaves[name].path[:level])

    @cached_property
    def full_sizes(self) -> Mapping[str, Mapping[str, int]]:
        """Of each leaf the extents in one full step of the pipes around it."""
        of_path: dict[tuple[int, ...], Mapping[str, int]] = {}
        found = {}
        for name, place in self.leaves.items():
            path = tuple(map(id, place.path))
            if path not in of_path:
                of_path[path] = cut_sizes(self.metapipe.sizes, place.path)
            found[name] = of_path[path]
        return found

    @cached_property
    def tiles(self) -> Mapping[str, int]:
        """How often each leaf works in the whole run."""
        sizes = self.metapipe.sizes
        return {name: trips(_repeated(found, found.path), sizes) for name, found in self.leaves.items()}

    @cached_property
    def touched(self) -> Mapping[str, tuple[tuple[int, ...], int]]:
        """Bytes that a full step of each stage reads, by operand, and makes."""
        full = self.full_sizes
        return {name: self.asked[name].touched(full[name]) for name in self.leaves if name in self.asked}

    @cached_property
    def ends(self) -> frozenset[str]:
        """Dims that others follow: the first and the last step along them differ from those between."""
        return frozenset(follow.leader for asked in self.asked.values() for follow in asked.follows)

    def phase_of(self, name: str) -> str:
        """The loop of the section in which a leaf works: loops beside one another work one after the other."""
        path = [pipe for pipe in self.leaves[name].path if pipe.dim != ITERATION]
        return f"{id(path[0])}" if path else name

    def load_bytes(self, load: str, sizes: Mapping[str, int]) -> int:
        """Bytes that a stream brings in one step: what the reader that touches most of it touches."""
        leaf = self.leaves[load].leaf
        by_rows = isinstance(leaf, Load) and bool(leaf.after)
        return max(self.asked[reader].brought(number, sizes, by_rows) for reader, number in self.streams[load])

    @cached_property
    def streamed(self) -> Mapping[str, int]:
        """Bytes that each stream brings in the whole run, every step taken as a full one."""
        return {load: self.load_bytes(load, self.full_sizes[load]) * self.tiles_of(load) for load in self.streams}

    @cached_property
    def _streamed_in(self) -> Mapping[str, int]:
        """The same by phase; those outside all loops together, as ''."""
        found = {"": 0}
        for load, moved in self.streamed.items():
            phase = self.phase_of(load)
            phase = "" if phase == load else phase
            found[phase] = found.get(phase, 0) + moved
        return found

    def streamed_beside(self, load: str) -> int:
        """Bytes of all streams that work while this one does: of its loop, and of what is outside all loops."""
        phase = self.phase_of(load)
        return self._streamed_in[""] + (self._streamed_in[phase] if phase != load else 0)

    def tiles_of(self, name: str) -> int:
        """How often a leaf works in the whole run."""
        return self.tiles[name]


def _repeated(found: Placed, around: Iterable[Pipe]) -> tuple[Pipe, ...]:
    """Those of the pipes around a leaf in all of whose steps it works."""
    once = isinstance(found.leaf, Load) and found.leaf.once
    return tuple(pipe for pipe in around if not once or pipe.dim != ITERATION)


def cut_sizes(sizes: Mapping[str, int], path: Iterable[Pipe]) -> dict[str, int]:
    """Extents of all dims in one full step of these pipes."""
    return {**sizes, **{pipe.dim: min(pipe.extent, sizes[pipe.dim]) for pipe in path}}


def take_apart(metapipe: Metapipe, asked: Mapping[str, Asked] | None = None) -> Flow:
    """The roles and links of a metapipe; nodes that were asked before need not be again."""
    everything = {found.name: found for found in placed(metapipe.body)}
    roots = {name: _root(everything, name) for name in everything}
    leaves = {name: found for name, found in everything.items() if not isinstance(found.leaf, Reorder)}
    return Flow(
        metapipe=metapipe,
        leaves=leaves,
        links=_links(metapipe, leaves, _edges(roots, leaves)),
        asked=asked or ask_all(metapipe.graph, _own_nodes(metapipe)),
        streams=_streams(everything),
        roots=roots,
    )


def _own_nodes(metapipe: Metapipe) -> list[Node]:
    """Its nodes, of which its block may have many more."""
    nodes = {node.name: node for node in metapipe.of_block.nodes}
    return [nodes[name] for name in metapipe.nodes]


def _root(everything: Mapping[str, Placed], name: str) -> str:
    leaf = everything[name].leaf
    while isinstance(leaf, Reorder):
        leaf = everything[leaf.source].leaf
    return leaf.name


def _edges(roots: Mapping[str, str], leaves: Mapping[str, Placed]) -> list[Edge]:
    """(source, reader, level), each once; whatever only says how a buffer is read is skipped."""
    found: dict[Edge, None] = {}
    for reader, place in leaves.items():
        for name in reads_of(place.leaf):
            source = roots[name]
            found[source, reader, shared(leaves[source].path, place.path)] = None
    return list(found)


def _links(metapipe: Metapipe, leaves: Mapping[str, Placed], edges: list[Edge]) -> tuple[Link, ...]:
    readers: dict[tuple[str, int], list[str]] = {}
    for source, reader, level in edges:
        readers.setdefault((source, level), []).append(reader)
    levels = Counter(source for source, _ in readers)
    distances = _distances(leaves, edges)
    given = dict(metapipe.depths)
    waiting = {reader for spill in metapipe.spills for reader in spill.readers}
    links = []
    for (source, level), names in readers.items():
        around = leaves[source].path[:level]
        tiles = trips(_repeated(leaves[source], around), metapipe.sizes)
        behind = {name: distances[source, name, level] for name in names}
        last = max(names, key=behind.__getitem__)
        depth = 1 + behind[last]
        if around and around[-1].dim == ITERATION and (metapipe.carries or metapipe.spills):
            # The next iteration begins with what this one ends with, so only streams run ahead of it.
            depth = 2 if isinstance(leaves[source].leaf, Load) and source not in waiting else 1
        depth = given.get(source, depth)
        name = source if levels[source] == 1 else f"{source} at {level}"
        links.append(Link(name, source, level, tuple(names), min(depth, tiles), tiles, last))
    return tuple(links)


def _distances(leaves: Mapping[str, Placed], edges: list[Edge]) -> dict[Edge, int]:
    """How many stages a reader is behind its source, in the pipe that both are in."""
    stage: dict[tuple[int, str | int], int] = {}
    ends = {edge: _ends(leaves, edge) for edge in edges}
    order = {name: number for number, name in enumerate(leaves)}
    from_source: dict[str, list[Edge]] = {}
    for edge in edges:
        from_source.setdefault(edge[0], []).append(edge)
    for edge in sorted(edges, key=lambda edge: order[edge[1]]):
        source, reader = ends[edge]
        stage[reader] = max(stage.get(reader, 0), stage.get(source, 0) + 1)
    # A stream starts when it is needed, one stage before its first reader.
    for name in reversed(order):
        if isinstance(leaves[name].leaf, Load):
            mine = [ends[edge] for edge in from_source.get(name, ()) if ends[edge][0][1] == name]
            for source in {source for source, _ in mine}:
                stage[source] = min(stage[reader] for found, reader in mine if found == source) - 1
    return {edge: max(1, stage[reader] - stage.get(source, 0)) for edge, (source, reader) in ends.items()}


def _ends(leaves: Mapping[str, Placed], edge: Edge) -> tuple[tuple[int, str | int], tuple[int, str | int]]:
    """What in the shared pipe's body holds the source, and the reader: a leaf, or a pipe in which it lies."""
    source, reader, level = edge
    inside = [
        (level, id(path[level]) if len(path) > level else name)
        for name, path in ((source, leaves[source].path), (reader, leaves[reader].path))
    ]
    return inside[0], inside[1]


def _streams(everything: Mapping[str, Placed]) -> dict[str, tuple[tuple[str, int], ...]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for name, place in everything.items():
        leaf = place.leaf
        reads = leaf.sources if isinstance(leaf, Stage | Reorder) else ()
        for number, sources in enumerate(reads):
            for source in sources:
                if isinstance(everything[source].leaf, Load):
                    found.setdefault(source, []).append((name, number))
    return {name: tuple(readers) for name, readers in found.items()}
