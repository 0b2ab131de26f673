"""Convolutions that were drawn at random and once went wrong, on the machine and in the way in which they did."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import gpu_model
import rdu_model
from patterns.evaluate import evaluate, random_arrays
from patterns.numbers.execute import execute
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize

# Windows of one element that keep their dim's name; before and after pads and other windows.
KEPT_NAME = """
extents: {b: 1, c: 3, h: 10, w: 13, k: 1, p: 15, o: 5, j: 3}
tensors: {x: {dims: [b, c, h, w], dtype: fp32, role: input}}
nodes:
  ones: {kind: buffer, fn: window, reads: [x], along: h, to: h k}
  wider: {kind: buffer, fn: pad, reads: [ones], along: w, to: p, before: 2, value: lowest}
  taps: {kind: buffer, fn: window, reads: [wider], along: p, to: o j, stride: 3}
  y: {kind: reduce, fn: max, reads: [taps], over: [k, j]}
"""
# The same after pads, with a product that sums over its one element.
KEPT_AFTER_PADS = """
extents: {b: 3, c: 2, h: 4, w: 6, p: 8, q: 8, k: 1, o: 3, j: 4}
tensors:
  x: {dims: [b, c, h, w], dtype: fp32, role: input}
  filters: {dims: [c, k, j], dtype: fp32, role: weight}
nodes:
  taller: {kind: buffer, fn: pad, reads: [x], along: h, to: p, before: 2, after: 2}
  wider: {kind: buffer, fn: pad, reads: [taller], along: w, to: q, after: 2}
  ones: {kind: buffer, fn: window, reads: [wider], along: p, to: p k}
  patches: {kind: buffer, fn: window, reads: [ones], along: q, to: o j, stride: 2}
  conv: {kind: mm, reads: [patches, filters], over: [k, j]}
  y: {kind: map, fn: tanh, reads: [conv]}
"""
# A map that the kernel makes goes through a pad between its elements.
SPREAD_OUT = """
extents: {b: 1, c: 8, h: 9, w: 9, p: 11, oh: 5, kh: 3, ow: 8, kw: 2, o: 16, u: 23}
tensors:
  x: {dims: [b, h, w, c], dtype: fp32, role: input}
  bias: {dims: [c], dtype: fp32, role: weight}
  f: {dims: [kh, kw, c, o], dtype: fp32, role: weight}
nodes:
  biased: {kind: zip, fn: add, reads: [x, bias]}
  taller: {kind: buffer, fn: pad, reads: [biased], along: h, to: p, before: 1, after: 1}
  lines: {kind: buffer, fn: window, reads: [taller], along: p, to: oh kh, stride: 2}
  patches: {kind: buffer, fn: window, reads: [lines], along: w, to: ow kw}
  conv: {kind: mm, reads: [patches, f], over: [c, kh, kw]}
  y: {kind: buffer, fn: pad, reads: [conv], along: ow, to: u, before: 1, between: 2}
"""
# Columns are padded and cut into windows after rows, and are called columns again.
ROWS_FIRST = """
extents: {b: 1, c: 17, h: 24, w: 11, oh: 20, kh: 3, p: 13, kw: 3, o: 16, u: 60}
tensors:
  x: {dims: [b, c, h, w], dtype: fp32, role: input}
  f: {dims: [o, c, kh, kw], dtype: fp32, role: weight}
  bias: {dims: [o], dtype: fp32, role: weight}
nodes:
  lines: {kind: buffer, fn: window, reads: [x], along: h, to: oh kh, dilation: 2}
  wider: {kind: buffer, fn: pad, reads: [lines], along: w, to: p, before: 2}
  patches: {kind: buffer, fn: window, reads: [wider], along: p, to: w kw}
  conv: {kind: mm, reads: [patches, f], over: [c, kh, kw]}
  spread: {kind: buffer, fn: pad, reads: [conv], along: oh, to: u, before: 1, after: 1, between: 2}
  y: {kind: zip, fn: add, reads: [spread, bias]}
"""
# Steps over what is between elements bring nothing, or an element: never less than all of them together.
BETWEEN = """
extents: {b: 3, h: 14, u: 29, o: 10, k: 2}
tensors: {x: {dims: [b, h], dtype: fp32, role: input}}
nodes:
  apart: {kind: buffer, fn: pad, reads: [x], along: h, to: u, before: 1, after: 1, between: 1}
  taps: {kind: buffer, fn: window, reads: [apart], along: u, to: o k, stride: 3}
  y: {kind: reduce, fn: sum, reads: [taps], over: [k]}
"""
GRAPHS: Mapping[str, str] = {
    "kept_name": KEPT_NAME,
    "kept_after_pads": KEPT_AFTER_PADS,
    "spread_out": SPREAD_OUT,
    "rows_first": ROWS_FIRST,
    "between": BETWEEN,
}


def plans(name: str) -> list[Plan]:
    graph = parse_graph(f"name: {name}\n{GRAPHS[name]}", f"{name}.yaml")
    gpu, rdu = gpu_model.load_machine("unit"), rdu_model.load_machine("unit")
    return [
        gpu_model.lower(graph, gpu, policy="epilogue"),
        gpu_model.lower(graph, gpu, policy="auto"),
        rdu_model.lower(graph, rdu, mode="fused"),
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_it_gives_its_numbers_in_no_less_than_its_bound(name: str) -> None:
    for plan in plans(name):
        arrays = random_arrays(plan.graph, 1)
        np.testing.assert_allclose(execute(plan, arrays)["y"], evaluate(plan.graph, arrays)["y"], atol=1e-12)
        assert summarize(run_plan(plan)).time_s > 0
