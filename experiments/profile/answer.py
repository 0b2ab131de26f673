"""What is made of recordings, whether of one or of the ranks of a run: text, data, rows, pictures and a page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.profile.against import Against
    from experiments.profile.pictures import Charts
    from experiments.profile.profiled import Profile
    from experiments.profile.ranks import Ranks
    from experiments.text.page import Part


@dataclass(frozen=True)
class Answer:
    """Each is made only when it is called. page: of the pictures that it shows, title and SVG."""

    parts: Callable[[], Iterable[Part]]
    record: Callable[[], dict[str, Any]]
    rows: Callable[[], Sequence[dict[str, object]]]
    charts: Callable[[], Charts]
    page: Callable[[Sequence[tuple[str, bytes]]], bytes]


def of_one(found: Profile, beside: Against | None, top: int, step: str) -> Answer:
    """Of one recording, and the model beside it where it was asked. step: what was asked of steps."""
    from experiments.page.recorded import recorded_page
    from experiments.profile.pictures import charts
    from experiments.profile.record import profile_rows
    from experiments.profile.show_against import whole_parts, whole_record

    return Answer(
        parts=lambda: whole_parts(found, beside, top),
        record=lambda: whole_record(found, beside),
        rows=lambda: profile_rows(found),
        charts=lambda: charts(found, beside),
        page=lambda pictures: recorded_page(found, beside, top, step, pictures),
    )


def of_ranks(ranks: Ranks, top: int, step: str) -> Answer:
    """Of several recordings of one run."""
    from experiments.page.ranks import ranks_page
    from experiments.profile.pictures import rank_charts
    from experiments.profile.show_ranks import ranks_parts, ranks_record, ranks_rows

    return Answer(
        parts=lambda: ranks_parts(ranks),
        record=lambda: ranks_record(ranks),
        rows=lambda: ranks_rows(ranks),
        charts=lambda: rank_charts(ranks),
        page=lambda pictures: ranks_page(ranks, top, step, pictures),
    )
