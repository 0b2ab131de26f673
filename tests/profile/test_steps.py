"""Which ranges are steps, what was launched in each, and what belongs to none."""

from __future__ import annotations

import pytest

from experiments.profile.attribution import started
from experiments.profile.profiled import Profile, profile
from experiments.profile.recording import Device, Kernel, Launch, Range, Recording
from experiments.profile.steps import find_steps
from patterns.errors import UserError
from tests.profile.runs import GEMM, NORM, PROCESS, THREAD, Run


def recording(kernels: list[Kernel], launches: list[Launch], ranges: list[Range]) -> Recording:
    """As a reader makes it."""
    numbers = sorted({kernel.device for kernel in kernels})
    return Recording(
        file="made",
        format="made",
        version="",
        devices=tuple(Device(number, f"GPU {number}") for number in numbers),
        kernels=tuple(sorted(kernels, key=lambda one: (one.start, one.end))),
        launches=tuple(sorted(launches, key=lambda one: one.start)),
        ranges=tuple(sorted(ranges, key=lambda one: (one.start, -one.end))),
    )


def profiled(run: Run, step: str = "") -> Profile:
    return profile(recording(*run.rows), step)


def tokens(count: int, kernels: int = 3) -> Run:
    run = Run()
    for number in range(count):
        run.step(f"decode_step {number}", [(GEMM, 1_000)] * kernels)
    return run


def test_every_step_has_as_many_kernels_as_were_launched_in_it() -> None:
    run = Run()
    for number, kernels in enumerate((5, 3, 3, 4, 3)):
        run.step(f"ProfilerStep#{number}", [(GEMM, 1_000)] * kernels)
    (device,) = profiled(run).devices
    assert [step.kernels for step in device.steps] == [5, 3, 3, 4, 3]
    assert device.kernels_per_step == 3


def test_the_name_that_is_a_token_goes_before_the_profilers_step_and_the_range_of_all() -> None:
    run = Run()
    begin = run.now
    for outer in range(2):
        start = run.now
        for inner in range(3):
            run.step(f"decode {outer * 3 + inner}", [(NORM, 500), (GEMM, 1_000)])
        run.ranges.append(Range(f"ProfilerStep#{outer}", PROCESS, THREAD, start, run.now))
    run.ranges.append(Range("generate", PROCESS, THREAD, begin, run.now))
    found = profiled(run).steps
    assert (found.name, len(found.steps)) == ("decode N", 6)
    assert {one.name: one.kernels for one in found.candidates} == {"decode N": 12, "ProfilerStep#N": 12, "generate": 12}
    asked = profiled(run, "^Profiler").steps
    assert [len(step.work) for step in asked.steps] == [6, 6]


def test_a_name_like_a_step_that_holds_little_is_not_chosen() -> None:
    run = Run()
    for number in range(4):
        run.step(f"layer {number}", [(GEMM, 1_000)] * 9)
    for _ in range(4):
        run.step("decode", [(NORM, 100)])
    assert profiled(run).steps.name == "layer N"


def test_ranges_within_ranges_of_the_same_kind_are_parts_of_them() -> None:
    run = tokens(2)
    first = run.ranges[0]
    run.ranges.append(first._replace(name="decode_step 9", start=first.start + 2_600))
    found = profiled(run, "decode").steps
    assert [step.name for step in found.steps] == ["decode_step 0", "decode_step 1"]
    assert [len(step.work) for step in found.steps] == [3, 3]


def test_kernels_without_a_launch_and_between_steps_are_apart() -> None:
    run = tokens(2)
    run.launch([(NORM, 700)])
    before = Kernel(
        GEMM, "kernel", 0, 7, run.kernels[0].start - 9_000, run.kernels[0].start - 5_000, PROCESS, 999, False
    )
    run.kernels.append(before)
    (device,) = profiled(run).devices
    assert (device.unattributed, device.unattributed_ns) == (1, 4_000)
    assert (device.outside, device.outside_ns) == (1, 700)
    assert [step.kernels for step in device.steps] == [3, 3]
    assert sum(row.durations.count for row in device.kernels) == 6


def test_launches_of_another_thread_belong_to_the_step_that_runs() -> None:
    """The backward pass launches from a thread of its own."""
    run = tokens(2, kernels=2)
    run.launches[1] = run.launches[1]._replace(thread=THREAD + 1)
    assert [step.kernels for step in profiled(run).devices[0].steps] == [2, 2]


def test_of_two_threads_with_steps_each_launch_belongs_to_its_own() -> None:
    one, other = Run(), Run(device=1)
    one.step("step 0", [(GEMM, 1_000)] * 2)
    other.step("step 0", [(GEMM, 1_000)] * 5)
    shifted = [launch._replace(thread=9, correlation=launch.correlation + 50) for launch in other.launches]
    kernels = [kernel._replace(correlation=kernel.correlation + 50) for kernel in other.kernels]
    ranges = [one_range._replace(thread=9) for one_range in other.ranges]
    found = profile(recording([*one.kernels, *kernels], [*one.launches, *shifted], [*one.ranges, *ranges]))
    assert [device.kernels_per_step for device in found.devices] == [2, 5]


def test_a_graph_is_one_launch_of_many_kernels() -> None:
    run = Run()
    for number in range(3):
        run.step(f"decode {number}", [(GEMM, 1_000)] * 40, graph=True)
    found = profiled(run)
    assert found.devices[0].kernels_per_step == 40
    assert (found.host.graph_launches, found.host.in_graphs) == (3, 120)
    (call,) = found.host.calls
    assert (call.name, call.calls.count, call.kernels.min_ns, call.kernels.max_ns) == ("cudaGraphLaunch", 3, 40, 40)


def test_launch_numbers_that_are_used_again_mean_the_last_before_the_kernel() -> None:
    launches = [Launch("cudaLaunchKernel", 1, 1, start, start + 10, 5) for start in (0, 1_000)]
    kernels = [Kernel(GEMM, "kernel", 0, 7, start, start + 100, 0, 5, False) for start in (50, 1_500)]
    found = started(recording(kernels, launches, []))
    assert [one.launch for one in found] == launches


def test_without_ranges_the_whole_recording_is_one_step() -> None:
    run = tokens(3)
    run.ranges.clear()
    found = profiled(run)
    assert (found.steps.marked, len(found.steps.steps), found.devices[0].kernels_per_step) == (False, 1, 9)
    assert found.steps.why == "the program marked no ranges"


def test_without_launches_the_kernels_are_still_told() -> None:
    run = tokens(2)
    found = profile(recording(run.kernels, [], run.ranges))
    assert found.devices[0].kernels_per_step == 6
    assert found.devices[0].unattributed == 0
    assert found.host.calls == ()


def test_a_step_takes_from_its_first_kernel_to_the_first_of_the_next() -> None:
    run = tokens(3)
    (device,) = profiled(run).devices
    starts = [run.kernels[place].start for place in (0, 3, 6)]
    assert starts[1] - starts[0] == starts[2] - starts[1] == device.step_ns
    assert device.account.span_ns == run.kernels[-1].end - run.kernels[0].start


def test_how_far_the_host_runs_ahead_is_from_its_return_to_the_first_kernel() -> None:
    run = Run(host_ns=1_000, latency_ns=500, gap_ns=0)
    run.step("decode", [(GEMM, 5_000)] * 3, synchronise=False)
    ahead = profiled(run).host.ahead
    assert ahead is not None
    assert (ahead.min_ns, ahead.median_ns, ahead.max_ns) == (500, 4_500, 8_500)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("encode_step", "with launches there is: 'decode_step N' x 2"),
        ("(", "is no regular expression"),
        ("idle", "no kernel was launched in a range of 'idle'"),
    ],
)
def test_a_name_that_no_step_has_is_refused_with_those_there_are(asked: str, told: str) -> None:
    run = tokens(2)
    run.ranges.append(Range("idle", PROCESS, THREAD, run.now + 10, run.now + 20))
    rows = recording(*run.rows)
    with pytest.raises(UserError, match=told.replace("(", r"\(")):
        find_steps(started(rows), rows.ranges, asked)
