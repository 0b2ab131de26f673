"""Pictures of a profile: a step over time, kernels and time by class, gaps; the model beside it where it was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from experiments.charting.columns import shown
from experiments.picture import drawn_records, in_style, rendered
from experiments.plot.bars import MOST_BARS, Bars
from experiments.plot.recorded_step import RecordedStep
from experiments.profile.account import BANDS_NS
from experiments.profile.call_classes import class_of_call
from experiments.profile.classes import class_of, drawn_as, sorts
from experiments.profile.parted import PARTS
from experiments.profile.ranks import MANY, Ranks
from experiments.profile.told import ns_text, short_name
from experiments.text.quantity import time_text, time_unit

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from experiments.profile.against import Against
    from experiments.profile.profiled import DeviceProfile, Profile

Rows = list[dict[str, Any]]
# What is drawn, and of which rows.
Charts = tuple[tuple[Rows, Bars | RecordedStep], ...]
RECORDED = "recorded"


def charts(profile: Profile, beside: Against | None) -> Charts:
    """A step, its classes and its gaps, of the device whose steps have most kernels."""
    device = beside.device if beside else profile.widest
    by_class = class_rows(device, beside)
    counts = Bars("kernels_by_class", "class", ("kernels",), "run", title="Kernels a step", x_label="kernels a step")
    times = Bars("time_by_class", "class", ("time_us",), "run", title="Time of kernels a step", x_label="us a step")
    spans = step_rows(profile, device, beside)
    step, unit = time_unit(max(row["end_ns"] for row in spans) * 1000)
    lanes = RecordedStep("step", title_of(profile, device), unit, max(1, step // 1000))
    account = device.account
    idle = f"Idle {ns_text(account.idle_ns)} of {ns_text(account.span_ns)}, by the length of the gap"
    gaps = Bars("gaps", label="gap", values=("idle_us",), title=idle, x_label="idle time, us")
    return (by_class, counts), (by_class, times), (spans, lanes), (gap_rows(device), gaps)


def rank_charts(ranks: Ranks) -> Charts:
    """A step of each rank in parts, and its time by class."""
    parts = [{"rank": one.label} | {f"{part}_us": one.part_ns(part) / 1e3 for part in PARTS} for one in ranks.seats]
    columns = tuple(f"{part}_us" for part in PARTS if any(row[f"{part}_us"] for row in parts))
    spent = Bars("ranks", "rank", columns, stacked=True, title="Time of a step, by what ran", x_label="us a step")
    seats = {
        one.label: {row.name: row.durations.total_ns / one.num_steps / 1e3 for row in one.device.classes}
        for one in ranks.seats
    }
    names = [name for name in sorts() if any(name in found for found in seats.values())]
    rows = [
        {"class": name, "rank": label, "time_us": found.get(name, 0.0)}
        for name in names
        for label, found in seats.items()
    ]
    times = Bars("time_by_class", "class", ("time_us",), "rank", title="Time of kernels a step", x_label="us a step")
    # What has more bars or colours than a picture can is told by the tables only.
    drawn: Charts = ((parts, spent),) if len(parts) <= MOST_BARS else ()
    return (*drawn, (rows, times)) if len(seats) <= MANY else drawn


def pictures_of(drawn: Charts) -> dict[str, bytes]:
    """File name -> content of charts: PNG, SVG, PDF and CSV of each."""
    return {name: content for rows, chart in drawn for name, content in drawn_records(rows, (chart,)).items()}


def inside_pages(drawn: Charts, files: Mapping[str, bytes]) -> list[tuple[str, bytes]]:
    """Title and SVG of each chart; those that are in files already are not drawn again."""
    found = []
    with in_style():
        for rows, chart in drawn:
            svg = files.get(f"{chart.name}.svg")
            if svg is None:
                ((_, svg),) = rendered(chart.draw(rows).figure, chart.name, ("svg",))
            found.append((chart.title, svg))
    return found


def title_of(profile: Profile, device: DeviceProfile) -> str:
    """What the lanes are of."""
    kernels = f"{device.kernels_per_step:,}"
    title = f"One step of {profile.steps.name} on {device.device.name}: {kernels} kernels, {ns_text(device.step_ns)}"
    return shown(title, len(title))


def class_rows(device: DeviceProfile, beside: Against | None) -> Rows:
    """Kernels and time a step of each class, recorded and of the closest policy."""
    steps = len(device.steps)
    runs = {RECORDED: {row.name: (row.per_step, row.durations.total_ns / steps / 1e3) for row in device.classes}}
    if beside:
        closest = beside.closest
        times = dict(closest.times_ps)
        runs[f"model, {closest.mode}"] = {name: (count, times[name] / 1e6) for name, count in closest.counts}
    names = [name for name in sorts() if any(name in of for of in runs.values())]
    rows = ((name, run, *of.get(name, (0, 0.0))) for name in names for run, of in runs.items())
    return [{"class": name, "run": run, "kernels": count, "time_us": time} for name, run, count, time in rows]


def gap_rows(device: DeviceProfile) -> Rows:
    """Idle time by the length of gaps."""
    of = {band.name: band for band in device.account.gaps}
    return [
        {"gap": f"{name} ({of[name].count:,} gaps)", "idle_us": of[name].total_ns / 1e3, "count": of[name].count}
        for name, _, _ in BANDS_NS
    ]


def step_rows(profile: Profile, device: DeviceProfile, beside: Against | None) -> Rows:
    """Spans of one step of median length, from its first launch or kernel on, and of the model's runs."""
    rows = list(recorded_spans(profile, device))
    if beside:
        closest = beside.closest
        rdu = min((one for one in beside.predicted if one.family == "rdu"), key=lambda one: one.time_ps, default=None)
        for predicted, outcome in zip(beside.predicted, beside.comparison.outcomes, strict=True):
            if predicted in (closest, rdu):
                rows += model_spans(outcome)
    return rows


def recorded_spans(profile: Profile, device: DeviceProfile) -> Iterator[dict[str, Any]]:
    """The recorded step: its launches on a lane, its kernels on one a class."""
    by_length = sorted(device.steps, key=lambda one: one.span_ns)
    chosen = by_length[len(by_length) // 2]
    number = device.device.number
    work = next(
        held
        for step in profile.steps.steps
        if (held := [one for one in step.work if one.kernel.device == number])
        and held[0].kernel.start == chosen.start
        and step.name == chosen.name
    )
    launches = sorted({one.launch for one in work if one.launch is not None}, key=lambda one: one.start)
    zero = min([chosen.start, *(one.start for one in launches)])
    run = f"{RECORDED}: {chosen.name}"
    for launch in launches:
        yield _span(run, "launch", "", "launch", launch.start - zero, launch.end - zero)
    style = drawn_as()
    for one in work:
        name = class_of(one.kernel.name)
        label = short_name(one.kernel.name, 24)
        yield _span(run, name, label, style[name], one.kernel.start - zero, one.kernel.end - zero)


def model_spans(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """A run of the model: launches on a lane; calls on one a class, on an RDU on one for all."""
    from patterns.pipeline.timeline import real_spans

    report, plan = outcome.report, outcome.execution.plan
    run = f"model: {report.machine}, {report.mode}: {report.calls:,} calls, {time_text(report.time_ps)}"
    style = drawn_as()
    for span in real_spans(outcome.execution.schedule):
        start, end = span.start // 1000, span.end // 1000
        call = plan.call_named.get(span.label)
        if start >= end:
            continue
        if call is None:
            if span.unit == "host":
                yield _span(run, "launch", "", "launch", start, end)
        elif report.family == "rdu":
            yield _span(run, "sections", span.label, "overlapped", start, end)
        else:
            name = class_of_call(plan, call)
            yield _span(run, name, span.label, style[name], start, end)


def _span(run: str, lane: str, label: str, drawn: str, start: int, end: int) -> dict[str, Any]:
    return {"run": run, "lane": lane, "label": label, "drawn": drawn, "start_ns": start, "end_ns": end}
