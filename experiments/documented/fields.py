"""Fields of graph files and sweep files, as their JSON Schemas have them: the loader's own models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from experiments.documented.said import Said

# Parts of a graph file, as its schema calls them, and how a reader finds them.
PARTS = {
    "TensorSpec": "a tensor",
    "BlockSpec": "a block",
    "UseSpec": "a block of another graph",
    "JoinSpec": "a joined result",
    "AgainSpec": "a block once more",
}


@cache
def _graph_schema() -> Mapping[str, Any]:
    from patterns.graph_file.schema import graph_schema

    return graph_schema()


def graph_fields() -> tuple[Said, ...]:
    """Those of the top level."""
    return tuple(_said(_graph_schema()))


def part_fields(part: str) -> tuple[Said, ...]:
    """Those of a tensor, a block ...: a name of PARTS, or of a node: KIND_node."""
    return tuple(_said(_graph_schema()["$defs"][part]))


def node_parts() -> tuple[str, ...]:
    """The nodes of all kinds, as the schema calls them."""
    return tuple(name for name in _graph_schema()["$defs"] if name.endswith("_node"))


def about_part(part: str) -> str:
    """What a kind's file says of it."""
    return str(_graph_schema()["$defs"][part]["description"])


def sweep_fields() -> tuple[Said, ...]:
    """Those of a sweep file."""
    from experiments.sweep.spec import sweep_schema

    return tuple(_said(sweep_schema()))


def _said(schema: Mapping[str, Any]) -> Iterator[Said]:
    required = schema.get("required", ())
    for name, field in schema["properties"].items():
        default = "required" if name in required else ""
        yield Said(name, str(field.get("description", "")), "-", _values(field), default)


def _values(field: Mapping[str, Any]) -> str:
    """What may stand there, in words."""
    if "$ref" in field:
        return PARTS.get(field["$ref"].rpartition("/")[2], "a mapping")
    if "enum" in field:
        return ", ".join(f"`{one}`" for one in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    if "anyOf" in field:
        return " or ".join(dict.fromkeys(_values(one) for one in field["anyOf"]))
    kind = field.get("type", "")
    if isinstance(kind, list):
        return " or ".join(_WORDS[one] for one in kind)
    if kind == "array":
        return f"list of {_values(field['items'])}" if "items" in field else "list"
    return _WORDS.get(kind, "a mapping")


_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "`true` or `false`",
    "object": "a mapping",
    "array": "a list",
}
