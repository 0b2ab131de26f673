"""Rounding to types: single values against the formats' definitions, and where a run rounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpu_model
import rdu_model
from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.numbers.rounding import every_result, rounded
from patterns.plan import Tiling
from patterns.read import parse_graph
from tests.kinds.plans import call, combine, plan, tiles

# Bits of mantissa, least exponent of a normal number, greatest value: of each format's definition.
FORMATS = {
    "bf16": (7, -126, Fraction(2**8 - 1) * 2**120),
    "fp16": (10, -14, Fraction(65504)),
    "fp8": (3, -6, Fraction(448)),
    "fp8_e4m3": (3, -6, Fraction(448)),
    "fp8_e5m2": (2, -14, Fraction(57344)),
    "fp4_e2m1": (1, 0, Fraction(6)),
}
DOT = """
name: dot
extents: {rows: 1, k: 3, columns: 1}
tensors:
  a: {dims: [rows, k], dtype: bf16, role: input}
  b: {dims: [k, columns], dtype: bf16, role: input}
  c: {dims: [rows, columns], dtype: bf16, role: output}
nodes:
  c: {kind: mm, reads: [a, b]}
"""
# exp of scores is an operand of a product; the sum of it is not.
CHAIN = """
name: chain
extents: {m: 2, k: 8, n: 2}
tensors:
  x: {dims: [m, k], dtype: bf16, role: input}
  w: {dims: [k, n], dtype: bf16, role: weight}
  z: {dims: [m, n], dtype: fp32, role: output}
nodes:
  half: {kind: map, fn: scale, reads: [x], by: 0.3}
  e: {kind: map, fn: exp, reads: [half]}
  s: {kind: reduce, fn: sum, reads: [e], over: [k]}
  y: {kind: mm, reads: [e, w]}
  z: {kind: zip, fn: div, reads: [y, s]}
"""


def nearest(value: float, dtype: str) -> float:
    """The format's nearest number by its definition, of two the one with an even last bit; exact."""
    bits, least, greatest = FORMATS[dtype]
    exact = Fraction(value)
    exponent = least
    while abs(exact) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - bits)
    found = round(exact / step) * step
    if abs(found) <= greatest:
        return float(found)
    saturates = dtype.startswith("fp8") or dtype == "fp4_e2m1"
    return float(np.copysign(float(greatest) if saturates else np.inf, value))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
@example(
    [448.0, 464.0, 480.0, 57344.0, 65536.0, 65520.0, 65519.0, 5.0, 2.5, 0.25, 2.0**-10, 3 * 2.0**-10, 257.0, 259.0]
)
def test_a_value_becomes_the_nearest_of_its_type(values: list[float]) -> None:
    for dtype in FORMATS:
        assert rounded(np.array(values), dtype).tolist() == [nearest(value, dtype) for value in values], dtype


@pytest.mark.parametrize(
    ("dtype", "due"),
    [
        ("bf16", [np.inf, -np.inf, np.nan]),
        ("fp8", [448, -448, np.nan]),
        ("fp8_e5m2", [57344, -57344, np.nan]),
        ("fp4_e2m1", [6, -6, 6]),
        ("int4", [7, -8, 0]),
    ],
)
def test_what_is_no_number_follows_the_rule_of_its_type(dtype: str, due: list[float]) -> None:
    np.testing.assert_array_equal(rounded(np.array([np.inf, -np.inf, np.nan]), dtype), due)


def test_integers_are_rounded_to_the_nearest_and_clipped() -> None:
    assert rounded(np.array([2.5, 3.5, -8.6, 7.4, 200.0]), "int4").tolist() == [2, 4, -8, 7, 7]
    assert rounded(np.array([300, -300]), "int8").tolist() == [127, -128]


def split_dot(dtype: str = "bf16") -> float:
    """[256, 1, -256] times ones, split as [256, 1] and [-256], with the result in a type."""
    made = parse_graph(DOT.replace("{dims: [rows, columns], dtype: bf16", f"{{dims: [rows, columns], dtype: {dtype}"))
    arrays = {"a": np.array([[256.0, 1, -256]]), "b": np.ones((3, 1))}
    halves = call("c", Tiling((), (("k", 2),)), block="dot", name="split")
    done = execute(plan(made, halves, combine("split", block="dot")), arrays, rounding=every_result)
    return float(done["c"][0, 0])


def test_partial_sums_are_kept_in_fp32() -> None:
    """In bf16 257 would become 256, and the sum 0."""
    assert rounded(np.array(257.0), "bf16") == 256
    assert split_dot() == 1.0


def test_accumulators_of_a_tile_are_fp32_too() -> None:
    made = parse_graph(DOT)
    arrays = {"a": np.array([[256.0, 1, -256]]), "b": np.ones((3, 1))}
    looped = plan(made, call("c", Tiling(tiles(k=1)), block="dot"))
    assert execute(looped, arrays, rounding=every_result)["c"] == 1.0


def test_the_result_is_rounded_once() -> None:
    """257 in all: 256 in bf16, and in fp32 itself."""
    made = parse_graph(DOT)
    arrays = {"a": np.array([[256.0, 1, 0]]), "b": np.ones((3, 1))}
    assert evaluate(made, arrays)["c"] == 257
    assert evaluate(made, arrays, rounding=every_result)["c"] == 256


def chain() -> Graph:
    return parse_graph(CHAIN)


def test_machines_say_where_they_round() -> None:
    """A kernel: what it leaves in memory. A section: whatever goes from stage to stage."""
    made = chain()
    nodes = made.blocks[0].nodes
    assert gpu_model.rounded_results(made, nodes) == {"z"}
    assert gpu_model.rounded_results(made, nodes[:2]) == {"e"}
    assert rdu_model.rounded_results(made, nodes) == {"half", "e", "s", "y", "z"}


def test_what_a_kernel_hides_is_not_rounded_and_what_a_section_buffers_is() -> None:
    """By hand: each result in fp32, rounded where it is stored or multiplied; a kernel sums up e as it is."""
    made = chain()
    arrays = random_arrays(made, 3)
    together = plan(made, call("half e s y z", block="chain"))
    x, w = (rounded(arrays[name], "bf16") for name in ("x", "w"))

    def by_hand(between: str) -> np.ndarray:
        half = rounded(x * np.float32(0.3), between)
        e = rounded(np.exp(half), between)
        summed = rounded(e.sum(axis=1, keepdims=True), between)
        return rounded(rounded(e, "bf16") @ w, between) / summed

    for machine, between in ((gpu_model, "fp32"), (rdu_model, "bf16")):
        done = execute(together, arrays, rounding=machine.rounded_results)["z"]
        np.testing.assert_allclose(done, by_hand(between), rtol=1e-6)
    assert not np.allclose(by_hand("fp32"), by_hand("bf16"), rtol=1e-4)


def test_numbers_beyond_an_integer_type_are_refused() -> None:
    made = parse_graph(DOT.replace("a: {dims: [rows, k], dtype: bf16", "a: {dims: [rows, k], dtype: int4"))
    with pytest.raises(UserError, match="'a' has numbers that int4 does not hold: it has -8 to 7"):
        evaluate(made, {"a": np.array([[1, 2, 8]]), "b": np.ones((3, 1))})
    assert random_arrays(made, 1)["a"].min() < 0
