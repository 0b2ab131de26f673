"""The functions of a map: one array, and scalars."""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import Any

from patterns.functions.function import Function, named


def _tanh_gelu(np: Any, x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


def _tanh_gelu_slope(np: Any, x: Any) -> Any:
    curve = np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))
    return 0.5 * (1 + curve) + 0.5 * x * (1 - curve * curve) * sqrt(2 / pi) * (1 + 3 * 0.044715 * x * x)


def _sigmoid(np: Any, x: Any) -> Any:
    # exp(-|x|) never overflows; the two halves are the same function.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


def _silu_slope(np: Any, x: Any) -> Any:
    rises = _sigmoid(np, x)
    return rises * (1 + x * (1 - rises))


def _scale(np: Any, x: Any, by: float = 1.0, inverse_root: int = 1) -> Any:
    return x * (by / sqrt(inverse_root))


def _erf(np: Any, x: Any) -> Any:
    return np.vectorize(erf, otypes=[float])(x) if np.size(x) else x


def _softplus(np: Any, x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


MAP = named(
    Function("copy", 1, lambda np, x: np.array(x)),
    Function("zero", 1, lambda np, x: np.zeros_like(x)),
    Function(
        "cast",
        1,
        lambda np, x, dtype: np.trunc(x).astype("int64") if dtype.startswith("int") else np.array(x),
        1,
        0,
        ("dtype",),
    ),
    Function("neg", 1, lambda np, x: -x, 1, affine=True),
    Function("abs", 1, lambda np, x: np.abs(x), 1),
    Function("square", 1, lambda np, x: x * x, 1),
    Function("relu", 1, lambda np, x: np.maximum(x, 0), 1),
    Function("scale", 1, _scale, 1, 0, ("by", "inverse_root"), affine=True),
    Function("shift", 1, lambda np, x, by: x + by, 1, 0, ("by",), affine=True),
    # 1 where an element is less than `by`, or where it is not.
    Function("below", 1, lambda np, x, by: (x < by) * 1.0, 1, 0, ("by",)),
    Function("not_below", 1, lambda np, x, by: (x >= by) * 1.0, 1, 0, ("by",)),
    # To the nearest whole number, of two equally near ones the even one.
    Function("round", 1, lambda np, x: np.rint(x), 1),
    Function("at_least", 1, lambda np, x, by: np.maximum(x, by), 1, 0, ("by",)),
    Function("at_most", 1, lambda np, x, by: np.minimum(x, by), 1, 0, ("by",)),
    Function("exp", 1, lambda np, x: np.exp(x), 1, 1),
    Function("log", 1, lambda np, x: np.log(x), 1, 1),
    Function("reciprocal", 1, lambda np, x: 1 / x, 0, 1),
    Function("sqrt", 1, lambda np, x: np.sqrt(x), 1, 1),
    Function("rsqrt", 1, lambda np, x, eps=0.0: 1 / np.sqrt(x + eps), 1, 1, ("eps",)),
    Function("tanh", 1, lambda np, x: np.tanh(x), 0, 1),
    Function("sigmoid", 1, _sigmoid, 2, 2),
    Function("silu", 1, lambda np, x: x * _sigmoid(np, x), 3, 2),
    Function("gelu", 1, _tanh_gelu, 5, 1),
    # gelu with the error function itself, not the curve that stands for it. A polynomial of degree 5 in 1 / (1 + p x)
    # times e^(-x * x), Abramowitz and Stegun 7.1.26.
    Function("erf", 1, _erf, 9, 2),
    Function("gelu_erf", 1, lambda np, x: 0.5 * x * (1 + _erf(np, x / sqrt(2))), 12, 2),
    Function("leaky_relu", 1, lambda np, x, by: np.where(x < 0, x * by, x), 2, 0, ("by",)),
    Function("elu", 1, lambda np, x, by: np.where(x < 0, by * np.expm1(np.minimum(x, 0)), x), 3, 1, ("by",)),
    Function("softplus", 1, _softplus, 5, 2),
    Function("sin", 1, lambda np, x: np.sin(x), 1, 1),
    Function("cos", 1, lambda np, x: np.cos(x), 1, 1),
    Function("power", 1, lambda np, x, by: np.power(x, by), 1, 2, ("by",)),
    Function("floor", 1, lambda np, x: np.floor(x), 1),
    Function("ceil", 1, lambda np, x: np.ceil(x), 1),
    Function("sign", 1, lambda np, x: np.sign(x), 1),
    # Truth is 1 or 0.
    Function("not", 1, lambda np, x: (x == 0) * 1.0, 1),
    Function("nonzero", 1, lambda np, x: (x != 0) * 1.0, 1),
    Function("is_nan", 1, lambda np, x: np.isnan(x) * 1.0, 1),
    # The derivatives of gelu and silu, for backward passes.
    Function("gelu_slope", 1, _tanh_gelu_slope, 9, 1),
    Function("silu_slope", 1, _silu_slope, 5, 2),
)
