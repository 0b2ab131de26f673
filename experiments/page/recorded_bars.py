"""Bars of a recording: a device's time in parts, its idle time by gaps, its classes, and a step beside the model's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.page.bars import WIDTH_PERCENT, Account, Row, pieces_of
from experiments.profile.classes import drawn_as
from experiments.profile.parted import PARTS, Parted, parted
from experiments.profile.show import device_name, figures
from experiments.profile.told import ns_text, percent
from experiments.text.quantity import time_text

if TYPE_CHECKING:
    from experiments.profile.against import Against
    from experiments.profile.profiled import DeviceProfile

# In whose colour each part is drawn.
PART_STYLES: Mapping[str, str] = {
    "compute": "matrix",
    "both": "overlapped",
    "communication": "network",
    "copy": "memory",
    "idle": "idle",
}
GAP_STYLES = ("launch", "sync", "in_flight")
RECORDED, PREDICTED = "recorded", "predicted"


def parts_row(label: str, times: Parted, value: str, scale: float, steps: int) -> Row:
    """A bar of a device's time. scale: percent of the width a ns; steps: by how many the parts' times are divided."""
    amounts = [times.of_part[part] / steps for part in PARTS]
    texts = [
        f"{words}: {ns_text(amount)} ({percent(times.of_part[part], times.span_ns)})"
        for (part, words), amount in zip(PARTS.items(), amounts, strict=True)
    ]
    return row_of(label, [PART_STYLES[part] for part in PARTS], amounts, texts, value, scale)


def row_of(
    label: str, styles: Sequence[str], amounts: Sequence[float], texts: Sequence[str], value: str, scale: float
) -> Row:
    """A bar of pieces, and what it says to those who do not see it."""
    pieces = tuple(pieces_of(styles, amounts, texts, scale))
    return Row(label, pieces, value, f"{label}, {value}: {'; '.join(piece.text for piece in pieces)}")


def part_names(all_times: Sequence[Parted]) -> tuple[tuple[str, str], ...]:
    """(style, words) of the parts that any bar has."""
    return tuple(
        (PART_STYLES[part], words) for part, words in PARTS.items() if any(one.of_part[part] for one in all_times)
    )


def device_bars(device: DeviceProfile) -> Account:
    """The device's window by what ran, and its idle time by the length of gaps, on one scale."""
    times, account = parted(device), device.account
    scale = WIDTH_PERCENT / (account.span_ns or 1)
    whole = parts_row("what ran", times, ns_text(account.span_ns), scale, 1)
    texts = [
        f"gaps {band.name}: {band.count:,} ({ns_text(band.total_ns)}, {percent(band.total_ns, account.idle_ns)})"
        for band in account.gaps
    ]
    # On a scale of its own: of a busy device nothing would be seen of it.
    own = WIDTH_PERCENT / (account.idle_ns or 1)
    amounts = [band.total_ns for band in account.gaps]
    gaps = row_of("of it idle, by gaps", GAP_STYLES, amounts, texts, ns_text(account.idle_ns), own)
    title = f"{ns_text(account.span_ns)} from the first kernel of the steps to the end of the last"
    bands = zip(GAP_STYLES, account.gaps, strict=True)
    names = ((style, f"gaps {band.name}") for style, band in bands if band.count)
    return Account(title, (whole, gaps) if account.idle_ns else (whole,), (*part_names([times]), *names))


def class_bars(device: DeviceProfile) -> Account:
    """A bar a class, as long as its kernels took, the longest as long as there is room."""
    whole = sum(row.durations.total_ns for row in device.classes)
    scale = WIDTH_PERCENT / (max(row.durations.total_ns for row in device.classes) or 1)
    style = drawn_as()
    rows = []
    for row in device.classes:
        share, total, *_ = figures(row.durations, whole)
        text = f"{row.name}: {total} us, {row.per_step:,} kernels a step"
        rows.append(row_of(row.name, [style[row.name]], [row.durations.total_ns], [text], f"{share}%", scale))
    return Account(f"Kernels by class, of {device_name(device)}", tuple(rows), ())


def step_bars(found: Against) -> Account:
    """A step as it was recorded, and one run of every mode of the model."""
    measured_ps = round(found.device.step_ns * 1000)
    scale = WIDTH_PERCENT / (max([measured_ps, *(one.time_ps for one in found.predicted)]) or 1)
    times = [(f"{found.device.device.name}, recorded", RECORDED, measured_ps)]
    times += [(f"{one.machine} {one.mode}", PREDICTED, one.time_ps) for one in found.predicted]
    rows = (
        row_of(label, [style], [time_ps], [time_text(time_ps)], time_text(time_ps), scale)
        for label, style, time_ps in times
    )
    return Account("Time of a step", tuple(rows), ((RECORDED, RECORDED), (PREDICTED, "the model")))
