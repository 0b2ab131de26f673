"""A profile as a page for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from experiments.profile.durations import Durations
from experiments.profile.profiled import DeviceProfile, Profile, Row
from experiments.profile.told import (
    apart_text,
    beside_text,
    busy_text,
    counts_text,
    gaps_text,
    heading,
    launches_text,
    ns_text,
    pace_text,
    short_name,
    steps_text,
)
from experiments.text.page import Part
from experiments.text.quantity import digits
from experiments.text.table import Column, Table
from patterns.plural import number_of

# Columns and their order are those of Nsight Systems.
NSIGHT = ("Time\n(%)", "Total\n(us)", "Instances", "Avg\n(us)", "Med\n(us)", "Min\n(us)", "Max\n(us)", "StdDev\n(us)")
NAME_LETTERS = 50
HOST = "Host, in the steps"


def profile_parts(profile: Profile, top: int) -> Iterator[Part]:
    """The page: what was read, the steps, and of each device its time, its classes and its longest kernels."""
    yield heading(profile)
    yield steps_text(profile)
    for device in profile.devices:
        yield device_text(device)
        yield f"Kernels by class, of {device_name(device)}"
        yield classes_table(device.classes)
        if top:
            yield kernels_title(device, top)
            yield kernels_table(device, top)
        yield beside_text(device)
    yield "\n".join((HOST, *(f"  {line}" for line in launches_text(profile))))


def kernels_title(device: DeviceProfile, top: int) -> str:
    """What the table of kernels by name is of."""
    count = len(device.kernels)
    which = f"the {top} of {count:,} names that take longest" if count > top else "all names"
    return f"Kernels by name, of {device_name(device)}: {which}"


def device_name(device: DeviceProfile) -> str:
    """'GPU 0 (NVIDIA H100)'."""
    number = f"GPU {device.device.number}"
    return number if device.device.name == number else f"{number} ({device.device.name})"


def device_text(device: DeviceProfile) -> str:
    """The figures of one device, a line each below its name."""
    return "\n".join((device_title(device), *(f"  {line}" for line in device_lines(device))))


def device_title(device: DeviceProfile) -> str:
    """Its name, and on how many streams it worked."""
    return f"{device_name(device)}, {number_of(device.account.streams, 'stream')}"


def device_lines(device: DeviceProfile) -> list[str]:
    """The figures of one device."""
    return [
        counts_text(device),
        *apart_text(device),
        f"a step takes {ns_text(device.step_ns)}" + (", from first kernel to first kernel" if device.steps[1:] else ""),
        busy_text(device),
        gaps_text(device),
        pace_text(device),
    ]


def classes_table(rows: Sequence[Row]) -> Table:
    """Classes in the columns of Nsight Systems, and how many a step has."""
    whole = sum(row.durations.total_ns for row in rows)
    columns = (*(Column(heading) for heading in NSIGHT), Column("A step"), Column("Class", right=False))
    texts = ((*figures(row.durations, whole), f"{row.per_step:,}", row.name) for row in rows)
    return Table(columns, tuple(texts), keys=0)


def kernels_table(device: DeviceProfile, top: int) -> Table:
    """The first kernels by name in the first of these columns; all of them are in the CSV."""
    whole = sum(row.durations.total_ns for row in device.kernels)
    columns = (*(Column(heading) for heading in NSIGHT[:5]), Column("A step"), Column("Name", right=False))
    texts = (
        (*figures(row.durations, whole)[:5], f"{row.per_step:,}", short_name(row.name, NAME_LETTERS))
        for row in device.kernels[:top]
    )
    return Table(columns, tuple(texts), keys=0)


def figures(one: Durations, whole: int) -> tuple[str, ...]:
    """The figures of one row; times are us."""
    times = (one.mean_ns, one.median_ns, one.min_ns, one.max_ns, one.spread_ns)
    share = f"{100 * one.total_ns / whole:.1f}" if whole else "-"
    return (share, digits(one.total_ns / 1e3), f"{one.count:,}", *(digits(time / 1e3) for time in times))
