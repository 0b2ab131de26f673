"""tiling: the loops of each section, their tiles, what other tiles are predicted to cost, and which dims are whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patterns.axes import union
from rdu_model.ask import relation
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Cell, Lines, Rows, Shown, title
from rdu_model.language.vocabulary import INDENT, steps_text
from rdu_model.pipe import ITERATION, Item, Pipe, Reorder, Stage, nodes_of, pipes_in, steps
from rdu_model.section import Section
from rdu_model.tiles.loops import all_nests, nodes_in
from rdu_model.tiles.nests import DEEPEST, WORTH, Nest, Shape
from rdu_model.tiles.predict import predict
from rdu_model.tiles.sketch import Sketch, Within
from rdu_model.tiles.tiling import NEARLY, shapes_of

RANK = 1
PLACED = False

LEGEND = f"""\
Predicted cycles of one execution with other tiles of one loop, those of the others as they are; far more where \
buffers would not fit. Of all within \
{NEARLY:.2%} of the least the greatest tile is taken; the simulation of the whole section may find another best."""


@dataclass(frozen=True)
class Loop:
    """A loop that the section could have: its nest, the pipe that it became (None: its dim stayed whole)."""

    nest: Nest
    nodes: tuple[str, ...]
    pipe: Pipe | None


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The loops of each section."""
    shown: list[Shown] = []
    for compiled in chosen:
        shown += [title(compiled), *_loops(compiled.section)]
    return tuple(shown)


def _loops(section: Section) -> Iterator[Shown]:
    metapipe = section.flow.metapipe
    yield Lines(tuple(_tree(section, metapipe.body, 0)))
    rows = tuple(_row(section, pipe) for pipe in pipes_in(metapipe.body))
    if rows:
        yield Rows(("loop", "nodes in it", "extent", "tile", "steps", "last step"), rows)
    nodes = tuple(asked.node for asked in section.flow.asked.values())
    shapes = shapes_of(metapipe.graph, metapipe.of_block, nodes, section.machine, section.homes)
    # Of the ways to nest that were thought of, the one that the section has.
    of = max(shapes, key=lambda way: sum(1 for loop in _found(way.shape, section) if loop.pipe))
    loops = tuple(_found(of.shape, section))
    if loops:
        yield _alternatives(of, loops, section)
        yield LEGEND
    yield "\n".join(_whole(section, loops))


def _tree(section: Section, body: tuple[Item, ...], depth: int) -> Iterator[str]:
    """Loops and the nodes in them, indented; nodes side by side in one line."""
    beside: list[str] = []
    for item in body:
        if isinstance(item, Pipe):
            if beside:
                yield INDENT * depth + ", ".join(beside)
            beside = []
            yield f"{INDENT * depth}{_dim(item)}: {steps_text(section, item)}"
            yield from _tree(section, item.body, depth + 1)
        elif isinstance(item, Stage | Reorder):
            beside.append(item.name)
    if beside:
        yield INDENT * depth + ", ".join(beside)


def _dim(pipe: Pipe) -> str:
    return "executions" if pipe.dim == ITERATION else f"{pipe.dim} by {pipe.extent:,}"


def _row(section: Section, pipe: Pipe) -> tuple[str, str, int, int, int, int]:
    whole = section.flow.metapipe.sizes[pipe.dim]
    nodes = nodes_of(pipe.body)
    last = whole % pipe.extent or pipe.extent
    return _dim(pipe).split(" by ")[0], few(nodes), whole, pipe.extent, steps(pipe, whole), last


def few(names: tuple[str, ...]) -> str:
    """A few names; of many the first, the last and how many."""
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} ... {names[-1]} ({len(names)})"


def _found(shape: Shape, section: Section) -> Iterator[Loop]:
    """The loops that were thought of, each with the pipe that it became."""
    pipes = {(pipe.dim, nodes_of(pipe.body)): pipe for pipe in pipes_in(section.flow.metapipe.body)}
    for nest in all_nests(shape):
        nodes = tuple(nodes_in(nest))
        same = (pipe for (dim, inside), pipe in pipes.items() if dim == nest.dim and set(inside) == set(nodes))
        yield Loop(nest, nodes, next(same, None))


def _alternatives(of: Sketch, loops: tuple[Loop, ...], section: Section) -> Rows:
    """Predicted cycles where one loop has another tile."""
    tiles = {loop.nest.key: loop.pipe.extent if loop.pipe else of.sizes[loop.nest.dim] for loop in loops}
    rows: list[tuple[Cell, ...]] = []
    for loop in loops:
        key, whole = loop.nest.key, of.sizes[loop.nest.dim]
        extents = (tiles[key], min(whole, 2 * tiles[key]), whole, -(-tiles[key] // 2))
        times = [_predicted(of, {**tiles, key: extent}, section) for extent in extents]
        rows.append((loop.nest.dim, few(loop.nodes), tiles[key], *times))
    return Rows(("loop", "nodes in it", "tile", "cycles", "tile x 2", "whole", "tile / 2"), tuple(rows))


def _predicted(of: Sketch, tiles: Mapping[int, int], section: Section) -> int:
    return round(predict(of, tiles, Within(section.machine.pmus * section.machine.pmu_bytes)))


def _whole(section: Section, loops: tuple[Loop, ...]) -> Iterator[str]:
    """Why each dim that no loop cuts is whole."""
    cut = {pipe.dim for pipe in pipes_in(section.flow.metapipe.body)}
    asked, sizes = section.flow.asked.values(), section.flow.metapipe.graph.sizes
    dims = [dim for dim in union(*(one.dims for one in asked)) if dim not in cut and sizes[dim] > 1]
    if dims:
        yield "Whole:"
    for dim in dims:
        blocked = tuple(one.node.name for one in asked if relation(one, dim) == "blocked")
        considered = any(loop.nest.dim == dim for loop in loops)
        reasons = [f"{few(blocked)} must have all of it" for _ in blocked[:1]]
        reasons += [f"a loop over it would gain less than {NEARLY:.2%}"] if considered else []
        if not reasons:
            reasons.append(f"the nodes that know it are in {DEEPEST} loops already, or under {WORTH:.0%} of the time")
        yield f"  {dim}  {sizes[dim]:,}: {'; '.join(reasons)}"
