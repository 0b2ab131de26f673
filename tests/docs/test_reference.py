"""No field of a file and no column of a result is without a text, a unit and a range."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import Any

import pytest

from experiments import api
from experiments.documented import columns, parameters
from experiments.documented.fields import PARTS as GRAPH_PARTS
from experiments.documented.fields import graph_fields, node_parts, part_fields, sweep_fields
from experiments.documented.tables import TABLES, filled, table
from patterns.documents.parameters import parameter_names
from patterns.energy import EnergyPrices
from patterns.errors import UnknownName


def undocumented(said: Any) -> list[str]:
    return [one.name for one in said if not (one.text.strip() and one.unit and one.values)]


@pytest.mark.parametrize("part", [*GRAPH_PARTS, *node_parts()])
def test_every_field_of_a_part_of_a_graph_has_a_text(part: str) -> None:
    assert undocumented(part_fields(part)) == []


def test_every_field_of_graph_and_sweep_files_has_a_text() -> None:
    assert undocumented((*graph_fields(), *sweep_fields())) == []
    assert {one.name for one in graph_fields()} >= {"name", "extents", "tensors", "nodes", "blocks"}


@pytest.mark.parametrize("family", ["gpu", "rdu"])
def test_every_parameter_has_a_text_and_every_text_a_parameter(family: Any) -> None:
    names = set(parameter_names(import_module(f"{family}_model").Machine))
    prices = {field.name for field in fields(EnergyPrices)}
    assert set(parameters.texts_of(f"{family}_parameters")) == names - prices
    assert set(parameters.texts_of("energy_parameters")) == prices
    assert undocumented((*parameters.parameters(family), *parameters.prices())) == []


def test_what_is_said_of_a_parameter_is_what_the_loader_asks() -> None:
    said = {one.name: one for one in parameters.parameters("gpu")}
    assert said["hbm_bytes_per_s"].values == "greater than 0"
    assert "TB/s" in said["hbm_bytes_per_s"].unit
    assert said["hbm_efficiency"].values == "greater than 0 and at most 1"
    assert said["launch_gap_ps"].values == "at least 0"
    assert said["fit"].values == "`refuse`, `warn`"


def test_every_column_of_a_comparison_is_told_in_order() -> None:
    record = api.compare("softmax", policies=("library",), modes=("looped",)).to_records()[0]
    assert [one.name for one in columns.report_columns()] == list(record)


def test_every_column_of_a_sweep_is_told_in_order() -> None:
    source = {"fixed": {"workload": "softmax", "machine": "h100_sxm"}, "columns": ["overlap", "waterfall"]}
    record = api.sweep(source, jobs=1).records[0]
    told = [one.name for one in columns.sweep_columns()]
    more = [one.name for one in columns.optional_sweep_columns()]
    assert [name for name in record if name not in ("workload", "machine") and name not in more] == told
    assert {name for name in record if name.startswith(("overlap_", "waterfall_"))} <= set(more)


def test_units_told_are_those_in_the_names() -> None:
    told = (
        *columns.report_columns(),
        *columns.sweep_columns(),
        *columns.optional_sweep_columns(),
        *columns.profile_columns(),
    )
    assert undocumented(told) == []
    numbers = [one for one in told if one.unit not in ("-", "that of the resource")]
    assert [one.name for one in numbers if not columns.unit_is_in_name(one)] == []


def test_a_page_has_its_tables_in_their_places() -> None:
    page = filled("# Fields\n\n{{ table sweep_fields }}\n\nend\n")
    assert page == f"# Fields\n\n{table('sweep_fields')}\n\nend\n"
    # The claims are computed, which a study's test does.
    assert all(len(TABLES[name]().splitlines()) > 3 for name in TABLES if name != "claims")
    with pytest.raises(UnknownName):
        filled("{{ table no_such }}\n")
