"""The RDU's published rows, all of them, which take half a minute: `tests/validation` has some of them.

Run with `pytest -o addopts=--import-mode=importlib tests/benchmarks/test_rdu_rows.py`.
"""

from __future__ import annotations

import pytest

from tests.validation.test_rdu_families import errors_of


@pytest.mark.long
@pytest.mark.timeout(600)
def test_decode_at_batch_one_is_within_five_percent_of_every_row() -> None:
    errors = errors_of("rdu_decode")
    assert len(errors) == 8
    assert {name: round(error, 1) for name, error in errors.items() if abs(error) > 5} == {}


@pytest.mark.long
@pytest.mark.timeout(600)
def test_ways_to_call_are_inside_the_published_ranges_but_for_one() -> None:
    outside = {name for name, error in errors_of("rdu_modes").items() if error}
    assert outside <= {"hardware-over-software-decode-70b"}
