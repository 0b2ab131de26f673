"""What it saves to make nodes one call, beside the calls of a plan that keeps them apart: launches, bytes, and work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from patterns.plan import Call, Plan

WORK = ("matrix_flops", "vector_ops", "special_ops")
OFF_CHIP = ("hbm", "ddr")


@dataclass(frozen=True)
class Gain:
    """Of one call, in a whole run: launches saved, off-chip bytes saved, FLOPs and ops that it issues besides.

    Each may be negative: a call can read again what others would have read once, and can leave out work (sums that stay
    in registers need not be converted).
    """

    call: str
    launches: int
    num_bytes: int
    extra_work: int


def gains(plan: Plan, apart: Plan) -> Iterator[Gain]:
    """What each call saves that holds nodes of several calls of `apart`, in the order of the plan.

    Both are plans of one graph on one machine; a call that puts parts together goes with the call whose parts it takes.
    """
    of_node = {node: call.name for call in apart.calls for node in call.nodes}
    there, here = _with_merges(apart), _with_merges(plan)
    for call in plan.calls:
        names = dict.fromkeys(of_node[node] for node in call.nodes)
        if len(names) < 2 or any(set(apart.call_named[name].nodes) - set(call.nodes) for name in names):
            continue
        others, own = [one for name in names for one in there[name]], here[call.name]
        yield Gain(
            call.name,
            sum(one.count for one in others) - sum(one.count for one in own),
            sum(map(_bytes, others)) - sum(map(_bytes, own)),
            sum(map(_work, own)) - sum(map(_work, others)),
        )


def _with_merges(plan: Plan) -> Mapping[str, list[Call]]:
    """Each call with those that put its parts together."""
    found = {call.name: [call] for call in plan.calls if not call.combines}
    for call in plan.calls:
        if call.combines:
            found[call.combines].append(call)
    return found


def _bytes(call: Call) -> int:
    return call.count * sum(amount for level, amount in call.traffic if level in OFF_CHIP)


def _work(call: Call) -> int:
    return call.count * sum(amount for resource, amount in call.work if resource in WORK)
