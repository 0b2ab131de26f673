"""What every tensor of a graph should be for random numbers, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from patterns.dtypes import are_places, is_integer
from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import packs
from patterns.numbers.difference import Difference, largest, scales
from patterns.numbers.rounding import rounded

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Reference:
    """What is put in (as their types hold it), what every node should make, and the scale of each tensor.

    numbers: results that may be nearly right when they are rounded.
    """

    arrays: Mapping[str, NDArray[Any]]
    expected: Mapping[str, NDArray[Any]]
    scales: Mapping[str, float]
    numbers: Mapping[str, NDArray[Any]]

    def rounded(self, found: Mapping[str, NDArray[Any]]) -> Difference:
        """The largest error of numbers that were rounded on the way."""
        numbers = {name: found[name] for name in self.numbers}
        return largest(numbers, self.numbers, self.scales) if numbers else Difference(0.0)


def reference_of(graph: Graph, seed: int, members: int) -> Reference:
    """Random numbers through the reference. Raises UserError if they are of no use to the graph."""
    made = [node.writes for _, node in graph.nodes()]
    given = _with_flags(graph, random_arrays(graph, seed, members))
    arrays = _as_held(graph, given)
    try:
        expected = evaluate(graph, arrays, members, also=made)
    except UserError:
        # Some inputs are shares: where a draw points to in a row of probabilities, for one.
        arrays = _as_held(graph, {name: _share(graph, name, array) for name, array in given.items()})
        expected = evaluate(graph, arrays, members, also=made)
    results = evaluate(graph, arrays, members)
    numbers = {name: array for name, array in results.items() if not are_places(graph.tensor_named[name].dtype)}
    return Reference(arrays, expected, scales(graph, {**arrays, **expected}, tuple(expected)), numbers)


def _as_held(graph: Graph, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Numbers that the tensors' types have."""
    return {name: rounded(array, graph.tensor_named[name].dtype) for name, array in arrays.items()}


def _share(graph: Graph, name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An input's numbers from 0 to 1, others as they are."""
    tensor = graph.tensor_named[name]
    return abs(array) % 1.0 if tensor.role == "input" and not is_integer(tensor.dtype) else array


def _with_flags(graph: Graph, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays; of inputs that say themselves what a filter keeps, as many elements are set as are expected."""
    import numpy

    found = dict(arrays)
    for _, node in graph.nodes():
        flags = graph.tensor_named[node.reads[0]]
        if packs(node) and flags.role == "input":
            axis = flags.dims.index(node.over[0])
            ranks = numpy.argsort(numpy.argsort(found[flags.name], axis, kind="stable"), axis, kind="stable")
            found[flags.name] = (ranks < int(node.argument("extents", 0))).astype(found[flags.name].dtype)
    return found
