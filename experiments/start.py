"""A graph to start from: a commented file, and beside it the schema that its first line names."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

from experiments.output import write_file, write_new
from patterns.errors import SpecError, UserError
from patterns.load import load_text, validate
from patterns.schema import TITLE, graph_schema
from patterns.spec import graph_model

SCHEMA_FILE = "patternloom.schema.json"
SUFFIX = ".yaml"


def schema_text() -> str:
    """The schema of a graph file as JSON."""
    return json.dumps(graph_schema(), indent=1) + "\n"


def start(path: Path) -> tuple[Path, ...]:
    """Write the starting graph to `path` and its schema beside it; what was written.

    The schema lies beside the graph so that an editor finds it without a network, for everybody who has the folder.
    One that is there already is brought up to date. Raises UserError if `path` is taken or its name is no graph's.
    """
    text = starting_text(path.stem)
    if path.exists():
        raise UserError(f"{path} is there already; it is not overwritten")
    schema = path.parent / SCHEMA_FILE
    due = schema_text()
    outdated = held_in(schema) != due
    if outdated:
        write_file(schema, due.encode())
    write_new(path, text.encode())
    return (path, schema) if outdated else (path,)


def starting_text(name: str) -> str:
    """The starting graph called `name`. Raises UserError if no graph can be called so."""
    found = files("experiments").joinpath("starting_graph.yaml").read_text(encoding="utf-8")
    text = found.replace("NAME", name).replace("SCHEMA", SCHEMA_FILE)
    try:
        validate(graph_model(), load_text(text, name))
    except SpecError:
        what = "a name has letters, digits, _ . and -, and begins with a letter"
        raise UserError(f"no graph can be called {name!r}: {what}") from None
    return text


def held_in(schema: Path) -> str:
    """The schema that is there, '' if there is none. Raises UserError for any other file."""
    if not schema.exists():
        return ""
    if not schema.is_file():
        raise UserError(f"{schema} is not a file; the schema is written there")
    held = schema.read_text(encoding="utf-8", errors="replace")
    if f'"title": "{TITLE}"' not in held[:500]:
        raise UserError(f"{schema} is there already and is no schema of a graph; it is not overwritten")
    return held
