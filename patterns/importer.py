"""What an importer is: one file in importers/ that reads a foreign format. The end of a file's name says which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Protocol, cast

from patterns.errors import UserError
from patterns.graph import Graph
from patterns.plugin import load_module, modules

PACKAGE = "patterns.importers"
MOST_LETTERS = 100
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]")

Source = Path | Traversable


class Importer(Protocol):
    """The names that a file in importers/ has.

    SUFFIXES: ends of the names of its files. An importer whose graph depends on how many share a model does so for one
    of `members`; overrides: extents of the graph by name. One may have besides: `remarks(file)`, what else there is to
    tell of a file that was imported without mistakes, a line each; `read_of(file)`, the bytes that its graph follows
    from, where these are not just the file's: those of files beside it are, data of weights are not.
    """

    SUFFIXES: tuple[str, ...]

    def import_graph(self, file: Source, name: str, members: int, overrides: Mapping[str, str]) -> Graph:
        """The graph of a file, under a name. Raises SpecError and other UserErrors."""

    def import_text(self, file: Source, name: str) -> str:
        """The same for one member as a graph file, which reads back as that graph. Raises as `import_graph` does."""


def suffixes() -> tuple[str, ...]:
    """Ends of the names of files that are imported."""
    return tuple(suffix for name in modules(PACKAGE) for suffix in _importer(name).SUFFIXES)


def importer_of(file_name: str) -> Importer | None:
    """The importer of a file: the one with the longest end of its name; None if it is of no format that is read."""
    ends = [
        (len(suffix), name)
        for name in modules(PACKAGE)
        for suffix in _importer(name).SUFFIXES
        if file_name.endswith(suffix)
    ]
    return _importer(max(ends)[1]) if ends else None


def graph_name(text: str) -> str:
    """A graph's name after a file's or folder's: what no name may have becomes a dash."""
    made = _NO_NAME.sub("-", text)[:MOST_LETTERS]
    return made if made[:1].isalpha() or made.startswith("_") else f"model-{made}"[:MOST_LETTERS]


def need_name(name: str) -> None:
    """Raises UserError unless a graph can have this name."""
    if graph_name(name) != name:
        raise UserError(f"{name!r} is no name of a graph: letters, digits, _ . and -, starting with a letter")


def _importer(name: str) -> Importer:
    return cast(Importer, load_module(PACKAGE, name, "importer"))
