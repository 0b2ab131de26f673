"""Nodes in sets that hand tensors to each other."""

from __future__ import annotations

from collections.abc import Sequence

from patterns.graph import Node


def connected(nodes: Sequence[Node]) -> tuple[tuple[Node, ...], ...]:
    """The nodes, parted where no tensor is handed on."""
    root = {node.name: node.name for node in nodes}
    maker = {node.writes: node.name for node in nodes}

    def root_of(name: str) -> str:
        while root[name] != name:
            root[name] = root[root[name]]
            name = root[name]
        return name

    for node in nodes:
        for read in node.reads:
            if read in maker:
                root[root_of(node.name)] = root_of(maker[read])
    parts: dict[str, list[Node]] = {}
    for node in nodes:
        parts.setdefault(root_of(node.name), []).append(node)
    return tuple(tuple(part) for part in parts.values())
