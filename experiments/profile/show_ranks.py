"""Ranks side by side as a page for the terminal, as JSON data and as rows of a CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from experiments.profile.classes import sorts
from experiments.profile.parted import PARTS
from experiments.profile.profiled import Row
from experiments.profile.ranks import MANY, Ranks, Seat, notes_of
from experiments.profile.told import CLASS_TIMES, INSIDE, ns_text, percent
from experiments.profile.waited import ALIKE, apart, waited_for
from experiments.text.page import Part
from experiments.text.quantity import digits
from experiments.text.table import Column, Table

SIDE_BY_SIDE = "A step, side by side"
MEASURES = {"step": "A step takes", "compute": "Compute", "communication": "Communication"}
CAUSES = {"compute": "it computes", "copy": "its copies take", "idle": "it is idle"}


def ranks_parts(ranks: Ranks) -> Iterator[Part]:
    """The page: what was read, the ranks side by side, who is waited for, and time and kernels by class."""
    yield "\n".join((f"{len(ranks.ranks)} files of one run", *(f"  {line}" for line in files_lines(ranks))))
    yield steps_line(ranks)
    yield "\n".join(notes_of(ranks))
    yield SIDE_BY_SIDE
    yield seats_table(ranks)
    yield "\n".join(apart_lines(ranks))
    yield waited_text(ranks)
    yield CLASS_TIMES
    yield class_times_table(ranks)
    yield counts_text(ranks)
    yield from [class_counts_table(ranks)] if differing(ranks) else []
    yield INSIDE


def files_lines(ranks: Ranks) -> list[str]:
    """What was read of each file, and how it is called here."""
    heads = ((rank, rank.heading.split("\n")[0]) for rank in ranks.ranks)
    return [head if rank.number is None else f"rank {rank.number:,}: {head}" for rank, head in heads]


def steps_line(ranks: Ranks) -> str:
    """Which steps there are; those of all files have one name unless --step chose them."""
    return ranks.ranks[0].steps_told.split("\n")[0]


def seats_table(ranks: Ranks) -> Table:
    """A row a rank: kernels, the time of a step, and how it is spent."""
    columns = (
        Column("", right=False),
        Column("Steps"),
        Column("Kernels\na step"),
        Column("A step\ntakes"),
        Column("Busy"),
        Column("Idle"),
        Column("Compute\na step"),
        Column("Communication\na step"),
        Column("share"),
        Column("of it\nalone"),
    )
    return Table(columns, tuple(map(_seat_row, ranks.seats)))


def _seat_row(seat: Seat) -> tuple[str, ...]:
    times, account = seat.times, seat.device.account
    return (
        seat.label,
        f"{seat.num_steps:,}",
        f"{seat.device.kernels_per_step:,}",
        ns_text(seat.step_ns),
        percent(account.busy_ns, account.span_ns),
        percent(account.idle_ns, account.span_ns),
        ns_text(seat.compute_ns),
        ns_text(seat.communication_ns) if times.communication_ns else "-",
        percent(times.communication_ns, times.span_ns),
        percent(times.of_part["communication"], times.communication_ns),
    )


def apart_lines(ranks: Ranks) -> Iterator[str]:
    """How far ranks are apart, a line a measure."""
    for name, found in apart(ranks).items():
        low, high = ns_text(found.least_ns), ns_text(found.most_ns)
        if low == high and found.most_ns:
            yield f"{MEASURES[name]}: {low} in all"
        elif found.most_ns:
            more = f", {percent(found.between_ns, found.least_ns)} more" if found.least_ns else ""
            yield f"{MEASURES[name]}: from {low} ({found.least.label}) to {high} ({found.most.label}){more}"


def waited_text(ranks: Ranks) -> str:
    """Who comes to the collectives last, and what makes it late; without collectives who is slowest."""
    found = apart(ranks)
    communication, step = found["communication"], found["step"]
    if not communication.most_ns:
        slowest = f"{step.most.label} is slowest, {percent(step.between_ns, step.least_ns)} behind the fastest"
        return f"No communication is recorded, so nothing shows that one waits for another; {slowest}."
    if not communication.least_ns:
        return f"{communication.least.label} has no communication and others have: they may not be of one run."
    why = "A collective ends for all together: time in one holds the wait for the rank that comes to it last."
    waited = waited_for(ranks)
    if waited is None:
        return f"No rank is waited for: their communication is less than {ALIKE:.0%} of a step apart. {why}"
    first = f"{waited.seat.label} is in collectives shortest"
    if waited.more_ns <= 0:
        return (
            f"It is not plain who is waited for: {first}, and in all else no longer than the mean of the others. {why}"
        )
    late = f"{CAUSES[waited.cause]} {ns_text(waited.more_ns)} a step longer than the mean of the others"
    return f"{waited.seat.label} is waited for: it is in collectives shortest, and {late}. {why}"


def class_times_table(ranks: Ranks) -> Table:
    """Time of a step in us by class."""
    return _by_class(ranks, lambda row, seat: row.durations.total_ns / seat.num_steps / 1e3, digits)


def class_counts_table(ranks: Ranks) -> Table:
    """Kernels a step of the classes that differ."""
    names = differing(ranks)
    table = _by_class(ranks, lambda row, _: row.per_step, lambda count: f"{count:,}")
    return replace(table, rows=tuple(row for row in table.rows if row[0] in names))


def _by_class(ranks: Ranks, value: Callable[[Row, Seat], float], text: Callable[[float], str]) -> Table:
    """A row a class, a column a rank; of many ranks only the one with least and the one with most."""
    found = [(seat.label, {row.name: value(row, seat) for row in seat.device.classes}) for seat in ranks.seats]
    names = [name for name in sorts() if any(name in of for _, of in found)]
    if len(found) > MANY:
        columns = (Column("class", right=False), *map(Column, ("least", "of", "most", "of")))
        return Table(columns, tuple((name, *_ends(name, found, text)) for name in names))
    rows = ((name, *(text(of[name]) if name in of else "-" for _, of in found)) for name in names)
    return Table((Column("class", right=False), *(Column(label) for label, _ in found)), tuple(rows))


def _ends(name: str, found: list[tuple[str, dict[str, float]]], text: Callable[[float], str]) -> tuple[str, ...]:
    """The least and the most of a class, and whose they are; who has none of it has 0."""
    pairs = [(of.get(name, 0), label) for label, of in found]
    low, high = (pick(pairs, key=lambda pair: pair[0]) for pick in (min, max))
    alike = text(low[0]) == text(high[0])
    return text(low[0]), "all" if alike else low[1], text(high[0]), "all" if alike else high[1]


def differing(ranks: Ranks) -> list[str]:
    """Classes of which not all have as many kernels a step."""
    counts = [{row.name: row.per_step for row in seat.device.classes} for seat in ranks.seats]
    return [name for name in sorts() if len({found.get(name, 0) for found in counts}) > 1]


def counts_text(ranks: Ranks) -> str:
    """Whether all do the same."""
    if differing(ranks):
        return "Kernels a step by class, of classes that differ"
    return "Every class has as many kernels a step in all of them."


def ranks_record(ranks: Ranks) -> dict[str, Any]:
    """The same as JSON data, and of each file what it holds. Times are ns of one step."""
    waited = waited_for(ranks)
    return {
        "ranks": [_seat_record(seat) for seat in ranks.seats],
        "apart": {
            name: {"least": one.least.label, "most": one.most.label, "least_ns": one.least_ns, "most_ns": one.most_ns}
            for name, one in apart(ranks).items()
        },
        "waited_for": waited
        and {"rank": waited.seat.label, "cause": waited.cause, "longer_than_the_others_ns": waited.more_ns},
        "notes": notes_of(ranks),
        "files": [rank.record for rank in ranks.ranks],
    }


def _seat_record(seat: Seat) -> dict[str, Any]:
    return {
        "rank": seat.label,
        "file": seat.rank.file,
        "device": seat.device.device.number,
        "steps": seat.num_steps,
        "kernels_per_step": seat.device.kernels_per_step,
        "step_ns": seat.step_ns,
        "parts_ns": {part: seat.part_ns(part) for part in PARTS},
    }


def ranks_rows(ranks: Ranks) -> list[dict[str, object]]:
    """Classes and kernels of every file as rows of one table."""
    return [{"file": rank.file, **row} for rank in ranks.ranks for row in rank.rows]
