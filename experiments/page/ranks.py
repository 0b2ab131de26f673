"""The page of the ranks of a run: a step of each side by side, who is waited for, and what each file tells alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.page.bars import WIDTH_PERCENT, Account
from experiments.page.provenance import Fact, made_with
from experiments.page.recorded import SCRIPTS, asked, headed, recording_fact
from experiments.page.recorded_bars import part_names, parts_row
from experiments.page.render import page_bytes, rendered
from experiments.page.sections import Drawn, Folded, Heading, Section, body_of, section
from experiments.profile.ranks import notes_of
from experiments.profile.show_ranks import (
    SIDE_BY_SIDE,
    apart_lines,
    class_counts_table,
    class_times_table,
    counts_text,
    differing,
    files_lines,
    seats_table,
    steps_line,
    waited_text,
)
from experiments.profile.told import CLASS_TIMES, INSIDE, ns_text, percent
from experiments.profile.waited import apart

if TYPE_CHECKING:
    from experiments.profile.ranks import Ranks


def ranks_page(ranks: Ranks, top: int, step: str, pictures: Sequence[tuple[str, bytes]]) -> bytes:
    """The page, whole. top: how many kernels by name; step: what was asked of steps; pictures: title and SVG."""
    page = rendered(
        "recorded.html",
        SCRIPTS,
        name=f"{len(ranks.ranks)} files of one run",
        lead=f"{steps_line(ranks)}.",
        finding=waited_text(ranks),
        warnings=notes_of(ranks),
        tiles=tiles(ranks),
        sections=list(sections(ranks, pictures)),
        provenance=[
            made_with(),
            *(recording_fact(rank.file) for rank in ranks.ranks),
            *asked(step, top),
        ],
    )
    return page_bytes(page)


def tiles(ranks: Ranks) -> list[Fact]:
    """The figures that are looked for first."""
    found = apart(ranks)
    ends = {name: ends_text(ns_text(one.least_ns), ns_text(one.most_ns)) for name, one in found.items()}
    counts = [seat.device.kernels_per_step for seat in ranks.seats]
    step = found["step"]
    return [
        ("kernels a step", ends_text(f"{min(counts):,}", f"{max(counts):,}")),
        ("a step takes", ends["step"]),
        ("steps are apart", percent(step.between_ns, step.least_ns)),
        ("compute, a step", ends["compute"]),
        ("communication, a step", ends["communication"] if found["communication"].most_ns else "-"),
    ]


def ends_text(least: str, most: str) -> str:
    """'3.000 us to 4.000 us'; where both are told alike one of them."""
    return least if least == most else f"{least} to {most}"


def sections(ranks: Ranks, pictures: Sequence[tuple[str, bytes]]) -> Iterator[Section]:
    """Everything below the head of the page."""
    yield section("side-by-side", SIDE_BY_SIDE, [seats_bars(ranks), seats_table(ranks), *apart_lines(ranks)])
    counts = [Heading(counts_text(ranks)), class_counts_table(ranks)] if differing(ranks) else [counts_text(ranks)]
    yield section("classes", "Kernels by class", [Heading(CLASS_TIMES), class_times_table(ranks), *counts, INSIDE])
    yield section("files", "Each file", [*files_lines(ranks), *folded(ranks)])
    if pictures:
        yield section("pictures", "Pictures", [Drawn(title, svg) for title, svg in pictures])


def seats_bars(ranks: Ranks) -> Account:
    """A bar a rank, on one scale: its time divided by its steps."""
    longest = max(seat.times.span_ns / seat.num_steps for seat in ranks.seats)
    scale = WIDTH_PERCENT / (longest or 1)
    rows = (
        parts_row(seat.label, seat.times, ns_text(seat.times.span_ns / seat.num_steps), scale, seat.num_steps)
        for seat in ranks.seats
    )
    return Account("Time of a step, by what ran", tuple(rows), part_names([seat.times for seat in ranks.seats]))


def folded(ranks: Ranks) -> Iterator[Folded]:
    """What the text tells of each file alone."""
    for rank in ranks.ranks:
        yield Folded(f"{rank.file} alone", body_of(headed(rank.parts)))
