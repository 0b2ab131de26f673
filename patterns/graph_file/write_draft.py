"""A graph file's data as YAML that people read: an extent, a tensor, a node a line, with columns that line up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from patterns.write import flow_text, word

WIDTH = 118


def draft_text(data: Mapping[str, Any]) -> str:
    """The data of a graph file (name, source, extents, tensors, and nodes or blocks) as its text.

    The source becomes a comment besides, so that whoever opens the file sees first what it is.
    """
    lines = [f"# {line}" for line in wrap(str(data.get("source", "")), WIDTH)]
    lines += [f"{key}: {flow_text(data[key])}" for key in ("name", "source") if key in data]
    lines += ["extents:", *_entries(data.get("extents", {}), "  ")] if data.get("extents") else []
    lines += [f"requires: {flow_text(data['requires'])}"] if data.get("requires") else []
    lines += _section("tensors", data, "")
    lines += _section("nodes", data, "")
    if "blocks" in data:
        lines.append("blocks:")
        for name, block in data["blocks"].items():
            lines.append(f"  {word(name)}:")
            lines += _block(block)
    return "\n".join(lines) + "\n"


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    for key in ("count", "carried"):
        if key in block:
            yield f"    {key}: {flow_text(block[key])}"
    for key in ("tensors", "nodes"):
        yield from _section(key, block, "    ")


def _section(key: str, data: Mapping[str, Any], indent: str) -> list[str]:
    return [f"{indent}{key}:", *_entries(data[key], indent + "  ")] if data.get(key) else []


def _entries(entries: Mapping[str, Any], indent: str) -> Iterator[str]:
    """Entries one a line; what stands in them begins in one column, and so does what follows their first fields."""
    most = max(len(word(name)) for name in entries)
    for name, value in entries.items():
        label = f"{word(name)}:"
        space = " " * (most - len(word(name)) + 1) if isinstance(value, dict) else " "
        yield f"{indent}{label}{space}{flow_text(value)}"
