"""Machines: every number has a source, the unit machine is all ones, overrides and unknown names are told."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields

import pytest

from gpu_model import Machine, load_machine, lower, machine_names
from gpu_model.machine import read_machine
from gpu_model.rates import rates
from patterns.errors import SpecError, UnknownName, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate


def test_names() -> None:
    real = ("a100_sxm", "b200", "h100_pcie", "h100_sxm", "h200")
    assert machine_names() == (*real, "lecture_sm", "unit", "v100")


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
    assert peak["vector_ops"] * 2 == pytest.approx(66.9e12, rel=1e-2)  # an FMA is two FLOP, at 1.98 GHz
    assert peak["special_ops"] == pytest.approx(4.18e12, rel=1e-2)
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
    with pytest.raises(UnknownName, match=r"unknown GPU 'h100' .did you mean 'h100_sxm'.*there is: a100_sxm, b2"):
        load_machine("h100")


# Dense peaks as published, TFLOP/s: datasheets and their reprints.
DENSE = {
    "v100": {"fp16": 125},
    "a100_sxm": {"bf16": 312, "int8": 624},
    "h100_sxm": {"bf16": 989.4, "fp8": 1978.9},
    "h100_pcie": {"bf16": 756.5, "fp8": 1513},
    "h200": {"bf16": 989, "fp8": 1978},
    "b200": {"bf16": 2250, "fp8": 4500},
}


@pytest.mark.parametrize("name", DENSE)
def test_real_machines_reproduce_their_dense_peaks(name: str) -> None:
    machine = load_machine(name)
    for dtype, peak in DENSE[name].items():
        assert machine.flops_per_cycle[dtype] * machine.sm_count * machine.clock_hz == pytest.approx(
            peak * 1e12, rel=3e-3
        )


def test_an_h200_is_an_h100_with_other_memory() -> None:
    h100, h200 = (dict(asdict(load_machine(name))) for name in ("h100_sxm", "h200"))
    assert {name for name in h100 if h100[name] != h200[name]} == {"hbm_bytes", "hbm_bytes_per_s", "name"}


@pytest.mark.parametrize("name", [*DENSE, "lecture_sm", "unit"])
@pytest.mark.parametrize("graph", ["gemm", "attention", "softmax"])
def test_every_machine_runs_every_sort_of_kernel(name: str, graph: str) -> None:
    plan = lower(workload(graph), load_machine(name))
    assert all(simulate(call.program).total_cycles for call in plan.calls)


@pytest.mark.parametrize(("name", "features"), [("v100", {"cp_async", "tma", "bf16"}), ("a100_sxm", {"tma", "fp8"})])
def test_older_machines_lack_what_came_later(name: str, features: set[str]) -> None:
    assert not features & set(load_machine(name).features)


def test_a_schedule_without_any_loader_is_refused_with_one_that_has_some() -> None:
    with pytest.raises(UserError, match=r"multistage needs one of the loaders .*v100 has none of them; .* works there"):
        lower(workload("gemm"), load_machine("v100"), schedule="multistage")


def test_operands_that_a_machine_does_not_multiply_are_told() -> None:
    v100 = lower(workload("gemm"), load_machine("v100"))
    assert "v100 does not multiply bf16: its products are priced at the rate of fp16" in v100.warnings
    assert not lower(workload("gemm"), load_machine("a100_sxm")).warnings
    a100 = load_machine("a100_sxm")
    assert a100.flops_per_cycle["fp8"] == a100.flops_per_cycle["bf16"] == a100.flops_per_cycle["int8"] // 2


def test_sums_in_registers_are_made_by_mma_sync_where_there_is_tensor_memory() -> None:
    graph, b200 = workload("gemm", overrides={"m": 4096, "n": 4096, "k": 4096}), load_machine("b200")
    options = {"tile_m": 128, "tile_n": 128}
    busy = {
        name: simulate(lower(graph, b200, schedule=name, options=options).calls[0].program).busy_cycles["tc"]
        for name in ("tcgen05", "multistage")
    }
    assert busy["multistage"] / busy["tcgen05"] == pytest.approx(1 / b200.mma_sync_efficiency, rel=0.01)


@pytest.mark.parametrize("name", sorted(set(machine_names()) - {"unit", "lecture_sm"}))
def test_a_real_gpu_has_no_number_without_a_source_but_what_it_lacks(name: str) -> None:
    unsaid = {
        origin.field: origin.used.value
        for origin in read_machine(name).origins
        if "not in the file" in origin.used.source
    }
    assert {field: value for field, value in unsaid.items() if value not in (0, 1.0, "", ())} == {
        "ddr_joules_per_byte": None,
        "onchip_joules_per_byte": None,
    }
