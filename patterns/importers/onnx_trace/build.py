"""A model to a graph: walked, finished, raised, its repeated layers folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.graph import Graph
from patterns.importers.onnx_trace.assemble_graph import assembled
from patterns.importers.onnx_trace.finish import finished
from patterns.importers.onnx_trace.known import Unsupported, Wrong
from patterns.importers.onnx_trace.layers import Segment, segments
from patterns.importers.onnx_trace.model import Constant, Model
from patterns.importers.onnx_trace.name_nodes import named
from patterns.importers.onnx_trace.sketch import Sketch
from patterns.importers.onnx_trace.walk import walked
from patterns.numbers.memory import full_shape
from patterns.plugin import load_module, modules
from patterns.write import write_graph

_RAISE = "patterns.importers.onnx_raise"

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Built:
    """A graph, and the constants of its weights: one, or one for each execution of its block.

    copies: dims that are other names of dims. states: of each state, the model's inputs that it begins with.
    """

    graph: Graph
    constants: Mapping[str, tuple[Constant, ...]]
    copies: Mapping[str, str]
    states: Mapping[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        """The graph as a file, in which dims that are other names of dims follow these."""
        lines = write_graph(self.graph).split("\n")
        given = next(at for at, line in enumerate(lines) if line.startswith("extents:"))
        for copy, source in self.copies.items():
            lines[given] = re.sub(rf"\b{copy}: \d+", f"{copy}: {source}", lines[given])
        # What inference finds out anyway, and what would have to be changed with an extent.
        return "\n".join(re.sub(r', extents: "[0-9 ]+"', "", line) for line in lines)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights' arrays, shaped as the graph has them."""
        import numpy

        made = {}
        for name, constants in self.constants.items():
            tensor = self.graph.tensor_named[name]
            loaded = [numpy.asarray(constant.load()) for constant in constants]
            parts = [(a.astype("int8") if a.dtype.kind == "b" else a).reshape(self.graph.shape(name)) for a in loaded]
            stacked = numpy.stack(parts) if len(parts) > 1 or tensor.block else parts[0]
            made[name] = stacked.reshape(full_shape(self.graph, tensor))
        return made


def built(model: Model, name: str, overrides: Mapping[str, str]) -> Built:
    """The graph of a model. Raises UserError."""
    try:
        sketch = finished(walked(model, overrides), model)
    except (Unsupported, Wrong) as error:
        raise UserError(f"{model.file}: an output: {error}") from None
    inputs = {name for name, tensor in sketch.tensors.items() if tensor.role == "input"}
    if not any(inputs.intersection(node.reads) for node in sketch.nodes):
        raise UserError(f"{model.file}: nothing depends on the model's inputs: there is nothing to run")
    for raise_ in _passes():
        sketch = raise_(sketch)
    parts = segments(sketch)
    graph, constants = assembled(sketch, parts, named(sketch, parts, name), name)
    return Built(graph, constants, sketch.copies, _states(sketch, parts))


def _states(sketch: Sketch, parts: tuple[Segment, ...]) -> dict[str, tuple[str, ...]]:
    """What was an input and is a state: of each, the inputs of all times that its block is executed."""
    found: dict[str, tuple[str, ...]] = {
        name: (name,) for name, tensor in sketch.tensors.items() if tensor.role == "state"
    }
    for part in parts:
        for copies in part.weights:
            if copies[0] in found:
                found = {name: own for name, own in found.items() if name not in copies} | {copies[0]: copies}
    return found


@cache
def _passes() -> tuple[Callable[[Sketch], Sketch], ...]:
    """What puts decomposed operations together, each file of its folder, in their order."""
    found = [load_module(_RAISE, name, "pattern") for name in modules(_RAISE)]
    return tuple(module.raised for module in sorted(found, key=lambda module: module.ORDER))
