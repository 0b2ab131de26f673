"""How long the RDU's compiler takes, in seconds of processor time, with nothing compiled before.

The limits are for a processor that nothing else uses. Run with `pytest -s -o addopts=--import-mode=importlib
tests/benchmarks`.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from patterns.graph import Graph
from patterns.library import workload
from patterns.read import parse_graph
from rdu_model import Choices, compile_graph, load_machine
from rdu_model.cache import forget

MACHINE = load_machine("sn40l")
LLAMAS = {"llama-3.1-8b": 1, "llama-3.1-70b": 16, "llama-3.1-405b": 16}
NODES = 2000
HEAD = """
name: large
extents: {rows: 64, columns: 256, other: 128}
tensors:
  x: {dims: [rows, columns], dtype: bf16, role: input}
  w: {dims: [columns, other], dtype: bf16, role: weight}
  v: {dims: [other, columns], dtype: bf16, role: weight}
nodes:
"""


def chain() -> Graph:
    """Nodes one after another."""
    nodes = [f"  n{at}: {{kind: map, fn: square, reads: [{f'n{at - 1}' if at else 'x'}]}}" for at in range(NODES)]
    return parse_graph(HEAD + "\n".join(nodes) + "\n", "large.yaml", {})


def residual() -> Graph:
    """Blocks of a norm, two products and a sum with what came in."""
    nodes, last = [], "x"
    for at in range(NODES // 6):
        nodes += [
            f"  a{at}: {{kind: reduce, fn: mean, reads: [{last}], over: [columns]}}",
            f"  b{at}: {{kind: zip, fn: sub, reads: [{last}, a{at}]}}",
            f"  c{at}: {{kind: mm, reads: [b{at}, w]}}",
            f"  d{at}: {{kind: map, fn: exp, reads: [c{at}]}}",
            f"  e{at}: {{kind: mm, reads: [d{at}, v]}}",
            f"  f{at}: {{kind: zip, fn: add, reads: [e{at}, {last}]}}",
        ]
        last = f"f{at}"
    return parse_graph(HEAD + "\n".join(nodes) + "\n", "large.yaml", {})


def seconds(graph: Graph, mode: str, members: int = 1) -> float:
    """Processor time of a compilation."""
    forget()
    begin = time.process_time()
    compile_graph(graph, MACHINE, Choices(mode), members)
    return time.process_time() - begin


@pytest.mark.parametrize("make", [chain, residual])
@pytest.mark.parametrize("mode", ["fused", "unfused"])
def test_two_thousand_nodes_in_a_block(make: Callable[[], Graph], mode: str) -> None:
    taken_s = seconds(make(), mode)
    print(f"\n{make.__name__} of {NODES} nodes, {mode}: {taken_s:.2f} s (limit 10 s)")
    assert taken_s < 10


@pytest.mark.parametrize("phase", ["decode", "prefill"])
@pytest.mark.parametrize("model", LLAMAS)
def test_llama(model: str, phase: str) -> None:
    members = LLAMAS[model]
    graph = workload(model, phase=phase, context=8192 if members > 1 else 2048, members=members)
    taken_s = seconds(graph, "looped", members)
    print(f"\n{model} {phase} on {members} sockets: {taken_s:.2f} s (limit 4 s)")
    assert taken_s < 4
