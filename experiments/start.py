"""Files to start from: a commented graph or sweep, and beside it the schema that its first line names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from experiments.output import write_file, write_new
from patterns.errors import SpecError, UserError

SUFFIX = ".yaml"
GRAPH = "graph"


@dataclass(frozen=True)
class Start:
    """A kind of file to start from: its commented file, the file of its schema, that schema, and a check of a text."""

    template: str
    schema_file: str
    schema: Callable[[], dict[str, Any]]
    check: Callable[[str, str], None]


def _graph_schema() -> dict[str, Any]:
    from patterns.graph_file.schema import graph_schema

    return graph_schema()


def _check_graph(text: str, name: str) -> None:
    """Raises SpecError unless a graph can be called so."""
    from patterns.graph_file.spec import graph_model
    from patterns.load import load_text, validate

    validate(graph_model(), load_text(text, name))


def _sweep_schema() -> dict[str, Any]:
    from experiments.sweep.spec import sweep_schema

    return sweep_schema()


def _check_sweep(text: str, name: str) -> None:
    """Raises SpecError for a name with which the file would not be one."""
    from experiments.sweep.spec import SweepSpec
    from patterns.importer import graph_name
    from patterns.load import load_text, validate

    document = load_text(text, name)
    document.refuse([document.at((), "no name")] if graph_name(name) != name else [])
    validate(SweepSpec, document)


STARTS: Mapping[str, Start] = {
    GRAPH: Start("starting_graph.yaml", "patternloom.schema.json", _graph_schema, _check_graph),
    "sweep": Start("starting_sweep.yaml", "patternloom-sweep.schema.json", _sweep_schema, _check_sweep),
}


def schema_text(kind: str = GRAPH) -> str:
    """The schema of a kind of file as JSON."""
    return json.dumps(STARTS[kind].schema(), indent=1) + "\n"


def start(path: Path, kind: str = GRAPH) -> tuple[Path, ...]:
    """Write the starting file to `path` and its schema beside it; what was written.

    The schema lies beside the file so that an editor finds it without a network, for everybody who has the folder.
    One that is there already is brought up to date. Raises UserError if `path` is taken or its name is no graph's.
    """
    text = starting_text(path.stem, kind)
    if path.exists():
        raise UserError(f"{path} is there already; it is not overwritten")
    schema = path.parent / STARTS[kind].schema_file
    due = schema_text(kind)
    outdated = held_in(schema, kind) != due
    if outdated:
        write_file(schema, due.encode())
    write_new(path, text.encode())
    return (path, schema) if outdated else (path,)


def starting_text(name: str, kind: str = GRAPH) -> str:
    """The starting file called `name`. Raises UserError if nothing of its kind can be called so."""
    found = files("experiments").joinpath(STARTS[kind].template).read_text(encoding="utf-8")
    text = found.replace("NAME", name).replace("SCHEMA", STARTS[kind].schema_file)
    try:
        STARTS[kind].check(text, name)
    except SpecError:
        what = "a name has letters, digits, _ . and -, and begins with a letter"
        raise UserError(f"no {kind} can be called {name!r}: {what}") from None
    return text


def held_in(schema: Path, kind: str = GRAPH) -> str:
    """The schema that is there, '' if there is none. Raises UserError for any other file."""
    if not schema.exists():
        return ""
    if not schema.is_file():
        raise UserError(f"{schema} is not a file; the schema is written there")
    held = schema.read_text(encoding="utf-8", errors="replace")
    if f'"title": "patternloom {kind}"' not in held[:500]:
        raise UserError(f"{schema} is there already and is no schema of a {kind}; it is not overwritten")
    return held
