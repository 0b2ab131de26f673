"""Numbers for people: few digits, a unit, and parts that add up as printed."""

from __future__ import annotations

from collections.abc import Sequence

PICOSECOND_STEPS = ((10**12, "s"), (10**9, "ms"), (10**6, "us"), (10**3, "ns"), (1, "ps"))
DECIMAL_STEPS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""))


def time_text(time_ps: int) -> str:
    """Picoseconds with the unit that suits: '9.812 ms'."""
    step, unit = time_unit(time_ps)
    return f"{digits(time_ps / step)} {unit}" if step > 1 else f"{time_ps} {unit}"


def time_unit(time_ps: int) -> tuple[int, str]:
    """The largest unit that is not longer than a time, in picoseconds, and its name."""
    return next(((step, unit) for step, unit in PICOSECOND_STEPS if time_ps >= step), PICOSECOND_STEPS[-1])


def bytes_text(num_bytes: int) -> str:
    """Bytes in decimal units, as bandwidths are: '15.55 GB'."""
    return scaled(num_bytes, "B")


def scaled(amount: float, unit: str) -> str:
    """An amount with a decimal prefix: '30.9 TFLOP'; whole ones below a thousand as they are. None at all is '-'."""
    if not amount:
        return "-"
    if amount < 1000 and amount == int(amount):
        return f"{int(amount)} {unit}".rstrip()
    for step, prefix in DECIMAL_STEPS:
        if amount >= step:
            return f"{digits(amount / step)} {prefix}{unit}".rstrip()
    return f"{amount:.3g} {unit}"


def digits(value: float) -> str:
    """Four digits, whole ones always: '9.812', '98.12', '1,234'."""
    for limit, places in ((9.9995, 3), (99.995, 2), (999.95, 1)):
        if value < limit:
            return f"{value:,.{places}f}"
    return f"{value:,.0f}"


def ratio_text(ratio: float) -> str:
    """How many times, three digits: '2.53x', '269x', '0.042x'; of very little two: '2.1e-06x'."""
    if 0 < ratio < 0.0095:
        return f"{ratio:.2g}x"
    for limit, places in ((0.0995, 3), (9.995, 2), (99.95, 1)):
        if ratio < limit:
            return f"{ratio:.{places}f}x"
    return f"{ratio:,.0f}x"


def share(parts: Sequence[int], total: int) -> list[int]:
    """Whole numbers in proportion to `parts` that add up to `total`: the largest remainders are rounded up."""
    whole = sum(parts)
    if whole == 0:
        return [0] * len(parts)
    floors = [part * total // whole for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda i: (-(parts[i] * total % whole), i))
    up = set(by_remainder[: total - sum(floors)])
    return [floor + (i in up) for i, floor in enumerate(floors)]


def percent_texts(parts: Sequence[int]) -> list[str]:
    """Each part as a percentage with one decimal; as printed they add up to 100.0."""
    return [f"{tenths / 10:.1f}%" for tenths in share(parts, 1000)]


def time_texts(parts_ps: Sequence[int]) -> tuple[list[str], str]:
    """Each part in one unit, and the whole likewise, to thousandths; as printed the parts add up to the whole."""
    whole = sum(parts_ps)
    step, unit = time_unit(whole)
    places = 0 if unit == "ps" else 3
    quanta = round(whole * 10**places / step)
    return (
        [f"{n / 10**places:,.{places}f} {unit}" for n in share(parts_ps, quanta)],
        f"{quanta / 10**places:,.{places}f} {unit}",
    )
