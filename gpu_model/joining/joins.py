"""Kernels of which one needs the other: joined while that pays, else the reason why they stay apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from gpu_model.joining.kernel_cost import Cost, Costs
from gpu_model.joining.legal import Group, Grouping
from patterns.plan import Refusal

REASON = "predicted to take less than its parts"
PS_PER_US = 1_000_000


def join_what_pays(grouping: Grouping, costs: Sequence[Costs], weigh: Callable[[Cost], int]) -> Grouping:
    """Pairs joined as long as one pays by each of the costs; then every pair that is left, refused with its reason."""
    joined = True
    while joined:
        joined = False
        refused: list[Refusal] = []
        for first, second in _pairs(grouping):
            if grouping.of[first.names[0]] is not first or grouping.of[second.names[0]] is not second:
                continue
            both = grouping.together((first, second), REASON)
            why = _why_apart(grouping, both, (first, second), costs, weigh)
            if why:
                refused.append(Refusal(both.names, why))
            else:
                grouping, joined = grouping.settled(both, ""), True
    return replace(grouping, refused=(*grouping.refused, *refused))


def _pairs(grouping: Grouping) -> Iterator[tuple[Group, Group]]:
    """Kernels of which the second reads what the first makes, each pair once."""
    seen: set[tuple[int, int]] = set()
    for second in grouping.groups():
        for node in second.nodes:
            for first in filter(None, (grouping.maker(name) for name in node.reads)):
                if first is not second and (id(first), id(second)) not in seen:
                    seen.add((id(first), id(second)))
                    yield first, second


def _why_apart(
    grouping: Grouping, both: Group, pair: tuple[Group, Group], costs: Iterable[Costs], weigh: Callable[[Cost], int]
) -> str:
    """Why two kernels do not become one, '' if they should."""
    online = next((group for group in pair if group.online), None)
    if online is not None:
        return f"{online.names[0]}..{online.names[-1]} goes through {', '.join(online.online)} in parts, by itself"
    why = grouping.refusal(both)
    if why:
        return why
    for how in costs:
        cost, apart = how.of(both), how.total(pair)
        if cost is None or apart is None:
            return "no tile of both together fits an SM"
        if weigh(cost) >= weigh(apart):
            return _not_profitable(weigh(cost), weigh(apart))
    return ""


def _not_profitable(together_ps: int, apart_ps: int) -> str:
    together, apart = together_ps / PS_PER_US, apart_ps / PS_PER_US
    more = f"{(together_ps - apart_ps) / PS_PER_US:,.2f} us more"
    return f"not profitable: {together:,.2f} us as one kernel, {apart:,.2f} us as two with the gap between, {more}"
