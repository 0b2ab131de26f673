"""What can be listed, and that every kind tells how it is written."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from click.testing import CliRunner

from experiments.catalogue import SECTION_ENTRIES
from experiments.cli import cli
from experiments.commands.list import SECTIONS
from patterns.graph_file.spec import Strict
from patterns.kind import kind_named, kind_names


def test_every_section_has_entries_that_say_what_they_are() -> None:
    assert tuple(SECTION_ENTRIES) == SECTIONS
    for section, entries in SECTION_ENTRIES.items():
        assert entries(), section
        assert all(entry.about.strip() for entry in entries()), section


@pytest.mark.parametrize("name", kind_names())
def test_a_kind_tells_every_field_and_function_that_it_takes(name: str) -> None:
    entry = next(entry for entry in SECTION_ENTRIES["kinds"]() if entry.name == name)
    told = " ".join(entry.details)
    own = set(kind_named(name).Spec.model_fields) - {"kind", "writes", "extents"} - set(Strict.model_fields)
    assert not [field for field in own if not re.search(rf"\b{field}\b", told)]
    assert not [fn for fn in kind_named(name).FUNCTIONS if not re.search(rf"\b{fn}\b", told)]


@pytest.mark.parametrize("name", kind_names())
def test_functions_are_those_that_a_file_may_name(name: str) -> None:
    kind = kind_named(name)
    field = kind.Spec.model_fields.get("fn")
    assert bool(kind.FUNCTIONS) == (field is not None)
    if field is not None and get_args(field.annotation):
        assert set(get_args(field.annotation)) == set(kind.FUNCTIONS)


def test_one_section_is_told_in_detail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    shown = CliRunner().invoke(cli, ["list", "kinds"]).output
    assert "\nmap\n  YAML: {kind: map, fn: exp, reads: [x]};" in shown
    assert "\n  fn: copy, zero, cast (dtype), neg," in shown
    assert max(map(len, shown.splitlines())) <= 110
    assert "YAML:" not in CliRunner().invoke(cli, ["list"]).output
    assert "\n  Demand: what keeping the k best so far takes" in shown, "a paragraph begins a line"
    words = next(line for line in shown.splitlines() if "distinct: uniform" in line)
    column = words.index("the expected number")
    assert f"\n{' ' * column}the index differ (a" in shown, "what goes on stands below the words"


def test_a_policy_of_both_families_is_told_for_each() -> None:
    told = {entry.about for entry in SECTION_ENTRIES["policies"]() if entry.name == "operator"}
    assert {about[:5] for about in told} == {"GPU: ", "RDU: "}
    assert len({about[5:] for about in told}) == 2
