"""The end of a run's calls by their rule is that of the call level's Program, simulated."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.pipeline import call_times
from patterns.pipeline.call_times import calls_end
from patterns.pipeline.calls import CallStep, schedule_program
from patterns.pipeline.simulate import simulate
from patterns.plan import LaunchCost

COSTS = st.builds(
    LaunchCost,
    st.just("stream"),
    st.sampled_from([0, 7, 300]),
    st.sampled_from([0, 0, 1, 5, 40]),
    st.sampled_from([0, 2, 11]),
    st.integers(0, 4),
    st.sampled_from([0, 0, 3, 60]),
)
STEPS = st.builds(
    CallStep,
    st.just("call"),
    st.integers(0, 50),
    st.sampled_from(["", "a", "b"]),
    st.integers(0, 6),
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(STEPS, max_size=6), COSTS)
def test_it_ends_when_the_simulated_one_does(steps: list[CallStep], launch: LaunchCost) -> None:
    assert calls_end(steps, launch) == simulate(schedule_program(steps, launch)).total_cycles


def test_a_launch_costs_time_only_where_the_device_waits() -> None:
    steps = [CallStep("short", 10), CallStep("long", 100), CallStep("last", 10)]
    # Launched at 30, 60 and 90: the device waits for the first two, and the third waits for the second and a gap of 5.
    assert calls_end(steps, LaunchCost("stream", 0, 30, 5, 8)) == 60 + 100 + 5 + 10
    # One replay at 20 starts all.
    assert calls_end(steps, LaunchCost("graph", 20, 0, 5, 8)) == 20 + 120 + 2 * 5
    # Without a queue, a call is launched when the one before is done.
    assert calls_end(steps, LaunchCost("stream", 0, 30, 5, 0)) == 3 * 30 + 120


def test_very_many_launches_are_left_to_the_simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_times, "MOST_LAUNCHES", 5)
    assert calls_end([CallStep("call", 1, "", 6)], LaunchCost("stream", 0, 1, 0, 1)) is None
