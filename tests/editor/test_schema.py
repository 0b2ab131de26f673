"""The schema says what the loader says: of every graph there is, of every kind, and of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from patterns.dtypes import DTYPE_BITS
from patterns.graph_file.schema import DIALECT, graph_schema
from patterns.kind import kind_named, kind_names

SCHEMA = graph_schema()


def defined(name: str) -> dict[str, Any]:
    """A part of the schema that is defined once."""
    found: dict[str, Any] = SCHEMA["$defs"][name]
    return found


def test_it_is_json_of_the_dialect_that_editors_read() -> None:
    result = CliRunner().invoke(cli, ["schema"])
    assert json.loads(result.stdout) == SCHEMA
    assert SCHEMA["$schema"] == DIALECT
    assert '"null"' not in result.stdout
    assert '"discriminator"' not in result.stdout


@pytest.mark.parametrize("kind", kind_names())
def test_a_kind_has_its_fields_its_functions_and_its_text(kind: str) -> None:
    node, found = defined(f"{kind}_node"), kind_named(kind)
    assert set(node["properties"]) == set(found.Spec.model_fields)
    assert set(node["properties"].get("fn", {}).get("enum", ())) == set(found.FUNCTIONS)
    assert node["additionalProperties"] is False
    assert f"{kind}: " in node["description"]
    assert {"kind", "reads"} <= set(node["required"])


def test_fields_are_told_of_and_closed() -> None:
    assert set(defined("TensorSpec")["properties"]["dtype"]["enum"]) == set(DTYPE_BITS)
    assert SCHEMA["properties"]["extents"]["description"].startswith("The size of every dim")
    assert defined("BlockSpec")["properties"]["nodes"]["description"] == "Patterns by name."
    assert set(SCHEMA["required"]) == {"name"}
    assert SCHEMA["additionalProperties"] is defined("BlockSpec")["additionalProperties"] is False
    assert SCHEMA["properties"]["nodes"]["additionalProperties"] is False


def test_it_is_written_to_a_file(tmp_path: Path) -> None:
    file = tmp_path / "graph.json"
    result = CliRunner().invoke(cli, ["schema", "-o", str(file)])
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {file}\n")
    assert json.loads(file.read_text(encoding="utf-8")) == SCHEMA
