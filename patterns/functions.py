"""The scalar functions of map, zip and reduce: their numpy meaning and what one element costs.

Counting rule. A vector op is one add, multiply, multiply-add, compare, select or conversion of one element. A special
op is one evaluation in a transcendental unit: 2**x, log2(x), 1/x, 1/sqrt(x), tanh(x). What is built from these is
counted as built: exp(x) = 2**(x log2 e) is one of each, a division is a reciprocal and a multiply.
Copies and constants cost no ops; they cost their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import pi, sqrt
from typing import Any, Literal

from patterns.errors import UnknownName

# What a causal mask writes over a score: far below any score, and finite, so that a wholly masked row is no NaN.
MASKED = -1e30


Keeps = Literal["", "not_after"]


@dataclass(frozen=True)
class Function:
    """A scalar function of `arity` arrays and the scalars named in `arguments`.

    meaning: called as meaning(numpy, *arrays, **arguments), on arrays that broadcast. vector_ops, special_ops: per
    element of the result (of a reduce: per element that is read). affine: a multiple of the first array plus what does
    not depend on it, so that a chain of them is one multiply-add. keeps: which elements of the first array it keeps,
    where it masks others: `not_after`, those whose third array (their position) is not after the second (the row's).
    """

    name: str
    arity: int
    meaning: Callable[..., Any]
    vector_ops: int = 0
    special_ops: int = 0
    arguments: tuple[str, ...] = ()
    affine: bool = False
    keeps: Keeps = ""

    def __call__(self, *arrays: Any, **arguments: Any) -> Any:
        """The function of the arrays, element by element."""
        import numpy

        return self.meaning(numpy, *arrays, **arguments)


Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Reduction:
    """A reduction that can be taken in parts: `finish(merge(part(a), part(b)))` is that of a and b together.

    part: part(numpy, array, axes, first) with `first` the index of the array's first element along the axes (an
    argmax needs it). index: the result is an index, of dtype int32, and one dim is reduced.
    """

    name: str
    part: Callable[[Any, Any, tuple[int, ...], int], Parts]
    merge: Callable[[Any, Parts, Parts], Parts]
    finish: Callable[[Parts], Any]
    vector_ops: int = 1
    special_ops: int = 0
    index: bool = False


def _tanh_gelu(np: Any, x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def _tanh_gelu_slope(np: Any, x: Any) -> Any:
    curve = np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + curve) + 0.5 * x * (1 - curve * curve) * sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)


def _sigmoid(np: Any, x: Any) -> Any:
    # exp(-|x|) never overflows; the two halves are the same function.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def _scale(np: Any, x: Any, by: float = 1.0, inverse_root: int = 1) -> Any:
    return x * (by / sqrt(inverse_root))


def _causal(np: Any, score: Any, query_position: Any, key_position: Any) -> Any:
    return np.where(key_position <= query_position, score, MASKED)


def _named(*functions: Function) -> Mapping[str, Function]:
    return {function.name: function for function in functions}


MAP = _named(
    Function("copy", 1, lambda np, x: np.array(x)),
    Function("zero", 1, lambda np, x: np.zeros_like(x)),
    Function("cast", 1, lambda np, x, dtype: np.trunc(x) if dtype.startswith("int") else np.array(x), 1, 0, ("dtype",)),
    Function("neg", 1, lambda np, x: -x, 1, affine=True),
    Function("abs", 1, lambda np, x: np.abs(x), 1),
    Function("square", 1, lambda np, x: x * x, 1),
    Function("relu", 1, lambda np, x: np.maximum(x, 0), 1),
    Function("scale", 1, _scale, 1, 0, ("by", "inverse_root"), affine=True),
    Function("shift", 1, lambda np, x, by: x + by, 1, 0, ("by",), affine=True),
    Function("exp", 1, lambda np, x: np.exp(x), 1, 1),
    Function("log", 1, lambda np, x: np.log(x), 1, 1),
    Function("reciprocal", 1, lambda np, x: 1 / x, 0, 1),
    Function("sqrt", 1, lambda np, x: np.sqrt(x), 1, 1),
    Function("rsqrt", 1, lambda np, x, eps=0.0: 1 / np.sqrt(x + eps), 1, 1, ("eps",)),
    Function("tanh", 1, lambda np, x: np.tanh(x), 0, 1),
    Function("sigmoid", 1, _sigmoid, 2, 2),
    Function("silu", 1, lambda np, x: x * _sigmoid(np, x), 3, 2),
    Function("gelu", 1, _tanh_gelu, 5, 1),
    # The derivative of gelu, for backward passes.
    Function("gelu_slope", 1, _tanh_gelu_slope, 9, 1),
)
ZIP = _named(
    Function("add", 2, lambda np, x, y: x + y, 1, affine=True),
    Function("sub", 2, lambda np, x, y: x - y, 1, affine=True),
    Function("mul", 2, lambda np, x, y: x * y, 1, affine=True),
    Function("div", 2, lambda np, x, y: x / y, 1, 1),
    Function("max", 2, lambda np, x, y: np.maximum(x, y), 1),
    Function("min", 2, lambda np, x, y: np.minimum(x, y), 1),
    # (score, position of the query, position of the key): keys after the query are masked.
    Function("causal", 3, _causal, 2, keeps="not_after"),
)
FUNCTIONS: Mapping[str, Mapping[str, Function]] = {"map": MAP, "zip": ZIP}


def _first_greatest(np: Any, left: Parts, right: Parts) -> Parts:
    better = right[0] > left[0]
    return np.where(better, right[0], left[0]), np.where(better, right[1], left[1])


def _count(np: Any, x: Any, axes: tuple[int, ...]) -> int:
    return int(np.prod([x.shape[axis] for axis in axes]))


_REDUCTIONS: tuple[Reduction, ...] = (
    Reduction(
        "sum",
        part=lambda np, x, axes, first: (x.sum(axis=axes),),
        merge=lambda np, a, b: (a[0] + b[0],),
        finish=lambda parts: parts[0],
    ),
    Reduction(
        "max",
        part=lambda np, x, axes, first: (x.max(axis=axes),),
        merge=lambda np, a, b: (np.maximum(a[0], b[0]),),
        finish=lambda parts: parts[0],
    ),
    Reduction(
        "min",
        part=lambda np, x, axes, first: (x.min(axis=axes),),
        merge=lambda np, a, b: (np.minimum(a[0], b[0]),),
        finish=lambda parts: parts[0],
    ),
    Reduction(
        "mean",  # the division of the sum is folded into what reads it
        part=lambda np, x, axes, first: (x.sum(axis=axes), _count(np, x, axes)),
        merge=lambda np, a, b: (a[0] + b[0], a[1] + b[1]),
        finish=lambda parts: parts[0] / parts[1],
    ),
    Reduction(
        "argmax",  # compare, and select the index
        part=lambda np, x, axes, first: (x.max(axis=axes), x.argmax(axis=axes[0]) + first),
        merge=_first_greatest,
        finish=lambda parts: parts[1],
        vector_ops=2,
        index=True,
    ),
)
REDUCTIONS: Mapping[str, Reduction] = {reduction.name: reduction for reduction in _REDUCTIONS}


def function(kind: str, name: str) -> Function:
    """The scalar function `name` of a `map` or a `zip`. Raises UnknownName."""
    if name not in FUNCTIONS[kind]:
        raise UnknownName(f"{kind} function", name, FUNCTIONS[kind])
    return FUNCTIONS[kind][name]


def reduction(name: str) -> Reduction:
    """The reduction `name`. Raises UnknownName."""
    if name not in REDUCTIONS:
        raise UnknownName("reduce function", name, REDUCTIONS)
    return REDUCTIONS[name]
