"""Error bands as text: beside each predicted time, with the parts that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import time_text
from experiments.text.table import Column, Table
from experiments.validation.plan_bands import PARTS, combined

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from experiments.validation.bands import Band

TITLE = (
    "Error bands{whose} (see `patternloom validate`): eight of ten measurements of a part lie so far from the"
    " prediction, in percent of it, as stands above the part's share of the time. A time's band adds those of its parts"
    " by their shares, as if all were off the same way at once. A megakernel's time is shared out by what its operators"
    " would take at least."
)
OF_RDU = (
    " The RDU has a band for looped decode only, on a machine as its file has it and with estimated ways, from the rows"
    " that its two fitted parameters were fitted to: no times of its other modes and of prefill were measured, only"
    " ratios between them."
)


def error_band_parts(outcomes: Sequence[Outcome], word: str) -> list[Part]:
    """A title and a table: a row a mode, with its time, the band of that, and the shares of its parts; or nothing."""
    banded = [outcome for outcome in outcomes if outcome.bands]
    if not banded:
        return []
    bands: Mapping[str, Band] = {one.part: one.band for outcome in banded for one in outcome.bands}
    used = [part for part in PARTS if part in bands]
    columns = (
        Column("machine", right=False),
        Column("mode", right=False),
        Column(f"time/\n{word}"),
        Column("error\nband"),
        *(Column(part_heading(part, bands)) for part in used),
    )
    families = {outcome.report.family for outcome in banded}
    title = TITLE.format(whose=" of the GPU" if families == {"gpu"} else "") + (OF_RDU if "rdu" in families else "")
    return [title, Table(columns, tuple(row(outcome, used) for outcome in banded), keys=2)]


def part_heading(part: str, bands: Mapping[str, Band]) -> str:
    """A part's name above its band."""
    band = bands[part]
    return f"{part.replace('_', ' ')}\n{band_text((band.low_percent, band.high_percent))}"


def row(outcome: Outcome, parts: Sequence[str]) -> tuple[str, ...]:
    """The cells of one mode."""
    shares: Mapping[str, str] = {one.part: f"{100 * one.share:.1f}%" for one in outcome.bands}
    report = outcome.report
    beside = band_text(combined(outcome.bands))
    return (report.machine, report.mode, time_text(report.time_ps), beside, *(shares.get(part, "-") for part in parts))


def band_text(band: tuple[float, float] | None) -> str:
    """'-5..+12%', '+0..+12%'; '' for none."""
    return f"{round(band[0]):+d}..{round(band[1]):+d}%" if band else ""
