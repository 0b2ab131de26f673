"""The call level: launches cost time only where the device waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import pytest

from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.overlap import account
from patterns.pipeline.simulate import simulate

US = 10**6


@dataclass(frozen=True)
class Cost:
    once_ps: int = 0
    host_ps: int = 0
    device_ps: int = 0
    queue_depth: int = 1024
    prologue_ps: int = 0


def whole_us(steps: Sequence[CallStep], cost: Cost) -> float:
    return simulate(schedule_program(steps, cost), spans=False).total_cycles / US


def parts(steps: Sequence[CallStep], cost: Cost) -> dict[str, int]:
    program = schedule_program(steps, cost)
    return {name: ps // US for name, ps in account(program, simulate(program)) if ps}


@pytest.mark.parametrize(("exec_us", "expected_us"), [(2, 402), (4, 404), (10, 1004)])
def test_a_stream_of_a_hundred_kernels(exec_us: int, expected_us: int) -> None:
    assert whole_us([CallStep("k", exec_us * US, "b", 100)], Cost(host_ps=4 * US)) == expected_us


def test_a_long_kernel_hides_the_launches_behind_it() -> None:
    steps = [CallStep("long", 50 * US), CallStep("short", 2 * US, "b", 20)]
    assert whole_us(steps, Cost(host_ps=4 * US)) == 94
    # Two launches ahead are too few: the host stands still while the long kernel runs.
    assert whole_us(steps, Cost(host_ps=4 * US, queue_depth=2)) > 94


def test_plain_graph_and_fused_side_by_side() -> None:
    kernels = [CallStep("k", 2 * US, "b", 100)]
    assert whole_us(kernels, Cost(host_ps=4 * US)) == 402
    assert whole_us(kernels, Cost(once_ps=8 * US, device_ps=US)) == 307
    assert whole_us([CallStep("fused", 200 * US)], Cost(host_ps=4 * US)) == 204


def test_gaps_have_names() -> None:
    kernels = [CallStep("k", 2 * US, "b", 100)]
    assert parts(kernels, Cost(once_ps=8 * US, device_ps=US)) == {
        "exposed_matrix": 200,
        "synchronisation": 99,
        "launch": 8,
    }
    # The gap of 1 us passes while the launch of 4 us is awaited.
    assert parts(kernels, Cost(host_ps=4 * US, device_ps=US)) == {
        "exposed_matrix": 200,
        "synchronisation": 99,
        "launch": 103,
    }


def test_a_collective_holds_the_links_and_the_device_waits_for_it() -> None:
    steps = [CallStep("mm", 5 * US, "b", 3), CallStep("sum", 2 * US, "b", 3, collective=True)]
    assert parts(steps, Cost()) == {"exposed_matrix": 15, "exposed_network": 6}


def test_without_a_queue_the_host_waits_for_every_call() -> None:
    cost = Cost(host_ps=4 * US, queue_depth=0)
    assert parts([CallStep("k", 10 * US, "b", 5)], cost) == {"exposed_matrix": 50, "launch": 20}


def test_a_prologue_passes_while_the_call_before_runs() -> None:
    kernels = [CallStep("k", 5 * US, "b", 10)]
    assert whole_us(kernels, Cost(once_ps=8 * US, device_ps=US, prologue_ps=3 * US)) == 8 + 3 + 50 + 9
    # A call that is shorter than the next one's prologue leaves a part of that to be waited for.
    assert whole_us(kernels, Cost(prologue_ps=7 * US)) == 10 * 7 + 5
    assert parts(kernels, Cost(prologue_ps=7 * US)) == {"exposed_matrix": 50, "launch": 25}


def test_steps_of_a_block_repeat_together() -> None:
    steps = [CallStep("a", 1, "x"), CallStep("b", 2, "y", 3), CallStep("c", 3, "y", 3), CallStep("d", 4, "z", 3)]
    spans = simulate(schedule_program(steps, Cost())).spans
    labels = [span.label for span in spans if span.unit == "device"]
    assert "".join(labels) == "abcbcbcddd"


def test_a_plan_without_calls_takes_no_time() -> None:
    assert whole_us([], Cost()) == 0
    assert whole_us([CallStep("k", 5, "b", 0)], Cost(host_ps=3, device_ps=2)) == 0


def by_recurrence(durations: Sequence[int], cost: Cost) -> int:
    """The end of the last call, with start[i] = max(launch i done, prologue i done, end[i-1] + gap).

    Prologue i begins when launch i is done and call i - 1 has started; with one, it takes the launch from the queue.
    """
    starts: list[int] = []
    taken: list[int] = []
    host, end, ready = cost.once_ps, 0, 0
    for number, duration in enumerate(durations):
        if cost.host_ps:
            blocker = number - max(cost.queue_depth, 1)
            if cost.prologue_ps:
                free = taken[blocker] if blocker >= 0 else 0
            else:
                free = starts[blocker] + (0 if cost.queue_depth else durations[blocker]) if blocker >= 0 else 0
            host = max(host, free) + cost.host_ps
        if cost.prologue_ps:
            taken.append(max(host, ready))
            ready = max(taken[-1], starts[-1] if starts else 0) + cost.prologue_ps
        starts.append(max(host, ready, end + cost.device_ps if number else 0))
        end = starts[-1] + duration
    return end


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_recurrence_of_launches(seed: int) -> None:
    draw = Random(seed)
    blocks = [
        (f"b{i}", draw.choice((1, 2, 7)), [draw.randint(0, 9) for _ in range(draw.randint(1, 3))]) for i in range(3)
    ]
    steps = [CallStep(f"{b}.{i}", d, b, count) for b, count, durations in blocks for i, d in enumerate(durations)]
    cost = Cost(
        draw.choice((0, 5)),
        draw.choice((0, 3)),
        draw.choice((0, 2)),
        draw.choice((0, 1, 2, 50)),
        draw.choice((0, 0, 1, 6)),
    )
    in_order = [duration for _, count, durations in blocks for _ in range(count) for duration in durations]
    assert simulate(schedule_program(steps, cost)).total_cycles == by_recurrence(in_order, cost)
