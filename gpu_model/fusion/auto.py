"""Fusion where it is predicted to pay: of the legal groups of neighbours, the cheapest set that covers a block.

Neighbours are taken in the order of the block and in the orders that other policies run their kernels in, so that
products of one input are side by side, and every kernel of theirs is a candidate. Dynamic programming over each order
finds the cheapest cut; then kernels of which one needs the other are joined while that pays. Every pair that is left
apart has its reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_model.fusion import epilogue, library, operator
from gpu_model.joining.joins import join_what_pays
from gpu_model.joining.kernel_cost import Cost, Costs, device_time, pace
from gpu_model.joining.legal import Grouping
from gpu_model.joining.partition import cheapest, orders
from gpu_model.policy import joined

RANK = 4
OTHERS = (library, epilogue, operator)
# Cuts of a block that are simulated: those that are predicted to take little more than the best.
MOST_SIMULATED, NEAR = 10, 1.25


def fuse(grouping: Grouping) -> Grouping:
    """The cheapest of what the other policies do and what neighbours allow: as predicted, and as the best few run."""
    predicted = Costs(grouping)
    simulated = predicted.as_run()
    known = [grouping, *(joined(grouping, policy.fuse) for policy in OTHERS)]
    weights = (device_time, pace) if grouping.ask.host_cycles else (device_time,)
    found = [cheapest(order, known, predicted, weigh) for order in orders(known) for weigh in weights]
    best = _best(_near_best([*found, *known], predicted), simulated)
    in_parts = joined(grouping, _join_in_parts)
    weigh = pace if _waits_for_host(best, predicted) else device_time
    return join_what_pays(replace(best, refused=in_parts.refused), (predicted, simulated), weigh)


def _join_in_parts(grouping: Grouping) -> Grouping:
    """Only what goes through dims in parts, to tell why others do not."""
    return library.join_attention(operator.read_as_strides(grouping))


def _best(candidates: Sequence[Grouping], costs: Costs) -> Grouping:
    return min(candidates, key=lambda candidate: _rank(costs.total(candidate.groups())))


def _near_best(candidates: Sequence[Grouping], predicted: Costs) -> list[Grouping]:
    """Those whose prediction may be wrong by enough, the best first."""
    ranked = sorted(candidates, key=lambda candidate: _rank(predicted.total(candidate.groups())))
    least = predicted.total(ranked[0].groups())
    if least is None:
        return ranked[:1]
    totals = [predicted.total(candidate.groups()) for candidate in ranked[:MOST_SIMULATED]]
    near = [cost is not None and cost.time_ps <= least.time_ps * NEAR for cost in totals]
    return [candidate for candidate, is_near in zip(ranked, near, strict=False) if is_near]


def _rank(cost: Cost | None) -> tuple[bool, int, int]:
    return (True, 0, 0) if cost is None else (False, cost.time_ps, cost.device_ps)


def _waits_for_host(grouping: Grouping, costs: Costs) -> bool:
    cost = costs.total(grouping.groups())
    return cost is not None and cost.host_ps > cost.device_ps
