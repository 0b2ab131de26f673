"""A graph that is still being put into shape: nodes in order, tensors by name, and the arrays of its weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from patterns.graph import Node, Tensor
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.symbols import unused


@dataclass(frozen=True)
class Sketch:
    """Nodes of a graph, each after what it reads.

    tensors: every tensor, by name. constants: the array of each weight, and of inputs that the importer adds.
    copies: dims that are another name of a dim, by that name. origins: of what nodes make, the module it belongs to and
    what of it it is ('': what its node does).
    """

    nodes: tuple[Node, ...]
    tensors: Mapping[str, Tensor]
    constants: Mapping[str, Constant]
    sizes: Mapping[str, int]
    copies: Mapping[str, str] = field(default_factory=dict)
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def unused(self, name: str) -> str:
        """The name, with a number if something is called so."""
        return unused(name, self.tensors)

    def with_nodes(self, nodes: Iterable[Node]) -> Sketch:
        """The sketch with other nodes; tensors that nobody writes or reads any more are gone, inputs stay."""
        kept = tuple(nodes)
        used = {name for node in kept for name in (*node.reads, node.writes)}
        tensors = {name: t for name, t in self.tensors.items() if name in used or t.role == "input"}
        constants = {name: constant for name, constant in self.constants.items() if name in used}
        tensors = {name: t for name, t in tensors.items() if name in used or name not in self.constants}
        return replace(self, nodes=kept, tensors=tensors, constants=constants)
