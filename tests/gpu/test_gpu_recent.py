"""What a kernel finds in the L2: what was just made, if little has passed since; never weights of other layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import load_machine, lower
from patterns.graph import Graph
from patterns.plan import Plan
from patterns.read import parse_graph
from patterns.run import run_plan

H100 = load_machine("h100_sxm")


def chain(count: int, points: int, carried: bool = True) -> Graph:
    """A block that scales a vector, count times."""
    return parse_graph(
        f"""
name: chain
extents: {{n: {points}}}
tensors:
  x: {{dims: [n], dtype: fp32, role: input}}
  bias: {{dims: [n], dtype: fp32, role: input}}
blocks:
  step:
    count: {count}
    {"carried: {x: scaled}" if carried else ""}
    nodes:
      moved: {{kind: zip, fn: add, reads: [x, bias]}}
      scaled: {{kind: map, fn: neg, reads: [moved]}}
""",
        "chain.yaml",
        {},
    )


def hbm(plan: Plan) -> dict[str, int]:
    return {call.name: dict(call.traffic)["hbm"] for call in plan.calls}


def test_what_the_kernel_before_made_is_read_from_the_l2() -> None:
    num_bytes = 4 * 2**20
    moved = hbm(lower(chain(3, 2**20), H100, policy="pattern"))
    # The bias is no kernel's; the vector is the execution's before, and is written all the same.
    assert moved == {"step.moved": num_bytes + num_bytes, "step.scaled": num_bytes}
    # The first of executions that carry nothing on finds nothing.
    once = hbm(lower(chain(1, 2**20, carried=False), H100, policy="pattern"))
    assert once == {"step.moved": 3 * num_bytes, "step.scaled": num_bytes}


@pytest.mark.parametrize(("l2_bytes", "found"), [(2**20, True), (2**19, False)])
def test_it_is_gone_when_more_has_passed_than_the_l2_holds(l2_bytes: int, found: bool) -> None:
    # 256 KiB each: the vector has been written, and is read again together with the bias.
    num_bytes = 4 * 2**16
    machine = replace(H100, l2_bytes=l2_bytes)
    moved = hbm(lower(chain(3, 2**16), machine, policy="pattern"))
    assert moved["step.moved"] == (2 if found else 3) * num_bytes


def test_it_arrives_sooner() -> None:
    near = run_plan(lower(chain(1, 2**12), H100, policy="pattern")).calls[1].timeline.total_cycles
    far = run_plan(lower(chain(1, 2**12), replace(H100, l2_bytes=1), policy="pattern")).calls[1].timeline.total_cycles
    assert far - near == pytest.approx(H100.load_latency_cycles - H100.l2_latency_cycles, abs=10)
