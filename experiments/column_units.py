"""Units that names of columns end with: 'time_us' is in us, 'hbm_bytes_per_s' in B/s."""

from __future__ import annotations

from collections.abc import Mapping

# The last word of a name, and how that unit is written.
SYMBOLS: Mapping[str, str] = {
    **{unit: unit for unit in ("s", "ms", "us", "ns", "ps", "cycles", "tokens", "ops")},
    "bytes": "B",
    "kib": "KiB",
    "mib": "MiB",
    "gib": "GiB",
    "kb": "kB",
    "mb": "MB",
    "gb": "GB",
    "tb": "TB",
    "j": "J",
    "mj": "mJ",
    "uj": "uJ",
    "nj": "nJ",
    "pj": "pJ",
    "w": "W",
    "hz": "Hz",
    "mhz": "MHz",
    "ghz": "GHz",
    "flops": "FLOP",
    "gflops": "GFLOP",
    "tflops": "TFLOP",
    "percent": "%",
}
PER = "_per_"


def unit_of(column: str) -> str:
    """The unit that the end of a column's name says, '' if it says none."""
    before, per, after = column.rpartition(PER)
    if per and (unit := SYMBOLS.get(before.rpartition("_")[2])):
        return f"{unit}/{SYMBOLS.get(after, after.replace('_', ' '))}"
    named, _, last = column.rpartition("_")
    return SYMBOLS.get(last, "") if named else ""
