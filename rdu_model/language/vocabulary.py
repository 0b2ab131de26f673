"""A section in the words of the data-centric language: METAPIPE, LOAD_TILE, MAT_MUL, BUFFER, STORE_TILE."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, singledispatch

from patterns.count import storage_of
from patterns.graph import Node
from rdu_model.buffers import Buffer
from rdu_model.compile_stage import Lines
from rdu_model.floor.rates import rates_of
from rdu_model.floor.traffic import streams_of
from rdu_model.flow import cut_sizes
from rdu_model.pipe import ITERATION, Carry, Item, Leaf, Load, Pipe, Reorder, Stage, Store, placed, steps
from rdu_model.section import Section

INDENT = "    "
# Notes stand here; those of longer statements behind them.
NOTE_COLUMN = 40


@dataclass(frozen=True)
class Statement:
    """A line of a program. depth: metapipes around it. about: the leaf, or the link of a buffer ('' for a brace)."""

    depth: int
    text: str
    about: Leaf | Buffer | Carry | Pipe | None = None


@dataclass(frozen=True)
class Words:
    """A section being put into words."""

    section: Section

    @cached_property
    def tiles(self) -> Mapping[str, str]:
        """What each item's tile is called."""
        found = {}
        for item in placed(self.section.flow.metapipe.body):
            leaf = item.leaf
            found[leaf.name] = f"{leaf.name.removeprefix('load ').replace(' ', '_')}_tile"
            if not isinstance(leaf, Load):
                found[leaf.name] = leaf.name
        return found

    @cached_property
    def streams(self) -> Mapping[str, int]:
        """AGCU streams of each load: rows that it brings in parallel."""
        return streams_of(self.section, rates_of(self.section))

    @cached_property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes of the block by name."""
        return {node.name: node for node in self.section.flow.metapipe.of_block.nodes}

    def shape(self, tensor: str, path: tuple[Pipe, ...]) -> str:
        """Extents of the tile that a step of these pipes has of a tensor: '256 x 4096'."""
        metapipe = self.section.flow.metapipe
        sizes = cut_sizes(metapipe.sizes, path)
        return " x ".join(str(sizes[dim]) for dim in metapipe.graph.tensor_named[tensor].dims) or "1"


def statements(section: Section) -> tuple[Statement, ...]:
    """The program of a section, from the outermost metapipe in."""
    return tuple(_body(Words(section), section.flow.metapipe.body, ()))


def _body(words: Words, body: tuple[Item, ...], path: tuple[Pipe, ...]) -> Iterator[Statement]:
    depth = len(path)
    for item in body:
        if isinstance(item, Pipe):
            yield Statement(depth, f"METAPIPE({_count(words, item)}) {{", item)
            yield from _body(words, item.body, (*path, item))
            yield Statement(depth, "}" + (" DRAIN" if item.drain else ""))
            inside = {found.name for found in placed(item.body)}
        else:
            yield Statement(depth, _text(item, words, path), item)
            inside = {item.name}
        for buffer in words.section.buffers:
            if buffer.link.level == depth and buffer.link.source in inside:
                text = f"BUFFER({words.tiles[buffer.link.source]}, slots={buffer.slots})"
                yield Statement(depth, text, buffer)
        if isinstance(item, Pipe) and item.dim == ITERATION:
            for carry in words.section.flow.metapipe.carries:
                text = f"CARRY({words.tiles[carry.source]} to the next execution, slots={carry.slots})"
                yield Statement(depth, text, carry)


def _count(words: Words, pipe: Pipe) -> str:
    """The number of steps: 'rows/256', in brackets where the last step is smaller."""
    whole = words.section.flow.metapipe.sizes[pipe.dim]
    if pipe.dim == ITERATION:
        return f"{whole} executions"
    return f"{pipe.dim}/{pipe.extent}" if whole % pipe.extent == 0 else f"ceil({pipe.dim}/{pipe.extent})"


def steps_text(section: Section, pipe: Pipe) -> str:
    """How many steps a metapipe has, and the smaller last one."""
    whole = section.flow.metapipe.sizes[pipe.dim]
    number, rest = steps(pipe, whole), whole % pipe.extent
    if pipe.dim == ITERATION:
        return f"of {section.flow.metapipe.block}"
    return f"{number:,} steps" + (f", the last of {rest:,}" if rest else "")


@singledispatch
def _text(leaf: Leaf, words: Words, path: tuple[Pipe, ...]) -> str:
    raise TypeError(leaf)


@_text.register
def _(leaf: Load, words: Words, path: tuple[Pipe, ...]) -> str:
    part = "part of " if is_part(words.section, leaf) else ""
    given = [leaf.tensor, part + words.shape(leaf.tensor, path), f"row_par={words.streams[leaf.name]}"]
    if leaf.once:
        given.append("once")
    if leaf.after:
        given.append(f"at={words.tiles[leaf.after]}")
    if is_spilled(words.section, leaf.tensor):
        given.append("from=DDR")
    return f"{words.tiles[leaf.name]} = LOAD_TILE({', '.join(given)})"


@_text.register
def _(leaf: Stage, words: Words, path: tuple[Pipe, ...]) -> str:
    node = words.nodes[leaf.name]
    reads = []
    for tensor, sources in zip(node.reads, leaf.sources, strict=True):
        reads.append(" over ".join(words.tiles[source] for source in sources) if sources else f"in {tensor}")
    return f"{leaf.name} = {_pattern(words, node, reads)}"


@_text.register
def _(leaf: Reorder, words: Words, path: tuple[Pipe, ...]) -> str:
    return f"{leaf.name} = {_pattern(words, words.nodes[leaf.name], [words.tiles[leaf.source]])}"


@_text.register
def _(leaf: Store, words: Words, path: tuple[Pipe, ...]) -> str:
    to = ", to=DDR" if is_spilled(words.section, leaf.tensor) else ""
    return f"STORE_TILE({leaf.tensor}, {words.tiles[leaf.source]}{to})"


def _pattern(words: Words, node: Node, reads: list[str]) -> str:
    """A node as the language calls it: its pattern, what it reads, and how."""
    contracts = "contracts" in words.section.flow.asked[node.name].kind.TRAITS
    name = "MAT_MUL" if contracts else node.kind.upper()
    given = [*([node.fn] if node.fn else []), *reads]
    given += [f"over={' '.join(node.over)}"] if node.over and not contracts else []
    given += [f"along={node.along}"] if node.along else []
    given += [f"{key}={value}" for key, value in node.arguments]
    return f"{name}({', '.join(given)})"


def is_part(section: Section, load: Load) -> bool:
    """Whether a stream brings only a part of its tile: a slice, or rows that are looked up."""
    flow = section.flow
    return all(flow.asked[reader].takes_part(number) for reader, number in flow.streams[load.name])


def is_spilled(section: Section, tensor: str) -> bool:
    """Whether a tensor lies in DDR because HBM has no room for it."""
    return storage_of(section.flow.metapipe.graph, tensor) in section.homes.ddr


def size_text(num_bytes: int) -> str:
    """Bytes in the unit that suits, as PMUs are measured: '512 B', '2 MiB'."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if num_bytes >= size:
            return f"{num_bytes / size:.4g} {unit}"
    return f"{num_bytes} B"


def in_columns(lines: Iterable[tuple[int, str, str]]) -> Lines:
    """(depth, statement, note) as lines, notes below one another behind a '#'."""
    texts = [(INDENT * depth + text, note) for depth, text, note in lines]
    width = min(NOTE_COLUMN, max((len(text) for text, note in texts if note), default=0))
    return Lines(tuple(f"{text:<{width}}  # {note}" if note else text for text, note in texts))
