"""Some nodes of a sketch in the place of others, wherever a pattern is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from patterns.graph import Node, Tensor
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.sketch import Sketch

_MOST_ROUNDS = 8


@dataclass(frozen=True)
class Change:
    """Nodes that go, and those in their place: where the last of them was.

    The tensors and constants that are new, and the origins of tensors (see Sketch).
    """

    gone: tuple[str, ...]
    put: tuple[Node, ...]
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    constants: Mapping[str, Constant] = field(default_factory=dict)
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class View:
    """A sketch with who makes and who reads each tensor."""

    sketch: Sketch

    @cached_property
    def makers(self) -> Mapping[str, Node]:
        """The node that writes each tensor."""
        return {node.writes: node for node in self.sketch.nodes}

    @cached_property
    def readers(self) -> Mapping[str, tuple[Node, ...]]:
        """The nodes that read each tensor, each once."""
        found: dict[str, list[Node]] = {}
        for node in self.sketch.nodes:
            for name in dict.fromkeys(node.reads):
                found.setdefault(name, []).append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    def maker(self, tensor: str, kind: str, fn: str = "") -> Node | None:
        """The node that makes a tensor, if it is of that kind and function."""
        node = self.makers.get(tensor)
        return node if node is not None and (node.kind, node.fn) == (kind, fn or node.fn) else None

    def only(self, tensor: str) -> bool:
        """Whether one node reads a tensor and nobody else sees it."""
        return len(self.readers.get(tensor, ())) == 1 and self.tensor(tensor).role == "intermediate"

    def inner(self, tensor: str, kind: str, fn: str = "") -> Node | None:
        """Like `maker`, of a tensor that one node reads."""
        return self.maker(tensor, kind, fn) if self.only(tensor) else None

    def tensor(self, name: str) -> Tensor:
        """A tensor by name."""
        return self.sketch.tensors[name]

    def constant(self, name: str) -> Constant | None:
        """The constant that a tensor is."""
        return self.sketch.constants.get(name)


Match = Callable[[View, Node], Change | None]


def rewritten(sketch: Sketch, match: Match) -> Sketch:
    """The sketch with every change that `match` finds at a node, until it finds none."""
    for _ in range(_MOST_ROUNDS):
        view = View(sketch)
        gone: set[str] = set()
        put: dict[str, tuple[Node, ...]] = {}
        tensors, constants, origins = dict(sketch.tensors), dict(sketch.constants), dict(sketch.origins)
        order = {node.name: at for at, node in enumerate(sketch.nodes)}
        for node in sketch.nodes:
            change = match(view, node) if node.name not in gone else None
            if change is None or not gone.isdisjoint(change.gone) or not tensors.keys().isdisjoint(change.constants):
                continue
            gone.update(change.gone)
            put[max(change.gone, key=order.__getitem__)] = change.put
            tensors |= change.tensors
            constants |= change.constants
            origins |= change.origins
        if not gone:
            return sketch
        nodes = [new for node in sketch.nodes for new in put.get(node.name, () if node.name in gone else (node,))]
        sketch = replace(sketch, tensors=tensors, constants=constants, origins=origins).with_nodes(nodes)
    return sketch
