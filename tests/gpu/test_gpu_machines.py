"""Machines: every number has a source, the unit machine is all ones, overrides and unknown names are told."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest

from gpu_model import Machine, load_machine, machine_names
from gpu_model.machine import read_machine
from gpu_model.rates import rates
from patterns.errors import SpecError, UnknownName
from patterns.library import workload


def test_names() -> None:
    assert machine_names() == ("h100_sxm", "lecture_sm", "unit")


@pytest.mark.parametrize("name", machine_names())
def test_every_number_has_a_source_of_its_own(name: str) -> None:
    sources = dict(read_machine(name).sources)
    del sources["name"]
    assert set(sources) == {field.name for field in fields(Machine)} - {"name"}
    # What a machine lacks, or what costs nothing on it, may be left out: it has a default.
    optional = {field.name for field in fields(Machine) if field.default is not MISSING}
    left_out = {field for field, source in sources.items() if "not in the file" in source}
    assert left_out <= optional
    assert all(len(source) > 8 for source in sources.values())


def test_unit_has_rates_of_one_and_costs_of_zero() -> None:
    machine = load_machine("unit")
    for field in fields(machine):
        value = getattr(machine, field.name)
        if field.name.endswith("_per_cycle"):
            assert value == 1, field.name
        if field.name.endswith("_per_s"):
            assert value == machine.clock_hz, field.name
        if field.name.endswith(("_cycles", "_ps", "_cycles_per_kib")):
            assert value == 0, field.name


def test_h100_reproduces_its_datasheet() -> None:
    peak = rates(workload("gemm"), load_machine("h100_sxm")).peak_by_resource
    assert peak["matrix_flops"] == pytest.approx(989.4e12, rel=1e-4)
    assert peak["vector_ops"] * 2 == pytest.approx(61.8e12, rel=1e-2)  # an FMA is two FLOP, at 1.83 GHz
    assert peak["special_ops"] == pytest.approx(3.9e12, rel=1e-2)
    assert peak["hbm_bytes"] == 3.35e12


def test_achievable_is_never_above_peak() -> None:
    for name in machine_names():
        both = rates(workload("gemm"), load_machine(name))
        assert all(rate <= both.peak_by_resource[resource] for resource, rate in both.achievable)


def test_overrides_are_read_with_units() -> None:
    assert load_machine("unit", {"load_latency_cycles": "12 cycles"}).load_latency_cycles == 12
    with pytest.raises(SpecError, match="a unit is due"):
        load_machine("unit", {"load_latency_cycles": "12"})
    with pytest.raises(UnknownName, match="did you mean 'load_latency_cycles'"):
        load_machine("unit", {"load_latency_cycle": "12 cycles"})


def test_unknown_machine() -> None:
    with pytest.raises(UnknownName, match=r"unknown GPU 'h100' .did you mean 'h100_sxm'.*there is: h100_sxm, lecture"):
        load_machine("h100")
