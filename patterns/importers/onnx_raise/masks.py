"""A mask that hides keys after the query: not a matrix of numbers, but positions that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.graph import Argument, Node, Tensor
from patterns.importers.onnx_trace.counted import counted
from patterns.importers.onnx_trace.model import Constant
from patterns.importers.onnx_trace.rewrite import Change, View, rewritten
from patterns.importers.onnx_trace.sketch import Sketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER = 50
# What is as low as this after a mask is hidden.
_HIDDEN = -1e4


def raised(sketch: Sketch) -> Sketch:
    """The sketch with causal and sliding-window masks for their matrices, and without masks that hide nothing."""
    return rewritten(sketch, _match)


def _match(view: View, node: Node) -> Change | None:
    found = _masked(view, node)
    if found is None:
        return None
    scores, mask, seen = found
    if seen.all() and seen.ndim > 1:
        return Change((node.name,), (Node(node.name, "map", "copy", (scores,), node.writes),))
    placed = _rows_and_columns(view.tensor(mask), seen)
    if placed is None:
        return None
    rows, columns, matrix = placed
    kind = _kind(matrix)
    if kind is None:
        return None
    fn, offset, arguments = kind
    tensors: dict[str, Tensor] = {}
    constants: dict[str, Constant] = {}
    reads = [scores]
    for what, dim, start in (("positions", rows, offset), ("slots", columns, 0)):
        name, new, arrays = counted(view, what, dim, start)
        reads.append(name)
        tensors |= new
        constants |= arrays
    made = Node(node.name, "zip", fn, tuple(reads), node.writes, arguments=arguments)
    return Change((node.name,), (made,), tensors, constants)


def _masked(view: View, node: Node) -> tuple[str, str, NDArray[Any]] | None:
    """(scores, mask, where they are seen) of a node that masks with a constant."""
    if (node.kind, node.fn) == ("zip", "add"):
        for scores, mask in (node.reads, node.reads[::-1]):
            array = _array(view, mask) if len(view.tensor(mask).dims) > 1 and _covers(view, scores, mask) else None
            if array is not None and ((array == 0) | (array <= _HIDDEN)).all():
                return scores, mask, array == 0
    if (node.kind, node.fn) == ("zip", "where"):
        condition, *sides = node.reads
        array = _array(view, condition)
        for (scores, other), hides in ((sides, False), (sides[::-1], True)):
            low = _array(view, other)
            if array is not None and low is not None and (low <= _HIDDEN).all() and _covers(view, scores, condition):
                return scores, condition, (array != 0) != hides
    return None


def _covers(view: View, scores: str, mask: str) -> bool:
    """Whether the scores have every dim of the mask and depend on the inputs."""
    return set(view.tensor(mask).dims) <= set(view.tensor(scores).dims) and view.constant(scores) is None


def _array(view: View, name: str) -> Any:
    constant = view.constant(name)
    if constant is None or view.tensor(name).role != "weight":
        return None
    shape = tuple(view.sketch.sizes[dim] for dim in view.tensor(name).dims)
    try:
        return constant.load().reshape(shape)
    except UserError:
        # In a file that is not there: no mask that an exporter computes. Shapes are all that a graph needs.
        return None


def _rows_and_columns(tensor: Tensor, seen: NDArray[Any]) -> tuple[str, str, NDArray[Any]] | None:
    """The two dims along which a mask is not constant, and the mask over them."""
    varying = [at for at in range(seen.ndim) if (seen != seen.take([0], axis=at)).any()]
    if len(varying) != 2:
        return None
    matrix = seen[tuple(slice(None) if at in varying else 0 for at in range(seen.ndim))]
    return tensor.dims[varying[0]], tensor.dims[varying[1]], matrix


def _kind(matrix: NDArray[Any]) -> tuple[str, int, tuple[tuple[str, Argument], ...]] | None:
    """(function, position of the first row, arguments) of a mask; None if it is another."""
    import numpy

    rows, columns = matrix.shape
    last = [int(numpy.flatnonzero(row)[-1]) if row.any() else -1 for row in matrix]
    inner = [at for at, key in enumerate(last) if key < columns - 1]
    if not inner or last[inner[0]] < 0:
        return None
    offset = last[inner[0]] - inner[0]
    position = numpy.arange(rows)[:, None] + offset
    key = numpy.arange(columns)[None, :]
    if (matrix == (key <= position)).all():
        return "causal", offset, ()
    window = int(matrix.sum(axis=1).max())
    if (matrix == ((key <= position) & (key > position - window))).all():
        return "sliding_window", offset, (("window", window),)
    return None
