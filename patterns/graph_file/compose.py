"""Blocks of other graphs in the place of a block: which file is read, with which extents, and what it becomes here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.resources.abc import Traversable
from pathlib import Path as FilePath

from patterns.documents.yaml_tree import MAX_NODES, Path
from patterns.errors import Mistake, SpecError, UnknownName, UserError, did_you_mean
from patterns.expression import ExpressionError, evaluate
from patterns.graph import Graph
from patterns.graph_file.piece import Piece, held, made_elsewhere, needed, piece
from patterns.graph_file.repetition import Repetition
from patterns.graph_file.spec import AgainSpec, Entry, GraphSpec, UseSpec
from patterns.load import Document
from patterns.order import chain_text

DEEPEST = 8
# In the place of a file, where a mistake is in an extent that was given from outside.
ASKED = "--set "


@dataclass
class Budget:
    """What all files of one graph together may hold."""

    values: int = MAX_NODES


@dataclass(frozen=True)
class Opened:
    """The files that are being read, each used by the one before it."""

    files: tuple[str, ...] = ()
    budget: Budget = field(default_factory=Budget)


def used(
    spec: GraphSpec,
    document: Document,
    sizes: Mapping[str, int],
    overrides: Mapping[str, str],
    opened: Opened,
    mistakes: list[Mistake],
) -> dict[str, Piece]:
    """What is used of other graphs, by the names that it has here; what has a mistake is left out.

    sizes: our extents. overrides: extents of what is used, by our names for them (NAME_extent).
    """
    composer = _Composer(spec, document, sizes, overrides, opened, mistakes)
    for name, entry in (spec.blocks or {}).items():
        if isinstance(entry, UseSpec):
            composer.use(name, entry)
        elif isinstance(entry, AgainSpec):
            composer.again(name, entry)
    return composer.found


def of_use(spec: GraphSpec, name: str) -> tuple[str, str] | None:
    """(use, extent) if a name is that of an extent of something used: NAME_extent."""
    uses = [use for use, entry in (spec.blocks or {}).items() if isinstance(entry, UseSpec)]
    longest = max((use for use in uses if name.startswith(f"{use}_")), key=len, default=None)
    if name in spec.extents or longest is None:
        return None
    extent = name[len(longest) + 1 :]
    return None if extent in shared(spec, (spec.blocks or {})[longest]) else (longest, extent)


def shared(spec: GraphSpec, entry: Entry) -> dict[str, str]:
    """Extents of what is used that are dims of ours: our names by theirs."""
    given = entry.extents if isinstance(entry, UseSpec) else {}
    return {theirs: str(ours) for theirs, ours in given.items() if str(ours) in spec.extents}


@dataclass
class _Composer:
    spec: GraphSpec
    document: Document
    sizes: Mapping[str, int]
    overrides: Mapping[str, str]
    opened: Opened
    mistakes: list[Mistake]
    found: dict[str, Piece] = field(default_factory=dict)

    def refuse(self, path: Path, message: str) -> None:
        self.mistakes.append(self.document.at(path, message))

    def use(self, name: str, entry: UseSpec) -> None:
        """Take what an entry uses of another graph."""
        path: Path = ("blocks", name)
        before = len(self.mistakes)
        extents = self.extents((*path, "extents"), name, entry)
        if len(self.mistakes) > before or len(extents) < len(entry.extents):
            return
        source = self.source(path, name, entry, extents)
        if source is None:
            return
        source, chosen = self.counted(path, entry, source), self.chosen((*path, "block"), entry, source)
        same = shared(self.spec, entry)
        dims = {extent: same.get(extent, f"{name}_{extent}") for extent in source.sizes}
        self.need_reads(path, entry.reads, source, chosen)
        if len(self.mistakes) == before:
            first = piece(name, name, source, chosen, dims, entry.reads, {}, dims.keys() - same)
            repetition = Repetition(name, entry, first, self.document, self.sizes, self.mistakes)
            times = repetition.times()
            if times and self.has_room(path, first, times):
                self.found |= repetition.pieces(times)

    def again(self, name: str, entry: AgainSpec) -> None:
        """Take once more what another entry uses."""
        path: Path = ("blocks", name)
        first = next((piece for piece in self.found.values() if piece.entry == entry.again), None)
        if first is None:
            if not isinstance((self.spec.blocks or {}).get(entry.again), UseSpec | AgainSpec):
                nearest = did_you_mean(entry.again, self.found)
                self.refuse((*path, "again"), f"no block {entry.again!r} above uses another graph{nearest}")
            return
        before = len(self.mistakes)
        self.need_reads(path, entry.reads, first.source, first.chosen)
        same = {theirs: ours for theirs, ours in held(first.source, first.tensors).items() if theirs not in entry.reads}
        if len(self.mistakes) == before and self.has_room(path, first, 1):
            self.found[name] = piece(name, name, first.source, first.chosen, first.dims, entry.reads, same, ())

    def has_room(self, path: Path, used: Piece, times: int) -> bool:
        """Whether so many executions of it are not too much; notes it if they are."""
        self.opened.budget.values -= times * sum(len(block.nodes) for block in used.blocks)
        if self.opened.budget.values < 0:
            self.refuse(path, f"all that is used holds more than {MAX_NODES:,} nodes and values together")
        return self.opened.budget.values >= 0

    def extents(self, path: Path, name: str, entry: UseSpec) -> dict[str, str]:
        """Extents that the other graph is given, as text."""
        known = len(self.sizes) == len(self.spec.extents)
        values = {}
        for extent, text in entry.extents.items():
            try:
                values[extent] = str(evaluate(str(text), self.sizes))
            except ExpressionError as error:
                if known:
                    self.mistakes.append(self.document.inside((*path, extent), error.offset, str(error)))
        asked = {
            of[1]: text for key, text in self.overrides.items() if (of := of_use(self.spec, key)) and of[0] == name
        }
        return {**values, **asked}

    def source(self, path: Path, name: str, entry: UseSpec, extents: Mapping[str, str]) -> Graph | None:
        """The graph that an entry uses; None after a mistake, of the entry or in its file."""
        try:
            return loaded(entry.use, self.document, extents, self.opened)
        except SpecError as error:
            for mistake in error.mistakes:
                self.take(path, mistake)
        except UnknownName as error:
            place = (*path, "extents", error.name)
            if error.what == "extent" and place in self.document.keys:
                self.mistakes.append(self.document.at_key(place, str(error)))
            elif error.what == "extent" and f"{name}_{error.name}" in self.overrides:
                raise UnknownName(
                    "extent", f"{name}_{error.name}", (f"{name}_{known}" for known in error.known)
                ) from None
            else:
                self.refuse((*path, "use"), str(error))
        except UserError as error:
            self.refuse((*path, "use"), str(error))
        return None

    def take(self, path: Path, mistake: Mistake) -> None:
        """Note a mistake of the other file, each once; of an extent that it is given, where that is said."""
        extent = mistake.file.removeprefix(ASKED)
        if extent != mistake.file and (*path, "extents", extent) in self.document.where:
            self.refuse((*path, "extents", extent), mistake.message)
        elif mistake not in self.mistakes:
            self.mistakes.append(mistake)

    def counted(self, path: Path, entry: UseSpec, source: Graph) -> Graph:
        """The graph, with the block that is used as often as the entry says."""
        if entry.count is None:
            return source
        if entry.block is None and len(source.blocks) > 1:
            self.refuse((*path, "count"), f"which block of {source.name} is repeated? name it under block")
            return source
        try:
            count = evaluate(str(entry.count), self.sizes)
        except ExpressionError as error:
            self.mistakes.append(self.document.inside((*path, "count"), error.offset, str(error)))
            return source
        if count < 1:
            self.refuse((*path, "count"), f"a count is greater than 0, found {count}")
        chosen = entry.block or source.blocks[0].name
        return _repeated(source, chosen, max(count, 1))

    def chosen(self, path: Path, entry: UseSpec, source: Graph) -> tuple[str, ...]:
        """The blocks that are used, by their own names."""
        if entry.block is None:
            return tuple(block.name for block in source.blocks)
        if entry.block not in source.block_named:
            there = f"there is: {', '.join(source.block_named)}"
            nearest = did_you_mean(entry.block, source.block_named)
            self.refuse(path, f"{source.name} has no block {entry.block!r}{nearest}; {there}")
            return ()
        return (entry.block,)

    def need_reads(self, path: Path, reads: Mapping[str, str], source: Graph, chosen: tuple[str, ...]) -> None:
        """Note what is not said of operands, and what is said of others."""
        wanted = needed(source, chosen)
        for name in reads:
            if chosen and name not in wanted:
                nearest = did_you_mean(name, wanted)
                message = f"{source.name} reads no tensor {name!r} that it does not make{nearest}"
                self.mistakes.append(self.document.at_key((*path, "reads", name), message))
        for name in made_elsewhere(source, chosen):
            if name not in reads:
                what = f"block {chosen[0]!r} of {source.name} reads {name!r}, which another block of it makes"
                self.mistakes.append(self.document.at_key(path, f"{what}; say under reads which tensor it is here"))


def _repeated(graph: Graph, name: str, count: int) -> Graph:
    blocks = tuple(replace(block, count=count) if block.name == name else block for block in graph.blocks)
    return replace(graph, blocks=blocks)


def loaded(target: str, document: Document, extents: Mapping[str, str], opened: Opened) -> Graph:
    """A graph that a file uses: a workload by its name, or a file by its path from there. Raises UserErrors."""
    from patterns.library import GRAPH_SUFFIXES, graph_file, workload

    found = found_at(target, document)
    if isinstance(found, FilePath) and target.endswith(GRAPH_SUFFIXES):
        return _read(found, extents, opened)
    ours = graph_file(target) if isinstance(found, str) else None
    if ours is not None:
        return _read(ours, extents, opened)
    return workload(str(found), overrides=dict(extents))


def found_at(target: str, document: Document) -> FilePath | str:
    """Where what a file uses is: a path, seen from the file, or the name of a workload."""
    from patterns.importer import suffixes
    from patterns.library import GRAPH_SUFFIXES, names

    here = FilePath(document.file).parent / target
    is_path = target not in names() and (target.endswith((*GRAPH_SUFFIXES, *suffixes())) or here.is_file())
    return here if is_path else target


def _read(file: FilePath | Traversable, extents: Mapping[str, str], opened: Opened) -> Graph:
    from patterns.read import graph_in

    return graph_in(file, extents, opened)


def need_room(document: Document, opened: Opened) -> Opened:
    """What is open with one more file. Raises UserError where files go round, too deep, or hold too much together."""
    file = str(FilePath(document.file).resolve())
    if file in opened.files:
        ring = [FilePath(name).name for name in opened.files[opened.files.index(file) :]]
        raise UserError(f"files that use each other go round: {chain_text(ring)}")
    if len(opened.files) >= DEEPEST:
        raise UserError(f"more than {DEEPEST} files deep")
    opened.budget.values -= len(document.where)
    if opened.budget.values < 0:
        raise UserError(f"all that is used holds more than {MAX_NODES:,} nodes and values together")
    return Opened((*opened.files, file), opened.budget)
