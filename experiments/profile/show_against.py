"""A recording beside the model as a page for the terminal, and as JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from experiments.profile.against import Against, Predicted, differences, distance, recorded_counts
from experiments.profile.classes import sorts
from experiments.profile.profiled import Profile
from experiments.profile.record import profile_record
from experiments.profile.show import profile_parts
from experiments.profile.told import CLASS_TIMES, ns_text
from experiments.text.comparison import run_word, title
from experiments.text.page import Part
from experiments.text.quantity import digits, ratio_text, time_text
from experiments.text.table import Column, Table

SHOWN_DIFFERENCES = 6
# From a policy that differs in more than this share of its calls, a step is something else.
FAR = 0.5


def whole_parts(profile: Profile, beside: Against | None, top: int) -> Iterator[Part]:
    """The page of a recording, with `top` kernels by name, and of the model beside it where it was asked."""
    yield from profile_parts(profile, top)
    if beside:
        yield from against_parts(beside)


def whole_record(profile: Profile, beside: Against | None) -> dict[str, Any]:
    """The same as JSON data."""
    return profile_record(profile) | ({"against": against_record(beside)} if beside else {})


def against_parts(found: Against) -> Iterator[Part]:
    """The sentence, the counts by class, the times, and what the difference is made of."""
    graph = found.comparison.graph
    beside = title(found.comparison).partition("\n")[0]
    yield f"Beside the model: a step is set beside one {run_word(graph)} of {beside}"
    yield "\n".join((calls_text(found), *(f"  {note}" for note in found.notes)))
    yield "Kernels a step by class"
    yield counts_table(found)
    yield "Time of a step"
    yield times_table(found)
    yield difference_text(found)
    yield CLASS_TIMES
    yield class_times_table(found)


def calls_text(found: Against) -> str:
    """How many kernels the recording launches, and what it would be otherwise."""
    recorded = sum(recorded_counts(found.device).values())
    word = run_word(found.comparison.graph).replace("run", "step")
    policies = ", ".join(f"{one.calls:,} with {one.mode}" for one in found.policies)
    text = f"Your run launches {recorded:,} kernels a {word}; on {found.request.gpu} it would be {policies}"
    sections = sorted((one for one in found.predicted if one.family == "rdu"), key=lambda one: one.calls)
    calls = ", ".join(f"{one.calls:,} {one.mode}" for one in sections)
    return text + (f"; on {sections[0].machine} calls would be {calls}" if sections else "") + "."


def counts_table(found: Against) -> Table:
    """A row a class, a column a policy."""
    recorded = recorded_counts(found.device)
    counts = [dict(one.counts) for one in found.policies]
    names = [name for name in sorts() if recorded.get(name) or any(of.get(name) for of in counts)]
    columns = (Column("class", right=False), Column("recorded"), *(Column(one.mode) for one in found.policies))
    rows = [(name, f"{recorded.get(name, 0):,}", *(f"{of.get(name, 0):,}" for of in counts)) for name in names]
    rows.append(("in all", f"{sum(recorded.values()):,}", *(f"{sum(of.values()):,}" for of in counts)))
    rows.append(("differ", "", *(f"{distance(recorded, one):,}" for one in found.policies)))
    return Table(columns, tuple(rows), rules=(len(names),))


def times_table(found: Against) -> Table:
    """A row a mode: its time, the recorded one over it, and the launching that shows."""
    columns = (
        Column("machine", right=False),
        Column("mode", right=False),
        Column("calls"),
        Column("time"),
        Column("recorded\ntakes"),
        Column("launching\nexposed"),
    )
    measured_ps = round(found.device.step_ns * 1000)
    account = found.device.account
    waited = account.host_wait_ns * 1000 // max(1, len(found.device.steps))
    name = found.device.device.name
    kernels = f"{sum(recorded_counts(found.device).values()):,}"
    first = (name, "recorded", kernels, time_text(measured_ps), "", time_text(waited))
    rows = [_times_row(one, measured_ps) for one in found.predicted]
    families = [one.family for one in found.predicted]
    return Table(columns, (first, *rows), rules=(1, 1 + families.count("gpu")), keys=2)


def _times_row(one: Predicted, measured_ps: int) -> tuple[str, ...]:
    exposed = time_text(one.exposed_ps) if one.exposed_ps else "-"
    return (
        one.machine,
        one.mode,
        f"{one.calls:,}",
        time_text(one.time_ps),
        ratio_text(measured_ps / one.time_ps),
        exposed,
    )


def difference_text(found: Against) -> str:
    """The closest policy, and what is not as in it."""
    closest = found.closest
    unlike = differences(recorded_counts(found.device), closest)
    measured_ps = round(found.device.step_ns * 1000)
    ratio = ratio_text(measured_ps / closest.time_ps)
    text = f"Closest by counts: {closest.mode}; a step takes {ns_text(found.device.step_ns)}, {ratio} of its"
    text += f" {time_text(closest.time_ps)}."
    if not unlike:
        return f"{text} Every class has as many kernels as it says."
    lines = [
        f"  {one.recorded - one.predicted:+,} {one.name}: {one.recorded:,} recorded,"
        f" {one.predicted:,} with {closest.mode}"
        for one in unlike[:SHOWN_DIFFERENCES]
    ]
    more = len(unlike) - len(lines)
    if distance(recorded_counts(found.device), closest) > FAR * closest.calls:
        lines.append("  No policy is close: is a step one run of the workload? --step and --phase choose others.")
    return "\n".join((f"{text} The difference is:", *lines, *([f"  and {more} classes more"] if more else [])))


def class_times_table(found: Against) -> Table:
    """A row a class: the recorded kernels' durations, and those of the closest policy."""
    steps = len(found.device.steps)
    recorded = {row.name: row.durations.total_ns / steps / 1e3 for row in found.device.classes}
    closest = found.closest
    predicted = {name: time_ps / 1e6 for name, time_ps in closest.times_ps}
    names = [name for name in sorts() if recorded.get(name) or predicted.get(name)]
    columns = (Column("class", right=False), Column("recorded"), Column(closest.mode))
    rows = [(name, *(digits(of[name]) if name in of else "-" for of in (recorded, predicted))) for name in names]
    whole = ("in all", digits(sum(recorded.values())), digits(sum(predicted.values())))
    return Table(columns, (*rows, whole), rules=(len(rows),))


def against_record(found: Against) -> dict[str, Any]:
    """The same as JSON data."""
    recorded = recorded_counts(found.device)
    return {
        "workload": found.request.workload,
        "device": found.device.device.number,
        "launch": found.request.launch,
        "notes": list(found.notes),
        "recorded": {"counts": recorded, "step_ns": found.device.step_ns},
        "closest": found.closest.mode,
        "differences": [asdict(one) for one in differences(recorded, found.closest)],
        "predicted": [
            asdict(one)
            | {"counts": dict(one.counts), "times_ps": dict(one.times_ps)}
            | ({"distance": distance(recorded, one)} if one.family == "gpu" else {})
            for one in found.predicted
        ],
    }
