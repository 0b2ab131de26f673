"""An expression of one tensor, element by element, that is a known curve: gelu, silu and the like.

It is recognised by its values, so that it does not matter in which of many ways it was written.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from patterns.functions.by_name import FUNCTIONS
from patterns.graph import Node
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER = 10
_CURVES = ("square", "relu", "sigmoid", "silu", "gelu", "gelu_erf", "softplus")
_MOST_NODES = 12
# Constants of exported models have single precision.
_CLOSE = 2e-6


def raised(sketch: Sketch) -> Sketch:
    """The sketch with one map for every such expression."""
    return rewritten(sketch, _match)


@cache
def _points(numbers: tuple[float, ...]) -> NDArray[Any]:
    """Where curves are compared: densely where they bend, far out, and beyond numbers where they may be cut off."""
    import numpy

    far = numpy.array([*(2.0**power for power in range(4, 10)), *(abs(number) + 1 for number in numbers)])
    return numpy.concatenate([numpy.linspace(-9, 9, 145), far, -far])


def _match(view: View, node: Node) -> Change | None:
    if not _elementwise(node) or (node.kind == "map" and node.fn in _CURVES):
        return None
    readers = view.readers.get(node.writes, ())
    if len(readers) == 1 and _elementwise(readers[0]) and _source(view, readers[0]) is not None:
        # A larger expression of the same tensor may be a curve; if not, this one is tried when that failed.
        found = _curve(view, readers[0])
        if found is not None:
            return None
    return _curve(view, node)


def _curve(view: View, node: Node) -> Change | None:
    import numpy

    found = _source(view, node)
    if found is None:
        return None
    source, inside = found
    if len(inside) < 2 and not (node.kind == "zip" and node.fn == "mul"):
        return None
    points = _points(tuple(sorted({float(item.argument("by", 0.0)) for item in inside})))
    values = _value(view, node, source, points)
    with numpy.errstate(all="ignore"):
        name = next((curve for curve in _CURVES if _alike(FUNCTIONS["map"][curve](points), values)), None)
    if name is None:
        return None
    made = Node(node.name, "map", name, (source,), node.writes)
    return Change(tuple(item.name for item in inside), (made,))


def _elementwise(node: Node) -> bool:
    return node.kind in ("map", "zip") and not FUNCTIONS[node.kind][node.fn].keeps and node.fn != "cast"


def _source(view: View, node: Node) -> tuple[str, tuple[Node, ...]] | None:
    """The one tensor that a node is an expression of, the largest that there is, and the nodes of the expression."""
    inside, frontier = [node], list(dict.fromkeys(node.reads))
    while len(inside) <= _MOST_NODES:
        if len(frontier) == 1 and (len(inside) > 1 or len(node.reads) > 1):
            return frontier[0], tuple(inside)
        names = {item.name for item in inside}
        opened = next((name for name in frontier if _within(view, name, names)), None)
        if opened is None:
            return None
        maker = view.makers[opened]
        inside.append(maker)
        frontier = list(dict.fromkeys([*(name for name in frontier if name != opened), *maker.reads]))
    return None


def _within(view: View, name: str, names: set[str]) -> bool:
    """Whether a tensor is made by an elementwise node and read by the expression only."""
    maker = view.makers.get(name)
    if maker is None or not _elementwise(maker) or view.tensor(name).role != "intermediate":
        return False
    return all(reader.name in names for reader in view.readers[name])


def _value(view: View, node: Node, source: str, points: NDArray[Any]) -> NDArray[Any]:
    import numpy

    def of(name: str) -> NDArray[Any]:
        if name == source:
            return points
        maker = view.makers[name]
        result: NDArray[Any] = FUNCTIONS[maker.kind][maker.fn](*map(of, maker.reads), **dict(maker.arguments))
        return result

    with numpy.errstate(all="ignore"):
        return of(node.writes)


def _alike(curve: NDArray[Any], values: NDArray[Any]) -> bool:
    import numpy

    return bool(numpy.all(numpy.abs(curve - values) <= _CLOSE * (1 + numpy.abs(curve))))
