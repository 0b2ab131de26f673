"""Axes with plain numbers: few ticks, linear or logarithmic, zeros of a logarithmic axis at its foot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
# Ranges beyond this have ticks at powers of ten only, and wider ones at every second or third.
WIDE = 300
MOST_KNOWN = 10


def plain(value: float) -> str:
    """A tick's number: '0.05', '20', '5k', '1.2M'; '4,096' where a prefix would leave a fraction of a whole number."""
    size = abs(value)
    if 1e3 <= size < 1e6 and float(value).is_integer() and value % 100:
        return f"{value:,.0f}"
    for step, prefix in PREFIXES:
        if size >= step:
            return f"{value / step:.4g}{prefix}"
    return f"{value:.4g}" if size >= 1e-4 or not size else f"{value:.0e}".replace("e-0", "e-")


def log_floor(values: Iterable[float]) -> float:
    """Where the zeros of a logarithmic axis stand: below its smallest value that is not 0."""
    return min((value for value in values if value > 0), default=1.0) / 2


def make_linear(axis: Axis, ticks: int = 5, *, whole: bool = False) -> None:
    """Few ticks with plain numbers."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(ticks, integer=whole))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def scale(axes: Axes, which: Literal["x", "y"], values: Sequence[float], *, log: bool, points: bool = False) -> None:
    """Limits and ticks of an axis for its values. points: they are few and known, so that they are the ticks.

    A linear axis upwards starts at 0 unless something is below it; zeros of a logarithmic one are at its foot.
    """
    axis = axes.xaxis if which == "x" else axes.yaxis
    limits = axes.set_xlim if which == "x" else axes.set_ylim
    if not log:
        make_linear(axis, whole=all(float(value).is_integer() for value in values))
        if which == "y":
            limits(min([0.0, *values]) * 1.05, max([0.0, *values]) * 1.08 or 1)
        return
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    above = [value for value in values if value > 0] or [1.0]
    low, high = min(above) / 1.25, max(above) * 1.25
    ticks = known_ticks(above) if points else []
    zero_at = log_floor(values) if min(values, default=1) == 0 else None
    name_log_ticks(axis, ticks or log_ticks(low, high), zero_at)
    limits(low if zero_at is None else zero_at / 1.25, high)


def name_log_ticks(axis: Axis, ticks: Sequence[float], zero_at: float | None = None) -> None:
    """These ticks, with plain numbers, and no others; `zero_at` is called 0."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    shown = [tick for tick in ticks if zero_at is None or tick > zero_at * 1.3]
    names = [plain(tick) for tick in shown]
    if zero_at is not None:
        shown, names = [zero_at, *shown], ["0", *names]
    axis.set_major_locator(FixedLocator(shown))
    axis.set_major_formatter(FixedFormatter(names))
    axis.set_minor_locator(NullLocator())


def known_ticks(values: Iterable[float]) -> list[float]:
    """The values themselves as ticks of a logarithmic axis, if they are few and far enough apart; else none."""
    ticks = sorted(set(values))
    if not 2 <= len(ticks) <= MOST_KNOWN:
        return []
    nearest = min(after / before for before, after in pairwise(ticks))
    return ticks if nearest >= (ticks[-1] / ticks[0]) ** (1 / 14) else []


def log_ticks(low: float, high: float, most: int = 9) -> list[float]:
    """Powers of ten in a range, or more of each where the range is narrow; at most so many."""
    steps: Sequence[int] = (1,) if high / low > WIDE else (1, 2, 5) if high / low > 8 else (1, 2, 3, 5, 7)
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
    ones = [10.0**power for power in powers if low <= 10.0**power <= high]
    fewer = ticks if len(ticks) <= most or len(ones) < 2 else ones
    return fewer[:: max(1, ceil(len(fewer) / most))]
