"""Ready-made graphs and model configurations, and how a workload is found by name or file."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from patterns.errors import UnknownName, UserError
from patterns.graph import Graph
from patterns.plugin import data_file, data_files, load_module, modules

CONFIGS = "patterns.library.configs"
GRAPH_SUFFIXES = (".yaml", ".yml")
PHASES = ("decode", "prefill")
# The extent by which a graph divides its dims among members.
MEMBERS_EXTENT = "tensor_parallel"

Phase = Literal["decode", "prefill"]


def graph_names() -> tuple[str, ...]:
    """Ready-made graphs."""
    return data_files(__name__, ".yaml")


def config_names() -> tuple[str, ...]:
    """Model configurations."""
    return data_files(CONFIGS, ".json")


def names() -> tuple[str, ...]:
    """Every workload that has a name."""
    return (*graph_names(), *config_names())


def workload(
    name_or_path: str,
    phase: str = "decode",
    batch: int | None = None,
    context: int | None = None,
    members: int = 1,
    overrides: Mapping[str, int | str] | None = None,
) -> Graph:
    """The graph of a workload, for one of `members` that share it.

    name_or_path: a ready-made graph, a model configuration, a graph in YAML, or a config.json. phase: `decode` leaves
    the graph's `seq` (1 token in ours), `prefill` makes it the whole context. batch, context: those extents (None: as
    in the file). overrides: any extents, by name, as numbers or expressions; they win.
    Raises UnknownName, SpecError and other UserErrors.
    """
    due = _extents(phase, batch, context)
    if members < 1:
        raise UserError(f"members must be at least 1, is {members}")
    if members > 1:
        due[MEMBERS_EXTENT] = (str(members), f"{members} members cannot share it")
    asked = {name: text for name, (text, _) in due.items()}
    asked |= {name: str(value) for name, value in (overrides or {}).items()}
    try:
        return _read(name_or_path, members, asked)
    except UnknownName as error:
        if error.what == "extent" and error.name in due:
            raise UserError(f"{name_or_path} has no extent {error.name!r}: {due[error.name][1]}") from None
        raise


def _read(name_or_path: str, members: int, extents: Mapping[str, str]) -> Graph:
    if name_or_path in graph_names():
        return _from_yaml(data_file(__name__, name_or_path, ".yaml", "graph"), extents)
    if name_or_path in config_names():
        return _imported(data_file(CONFIGS, name_or_path, ".json", "config"), name_or_path, members, extents)
    path = Path(name_or_path)
    _need_file(path, name_or_path)
    if path.suffix in GRAPH_SUFFIXES:
        return _from_yaml(path, extents)
    of_folder = path.stem == "config" and path.parent.name
    return _imported(path, path.parent.name if of_folder else path.stem, members, extents)


def _extents(phase: str, batch: int | None, context: int | None) -> dict[str, tuple[str, str]]:
    """Extents that are asked for: what each is to be, and what a graph without it cannot do."""
    if phase not in PHASES:
        raise UnknownName("phase", phase, PHASES)
    given = {"batch": batch, "context": context}
    for name, value in given.items():
        if value is not None and value < 1:
            raise UserError(f"{name} must be at least 1, is {value}")
    due = {name: (str(value), f"its {name} cannot be set") for name, value in given.items() if value is not None}
    return {"seq": ("context", "it has no prefill"), **due} if phase == "prefill" else due


def _need_file(path: Path, name: str) -> None:
    """Raises UserError unless there is such a file, of a format that is read."""
    if name and path.is_dir():
        inside = [str(path / entry) for entry in ("config.json",) if (path / entry).is_file()]
        hint = f"did you mean {inside[0]!r}?" if inside else "a YAML file or a config.json is due"
        raise UserError(f"{name!r} is a folder; {hint}")
    formats = (*GRAPH_SUFFIXES, *(load_module("patterns.importers", m, "importer").SUFFIX for m in _importers()))
    if path.is_file():
        if path.suffix not in formats:
            raise UserError(f"{name!r}: files that are read end with {', '.join(formats)}")
        return
    if name and path.exists():
        raise UserError(f"{name!r} is neither a file nor a folder")
    if path.suffix in formats or len(path.parts) > 1:
        raise UserError(f"there is no file {name!r}")
    raise UnknownName("workload", name, names())


def _importers() -> tuple[str, ...]:
    return modules("patterns.importers")


def _from_yaml(file: Path | Traversable, extents: Mapping[str, str]) -> Graph:
    from patterns.read import read_graph

    return read_graph(file, extents)


def _imported(file: Path | Traversable, name: str, members: int, extents: Mapping[str, str]) -> Graph:
    from patterns.load import read_text

    for module in _importers():
        importer = load_module("patterns.importers", module, "importer")
        if str(file).endswith(importer.SUFFIX):
            graph: Graph = importer.import_graph(read_text(file), str(file), name, members, extents)
            return graph
    raise AssertionError(f"{file} has no importer")
