"""Error bands: percentiles of measured over predicted time, and their sum over the parts of a plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

import rdu_model
from experiments.cli import cli
from experiments.validate import FamilyResult, Validation
from experiments.validation.bands import ANY, Band, band_of, bands_text, found_bands, known_bands
from experiments.validation.plan_bands import PartBand, as_measured, combined, parts_of, plan_bands
from experiments.validation.row import Compared, Row
from gpu_model import load_machine, lower
from gpu_model.machine import Machine
from patterns.library import workload
from patterns.run import run_plan


def nothing(machine: Machine) -> float:
    return 0.0


def family(name: str, pairs: list[tuple[float, float]], unit: str = "us", gpu: str = "h100_sxm") -> FamilyResult:
    rows = (
        Row(str(n), gpu, partial(nothing), measured, unit, "a test", family=name)
        for n, (_, measured) in enumerate(pairs)
    )
    compared = tuple(Compared(row, predicted) for row, (predicted, _) in zip(rows, pairs, strict=True))
    return FamilyResult(name, compared, (), len(compared))


def test_a_band_is_measured_over_predicted_time() -> None:
    # Measured 0 to 10 percent above the prediction: the 10th percentile is +1, the 90th +9.
    (own, pooled) = found_bands(Validation((family("gemm", [(100, 100 + n) for n in range(11)]),), ""))[::-1]
    assert (own.machine, own.part, own.families, own.rows) == ("h100_sxm", "gemm", ("gemm",), 11)
    assert (own.low_percent, own.high_percent) == (1.0, 9.0)
    assert pooled == replace(own, machine=ANY)


def test_a_rate_that_is_too_low_is_a_time_that_is_too_long() -> None:
    (band, _) = found_bands(Validation((family("memory_bound", [(200.0, 100.0)], "GB/s"),), ""))
    assert (band.low_percent, band.high_percent) == (100.0, 100.0)


def test_families_of_no_part_make_no_band() -> None:
    assert found_bands(Validation((family("lecture", [(1.0, 1.0)], "cycles"),), "")) == []


def test_a_part_that_was_not_measured_on_a_gpu_has_the_band_of_all() -> None:
    own, pooled = Band("h100_sxm", "gemm", ("gemm",), 9, -1, 2), Band(ANY, "launches", ("launch",), 5, -3, 4)
    assert band_of("h100_sxm", "gemm", (own, pooled)) == own
    assert band_of("h100_sxm", "launches", (own, pooled)) == pooled
    assert band_of("h100_sxm", "attention", (own, pooled)) is None
    assert band_of("unit", "launches", (own, pooled)) is None


def test_bands_add_up_by_their_shares() -> None:
    gemm, launches = Band("x", "gemm", (), 1, -10, 20), Band("x", "launches", (), 1, -50, 0)
    assert combined([PartBand("gemm", 0.75, gemm), PartBand("launches", 0.25, launches)]) == (-20.0, 15.0)
    assert combined([]) is None


def test_the_parts_of_a_decode_step() -> None:
    graph = workload("llama-3.1-8b", batch=1, context=8192, members=2)
    plan = lower(graph, load_machine("h100_sxm"), members=2)
    parts = parts_of(plan)
    by_node = {node: parts[call.name] for call in plan.calls for node in call.nodes}
    assert by_node["q"] == by_node["gate"] == by_node["logits"] == "gemm"
    assert by_node["scores"] == "attention"
    assert by_node["attention_mean"] == by_node["embedded"] == "small_kernels"
    assert {parts[call.name] for call in plan.calls if call.collective} == {"collectives"}
    assert all(parts[call.name] == parts[call.combines] for call in plan.calls if call.combines)


def test_shares_of_a_plan_are_of_its_whole_time_and_only_of_machines_that_were_measured() -> None:
    graph = workload("llama-3.1-8b", context=2048)
    found = plan_bands(run_plan(lower(graph, load_machine("h100_sxm")), spans=False))
    assert sum(one.share for one in found) == pytest.approx(1)
    assert {one.part for one in found} == {"gemm", "attention", "small_kernels", "launches"}
    assert max(found, key=lambda one: one.share).part == "gemm"
    assert plan_bands(run_plan(lower(graph, load_machine("unit")), spans=False)) == ()


def test_a_megakernels_time_is_shared_out_by_what_its_operators_take_at_least() -> None:
    def shares(policy: str, members: int = 1) -> dict[str, float]:
        graph = workload("llama-3.1-8b", context=32768, batch=8, members=members)
        plan = lower(graph, load_machine("h100_sxm"), policy=policy, members=members)
        return {one.part: one.share for one in plan_bands(run_plan(plan, spans=False))}

    # Bytes of a layer: 218 M weights and 8 x 32768 x 2048 elements of keys and values, 2 bytes each; 525 M of logits.
    layers, attention, logits = 32 * 218.1, 32 * 8 * 32768 * 2048 / 1e6, 525.3
    expected = attention / (layers + attention + logits)
    megakernel = shares("megakernel")
    assert sum(megakernel.values()) == pytest.approx(1)
    assert megakernel["attention"] == pytest.approx(expected, abs=0.02)
    assert megakernel["attention"] == pytest.approx(shares("library")["attention"], abs=0.1)
    assert shares("megakernel", members=2)["collectives"] > 0


@pytest.mark.parametrize(
    ("mode", "orchestration", "phase", "measured"),
    [
        ("looped", "hardware", "decode", True),
        ("fused", "hardware", "decode", False),
        ("looped", "software", "decode", False),
        ("looped", "hardware", "prefill", False),
    ],
)
def test_an_rdu_has_a_band_where_runs_like_it_were_measured(
    mode: str, orchestration: str, phase: str, measured: bool
) -> None:
    graph = workload("llama-3.1-8b", phase=phase, context=1024, members=8)
    machine = rdu_model.load_machine("sn40l")
    plan = rdu_model.lower(graph, machine, mode=mode, orchestration=orchestration, members=8)
    assert as_measured(plan) is measured
    assert [(one.part, one.share) for one in plan_bands(run_plan(plan, spans=False))] == [("sections", 1.0)] * measured
    assert plan_bands(run_plan(replace(plan, machine="sn10"), spans=False)) == ()


def test_the_projects_file_is_what_the_command_writes(tmp_path: Path) -> None:
    known = known_bands()
    assert {band.machine for band in known} >= {"h100_sxm", "h200", "a100_sxm", "b200", ANY}
    assert all(band.low_percent <= band.high_percent and band.rows > 0 for band in known)
    file = tmp_path / "bands.yaml"
    result = CliRunner().invoke(cli, ["validate", "launch", "--write-bands", str(file)])
    assert result.exit_code == 0, result.output
    text = file.read_text()
    assert text.startswith("# Where measurements lie")
    assert "{machine: h200, part: launches, families: [launch], rows: 18, low_percent: " in text


def test_a_file_of_no_bands_can_be_read() -> None:
    assert bands_text(Validation((), "")).endswith("bands: []\n")
