"""The parts of a device's time against a count of every tick."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiments.profile.account import account
from experiments.profile.attribution import Started
from experiments.profile.durations import durations
from experiments.profile.parted import PARTS, parted
from experiments.profile.profiled import DeviceProfile, Row
from experiments.profile.recording import Device
from tests.profile.test_account import COMPUTE, COPY, NCCL, on_device

CLASSES = {COMPUTE: "matrix product", COPY: "copy", NCCL: "communication"}


def device(work: list[Started], window: tuple[int, int]) -> DeviceProfile:
    """What the parts are made of: the account, and of the classes which there are."""
    names = dict.fromkeys(CLASSES[one.kernel.name] for one in work)
    rows = tuple(Row(name, name, durations([1]), 1) for name in names)
    return DeviceProfile(Device(0, "GPU 0"), (), account(work, window), rows, (), 0, 0, 0, 0)


def part_at(work: list[Started], tick: int) -> str:
    """What a tick belongs to."""
    names = {one.kernel.name for one in work if one.kernel.start <= tick < one.kernel.end}
    if {COMPUTE, NCCL} <= names:
        return "both"
    return next((part for part, name in zip(PARTS, (COMPUTE, "", NCCL, COPY), strict=False) if name in names), "idle")


works = st.lists(
    st.tuples(st.sampled_from(list(CLASSES)), st.integers(1, 3), st.integers(0, 30), st.integers(1, 15)),
    min_size=1,
    max_size=9,
)


@settings(max_examples=60)
@given(works)
@example([(COMPUTE, 1, 0, 10), (NCCL, 2, 5, 10), (COPY, 3, 8, 20)])
@example([(NCCL, 1, 3, 4)])
def test_parts_are_what_every_tick_says_and_add_up(made: list[tuple[str, int, int, int]]) -> None:
    work = sorted(
        (on_device(name, stream, start, start + lasts) for name, stream, start, lasts in made),
        key=lambda one: (one.kernel.start, one.kernel.end),
    )
    window = (0, max(one.kernel.end for one in work))
    found = parted(device(work, window))
    ticks = [part_at(work, tick) for tick in range(*window)]
    assert dict(found.of_part) == {part: ticks.count(part) for part in PARTS}
    assert sum(found.of_part.values()) == found.span_ns == window[1]
    assert found.compute_ns == ticks.count("compute") + ticks.count("both")
    assert found.communication_ns == ticks.count("communication") + ticks.count("both")
