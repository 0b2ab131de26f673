"""A model to a graph: walked, finished, raised, its repeated layers folded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.graph import Block, Graph
from patterns.importers.onnx_trace.finish import finished
from patterns.importers.onnx_trace.model import Constant, Model
from patterns.importers.onnx_trace.sketch import Sketch
from patterns.importers.onnx_trace.walk import walked
from patterns.memory import full_shape

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Built:
    """A graph, and the constants of its weights: one, or one for each execution of its block."""

    graph: Graph
    constants: Mapping[str, tuple[Constant, ...]]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights' arrays, shaped as the graph has them."""
        import numpy

        made = {}
        for name, constants in self.constants.items():
            tensor = self.graph.tensor_named[name]
            parts = [numpy.asarray(constant.load()).reshape(self.graph.shape(name)) for constant in constants]
            stacked = numpy.stack(parts) if len(parts) > 1 or tensor.block else parts[0]
            made[name] = stacked.reshape(full_shape(self.graph, tensor))
        return made


def built(model: Model, name: str, overrides: Mapping[str, str]) -> Built:
    """The graph of a model. Raises UserError."""
    sketch = finished(walked(model, overrides), model)
    if not sketch.nodes:
        raise UserError(f"{model.file}: nothing depends on the model's inputs: there is nothing to run")
    return _graph(sketch, name)


def _graph(sketch: Sketch, name: str) -> Built:
    given = [tensor for tensor in sketch.tensors.values() if tensor.role != "intermediate"]
    made = [sketch.tensors[node.writes] for node in sketch.nodes]
    extents = tuple(sketch.sizes.items())
    graph = Graph(name, extents, tuple(dict.fromkeys([*given, *made])), (Block(name, 1, sketch.nodes),))
    return Built(graph, {key: (constant,) for key, constant in sketch.constants.items()})
