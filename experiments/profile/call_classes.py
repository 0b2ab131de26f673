"""The class of a call of the model, from what its nodes do: the classes that kernels of a recording have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from experiments.profile.classes import OTHER
from patterns.kind import has

if TYPE_CHECKING:
    from patterns.graph import Graph, Node
    from patterns.kind import Trait
    from patterns.plan import Call, Plan
    from patterns.report import Execution

Counts = tuple[tuple[str, int], ...]


def counts_of(plan: Plan) -> Counts:
    """Launches of each class in one run of the graph."""
    counts: Counter[str] = Counter()
    for call in plan.calls:
        counts[class_of_call(plan, call)] += call.count
    return tuple(counts.items())


def times_of(execution: Execution) -> Counts:
    """Picoseconds of the calls of each class in one run of the graph."""
    times: Counter[str] = Counter()
    for call in execution.plan.calls:
        times[class_of_call(execution.plan, call)] += call.count * execution.call_named[call.name].duration_ps
    return tuple(times.items())


def class_of_call(plan: Plan, call: Call) -> str:
    """The class of one call. What combines the parts of another call is of its class."""
    if call.combines:
        return class_of_call(plan, plan.call_named[call.combines])
    if not call.block:
        return "whole graph"
    named = {node.name: node for _, node in plan.graph.nodes()}
    return class_of_nodes(plan.graph, [named[name] for name in call.nodes])


def class_of_nodes(graph: Graph, nodes: Sequence[Node]) -> str:
    """What heads of the nodes: the first rule that holds."""

    def some(trait: Trait) -> bool:
        return any(has(node, trait) for node in nodes)

    if some("communicates"):
        return "communication"
    if some("contracts"):
        return "attention" if _reduces_between_products(nodes) else "matrix product"
    if some("updates"):
        return "rope and cache"
    if some("reduces"):
        return _class_of_reduction(graph, nodes)
    if some("indexes"):
        return "gather and scatter"
    if some("moves") and some("elementwise"):
        return "rope and cache"
    return "elementwise" if some("elementwise") or some("moves") else OTHER


def _class_of_reduction(graph: Graph, nodes: Sequence[Node]) -> str:
    """A token is chosen if the result is an index; a norm has weights of its own."""
    reduced = [graph.tensor_named[node.writes] for node in nodes if has(node, "reduces")]
    if any("int" in tensor.dtype for tensor in reduced):
        return "sampling"
    weighted = any(graph.tensor_named[name].role == "weight" for node in nodes for name in node.reads)
    return "norm" if weighted else "reduction and softmax"


def _reduces_between_products(nodes: Sequence[Node]) -> bool:
    """Whether a product is reduced, and the result is an operand of another product: what attention does."""
    products: set[str] = set()
    reduced: set[str] = set()
    for node in nodes:
        if has(node, "contracts"):
            if reduced.intersection(node.reads):
                return True
            products.add(node.writes)
            continue
        if reduced.intersection(node.reads) or (has(node, "reduces") and products.intersection(node.reads)):
            reduced.add(node.writes)
        if products.intersection(node.reads):
            products.add(node.writes)
    return False
