"""The grid: units spread evenly over tiles, AGCUs at their edges, machines that do not agree with themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patterns.errors import UserError
from patterns.library import workload
from rdu_model import load_machine, lower, machine_names
from rdu_model.floor.fabric import fabric_of

SN40L = fabric_of(load_machine("sn40l"))


@pytest.mark.parametrize("name", machine_names())
def test_every_unit_of_a_machine_has_a_place(name: str) -> None:
    machine = load_machine(name)
    fabric = fabric_of(machine)
    assert (len(fabric.pcus), len(fabric.pmus)) == (machine.pcus, machine.pmus)
    assert len(fabric.kinds) == fabric.rows * fabric.columns
    assert len(fabric.agcus) == machine.agcus
    assert {fabric.tile_of(cell) for cell in range(len(fabric.kinds))} == set(range(machine.tiles))


def test_as_many_pcus_as_pmus_are_a_checkerboard() -> None:
    assert (SN40L.rows, SN40L.columns) == (40, 52)
    for cell in range(len(SN40L.kinds)):
        row, column = SN40L.row_column(cell)
        if column + 1 < SN40L.columns and SN40L.tile_of(cell) == SN40L.tile_of(cell + 1):
            assert SN40L.kinds[cell] != SN40L.kinds[cell + 1], (row, column)
        if row + 1 < SN40L.rows and SN40L.tile_of(cell) == SN40L.tile_of(cell + SN40L.columns):
            assert SN40L.kinds[cell] != SN40L.kinds[cell + SN40L.columns], (row, column)


def test_units_of_any_ratio_are_spread_evenly() -> None:
    # unit: 64 PCUs and 256 PMUs on 16 x 20: every fifth along the snake, so 4 PCUs in each row.
    fabric = fabric_of(load_machine("unit"))
    for row in range(16):
        assert sum(fabric.kinds[fabric.cell(row, column)] == "pcu" for column in range(20)) == 4


def test_agcus_stand_at_the_left_and_right_edges_of_tiles() -> None:
    assert {SN40L.row_column(cell)[1] for cell in SN40L.agcus} == {0, 25, 26, 51}
    assert [sum(SN40L.tile_of(cell) == tile for cell in SN40L.agcus) for tile in range(4)] == [6, 6, 6, 6]


def test_hops_and_borders_between_cells() -> None:
    # From row 3, column 20 to row 25, column 30: 22 down and 10 across, over one border each way.
    one, other = SN40L.cell(3, 20), SN40L.cell(25, 30)
    assert (SN40L.hops(one, other), SN40L.crossings(one, other)) == (32, 2)
    assert SN40L.hops(one, one) == SN40L.crossings(one, one) == 0


@given(st.integers(0, 40 * 52 - 1), st.integers(0, 40 * 52 - 1), st.integers(0, 40 * 52 - 1))
def test_ways_are_a_metric(one: int, other: int, third: int) -> None:
    assert SN40L.hops(one, other) == SN40L.hops(other, one)
    assert SN40L.hops(one, other) <= SN40L.hops(one, third) + SN40L.hops(third, other)
    assert (SN40L.hops(one, other) == 0) == (one == other)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 4))
def test_fewer_units_than_places_leave_empty_ones(pcus: int, pmus: int, tiles: int) -> None:
    grid = {"tiles": str(tiles), "tiles_across": "1", "tile_rows": "8", "tile_columns": "8"}
    machine = load_machine("unit", {"pcus": str(pcus), "pmus": str(pmus), **grid})
    fabric = fabric_of(machine)
    assert (len(fabric.pcus), len(fabric.pmus)) == (pcus, pmus)
    assert fabric.kinds.count("") == 64 * tiles - pcus - pmus


def test_half_the_pcus_still_have_a_grid_and_an_estimate() -> None:
    machine = load_machine("sn40l", {"pcus": "520"})
    assert fabric_of(machine).kinds.count("") == 520
    for placement in ("estimate", "full"):
        assert lower(workload("softmax"), machine, mode="fused", placement=placement).calls


def test_more_units_than_places_are_refused_where_they_are_placed() -> None:
    machine = load_machine("sn40l", {"pcus": "2080"})
    assert lower(workload("softmax"), machine, mode="fused").calls
    with pytest.raises(UserError, match=r"2,080 PCUs and 1,040 PMUs are 3,120 units.* 2,080 places; tile_rows of 30"):
        lower(workload("softmax"), machine, mode="fused", placement="full")
    taller = load_machine("sn40l", {"pcus": "2080", "tile_rows": "30"})
    assert lower(workload("softmax"), taller, mode="fused", placement="full").calls


def test_tiles_that_are_no_rectangle_are_refused() -> None:
    with pytest.raises(UserError, match="3 tiles, 2 of them side by side"):
        fabric_of(load_machine("sn40l", {"tiles": "3", "tile_rows": "40"}))
