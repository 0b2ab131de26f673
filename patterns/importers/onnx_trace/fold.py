"""Operations on constants are done at once: shapes, positions, tables and masks that do not depend on the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from patterns.importers.onnx_trace.known import Unsupported, Wrong
from patterns.importers.onnx_trace.model import Constant, Operation, split_sizes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

# Elements that are computed beforehand; larger ones stay operations on weights.
MOST_ELEMENTS = 2**24
# A weight keeps its identity when it is only seen otherwise: a table may be tied to a matrix.
SEEN_OTHERWISE = frozenset({"Transpose", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten", "Dropout"})

Fold = Callable[[Any, Operation, Sequence[Any]], Any]


def foldable(operation: Operation, given: Sequence[Constant | None]) -> bool:
    """Whether an operation, all of whose inputs are constants, is done at once."""
    if operation.domain or operation.op not in FOLDS:
        return False
    sizes = [prod(constant.shape) for constant in given if constant is not None]
    first = given[0] if given else None
    matrix = first is not None and first.stored and len(first.shape) > 1 and not first.dtype.startswith("int")
    if operation.op in SEEN_OTHERWISE and matrix:
        return False
    return sum(sizes) <= MOST_ELEMENTS


def folded(operation: Operation, given: Sequence[Constant | None]) -> list[Array]:
    """The results of an operation on constants. Raises Wrong, Unsupported."""
    import numpy

    arrays = [None if constant is None else constant.load() for constant in given]
    try:
        with numpy.errstate(all="ignore"):
            made = FOLDS[operation.op](numpy, operation, arrays)
    except (ValueError, IndexError, TypeError, ArithmeticError, AttributeError) as error:
        raise Wrong(f"cannot be computed: {error}") from None
    results = list(made) if isinstance(made, list) else [made]
    return [numpy.asarray(result) for result in results]


def _bounded(shape: Sequence[int]) -> tuple[int, ...]:
    found = tuple(int(extent) for extent in shape)
    if min(found, default=0) < 0:
        raise ValueError(f"the shape {list(found)}")
    if prod(found) > MOST_ELEMENTS:
        raise Unsupported(f"a constant of more than {MOST_ELEMENTS:,} elements")
    return found


def _axes(operation: Operation, arrays: Sequence[Any], at: int = 1) -> tuple[int, ...] | None:
    given = operation.attributes.get("axes")
    if given is not None:
        return tuple(given)
    return tuple(int(axis) for axis in arrays[at]) if len(arrays) > at and arrays[at] is not None else None


def _cast(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    from onnx import TensorProto, helper

    to = int(operation.attribute("to", 1))
    if to not in TensorProto.DataType.values() or to in (0, TensorProto.STRING):
        raise Unsupported("a cast to an unknown type")
    return arrays[0].astype(helper.tensor_dtype_to_np_dtype(to))


def _slice(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    data = arrays[0]
    if "starts" in operation.attributes:
        starts, ends = operation.attributes["starts"], operation.attributes["ends"]
        axes, steps = operation.attributes.get("axes"), None
    else:
        starts, ends, axes, steps = (*arrays[1:], None, None)[:4]
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    cut = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        # The least of int64 stands for: to the first element, backwards.
        last = None if int(step) < 0 and int(end) < -data.shape[int(axis)] else int(end)
        cut[int(axis)] = slice(int(start), last, int(step))
    return data[tuple(cut)]


def _squeeze(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    axes = _axes(operation, arrays)
    return np.squeeze(arrays[0], axis=axes)


def _unsqueeze(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    return np.expand_dims(arrays[0], _axes(operation, arrays) or ())


def _reshape(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    data = arrays[0]
    shape: Any = operation.attributes.get("shape", ()) if len(arrays) < 2 else arrays[1]
    zeros = operation.attribute("allowzero", 0)
    target = [data.shape[at] if n == 0 and not zeros else int(n) for at, n in enumerate(shape)]
    return data.reshape(target)


def _constant_of_shape(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    value = operation.attributes.get("value")
    fill = value.load().reshape(-1)[0] if isinstance(value, Constant) else np.float32(0)
    shape = tuple(int(extent) for extent in arrays[0])
    # A view of one element: light models have all their weights like this.
    return np.broadcast_to(np.asarray(fill), shape)


def _range(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    start, limit, delta = (array.reshape(-1)[0] for array in arrays)
    _bounded([max(0, int(np.ceil((limit - start) / delta)))])
    return np.arange(start, limit, delta, dtype=arrays[0].dtype)


def _expand(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    shape = np.broadcast_shapes(arrays[0].shape, tuple(int(extent) for extent in arrays[1]))
    return np.broadcast_to(arrays[0], _bounded(shape))


def _tile(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    data, repeats = arrays
    _bounded([size * int(count) for size, count in zip(data.shape, repeats, strict=True)])
    return np.tile(data, [int(count) for count in repeats])


def _reduction(name: str) -> Fold:
    def fold(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
        axes = _axes(operation, arrays)
        if not axes and operation.attribute("noop_with_empty_axes", 0):
            return arrays[0]
        keep = bool(operation.attribute("keepdims", 1))
        return getattr(np, name)(arrays[0], axis=axes or None, keepdims=keep).astype(arrays[0].dtype)

    return fold


def _divide(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    left, right = arrays
    if left.dtype.kind in "iu":
        # ONNX rounds to zero.
        return (np.abs(left) // np.abs(right) * np.sign(left) * np.sign(right)).astype(left.dtype)
    return left / right


def _remainder(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    """With the sign of what divides, or of what is divided (`fmod`)."""
    return np.fmod(*arrays) if operation.attribute("fmod", 0) else np.mod(*arrays)


def _trilu(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    offset = int(arrays[1].reshape(-1)[0]) if len(arrays) > 1 and arrays[1] is not None else 0
    return np.triu(arrays[0], offset) if operation.attribute("upper", 1) else np.tril(arrays[0], offset)


def _split(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    axis = int(operation.attribute("axis", 0))
    sizes = operation.attributes.get("split") if len(arrays) < 2 else [int(n) for n in arrays[1]]
    if sizes is None:
        sizes = split_sizes(arrays[0].shape[axis], operation)
    return list(np.split(arrays[0], np.cumsum(sizes)[:-1], axis))


def _scatter_nd(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    made, index = arrays[0].copy(), arrays[1]
    made[tuple(np.moveaxis(index, -1, 0))] = arrays[2]
    return made


def _gather(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    data, index = arrays
    axis = int(operation.attribute("axis", 0))
    _bounded([index.size, data.size // max(1, data.shape[axis])])
    return np.take(data, index, axis)


def _matmul(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    left, right = arrays
    _bounded([left.size // max(1, left.shape[-1]), right.size // max(1, left.shape[-1])])
    return (left @ right).astype(left.dtype)


def _gather_nd(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    if operation.attribute("batch_dims", 0):
        raise Unsupported("batch dims")
    return arrays[0][tuple(np.moveaxis(arrays[1], -1, 0))]


def _cumsum(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    if operation.attribute("exclusive", 0) or operation.attribute("reverse", 0):
        raise Unsupported("exclusive or reverse sums")
    return np.cumsum(arrays[0], axis=int(arrays[1].reshape(-1)[0]), dtype=arrays[0].dtype)


def _literal(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
    found = operation.attributes
    if isinstance(found.get("value"), Constant):
        return found["value"].load()
    for name, dtype in (("value_int", "int64"), ("value_ints", "int64"), ("value_float", "float32")):
        if name in found:
            return np.asarray(found[name], dtype)
    if "value_floats" in found:
        return np.asarray(found["value_floats"], "float32")
    raise Unsupported("a constant that is no number")


def _plain(meaning: Callable[..., Any]) -> Fold:
    return lambda np, operation, arrays: meaning(np, *arrays)


def _same_type(meaning: Callable[..., Any]) -> Fold:
    return lambda np, operation, arrays: meaning(np, *arrays).astype(arrays[0].dtype)


def _together(fold: Fold) -> Fold:
    """The same of arrays that broadcast: their results may be far larger than they are."""

    def bounded(np: Any, operation: Operation, arrays: Sequence[Any]) -> Any:
        _bounded(np.broadcast_shapes(*(array.shape for array in arrays)))
        return fold(np, operation, arrays)

    return bounded


FOLDS: Mapping[str, Fold] = {
    "Abs": _plain(lambda np, x: np.abs(x)),
    "Add": _together(_same_type(lambda np, x, y: x + y)),
    "And": _together(_plain(lambda np, x, y: x & y)),
    "Cast": _cast,
    "Ceil": _plain(lambda np, x: np.ceil(x)),
    "Concat": lambda np, operation, arrays: np.concatenate(arrays, int(operation.attribute("axis", 0))),
    "Constant": _literal,
    "ConstantOfShape": _constant_of_shape,
    "Cos": _plain(lambda np, x: np.cos(x)),
    "CumSum": _cumsum,
    "Div": _together(_divide),
    "Equal": _together(_plain(lambda np, x, y: x == y)),
    "Exp": _plain(lambda np, x: np.exp(x)),
    "Expand": _expand,
    "Floor": _plain(lambda np, x: np.floor(x)),
    "Gather": _gather,
    "GatherND": _gather_nd,
    "Greater": _together(_plain(lambda np, x, y: x > y)),
    "GreaterOrEqual": _together(_plain(lambda np, x, y: x >= y)),
    "Identity": _plain(lambda np, x: x),
    "Less": _together(_plain(lambda np, x, y: x < y)),
    "LessOrEqual": _together(_plain(lambda np, x, y: x <= y)),
    "Log": _plain(lambda np, x: np.log(x)),
    "MatMul": _matmul,
    "Max": _together(_plain(lambda np, *x: np.stack(np.broadcast_arrays(*x)).max(0))),
    "Min": _together(_plain(lambda np, *x: np.stack(np.broadcast_arrays(*x)).min(0))),
    "Mod": _together(_remainder),
    "Mul": _together(_same_type(lambda np, x, y: x * y)),
    "Neg": _plain(lambda np, x: -x),
    "Not": _plain(lambda np, x: ~x),
    "Or": _together(_plain(lambda np, x, y: x | y)),
    "Pow": _together(_same_type(lambda np, x, y: x**y if (y >= 0).all() else np.power(x.astype(float), y))),
    "Range": _range,
    "Reciprocal": _same_type(lambda np, x: 1 / x),
    "ReduceMax": _reduction("max"),
    "ReduceMin": _reduction("min"),
    "ReduceProd": _reduction("prod"),
    "ReduceSum": _reduction("sum"),
    "Reshape": _reshape,
    "ScatterND": _scatter_nd,
    "Sin": _plain(lambda np, x: np.sin(x)),
    "Slice": _slice,
    "Split": _split,
    "Sqrt": _plain(lambda np, x: np.sqrt(x)),
    "Squeeze": _squeeze,
    "Sub": _together(_same_type(lambda np, x, y: x - y)),
    "Tile": _tile,
    "Transpose": lambda np, operation, arrays: arrays[0].transpose(operation.attributes.get("perm")),
    "Trilu": _trilu,
    "Unsqueeze": _unsqueeze,
    "Where": _together(_plain(lambda np, c, x, y: np.where(c, x, y))),
}
