"""Scalar functions: their numbers against Python's own mathematics, and reductions in parts."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.errors import UnknownName
from patterns.functions.by_name import FUNCTIONS, function, reduction
from patterns.functions.of_map import MAP
from patterns.functions.of_reduce import REDUCTIONS
from patterns.functions.of_zip import MASKED, ZIP

NUMBERS = [-30.0, -1.5, -0.25, 0.5, 1.0, 2.0, 700.0]
POSITIVE = [0.25, 1.0, 9.0]


def gelu(x: float) -> float:
    return x * 0.5 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def silu(x: float) -> float:
    return x / (1 + math.exp(-x))


MAP_MEANING: dict[str, Callable[[float], float]] = {
    "copy": lambda x: x,
    "zero": lambda x: 0.0,
    "neg": lambda x: -x,
    "abs": abs,
    "square": lambda x: x**2,
    "relu": lambda x: max(x, 0.0),
    "tanh": math.tanh,
    "sigmoid": lambda x: math.exp(x) / (1 + math.exp(x)),
    "silu": silu,
    "gelu": gelu,
    # A central difference, good to 1e-9.
    "gelu_slope": lambda x: (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5,
    "silu_slope": lambda x: (silu(x + 1e-5) - silu(x - 1e-5)) / 2e-5,
    "exp": math.exp,
    "erf": math.erf,
    "gelu_erf": lambda x: x * NormalDist().cdf(x),
    "softplus": lambda x: math.log(1 + math.exp(x)),
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "sign": lambda x: (x > 0) - (x < 0),
    "not": lambda x: float(x == 0),
    "nonzero": lambda x: float(x != 0),
    "is_nan": lambda x: 0,
}
WITH_SCALARS = ("scale", "shift", "cast", "at_least", "at_most", "leaky_relu", "elu", "power", "below", "not_below")
POSITIVE_MEANING: dict[str, Callable[[float], float]] = {
    "log": math.log,
    "reciprocal": lambda x: 1 / x,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1 / math.sqrt(x),
}


@pytest.mark.parametrize("name", MAP_MEANING)
def test_a_map_is_the_function_of_its_name(name: str) -> None:
    assert MAP[name](np.array(NUMBERS)) == pytest.approx([MAP_MEANING[name](x) for x in NUMBERS])


@pytest.mark.parametrize("name", POSITIVE_MEANING)
def test_a_map_of_positive_numbers_is_the_function_of_its_name(name: str) -> None:
    assert MAP[name](np.array(POSITIVE)) == pytest.approx([POSITIVE_MEANING[name](x) for x in POSITIVE])


def test_functions_take_their_scalars() -> None:
    x = np.array([3.0])
    assert MAP["scale"](x, by=2.0) == 6
    assert MAP["scale"](x, inverse_root=16) == 0.75
    assert MAP["shift"](x, by=-1.0) == 2
    assert MAP["at_least"](x, by=4.0) == 4
    assert MAP["at_most"](x, by=2.5) == 2.5
    assert [MAP[name](x, by=by).item() for name in ("below", "not_below") for by in (2.5, 3.0, 3.5)] == [
        0,
        0,
        1,
        1,
        1,
        0,
    ]
    assert MAP["rsqrt"](x, eps=1.0) == 0.5
    whole = MAP["cast"](np.array([-2.7]), dtype="int32")
    assert (whole.item(), whole.dtype.kind) == (-2, "i")
    assert MAP["leaky_relu"](np.array([-3.0, 3.0]), by=0.1) == pytest.approx([-0.3, 3])
    assert MAP["elu"](np.array([-3.0, 3.0]), by=2.0) == pytest.approx([2 * (math.exp(-3) - 1), 3])
    assert MAP["power"](x, by=2.5) == pytest.approx(3**2.5)
    assert MAP["is_nan"](np.array([math.nan, 1.0])).tolist() == [1, 0]
    assert MAP["cast"](np.array([-2.7]), dtype="fp8") == -2.7


def test_every_map_was_tried() -> None:
    assert set(MAP) == {*MAP_MEANING, *POSITIVE_MEANING, *WITH_SCALARS}


def test_zips_are_the_functions_of_their_names() -> None:
    x, y = np.array([6.0, 1.0]), np.array([2.0, 4.0])
    expected = {
        "add": [8, 5],
        "sub": [4, -3],
        "mul": [12, 4],
        "div": [3, 0.25],
        "max": [6, 4],
        "min": [2, 1],
        "equal": [0, 0],
        "less": [0, 1],
        "not_less": [1, 0],
    }
    assert {name: list(ZIP[name](x, y)) for name in expected} == expected
    assert list(ZIP["equal"](x, np.array([6.0, 4.0]))) == [1, 0]
    assert list(ZIP["where"](np.array([0, 2]), x, y)) == [2, 1]
    assert set(ZIP) == {*expected, "where", "causal", "sliding_window"}


def test_a_causal_mask_hides_keys_after_the_query() -> None:
    score, query, key = np.ones((2, 3)), np.array([[0], [2]]), np.array([[0, 1, 2]])
    assert ZIP["causal"](score, query, key).tolist() == [[1, MASKED, MASKED], [1, 1, 1]]
    assert np.exp(MASKED - 5) == 0
    assert np.isneginf(ZIP["sub"](np.array([MASKED, 1.0]), np.array([MASKED, np.inf]))).all()
    assert ZIP["div"](np.array([0.0, 1.0, 6.0]), np.array([0.0, 4.0, 3.0])).tolist() == [0, 0.25, 2]


def test_a_window_hides_what_is_so_much_before_the_query() -> None:
    query, key = np.array([[2], [5]]), np.array([[0, 1, 2, 3, 4, 5]])
    seen = ZIP["sliding_window"](np.ones((2, 6)), query, key, window=2) == 1
    assert seen.astype(int).tolist() == [[0, 1, 1, 0, 0, 0], [0, 0, 0, 0, 1, 1]]


def test_an_element_costs_what_the_rule_says() -> None:
    cost = {(kind, f.name): (f.vector_ops, f.special_ops) for kind in FUNCTIONS for f in FUNCTIONS[kind].values()}
    assert cost["map", "exp"] == (1, 1)  # 2**(x log2 e)
    assert cost["zip", "div"] == (1, 1)  # x times 1/y
    assert cost["map", "silu"] == (3, 2)  # -x log2 e, 1 + e, x times: 2**, 1/
    assert cost["map", "copy"] == cost["map", "zero"] == (0, 0)


@pytest.mark.parametrize(("kind", "name"), [("map", "exq"), ("zip", "ad")])
def test_an_unknown_function_is_refused(kind: str, name: str) -> None:
    with pytest.raises(UnknownName, match=rf"unknown {kind} function '{name}' \(did you mean"):
        function(kind, name)


def test_an_unknown_reduction_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"unknown reduce function 'summ' \(did you mean 'sum'\?\)"):
        reduction("summ")


@given(
    st.sampled_from(sorted(REDUCTIONS)),
    st.lists(st.integers(-3, 3), min_size=2, max_size=12),
    st.integers(1, 11),
)
def test_a_reduction_in_parts_is_that_of_the_whole(name: str, numbers: list[int], cut: int) -> None:
    of, x, at = REDUCTIONS[name], np.array([numbers, numbers[::-1]], dtype=float), min(cut, len(numbers) - 1)
    parts = of.merge(np, of.part(np, x[:, :at], (1,), 0), of.part(np, x[:, at:], (1,), at))
    means = {"sum": x.sum, "max": x.max, "min": x.min, "mean": x.mean, "argmax": x.argmax}
    whole = x[:, -1] if name == "last" else means[name](axis=1)
    assert of.finish(parts) == pytest.approx(whole)
