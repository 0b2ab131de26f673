"""One call on numbers: its nodes tile by tile, in memory of its own that checks what is written and read when."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from patterns.evaluate import MemberOperands, computed, operands_of
from patterns.follow import Follow, follows, leaders, moved_later, with_followed
from patterns.graph import Graph, Node
from patterns.kind import Accumulating, Carrying, has, kind_of
from patterns.numbers.memory import PerMember
from patterns.numbers.rounding import NOT_ROUNDED, all_rounded
from patterns.numbers.tiles import (
    Level,
    Loop,
    PlanError,
    Ranges,
    Step,
    accumulated_dims,
    carried_dims,
    level_of,
    paths,
    slices,
    steps,
    tile_of,
    tiled_dims,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from patterns.plan import Tiling

Read = Callable[[str], PerMember]


@dataclass
class Local:
    """What a call has written: whole arrays of each member, and how often each element was written."""

    arrays: dict[str, PerMember] = field(default_factory=dict)
    written: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Schedule:
    """A call's nodes with what decides in which steps each runs.

    makes: the tensors that they write. after: loops (around the node, and not its own) in whose last step it runs,
    because it needs what they make; in the first step of all others. tiled: its own dims, and what some of them follow;
    whole: those that it has whole in every step. kept: the type that each result is rounded to.
    """

    level: Level
    makes: frozenset[str]
    after: Mapping[str, frozenset[Loop]]
    tiled: Mapping[str, frozenset[str]]
    accumulated: Mapping[str, frozenset[str]]
    kept: Mapping[str, str]
    followed: tuple[Follow, ...]
    whole: Mapping[str, frozenset[str]]


def schedule(graph: Graph, nodes: tuple[Node, ...], tiling: Tiling, kept: Mapping[str, str] = NOT_ROUNDED) -> Schedule:
    """When the nodes of a call run. Raises PlanError for loops that no accumulator could follow."""
    level = level_of(tiling, nodes, graph.sizes)
    around = {node.name: loops for node, loops in paths(level)}
    followed = follows(graph, nodes)
    whole = moved_later(nodes, followed)
    tiled = {node.name: leaders(followed, tiled_dims(graph, node) - whole[node.name]) for node in nodes}
    accumulated = {node.name: accumulated_dims(graph, node) for node in nodes}
    for node in nodes:
        _need_innermost(node, around[node.name], tiled[node.name], accumulated[node.name] | carried_dims(node))
        _need_one_loop(node, around[node.name], tiled[node.name], followed)
    needs = {node.name: needed_by(node, nodes) for node in nodes}
    after = {
        name: frozenset(
            loop
            for loop in loops
            if loop.dim not in tiled[name] and any(loop in around[n] and loop.dim in tiled[n] for n in needs[name])
        )
        for name, loops in around.items()
    }
    return Schedule(level, frozenset(node.writes for node in nodes), after, tiled, accumulated, kept, followed, whole)


def needed_by(node: Node, nodes: tuple[Node, ...]) -> frozenset[str]:
    """Names of the nodes that a node needs, directly or not."""
    writers = {other.writes: other for other in nodes}
    found: set[str] = set()
    waiting = [node]
    while waiting:
        for name in waiting.pop().reads:
            writer = writers.get(name)
            if writer is not None and writer.name not in found:
                found.add(writer.name)
                waiting.append(writer)
    return frozenset(found)


def _need_innermost(node: Node, loops: tuple[Loop, ...], tiled: frozenset[str], accumulated: frozenset[str]) -> None:
    if has(node, "updates"):  # accumulates where it stays, not in an accumulator of one tile
        return
    dims = [loop.dim for loop in loops if loop.dim in tiled]
    first = next((at for at, dim in enumerate(dims) if dim in accumulated), len(dims))
    inside = [dim for dim in dims[first:] if dim not in accumulated]
    if inside:
        does = "carries a state along" if has(node, "carries") else "accumulates over"
        raise PlanError(f"{node.name} {does} {dims[first]!r} around the loop over {inside[0]!r}")


def _need_one_loop(node: Node, loops: tuple[Loop, ...], tiled: frozenset[str], followed: Sequence[Follow]) -> None:
    dims = {loop.dim for loop in loops} & tiled
    for follow in followed:
        both = dims.intersection(leaders(followed, frozenset({follow.dim}))) if follow.dim in dims else ()
        if len(both) > 1:
            raise PlanError(f"{node.name} is in loops over {' and '.join(sorted(both))}: one follows the other")


@dataclass
class TiledCall:
    """Runs a call's nodes once. read: arrays that other calls made. chosen: nodes that run at all."""

    graph: Graph
    plan: Schedule
    read: Read
    local: Local
    chosen: frozenset[str]
    parts: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)
    carried: dict[str, PerMember] = field(default_factory=dict)

    def run(self, ranges: Ranges) -> None:
        """All steps, within these ranges of dims. Raises PlanError."""
        self._level(self.plan.level, ranges, ())

    def _level(self, level: Level, ranges: Ranges, above: tuple[Step, ...]) -> None:
        for inside, where in steps(level.loops, self.graph.sizes, ranges, above):
            for item in level.items:
                if isinstance(item, Level):
                    self._level(item, inside, where)
                elif item.name in self.chosen and self._is_due(item, where):
                    self._node(item, with_followed(self.plan.followed, inside), where)

    def _is_due(self, node: Node, where: tuple[Step, ...]) -> bool:
        """Whether the node runs in this step: in every step of its own loops, in one of the others'."""
        tiled, after = self.plan.tiled[node.name], self.plan.after[node.name]
        return all(step.loop.dim in tiled or (step.last if step.loop in after else step.first) for step in where)

    def _node(self, node: Node, ranges: Ranges, where: tuple[Step, ...]) -> None:
        ranges = {dim: part for dim, part in ranges.items() if dim not in self.plan.whole[node.name]}
        gathered = [step for step in where if step.loop.dim in self.plan.accumulated[node.name]]
        begins, ends = all(step.first for step in gathered), all(step.last for step in gathered)
        target = slices(self.graph, node, node.writes, None, ranges)
        operands = self._operands(node, ranges, node.writes if has(node, "updates") and not begins else "")
        if gathered and not has(node, "updates"):
            if not self._accumulated(node, operands, ranges, begins):
                raise PlanError(f"{node.name} has no accumulator for a tile that begins elsewhere")
            if ends:
                self._write(node, target, self._finished(node), complete=True)
        elif has(node, "carries"):
            begins = all(step.first for step in where if step.loop.dim in carried_dims(node))
            self._write(node, target, self._advanced(node, operands, begins), complete=True)
        else:
            made = computed(self.graph, tile_of(self.graph, node, ranges)[0], operands)
            self._write(node, target, made, complete=ends)

    def _operands(self, node: Node, ranges: Ranges, so_far: str) -> MemberOperands:
        """Tiles of what the node reads; `so_far`: its own result, which takes the place of what it updates."""
        read = []
        for position, name in enumerate(node.reads):
            tile = slices(self.graph, node, name, position, ranges)
            source = so_far if so_far and position == 0 else name
            if source not in self.plan.makes:
                arrays = self.read(source)
            elif source == so_far or self._is_complete(source, tile):
                arrays = self.local.arrays[source]
            else:
                raise PlanError(f"{node.name} reads a tile of {source} before it is complete")
            # A matrix unit takes operands of their types; what was stored has its type already.
            multiplied = self.graph.tensor_named[name].dtype if self.plan.kept and has(node, "contracts") else None
            read.append(all_rounded([array[tile] for array in arrays], multiplied))
        return operands_of(read, [self.graph.tensor_named[name].dims for name in node.reads])

    def _is_complete(self, name: str, tile: tuple[slice, ...]) -> bool:
        return name in self.local.written and bool((self.local.written[name][tile] > 0).all())

    def _accumulated(self, node: Node, operands: MemberOperands, ranges: Ranges, begins: bool) -> bool:
        """Add a tile of the reduced dims to each member's accumulator; False if there is none to add to."""
        kind = cast(Accumulating, kind_of(node))
        dims = self.graph.tensor_named[node.writes].dims
        first = {dim: begin for dim, (begin, _) in ranges.items()}
        new = [kind.part(node, own, dims, first) for own in operands]
        old = self.parts.get(node.name)
        if not begins and old is None:
            return False
        pairs = zip(old or (), new, strict=True)
        self.parts[node.name] = new if begins else [kind.merge(node, left, right) for left, right in pairs]
        return True

    def _advanced(self, node: Node, operands: MemberOperands, begins: bool) -> PerMember:
        """The next part of a recurrence for each member, from the state that the part before it left."""
        kind = cast(Carrying, kind_of(node))
        dims = self.graph.tensor_named[node.writes].dims
        before = [None for _ in operands] if begins else self.carried[node.name]
        made = [kind.advance(node, own, dims, state) for own, state in zip(operands, before, strict=True)]
        self.carried[node.name] = [after for _, after in made]
        return [result for result, _ in made]

    def _finished(self, node: Node) -> PerMember:
        kind = cast(Accumulating, kind_of(node))
        return [kind.finish(node, parts) for parts in self.parts.pop(node.name)]

    def _write(self, node: Node, tile: tuple[slice, ...], results: PerMember, *, complete: bool) -> None:
        import numpy

        results = all_rounded(results, self.plan.kept.get(node.writes))
        if node.writes not in self.local.arrays:
            shape = self.graph.shape(node.writes)
            self.local.arrays[node.writes] = [numpy.zeros(shape, numpy.asarray(result).dtype) for result in results]
            self.local.written[node.writes] = numpy.zeros(shape, dtype=int)
        for array, result in zip(self.local.arrays[node.writes], results, strict=True):
            array[tile] = result
        self.local.written[node.writes][tile] += complete
