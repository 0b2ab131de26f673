"""The tables of a comparison, whole, at three widths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from experiments.text.comparison import comparison_parts, headline_note, title
from experiments.text.page import page_text

if TYPE_CHECKING:
    from experiments.compare import Comparison


@pytest.mark.parametrize("width", [100, 80])
def test_the_page_fits_its_width(comparison: Comparison, golden: Callable[[str, str], None], width: int) -> None:
    page = page_text([part for part in comparison_parts(comparison) if part], width)
    assert max(map(len, page.splitlines())) <= width
    golden(f"cli/comparison_{width}.txt", page + "\n")


def test_the_headline_says_whether_blocks_are_looped(comparison: Comparison) -> None:
    assert "3 with repeated blocks looped on the RDU" in headline_note(comparison)
    *others, looped = comparison.outcomes
    fused = replace(looped, report=replace(others[-1].report, mode="looped"))
    assert "34 (not looped, `patternloom show` says why) on the RDU" in headline_note(
        replace(comparison, outcomes=(*others, fused))
    )


def test_a_side_without_the_headline_mode_has_no_headline_note(comparison: Comparison) -> None:
    some = replace(comparison, outcomes=tuple(o for o in comparison.outcomes if o.report.mode != "looped"))
    page = page_text([part for part in comparison_parts(some) if part], 100)
    assert "headline" not in page


def test_the_title_says_what_of_an_rdu_is_not_as_by_default(comparison: Comparison) -> None:
    asked = replace(comparison.request, placement="full", collectives="separate", seed=7)
    machines = title(replace(comparison, request=asked)).splitlines()[1]
    assert machines.endswith("(RDU, hardware launch, placed and routed with seed 7, separate all-reduces)")
    assert title(comparison).endswith("(RDU, hardware launch)")
