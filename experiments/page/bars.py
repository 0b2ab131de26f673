"""Accounts of a comparison as stacked bars on one scale: what each run's whole is made of, and its bound beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.text.quantity import percent_texts, time_text, time_texts

if TYPE_CHECKING:
    from markupsafe import Markup

    from patterns.report import Report

Values = Callable[["Report"], tuple[tuple[str, int], ...]]
# Of the width of a drawing the longest bar takes so much.
WIDTH_PERCENT = 100.0


@dataclass(frozen=True)
class Piece:
    """One part of a bar, in percent of the width."""

    name: str
    left: float
    width: float
    text: str


@dataclass(frozen=True)
class Row:
    """A bar. bound, low and high: marks in percent of the width, None for none."""

    label: str
    pieces: tuple[Piece, ...]
    value: str
    spoken: str
    bound: float | None = None
    bound_text: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Account:
    """Bars below each other. names: (part, words) that any bar has. parts: the same in numbers."""

    title: str
    rows: tuple[Row, ...]
    names: tuple[tuple[str, str], ...]
    parts: Markup = field(repr=False)
    bound: str = ""


def time_account(title: str, reports: Sequence[Report], names: Sequence[str], values: Values, parts: Markup) -> Account:
    """A bar a report: parts of its time, with the lower bound marked."""
    longest_ps = max((report.time_ps for report in reports), default=0) or 1
    used = [name for name in names if any(dict(values(report)).get(name) for report in reports)]
    rows = tuple(time_row(report, used, dict(values(report)), longest_ps) for report in reports)
    words = tuple((name, name.replace("_", " ")) for name in used)
    return Account(title, rows, words, parts, "lower bound")


def time_row(report: Report, names: Sequence[str], parts_ps: dict[str, int], longest_ps: int) -> Row:
    """The bar of one report; its texts are those of the table."""
    amounts = [parts_ps.get(name, 0) for name in names]
    times, _ = time_texts(amounts)
    texts = [
        f"{name.replace('_', ' ')}: {time} ({percent})"
        for name, time, percent in zip(names, times, percent_texts(amounts), strict=True)
    ]
    label = f"{report.machine} {report.mode}"
    pieces = tuple(pieces_of(names, amounts, texts, WIDTH_PERCENT / longest_ps))
    spoken = f"{label}, {time_text(report.time_ps)}: {'; '.join(piece.text for piece in pieces)}"
    bound_text = f"lower bound {time_text(report.bound_ps)}"
    bound = rounded(WIDTH_PERCENT * report.bound_ps / longest_ps)
    return Row(label, pieces, time_text(report.time_ps), spoken, bound, bound_text)


def pieces_of(names: Sequence[str], amounts: Sequence[float], texts: Sequence[str], scale: float) -> list[Piece]:
    """The parts that there are, one after another."""
    found, left = [], 0.0
    for name, amount, text in zip(names, amounts, texts, strict=True):
        if amount:
            found.append(Piece(name, rounded(left), rounded(amount * scale), text))
            left += amount * scale
    return found


def rounded(percent: float) -> float:
    """A place in percent, to thousandths."""
    return round(percent, 3)
