"""A comparison made by hand for pages: hostile names, a period that repeats, and a call of 20,000 spans that do not."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from experiments.compare import Comparison, Outcome
from experiments.request import Request
from patterns.graph import Graph, Node, Tensor
from patterns.pipeline.program import Program, Role
from patterns.pipeline.script import Loop, Run
from patterns.plan import Call, Plan, Refusal
from patterns.run import run_plan
from patterns.summarize import summarize
from tests.pipeline.view_programs import CONSUME, SM_UNITS, load, persistent
from tests.report_plans import GRAPH, HEAD_CALL, LAYER_CALL, PLAN, RATES

HOSTILE = '"></script><script>window.hacked=1</script>'
QUOTES = "e<ü>\"'&"
SPANS = 20_000
TRIPS = 100_000
CLOCK_HZ = 10**9


def uneven() -> Program:
    """As many spans as a page holds of one call, of lengths that never repeat, so that nothing is folded."""
    lengths = [100 + (number * number) % 997 + number // 7 for number in range(SPANS // 2)]
    roles = [
        Role(unit, tuple(Run(unit, cycles, f"{unit} {number % 9}") for number, cycles in enumerate(lengths)))
        for unit in ("tc", "mem")
    ]
    return Program("uneven", SM_UNITS, (), tuple(roles))


def periodic() -> Program:
    """A producer and a consumer that repeat a step very often."""
    producer = Role("producer", (Loop(TRIPS, load(10)),))
    consumer = Role("consumer", (Loop(TRIPS, CONSUME),))
    return Program("periodic", SM_UNITS, persistent(1, 1).channels, (producer, consumer))


def hostile_graph() -> Graph:
    """The graph of the small plan with names that break out of what is not escaped."""
    (block,) = GRAPH.blocks
    tensors = (
        replace(GRAPH.tensor_named["x"], block="layers"),
        replace(GRAPH.tensor_named["w"], name=QUOTES),
        Tensor(HOSTILE, ("rows", "n"), "bf16", "output"),
    )
    node = Node(HOSTILE, "mm", "", ("x", QUOTES), HOSTILE, ("k",))
    return replace(GRAPH, name=f"four {QUOTES} layers", tensors=tensors, blocks=(replace(block, nodes=(node,)),))


def plan(family: str, mode: str, *calls: Call) -> Plan:
    """A plan of the hostile graph."""
    machine = {"gpu": "h100_sxm", "rdu": "sn40l"}[family]
    refused = (Refusal((HOSTILE, QUOTES), "because <b>it</b> is so"),)
    graph = hostile_graph()
    return replace(
        PLAN, machine=machine, family=family, mode=mode, graph=graph, calls=calls, refusals=refused, rates=RATES
    )


@cache
def comparison() -> Comparison:
    """A GPU in two modes and an RDU in one."""
    named = replace(LAYER_CALL, name=HOSTILE, nodes=(HOSTILE,), reason=QUOTES)
    folded = replace(LAYER_CALL, name="folded", program=periodic(), clock_hz=CLOCK_HZ, count=1, block="a")
    many = replace(HEAD_CALL, name="many", program=uneven(), clock_hz=CLOCK_HZ)
    plans = (
        plan("gpu", "operator", named, HEAD_CALL),
        plan("gpu", "library", named, many),
        plan("rdu", "looped", folded, replace(HEAD_CALL, block="b")),
    )
    executions = [run_plan(one) for one in plans]
    outcomes = tuple(Outcome(execution, summarize(execution)) for execution in executions)
    return Comparison(Request("softmax"), hostile_graph(), outcomes)
