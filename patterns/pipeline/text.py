"""Time lines as text: one line for a unit, a cell shows what runs at its midpoint."""

from __future__ import annotations

from collections.abc import Callable

from patterns.pipeline.timeline import Span, Timeline, real_spans

IDLE = "·"
LABEL_WIDTH = 6

Glyph = Callable[[Span], str]


def first_letter(span: Span) -> str:
    """The first letter of a span's label, or of its unit where it has none, in upper case."""
    return (span.label or span.unit)[0].upper()


def text_timeline(timeline: Timeline, unit: str, until_cycle: int, cells: int = 72, glyph: Glyph = first_letter) -> str:
    """What `unit` does in cycles [0, until_cycle), as `cells` characters; IDLE where nothing runs at the midpoint.

    Of several spans on the unit's lanes the one that started first is shown. Needs a run with spans.
    """
    row = [IDLE] * cells
    for span in real_spans(timeline, 0, until_cycle):
        if span.unit == unit:
            # Midpoint of cell i is (2 i + 1) until_cycle / (2 cells); a span covers those in [start, end).
            first = _cells_before(span.start, until_cycle, cells)
            last = min(cells, _cells_before(span.end, until_cycle, cells))
            row[first:last] = [now if now != IDLE else glyph(span) for now in row[first:last]]
    return "".join(row)


def timeline_line(label: str, cells: str, width: int = LABEL_WIDTH) -> str:
    """The line of a file of time lines: 'TC    |··MMM|', the label padded to `width`."""
    return f"{label:<{width}}|{cells}|"


def _cells_before(cycle: int, until_cycle: int, cells: int) -> int:
    """How many cells have their midpoint before `cycle`."""
    return -(-(2 * cycle * cells - until_cycle) // (2 * until_cycle)) if cycle > 0 else 0
