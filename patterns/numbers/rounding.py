"""Numbers as their types hold them: what a value becomes in bf16, fp8 or int4, and which results of a call are rounded.

Rules. To the nearest value, of two equally near ones the even one. fp32, bf16 and fp16 overflow to infinity; fp8_e4m3
(greatest 448), fp8_e5m2 (57,344) and fp4_e2m1 (6) saturate, infinity included, as conversions for matrix units do.
Integers are clipped to their range. NaN stays NaN where the type has one; fp4 takes its greatest value, an integer 0.

A run with rounding computes in fp32: sums and what is not stored stay in it. Inputs, weights and states are rounded as
they are given; a result where it is stored, which is the machine's affair (`RoundedResults`); an operand of a matrix
product as it is read, whether it was stored or not. Partial sums of a split dim are stored in fp32 and rounded once,
when they are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from patterns.dtypes import dtype_bits, is_integer
from patterns.graph import Graph, Node

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What arithmetic is done in, and what results that are not stored stay in.
COMPUTED = "fp32"
PRECISION = "float32"
# No result of a call is rounded.
NOT_ROUNDED: Mapping[str, str] = {}
# Of the nodes of one call, the tensors that are rounded to their types where they are made.
RoundedResults = Callable[[Graph, Sequence[Node]], Collection[str]]

# Floats by their names in numpy or ml_dtypes, with the greatest value of those that saturate.
_FLOATS: Mapping[str, tuple[str, float]] = {
    "fp32": ("float32", 0.0),
    "bf16": ("bfloat16", 0.0),
    "fp16": ("float16", 0.0),
    "fp8": ("float8_e4m3fn", 448.0),
    "fp8_e4m3": ("float8_e4m3fn", 448.0),
    "fp8_e5m2": ("float8_e5m2", 57344.0),
    "fp4_e2m1": ("float4_e2m1fn", 6.0),
}


def every_result(graph: Graph, nodes: Sequence[Node]) -> frozenset[str]:
    """Every result is stored, as if each node were a call of its own."""
    return frozenset(node.writes for node in nodes)


def rounded(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The nearest values that a type has, as fp32, which holds them all; of an integer type in the array's own."""
    import numpy

    if is_integer(dtype):
        return _whole(array, dtype)
    name, greatest = _FLOATS[dtype]
    values: NDArray[np.float32] = numpy.asarray(array).astype(numpy.float32)
    if name == PRECISION:
        return values
    if greatest:
        values = numpy.clip(values, -greatest, greatest)
        values = numpy.nan_to_num(values, nan=greatest) if dtype == "fp4_e2m1" else values
    with numpy.errstate(over="ignore"):
        result: NDArray[np.float32] = values.astype(_float_type(name)).astype(numpy.float32)
    return result


def _float_type(name: str) -> Any:
    import ml_dtypes
    import numpy

    return getattr(ml_dtypes, name) if hasattr(ml_dtypes, name) else numpy.dtype(name)


def range_of(dtype: str) -> tuple[int, int]:
    """The least and the greatest value of an integer type."""
    half = 1 << (dtype_bits(dtype) - 1)
    return -half, half - 1


def _whole(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    import numpy

    least, greatest = range_of(dtype)
    if array.dtype.kind in "iu":
        whole: NDArray[Any] = numpy.clip(array, least, greatest)
        return whole
    numbers = numpy.nan_to_num(numpy.rint(array), nan=0.0, posinf=greatest, neginf=least)
    result: NDArray[Any] = numpy.clip(numbers, least, greatest)
    return result


def kept_types(graph: Graph, nodes: Sequence[Node], rounds: RoundedResults | None) -> Mapping[str, str]:
    """The type in which each result of a call's nodes is kept until it is read; {} where numbers are not rounded."""
    if rounds is None:
        return NOT_ROUNDED
    chosen = rounds(graph, nodes)
    types = {node.writes: graph.tensor_named[node.writes].dtype for node in nodes}
    return {name: dtype if name in chosen else unstored_type(dtype) for name, dtype in types.items()}


def all_rounded(arrays: list[NDArray[Any]], dtype: str | None) -> list[NDArray[Any]]:
    """Each member's array rounded to a type; as it is if there is none."""
    return arrays if dtype is None else [rounded(array, dtype) for array in arrays]


def unstored_type(dtype: str) -> str:
    """The type of a result of some type that stays in registers."""
    return dtype if is_integer(dtype) else COMPUTED
