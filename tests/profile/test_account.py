"""Busy, idle, gaps and overlap against a count of every tick, and figures worked out by hand."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiments.intervals import common, gaps, length, union
from experiments.profile.account import BANDS_NS, SORTS, Account, account
from experiments.profile.attribution import Started
from experiments.profile.recording import Kernel, Launch

COMPUTE, COPY, NCCL = "gemm_kernel", "Memcpy HtoD", "ncclDevKernel_AllReduce_Sum"
SORT_OF = {COMPUTE: "compute", COPY: "copy", NCCL: "communication"}


def on_device(name: str, stream: int, start: int, end: int, returned: int | None = None) -> Started:
    """A kernel, and the call that launched it, which returned then."""
    launch = None if returned is None else Launch("cudaLaunchKernel", 1, 1, returned - 1, returned, 1)
    return Started(Kernel(name, "kernel", 0, stream, start, end, 1, 1, False), launch)


def of_ticks(work: list[Started], window: tuple[int, int]) -> dict[str, object]:
    """The same figures by looking at every tick of the window."""
    ticks = range(*window)

    def at_work(tick: int, sort: str = "", stream: int | None = None) -> int:
        return sum(
            one.kernel.start <= tick < one.kernel.end
            and (not sort or SORT_OF[one.kernel.name] == sort)
            and (stream is None or one.kernel.stream == stream)
            for one in work
        )

    streams = {one.kernel.stream for one in work}
    busy = [at_work(tick) > 0 for tick in ticks]
    total = sum(at_work(tick) for tick in ticks)
    return {
        "busy": sum(busy),
        "sum": total,
        "within": total - sum(at_work(tick, stream=stream) > 0 for stream in streams for tick in ticks),
        "idle": len(busy) - sum(busy),
        **{f"{a},{b}": sum(at_work(t, a) > 0 < at_work(t, b) for t in ticks) for a, b in combinations(SORTS, 2)},
    }


works = st.lists(
    st.tuples(st.sampled_from(list(SORT_OF)), st.integers(1, 3), st.integers(0, 40), st.integers(0, 15)), max_size=9
)


@settings(max_examples=60)
@given(works, st.integers(0, 20), st.integers(1, 40))
@example([(COMPUTE, 1, 0, 10), (COMPUTE, 2, 5, 10), (COMPUTE, 1, 20, 5)], 0, 25)
def test_every_tick_is_counted_as_it_should_be(made: list[tuple[str, int, int, int]], low: int, span: int) -> None:
    work = sorted(
        (on_device(name, stream, start, start + lasts) for name, stream, start, lasts in made),
        key=lambda one: (one.kernel.start, one.kernel.end),
    )
    window = (low, low + span)
    found, expected = account(work, window), of_ticks(work, window)
    assert found.busy_ns == expected["busy"]
    assert found.sum_ns == expected["sum"]
    assert found.idle_ns == expected["idle"] == sum(band.total_ns for band in found.gaps)
    assert found.stream_overlap_ns == expected["within"]
    for pair in found.beside:
        assert pair.both_ns == expected[f"{pair.one},{pair.other}"]


def test_overlapping_kernels_of_two_streams_are_busy_once() -> None:
    """0 to 10 and 20 to 25 on one stream, 5 to 15 on another: 25 long, 25 in sum, 20 busy, 5 idle."""
    work = [on_device(COMPUTE, 0, 0, 10), on_device(COMPUTE, 1, 5, 15), on_device(COMPUTE, 0, 20, 25)]
    found = account(work, (0, 25))
    assert (found.span_ns, found.sum_ns, found.busy_ns, found.idle_ns) == (25, 25, 20, 5)
    assert found.stream_overlap_ns == 0


def test_kernels_of_one_stream_overlap_under_programmatic_launch() -> None:
    work = [on_device(COMPUTE, 0, 0, 10), on_device(COMPUTE, 0, 8, 20)]
    found = account(work, (0, 20))
    assert (found.sum_ns, found.busy_ns, found.stream_overlap_ns) == (22, 20, 2)


def test_gaps_fall_into_bands_by_their_length() -> None:
    edges = [0, 1_999, 2_000, 9_999, 10_000, 50_000]
    work, at = [], 0
    for gap in edges:
        at += gap
        work.append(on_device(COMPUTE, 0, at, at + 100))
        at += 100
    bands = account(work, (0, at)).gaps
    assert [(band.name, band.count, band.total_ns) for band in bands] == [
        ("under 2 us", 1, 1_999),
        ("2 to 10 us", 2, 11_999),
        ("over 10 us", 2, 60_000),
    ]
    assert [band.name for band in bands] == [name for name, _, _ in BANDS_NS]


@pytest.mark.parametrize(
    ("returned", "waited"),
    [(5, 0), (10, 0), (14, 4), (20, 10), (25, 10)],
    ids=["long before", "as the gap begins", "in the gap", "as it ends", "after its kernel began"],
)
def test_a_gap_is_the_hosts_until_the_launch_returns(returned: int, waited: int) -> None:
    work = [on_device(COMPUTE, 0, 0, 10, 0), on_device(COMPUTE, 0, 20, 30, returned)]
    found = account(work, (0, 30))
    assert (found.host_wait_ns, found.unknown_ns) == (waited, 0)


def test_a_gap_before_a_kernel_without_a_launch_is_nobodys() -> None:
    found = account([on_device(COMPUTE, 0, 0, 10, 0), on_device(COMPUTE, 0, 20, 30)], (0, 30))
    assert (found.host_wait_ns, found.unknown_ns) == (0, 10)


def test_communication_beside_compute_is_told_as_the_time_of_both() -> None:
    found = account([on_device(COMPUTE, 7, 0, 100), on_device(NCCL, 20, 60, 140)], (0, 140))
    (pair,) = found.beside
    assert (pair.one, pair.other, pair.one_ns, pair.other_ns, pair.both_ns) == (
        "compute", "communication", 100, 80, 40,
    )  # fmt: skip


def test_nothing_at_all_is_idle() -> None:
    found = account([], (0, 7))
    assert isinstance(found, Account)
    assert (found.busy_ns, found.idle_ns, found.beside) == (0, 7, ())


def test_unions_neither_touch_nor_overlap() -> None:
    merged = union([(5, 9), (0, 5), (12, 12), (20, 22), (21, 30)])
    assert merged == ((0, 9), (20, 30))
    assert length(merged) == 19
    assert common(merged, ((8, 21),)) == ((8, 9), (20, 21))
    assert gaps(merged, (2, 40)) == ((9, 20), (30, 40))
    assert gaps(merged, (10, 15)) == ((10, 15),)
