"""Measured board energies lie in the range that the sources of prices leave open, and the typical ones near them."""

from __future__ import annotations

import pytest

from experiments.families.board_energy import ends, rows
from experiments.validation.row import Row
from experiments.validation.tables import Tables
from gpu_model.machine import load_machine

ROWS = rows(Tables())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_measured_is_in_the_range_and_the_typical_is_near(row: Row) -> None:
    machine = load_machine(row.machine)
    assert row.explain is not None
    words = row.explain(machine).split()
    low, high = float(words[words.index("leave") + 1]), float(words[words.index("to") + 1])
    assert low < row.measured < high
    # Prices are not fitted to memory-bound products; those of large ones were scaled by the boards' own.
    assert abs(row.predict(machine) / row.measured - 1) < (0.45 if row.target else 0.15)


def test_what_prices_were_scaled_by_is_no_error_of_the_model() -> None:
    assert {row.id for row in ROWS if row.target} == {"h200-bf16-memory-bound", "b200-bf16-memory-bound"}


def test_a_memory_bound_product_is_near_what_its_bytes_alone_take() -> None:
    """By hand: nearly all bytes are the matrix's. Each crosses HBM and L2 once, in bytes / 4.3 TB/s."""
    by_hand = 93.4 + 36.4 + 71.8 / 4.3
    (row,) = (row for row in ROWS if row.id == "h200-bf16-memory-bound")
    assert row.predict(load_machine("h200")) == pytest.approx(by_hand, rel=0.2)
    assert "64" in ends("pJ/B", 16, 16384, 16384, "bf16", load_machine("h200"))
