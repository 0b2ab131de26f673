"""Measured tables that are not in the project: a folder's, or those of NVIDIA's aiconfigurator database.

The database comes with the package aiconfigurator-core (`pip install 'patternloom[validation]'`): a Parquet file for
each GPU, operation, library and version. A folder holds the same tree, or Parquet and CSV files side by side. A table
is known by how its file's name begins (see samples.py); in a CSV, `gpu` and `library` are columns.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from patterns.errors import UserError

PACKAGE = "aiconfigurator_core"
EXTRA = "pip install 'patternloom[validation]'"
SUFFIXES = (".parquet", ".csv")
# What the database calls a GPU where the project has another name.
MACHINES = {"h200_sxm": "h200", "b200_sxm": "b200"}
Columns = Mapping[str, Sequence[object]]


@dataclass(frozen=True)
class Table:
    """A file. gpu, library, version: from its place in the database's tree, '' where it stands elsewhere."""

    path: Path
    gpu: str = ""
    library: str = ""
    version: str = ""

    def columns(self, names: Sequence[str], defaults: Mapping[str, object]) -> Columns:
        """Columns by name; one that is missing has its default in every row. Raises UserError if it has none."""
        read = _parquet_columns if self.path.suffix == ".parquet" else _csv_columns
        found = read(self.path, names)
        rows = len(next(iter(found.values()), ()))
        missing = [name for name in names if name not in found and name not in defaults]
        if missing:
            raise UserError(f"{self.path} has no column {missing[0]!r}; a table of its kind has: {', '.join(names)}")
        return {name: found.get(name) or [defaults.get(name)] * rows for name in names}


@dataclass(frozen=True)
class Tables:
    """Every table that was found. where: for people; '' if there are none. gpus: only of these, () for all."""

    found: tuple[Table, ...] = ()
    where: str = ""
    gpus: tuple[str, ...] = ()

    def beginning(self, *stems: str) -> list[Table]:
        """Tables whose file's name begins so; of a library's versions for one GPU only the newest."""
        wanted = ("", *self.gpus)
        named = [t for t in self.found if t.path.name.startswith(stems) and (not self.gpus or t.gpu in wanted)]
        newest: dict[tuple[str, str, str], Table] = {}
        for table in named:
            key = (table.path.name, table.gpu, table.library) if table.version else (str(table.path), "", "")
            if key not in newest or _age(table) > _age(newest[key]):
                newest[key] = table
        return [table for table in named if table in newest.values()]


def find_tables(folder: Path | None, gpus: tuple[str, ...] = ()) -> Tables:
    """The tables in a folder, or of the installed database; none if it is not installed. Raises UserError.

    gpus: of these, () for all; a table whose place does not tell its GPU is kept.
    """
    if folder is not None:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}: --aiconfigurator names one with Parquet or CSV tables")
        found = tuple(_tables(folder))
        if not found:
            raise UserError(f"{folder} holds no .parquet and no .csv file")
        return Tables(found, str(folder), gpus)
    installed = find_spec(PACKAGE)
    if installed is None or not installed.submodule_search_locations:
        return Tables()
    systems = Path(next(iter(installed.submodule_search_locations))) / "systems"
    return Tables(tuple(_tables(systems)), f"the installed package {PACKAGE}", gpus)


def _tables(folder: Path) -> Iterator[Table]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            yield _placed(path, path.relative_to(folder).parts)


def _placed(path: Path, parts: tuple[str, ...]) -> Table:
    """<gpu>/<operation>/<library>/<version>/<file>, as the database has it; anything else has no place."""
    if len(parts) < 5:
        return Table(path)
    gpu, _, library, version = parts[-5:-1]
    return Table(path, MACHINES.get(gpu, gpu), library, version)


def _age(table: Table) -> tuple[int, ...]:
    """Numbers of a version, to be compared; a release candidate counts by its number."""
    return tuple(map(int, re.findall(r"\d+", table.version)))


def _csv_columns(path: Path, names: Sequence[str]) -> Columns:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            heading = next(reader, [])
            rows = [row for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    for number, row in enumerate(rows):
        if len(row) != len(heading):
            raise UserError(f"{path}: row {number + 2} has {len(row)} cells under {len(heading)} headings")
    return {name: [row[heading.index(name)] for row in rows] for name in names if name in heading}


def _parquet_columns(path: Path, names: Sequence[str]) -> Columns:
    if find_spec("pyarrow") is None:
        raise UserError(f"{path.name} needs pyarrow to be read: {EXTRA}")
    # pyarrow is optional, so it is not imported by name.
    parquet = import_module("pyarrow.parquet")
    try:
        schema = parquet.read_schema(path)
        columns: Columns = parquet.read_table(path, columns=[n for n in names if n in schema.names]).to_pydict()
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path}: {error}") from error
    return columns
