"""A state is read as it was by all that read it so before anything writes over it, whatever is fused."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model import load_machine, lower, policy_names
from patterns.evaluate import evaluate, random_arrays
from patterns.numbers.execute import execute
from patterns.read import parse_graph

TEXT = """
name: written_over
extents: {{b: 2, n: 8}}
tensors:
  x: {{dims: [b, n], dtype: fp32, role: input}}
  at: {{dims: [b], dtype: int32, role: input}}
  kept: {{dims: [b, n], dtype: fp32, role: state}}
nodes:
  new: {{kind: map, fn: neg, reads: [x]}}
  y: {{kind: reduce, fn: sum, reads: [kept], over: [n]}}
  written: {write}
"""
STORE = "{kind: store, reads: [kept, new]}"
SCATTER = "{kind: scatter, fn: set, reads: [kept, at, new], along: b}"


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize("write", [STORE, SCATTER])
def test_what_reads_a_state_as_it_was_comes_before_what_writes_over_it(policy: str, write: str) -> None:
    graph = parse_graph(TEXT.format(write=write), "written_over.yaml")
    plan = lower(graph, load_machine("h100_sxm"), policy=policy)
    arrays = random_arrays(graph, 1)
    expected = evaluate(graph, arrays)
    found = execute(plan, arrays)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], err_msg=name)


def test_what_reads_a_state_as_it_was_stays_in_the_order_of_the_file() -> None:
    others = "".join(
        f"  other_{n}: {{kind: reduce, fn: max, reads: [kept], over: [{'bn'[n % 2]}]}}\n" for n in range(8)
    )
    graph = parse_graph(TEXT.format(write=STORE).replace("  written:", f"{others}  written:"), "written_over.yaml")
    # The store is in one kernel with `new`, which is before them all.
    plan = lower(graph, load_machine("h100_sxm"), policy="operator")
    found = [call.nodes for call in plan.calls]
    assert found == [("y",), *((f"other_{n}",) for n in range(8)), ("new", "written")]
