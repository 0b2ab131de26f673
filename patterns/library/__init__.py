"""Ready-made graphs and model configurations, and how a workload is found by name or file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from patterns.errors import UnknownName, UserError
from patterns.graph import Graph
from patterns.importer import graph_name, importer_of, need_name, suffixes
from patterns.plugin import data_file, data_files

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


def imported_text(name_or_path: str, name: str | None = None) -> str:
    """A model configuration or a file of a foreign format as a graph file. name: the graph's own (None: as found).

    Raises UnknownName, SpecError and other UserErrors.
    """
    if name_or_path in config_names():
        file: Path | Traversable = data_file(CONFIGS, name_or_path, ".json", "config")
        found = name_or_path
    else:
        file = path = Path(name_or_path)
        need_file(path, name_or_path)
        found = _file_name(path)
    importer = importer_of(str(file))
    if importer is None:
        raise UserError(f"{name_or_path} is a graph file already; {', '.join(suffixes())} are imported")
    if name is not None:
        need_name(name)
    return importer.import_text(file, found if name is None else name)


def remarks(name_or_path: str) -> tuple[str, ...]:
    """What else there is to tell of a foreign file that is a workload, a line each; nothing of others."""
    importer = importer_of(name_or_path) if name_or_path not in names() else None
    told = getattr(importer, "remarks", None)
    return tuple(told(Path(name_or_path))) if told else ()


def _read(name_or_path: str, members: int, extents: Mapping[str, str]) -> Graph:
    if name_or_path in graph_names():
        return _from_yaml(data_file(__name__, name_or_path, ".yaml", "graph"), extents)
    if name_or_path in config_names():
        return _imported(data_file(CONFIGS, name_or_path, ".json", "config"), name_or_path, members, extents)
    path = Path(name_or_path)
    need_file(path, name_or_path)
    if path.suffix in GRAPH_SUFFIXES:
        return _from_yaml(path, extents)
    return _imported(path, _file_name(path), members, extents)


def graph_file(name_or_path: str) -> Path | Traversable | None:
    """The file of a workload that is a graph in YAML; None for a configuration, and where there is none."""
    if name_or_path in graph_names():
        return data_file(__name__, name_or_path, ".yaml", "graph")
    path = Path(name_or_path)
    if path.suffix not in GRAPH_SUFFIXES or name_or_path in config_names():
        return None
    with suppress(OSError):  # reading it tells of that
        return path if path.is_file() else None
    return None


def _file_name(path: Path) -> str:
    """What a model is called: as its folder, if its file is called as all such files are."""
    generic = path.name.split(".")[0] in ("config", "model") and path.parent.name
    return graph_name(path.parent.name if generic else path.stem)


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


def need_file(path: Path, name: str) -> None:
    """Raises UserError unless there is such a file, of a format that is read."""
    try:
        _need_file(path, name)
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise UserError(f"{name!r} cannot be read: {(error.strerror or str(error)).lower()}") from None


def _need_file(path: Path, name: str) -> None:
    if name and path.is_dir():
        inside = [str(path / entry) for entry in ("config.json",) if (path / entry).is_file()]
        hint = f"did you mean {inside[0]!r}?" if inside else "a YAML file or a config.json is due"
        raise UserError(f"{name!r} is a folder; {hint}")
    formats = (*GRAPH_SUFFIXES, *suffixes())
    if path.is_file():
        if not path.name.endswith(formats):
            raise UserError(f"{name!r}: files that are read end with {', '.join(formats)}")
        return
    if name and path.exists():
        raise UserError(f"{name!r} is neither a file nor a folder")
    if path.name.endswith(formats) or len(path.parts) > 1:
        raise UserError(f"there is no file {name!r}")
    raise UnknownName("workload", name, names())


def _from_yaml(file: Path | Traversable, extents: Mapping[str, str]) -> Graph:
    from patterns.read import read_graph

    return read_graph(file, extents)


def _imported(file: Path | Traversable, name: str, members: int, extents: Mapping[str, str]) -> Graph:
    importer = importer_of(str(file))
    if importer is None:
        raise AssertionError(f"{file} has no importer")
    return importer.import_graph(file, name, members, extents)
