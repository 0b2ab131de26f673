"""How far numbers are from those they should be, and where they are furthest."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

from patterns.axes import points
from patterns.graph import Graph
from patterns.kind import has

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The unit roundoff: the largest relative error of one rounding, half the distance from 1 to the next number.
FLOAT64 = 2.0**-53
UNITS: Mapping[str, float] = {
    "fp32": 2.0**-24,
    "fp16": 2.0**-11,
    "bf16": 2.0**-8,
    "fp8": 2.0**-4,
    "fp8_e4m3": 2.0**-4,
    "fp8_e5m2": 2.0**-3,
    "fp4_e2m1": 2.0**-2,
}
# What rounding at other places may make of an error, without being another computation.
SPREAD = 4


@dataclass(frozen=True)
class Difference:
    """The largest error of some tensors: `error` is |found - expected| by the scale of the tensor.

    index: where, one number an axis. An element that is no number (NaN), or infinite where it should not be, has an
    infinite error.
    """

    error: float
    tensor: str = ""
    index: tuple[int, ...] = ()
    found: float = 0.0
    expected: float = 0.0


def largest(
    found: Mapping[str, NDArray[Any]], expected: Mapping[str, NDArray[Any]], scales: Mapping[str, float]
) -> Difference:
    """The largest error among the tensors found, 1.0 being the scale of each; of equal ones the first."""
    return max((_of(name, array, expected[name], scales[name]) for name, array in found.items()), key=lambda d: d.error)


def scales(graph: Graph, arrays: Mapping[str, NDArray[Any]], names: Collection[str]) -> dict[str, float]:
    """The scale of each named tensor: the largest finite magnitude in it and in what it is computed from.

    A sum whose terms cancel has the error of its terms. arrays: by tensor, those of intermediates included; what is
    read through an index counts whole.
    """
    writers = {node.writes: node for _, node in graph.nodes()}
    found = {}
    for name in names:
        read = writers[name].reads if name in writers else ()
        found[name] = max(_magnitude(arrays[tensor]) for tensor in (name, *read)) or 1.0
    return found


def _magnitude(array: NDArray[Any]) -> float:
    import numpy

    finite = numpy.abs(numpy.asarray(array, dtype="float64"))
    return float(finite[numpy.isfinite(finite)].max(initial=0.0))


def _of(name: str, found: NDArray[Any], expected: NDArray[Any], scale: float) -> Difference:
    import numpy

    if not expected.size:
        return Difference(0.0, name)
    wide, due = numpy.asarray(found, dtype="float64"), numpy.asarray(expected, dtype="float64")
    same = (wide == due) | (numpy.isnan(wide) & numpy.isnan(due))
    with numpy.errstate(invalid="ignore"):
        errors = numpy.where(same, 0.0, numpy.abs(wide - due) / scale)
    errors = numpy.where(numpy.isnan(errors), inf, errors)
    index = numpy.unravel_index(int(errors.argmax()), errors.shape)
    return Difference(float(errors[index]), name, tuple(int(at) for at in index), float(wide[index]), float(due[index]))


def tolerance(graph: Graph, members: int = 1, unit: float = FLOAT64) -> float:
    """The largest error that rounding explains: `unit` for every rounding that a result may have passed through.

    A node rounds once, a sum once for each of its terms, and every execution of a block again.
    """
    rounds = 0
    for block, node in graph.nodes():
        terms = members if has(node, "communicates") else points(node.over, graph.sizes)
        rounds += block.count * max(1, terms)
    return rounds * unit


def rounded_tolerance(graph: Graph, of_reference: float, members: int = 1) -> float:
    """The largest error that rounding to the graph's own types explains, sums being fp32.

    4 times the error of the reference rounded node by node, or 4 unit roundoffs of the coarsest type if that is more: a
    machine rounds at fewer places or at others, and not in the same direction. At least what fp32 itself explains.
    """
    types = {graph.tensor_named[name].dtype for _, node in graph.nodes() for name in (node.writes, *node.reads)}
    unit = max((UNITS[dtype] for dtype in types if dtype in UNITS), default=FLOAT64)
    return max(SPREAD * max(unit, of_reference), tolerance(graph, members, UNITS["fp32"]))
