"""Windows and pads: convolutions and poolings against loops over scalars, on pictures that are no squares."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import kind_of
from patterns.move import moves
from patterns.read import parse_graph
from patterns.write import write_graph

Array = NDArray[np.float64]


def line(n: int, out: int, k: int, **given: int) -> Graph:
    """Windows along one dim of a line."""
    more = "".join(f", {name}: {value}" for name, value in given.items())
    return parse_graph(
        f"""name: line
extents: {{n: {n}, out: {out}, k: {k}}}
tensors: {{x: {{dims: [n], dtype: fp16, role: input}}}}
nodes: {{z: {{kind: buffer, fn: window, reads: [x], along: n, to: out k{more}}}}}
""",
        "line.yaml",
    )


def conv2d(x: Array, w: Array, pad: tuple[int, int], stride: int, dilation: int) -> Array:
    """A convolution as its definition says, element by element."""
    (images, _, rows, columns), (outs, ins, high, wide) = x.shape, w.shape
    out_rows = (rows + 2 * pad[0] - dilation * (high - 1) - 1) // stride + 1
    out_columns = (columns + 2 * pad[1] - dilation * (wide - 1) - 1) // stride + 1
    made = np.zeros((images, outs, out_rows, out_columns))
    for n, o, i, j in np.ndindex(made.shape):
        for c, u, v in product(range(ins), range(high), range(wide)):
            row, column = i * stride + u * dilation - pad[0], j * stride + v * dilation - pad[1]
            if 0 <= row < rows and 0 <= column < columns:
                made[n, o, i, j] += x[n, c, row, column] * w[o, c, u, v]
    return made


def conv(stride: int = 1, dilation: int = 1, hp: str = "h + 2", before: str = "1") -> Graph:
    """A padded convolution; what is given takes the place of what is right."""
    text = f"""name: conv
extents: {{n: 2, c: 3, o: 4, h: 7, w: 6, kh: 3, kw: 2, hp: {hp}, wp: w + 2, s: {stride}, d: {dilation},
  oh: (hp - d * (kh - 1) - 1) // s + 1, ow: (wp - d * (kw - 1) - 1) // s + 1}}
tensors:
  x: {{dims: [n, c, h, w], dtype: fp32, role: input}}
  f: {{dims: [o, c, kh, kw], dtype: fp32, role: weight}}
  y: {{dims: [n, o, oh, ow], dtype: fp32, role: output}}
nodes:
  xh: {{kind: buffer, fn: pad, reads: [x], along: h, to: hp, before: {before}, after: 1}}
  xw: {{kind: buffer, fn: pad, reads: [xh], along: w, to: wp, before: 1, after: 1}}
  rows: {{kind: buffer, fn: window, reads: [xw], along: hp, to: oh kh, stride: s, dilation: d}}
  taps: {{kind: buffer, fn: window, reads: [rows], along: wp, to: ow kw, stride: s, dilation: d}}
  y: {{kind: mm, reads: [taps, f], over: [c, kh, kw]}}
"""
    return parse_graph(text, "conv.yaml")


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_a_convolution_is_what_its_definition_says(stride: int, dilation: int) -> None:
    made = conv(stride, dilation)
    arrays = random_arrays(made, 1)
    found = evaluate(made, arrays)["y"]
    np.testing.assert_allclose(found, conv2d(arrays["x"], arrays["f"], (1, 1), stride, dilation), atol=1e-12)
    assert parse_graph(write_graph(made), "again.yaml") == made


def test_a_causal_convolution_reads_no_later_element() -> None:
    made = parse_graph(
        """name: causal
extents: {l: 5, d: 2, k: 4, lp: l + k - 1}
tensors:
  x: {dims: [l, d], dtype: fp32, role: input}
  w: {dims: [d, k], dtype: fp32, role: weight}
nodes:
  padded: {kind: buffer, fn: pad, reads: [x], along: l, to: lp, before: k - 1}
  taps: {kind: buffer, fn: window, reads: [padded], along: lp, to: l k}
  y: {kind: mm, reads: [taps, w], over: [k]}
""",
        "causal.yaml",
    )
    arrays = random_arrays(made, 2)
    due = np.zeros((5, 2))
    for at, channel, back in np.ndindex(5, 2, 4):
        if at - back >= 0:
            due[at, channel] += arrays["x"][at - back, channel] * arrays["w"][channel, 3 - back]
    np.testing.assert_allclose(evaluate(made, arrays)["y"], due, atol=1e-12)


def test_what_pads_a_maximum_is_less_than_every_number() -> None:
    made = parse_graph(
        """name: pool
extents: {n: 5, np: n + 2, out: 3, k: 3}
tensors: {x: {dims: [n], dtype: fp32, role: input}}
nodes:
  padded: {kind: buffer, fn: pad, reads: [x], along: n, to: np, before: 1, after: 1, value: lowest}
  taps: {kind: buffer, fn: window, reads: [padded], along: np, to: out k, stride: 2}
  y: {kind: reduce, fn: max, reads: [taps], over: [k]}
""",
        "pool.yaml",
    )
    found = evaluate(made, {"x": np.array([-5.0, -3, -4, -1, -2])})["y"]
    np.testing.assert_array_equal(found, [-3, -1, -1])


def test_elements_are_put_between_others_repeated_and_turned_round() -> None:
    made = parse_graph(
        """name: more
extents: {n: 3, wide: 7, u: 2, large: n * u}
tensors: {x: {dims: [n], dtype: fp32, role: input}}
nodes:
  apart: {kind: buffer, fn: pad, reads: [x], along: n, to: wide, after: 2, between: 1, value: 9}
  twice: {kind: buffer, fn: repeat, reads: [x], to: u}
  enlarged: {kind: buffer, fn: merge, reads: [twice], parts: n u, to: large}
  turned: {kind: buffer, fn: flip, reads: [x], along: n}
""",
        "more.yaml",
    )
    found = evaluate(made, {"x": np.array([1.0, 2, 3])})
    np.testing.assert_array_equal(found["apart"], [1, 9, 2, 9, 3, 9, 9])
    np.testing.assert_array_equal(found["enlarged"], [1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(found["turned"], [3, 2, 1])
    assert parse_graph(write_graph(made), "again.yaml") == made


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 5), st.integers(1, 4))
def test_an_element_that_several_windows_have_is_touched_once(out: int, k: int, stride: int, dilation: int) -> None:
    """Also in a tile of the windows. The definition, counted one by one."""
    n = (out - 1) * stride + dilation * (k - 1) + 1
    made = line(n, out, k, stride=stride, dilation=dilation)
    node = made.blocks[0].nodes[0]
    for tile in range(1, out + 1):
        different = {o * stride + j * dilation for o in range(tile) for j in range(k)}
        found = kind_of(node).touched(node, made, {**made.sizes, "out": tile})
        assert found == ((len(different),), tile * k)
    np.testing.assert_array_equal(
        evaluate(made, {"x": np.arange(n)})["z"],
        np.add.outer(np.arange(out) * stride, np.arange(k) * dilation),
    )


def test_a_window_must_fit_and_its_count_be_right() -> None:
    with pytest.raises(SpecError, match=r"effective window 5 \(2 \* \(3 - 1\) \+ 1\) is larger than input 4"):
        line(4, 1, 3, stride=2, dilation=2)
    with pytest.raises(SpecError, match="effective window 5 is larger than input 4, the extent of 'n'"):
        line(4, 1, 5)
    with pytest.raises(SpecError, match="7 elements of 'n' have 3 windows of 3 with stride 2, and 'out' has extent 4"):
        line(7, 4, 3, stride=2)
    with pytest.raises(SpecError, match="stride is 0, and the least is 1"):
        line(7, 5, 3, stride=0)
    with pytest.raises(SpecError, match="dilation is -1, and the least is 1"):
        line(7, 5, 3, dilation=-1)
    with pytest.raises(SpecError, match="to must be two dims"):
        parse_graph(
            "name: x\nextents: {n: 4, m: 4}\ntensors: {x: {dims: [n], dtype: fp16, role: input}}\n"
            "nodes: {z: {kind: buffer, fn: window, reads: [x], along: n, to: m}}\n",
            "x.yaml",
        )
    with pytest.raises(SpecError, match="'h' padded is 1 \\+ 7 \\+ 1 = 9, and 'hp' has extent 8"):
        conv(hp="h + 1")
    with pytest.raises(SpecError, match="before is -1: a pad only adds"):
        conv(before="-1")


def test_a_window_that_does_not_fit_is_told_where_its_count_comes_to_nothing() -> None:
    """Rounded down (4 - 4 - 1) / 2 + 1 is 0, rounded to zero it is 1: neither is what is wrong."""
    text = """name: s
extents: {n: 4, k: 3, out: (n - 2 * (k - 1) - 1) // 2 + 1}
tensors: {x: {dims: [n], dtype: fp16, role: input}}
nodes: {z: {kind: buffer, fn: window, reads: [x], along: n, to: out k, stride: 2, dilation: 2}}
"""
    with pytest.raises(SpecError, match=r"effective window 5 \(2 \* \(3 - 1\) \+ 1\) is larger than input 4"):
        parse_graph(text, "s.yaml")


def test_integers_are_padded_with_whole_numbers() -> None:
    text = """name: s
extents: {n: 4, m: 6}
tensors: {x: {dims: [n], dtype: int32, role: input}}
nodes: {z: {kind: buffer, fn: pad, reads: [x], along: n, to: m, before: 1, after: 1, value: VALUE}}
"""
    with pytest.raises(SpecError, match=r"value is 0.5, and x is int32: a whole number is due"):
        parse_graph(text.replace("VALUE", "0.5"), "s.yaml")
    made = parse_graph(text.replace("VALUE", "-3"), "s.yaml")
    np.testing.assert_array_equal(evaluate(made, {"x": np.array([1, 2, 3, 4])})["z"], [-3, 1, 2, 3, 4, -3])


def test_what_fills_a_pad_is_a_number_or_the_lowest() -> None:
    with pytest.raises(SpecError, match=r"4:72: nodes.z.value: a number or `lowest` is due, found 'highest'") as told:
        parse_graph(
            "name: x\nextents: {n: 4, m: 4}\ntensors: {x: {dims: [n], dtype: fp16, role: input}}\n"
            "nodes: {z: {kind: buffer, fn: pad, reads: [x], along: n, to: m, value: highest}}\n",
            "x.yaml",
        )
    assert len(told.value.mistakes) == 1


def test_a_field_means_the_same_in_every_access_pattern() -> None:
    """A buffer is read by one model: a field of two types would have that of the last file."""
    types: dict[str, object] = {}
    for move in moves().values():
        for name, kind in move.TAKES.items():
            assert types.setdefault(name, kind) == kind, name
