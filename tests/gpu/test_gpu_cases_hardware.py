"""Hardware numbers that people got wrong: sparse peaks, GB for GiB, cycles of two clocks, factors applied twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import rdu_model
from experiments.catalogue import machines
from gpu_model import Machine, load_machine, lower
from gpu_model.machine import MACHINES, RULES
from gpu_model.peaks import peaks_of
from gpu_model.price import Transfer, hbm_cycles
from gpu_model.schedules import streaming
from gpu_model.work import Choice, Use, Wave, Work
from patterns.count import graph_demand, state_capacity_bytes
from patterns.documents.parameters import read_parameters
from patterns.errors import DoesNotFit, SpecError, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.plugin import data_file
from patterns.run import run_plan
from patterns.summarize import summarize
from patterns.units import dimension_of, parse_quantity, ticks

H100 = load_machine("h100_sxm")
UNIT = load_machine("unit")


@pytest.fixture
def with_values(tmp_path: Path) -> Callable[..., Machine]:
    """The H100's file with some values replaced, as a file of a user's."""
    text = data_file(MACHINES, "h100_sxm", ".yaml", "GPU").read_text(encoding="utf-8")

    def read(**values: str) -> Machine:
        written = [f"{name}: {{value: {value}, source: a datasheet}}" for name, value in values.items()]
        file = tmp_path / "mine.yaml"
        file.write_text("\n".join(["like: h100_sxm", *written]) + "\n", encoding="utf-8")
        return read_parameters(file, Machine, None, RULES).values

    assert "bf16_flops_per_cycle: {value: 4096 FLOP/cycle" in text
    return read


# Sparse peaks and the ridge point.


def test_peaks_are_dense_and_the_ridge_point_is_printed() -> None:
    peaks = peaks_of("h100_sxm")
    assert dict(peaks.flops_per_s)["bf16"] == 132 * 4096 * 1_830_000_000 == pytest.approx(989.4e12, rel=1e-4)
    assert float(peaks.ridge_flops_per_byte("bf16")) == pytest.approx(295.3, abs=0.06)
    # The sparse peak, or fp8's dense one, gives twice that.
    assert float(peaks.ridge_flops_per_byte("fp8")) == pytest.approx(590.7, abs=0.1)
    told = "\n".join(next(entry for entry in machines() if entry.name == "h100_sxm").details)
    assert "bf16, fp16: 989.4 TFLOP/s dense, ridge point 295.4 FLOP/B" in told
    assert "132 SMs x 4,096 FLOP/cycle x 1.830 GHz" in told


@pytest.mark.parametrize(
    ("name", "rate", "most"), [("bf16", 8192, "4,096"), ("fp8", 16384, "8,192"), ("tf32", 4096, "2,048")]
)
def test_a_sparse_peak_in_a_machine_file_is_refused(
    name: str, rate: int, most: str, with_values: Callable[..., Machine]
) -> None:
    field = f"{name}_flops_per_cycle"
    with pytest.raises(SpecError, match=rf"{field}.value: {rate:,} FLOP/cycle are more than the {most} .*2:4 sparse"):
        with_values(**{field: f"{rate} FLOP/cycle"})
    # Other rates that the instruction cannot reach are refused too; lower ones may be what somebody measured.
    with pytest.raises(SpecError, match="more than the"):
        with_values(**{field: f"{rate // 2 + 8} FLOP/cycle"})
    assert with_values(**{field: f"{rate // 2 - 8} FLOP/cycle"})


def test_a_field_for_a_sparse_peak_is_not_accepted(with_values: Callable[..., Machine]) -> None:
    with pytest.raises(SpecError, match=r"unknown parameter 'sparse_bf16_flops_per_s'.*peaks are dense"):
        with_values(sparse_bf16_flops_per_s="1978.9 TFLOP/s")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("clock_hz", "1 GHz", "--set clock_hz: 1 GHz is not between the .* GHz of kernels .* boost_clock_hz, 1.98 GHz"),
        ("clock_hz", "3 GHz", "--set clock_hz: 3 GHz is not between .*: set that too"),
        ("features", "[tma, wgma]", r"--set features: unknown feature 'wgma' \(did you mean 'wgmma'\?\)"),
        ("tile_rows", "[]", "--set tile_rows: at least one extent of a tile is due"),
        ("threads_per_cta", "127", "--set threads_per_cta: kernels have whole warpgroups of 128 threads"),
        ("clock_droop_share", "1", "--set clock_droop_share: the share of a clock that is lost is below 1"),
    ],
)
def test_values_of_which_nothing_could_come_are_refused_on_the_command_line(
    field: str, value: str, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        load_machine("h100_sxm", {field: value})


def test_both_clocks_can_be_set() -> None:
    slow = load_machine("h100_sxm", {"clock_hz": "1 GHz", "boost_clock_hz": "1 GHz"})
    calls = lower(workload("gemm", overrides={"m": 8192, "n": 8192}), slow).calls
    assert all(call.clock_hz <= 1e9 for call in calls)


@pytest.mark.parametrize(
    ("field", "value"),
    [("tile_k_bytes", "1 B"), ("register_granularity", "1"), ("vector_ops_per_cycle", "1 ops/cycle")],
)
def test_odd_machines_run_within_their_peaks(field: str, value: str) -> None:
    odd = load_machine("h100_sxm", {field: value})
    for graph in (workload("gemm"), workload("attention", context=512)):
        assert summarize(run_plan(lower(graph, odd))).time_ps


def test_a_peak_may_be_tried_on_the_command_line() -> None:
    faster = load_machine("h100_sxm", {"bf16_flops_per_cycle": "8192 FLOP/cycle"})
    assert faster.bf16_flops_per_cycle == 8192


def test_unknown_features_and_impossible_shared_memory_are_refused(with_values: Callable[..., Machine]) -> None:
    with pytest.raises(SpecError, match=r"features.value: unknown feature 'wgmna' .did you mean 'wgmma'"):
        with_values(features="[cp_async, wgmna]")
    with pytest.raises(SpecError, match=r"233,472 bytes and 1,024 are reserved: more than the SM's 233,472"):
        with_values(smem_bytes_per_cta="228 KiB")


# Units.


def seconds_of_a_read(machine: Machine, num_bytes: int) -> Fraction:
    return Fraction(hbm_cycles(machine, Transfer(num_bytes, 1, 1, 1), 1), machine.clock_hz)


def test_a_terabyte_is_ten_to_the_twelve_and_a_gib_is_two_to_the_thirty() -> None:
    machine = replace(H100, hbm_efficiency=1.0)
    assert float(seconds_of_a_read(machine, 2**30)) == pytest.approx(320.52e-6, rel=1e-5)
    assert parse_quantity("80 GiB", dimension_of("hbm_bytes")) == 85_899_345_920
    assert parse_quantity("3.35 TB/s", dimension_of("hbm_bytes_per_s")) == 3_350_000_000_000


@pytest.mark.parametrize(("field", "value"), [("hbm_bytes", "80"), ("hbm_bytes_per_s", "3.35")])
def test_a_bare_number_is_refused(field: str, value: str, with_values: Callable[..., Machine]) -> None:
    with pytest.raises(SpecError, match=f"mine.yaml:2:.*{field}.value: a unit is due, found the bare number {value}"):
        with_values(**{field: value})


@pytest.mark.parametrize("field", ["hbm_bytes_per_s", "sm_count", "clock_hz", "hbm_efficiency", "bf16_flops_per_cycle"])
@pytest.mark.parametrize("value", ["0", "-1", ".nan", ".inf", "''"])
def test_zero_negative_and_infinite_hardware_is_refused_with_the_range(
    field: str, value: str, with_values: Callable[..., Machine]
) -> None:
    unit = {"hbm_bytes_per_s": "TB/s", "clock_hz": "GHz", "bf16_flops_per_cycle": "FLOP/cycle"}.get(field, "")
    number = value.strip(".'")
    written = f"'{number} {unit}'" if unit and number else value
    with pytest.raises(SpecError, match=f"mine.yaml:2:.*{field}") as refusal:
        with_values(**{field: written})
    due = ("greater than 0", "is not a number", "is due")
    assert any(words in str(refusal.value) for words in due)


# Clocks.


def test_equal_cycles_of_two_clocks_are_different_times() -> None:
    gpu, rdu = H100.clock_hz, rdu_model.load_machine("unit").clock_hz
    assert ticks(1830, gpu) == 1_000_000
    assert ticks(1830, rdu) == 1_830_000


def test_a_multiply_add_is_two_flop_on_both_machines() -> None:
    graph = workload("gemm", overrides={"m": 96, "n": 1000, "k": 1000})
    assert graph_demand(graph).matrix_flops == 192_000_000
    one = {"pcus": "1", "pcu_lanes": "16", "pcu_stages": "6", "packed_macs": "1"}
    rdu = rdu_model.load_machine("unit", one)
    assert Fraction(192_000_000, rdu.peak_flops_per_s) * 1000 == 1
    gpu = replace(UNIT, bf16_flops_per_cycle=192)
    assert lower(graph, gpu).rates.peak_by_resource["matrix_flops"] == 192e9


# Bandwidth that is reached, and latency.


def test_efficiency_is_applied_once() -> None:
    machine = load_machine("h100_sxm", {"hbm_efficiency": "0.82"})
    assert float(seconds_of_a_read(machine, 2_747_000_000)) == pytest.approx(1e-3, rel=1e-5)
    assert machine.hbm_achieved_bytes_per_s == 2_747_000_000_000


def test_efficiency_is_applied_once_to_a_whole_kernel() -> None:
    # All of it streams through the HBM: twice the efficiency, half the time, but for the kernel's ends.
    graph = workload("softmax", overrides={"rows": 65536, "columns": 4096})
    cycles = []
    for efficiency in (0.25, 0.5):
        (call,) = lower(graph, replace(H100, hbm_efficiency=efficiency), policy="library").calls
        cycles.append(simulate(call.program).total_cycles)
    assert cycles[0] / cycles[1] == pytest.approx(2, rel=0.01)


def stream(machine: Machine, tiles: int, slots: int, load_cycles: int, latency_cycles: int) -> int:
    """Cycles of loads that nothing is computed on."""
    load, store = Use("load", load_cycles, "load"), Use("store", 0, "store")
    work = Work("read", (Wave(tiles, load, store),), 1, 1024, (), (), latency_cycles)
    return simulate(streaming.program(work, Choice(slots=slots), machine)).total_cycles


def test_latency_is_paid_once_by_independent_reads_and_every_time_by_dependent_ones() -> None:
    # 1 MiB at 3.35 TB/s is 313 ns; the unit machine's cycle is a nanosecond.
    assert stream(UNIT, tiles=1, slots=1, load_cycles=313, latency_cycles=600) == 913
    assert stream(UNIT, tiles=2, slots=2, load_cycles=313, latency_cycles=600) == 1226
    assert stream(UNIT, tiles=2, slots=1, load_cycles=313, latency_cycles=600) == 1826


@pytest.mark.parametrize(("bytes_in_flight", "share"), [(8192, 0.538), (16384, 1.0)])
def test_few_bytes_in_flight_give_little_bandwidth(bytes_in_flight: int, share: float) -> None:
    # Little's law: 3.35 TB/s x 600 ns over 132 SMs are 15,227 bytes of each.
    per_ns = Fraction(3350, 132)
    assert round(per_ns * 600) == 15_227
    # In units of 1/16 ns, for whole cycles: a slot of 1 KiB takes 40.35 ns at the SM's share.
    slot, tick = 1024, 16
    transfer = round(slot / per_ns * tick)
    tiles, slots = 4000, bytes_in_flight // slot
    total = stream(UNIT, tiles, slots, transfer, 600 * tick - transfer)
    assert tiles * transfer / total == pytest.approx(share, rel=0.01)


# Memory.


def test_a_model_larger_than_the_memory_needs_two() -> None:
    with pytest.raises(DoesNotFit, match="at least 2 GPUs would hold it"):
        lower(workload("llama-3.1-70b"), H100)


def test_a_token_takes_half_a_mib_of_cache_where_every_head_has_keys_of_its_own() -> None:
    # 32 layers x 2 x 32 heads x 128 x 2 bytes; eight times as much is an overcount that was seen in public.
    def cache(context: int) -> int:
        return state_capacity_bytes(workload("llama-3.1-8b", context=context, overrides={"kv_heads": 32}))

    assert cache(101) - cache(100) == 524_288
