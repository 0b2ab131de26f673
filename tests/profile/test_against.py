"""A run made of a plan of the model, set beside the model: that policy comes back, and what is told has its numbers."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.compare import Comparison, compare
from experiments.profile.against import Against, against, machine_of, predicted_of, recorded_counts
from experiments.profile.call_classes import class_of_call
from experiments.profile.classes import patterns
from experiments.profile.pictures import class_rows, gap_rows, step_rows
from experiments.profile.profiled import Profile, profile
from experiments.profile.read import read_recording
from experiments.profile.record import profile_record
from experiments.profile.show_against import against_parts, against_record, calls_text
from experiments.request import Request
from experiments.text.page import page_text
from patterns.report import Execution
from tests.profile.runs import Run, Work, tuned_token
from tests.profile.written import kineto_events, kineto_text, nsys_file

WORKLOAD = "llama-3.1-8b"
# A real name for each class.
NAMES = {one.class_name: one.example for one in patterns()}


def works(execution: Execution) -> Iterator[Work]:
    """What a GPU that ran this plan would have in its recording: calls of a block that follow each other repeat."""
    plan = execution.plan
    for (_, count), calls in groupby(plan.calls, key=lambda call: (call.block, call.count)):
        one = [
            (NAMES[class_of_call(plan, call)], execution.call_named[call.name].duration_ps // 1000) for call in calls
        ]
        yield from one * count


def recorded(execution: Execution, folder: Path, graph: bool = False) -> Path:
    """Three tokens of a plan, as a file."""
    run = Run(gap_ns=750)
    for number in range(3):
        run.step(f"decode_step {number}", list(works(execution)), graph=graph)
    return nsys_file(folder / "run.sqlite", *run.rows)


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    """The model's answer to the question that all tests ask."""
    return compare(Request(WORKLOAD, modes=("looped", "fused")))


def beside(found: Profile, comparison: Comparison) -> Against:
    predicted = tuple(predicted_of(outcome) for outcome in comparison.outcomes)
    return Against(found.devices[0], comparison, predicted, ())


@pytest.mark.parametrize("policy", ["pattern", "operator", "library", "epilogue", "auto", "megakernel"])
def test_a_run_of_a_policys_kernels_is_closest_to_that_policy(
    policy: str, comparison: Comparison, tmp_path: Path
) -> None:
    (outcome,) = (one for one in comparison.outcomes if one.report.mode == policy)
    found = profile(read_recording(recorded(outcome.execution, tmp_path)))
    assert found.devices[0].kernels_per_step == outcome.report.calls
    set_beside = beside(found, comparison)
    assert set_beside.closest.mode == policy
    assert recorded_counts(found.devices[0]) == dict(set_beside.closest.counts)
    assert "Every class has as many kernels as it says." in page_text(against_parts(set_beside), 200)


def test_a_decode_step_of_the_library_takes_about_as_long_as_it_predicts(
    comparison: Comparison, tmp_path: Path
) -> None:
    """Made of the model's kernels with the model's gap between them; only the ends of a step are not the same."""
    (outcome,) = (one for one in comparison.outcomes if one.report.mode == "library")
    found = profile(read_recording(recorded(outcome.execution, tmp_path)))
    assert found.devices[0].step_ns == pytest.approx(outcome.report.time_ps / 1000, rel=0.002)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A server that runs rope and the write to the cache as two kernels, where `library` has one."""
    run = Run()
    for number in range(3):
        run.step(f"decode_step {number}", tuned_token(32))
    file = tmp_path_factory.mktemp("tuned") / "run.json"
    file.write_text(kineto_text(kineto_events(*run.rows)), encoding="utf-8")
    return file


def test_the_sentence_and_the_difference_follow_the_counts(tuned: Path, comparison: Comparison) -> None:
    found = beside(profile(read_recording(tuned)), comparison)
    sentence = calls_text(found)
    assert sentence.startswith("Your run launches 356 kernels a token; on h100_sxm it would be 1,292 with pattern")
    assert "324 with library" in sentence
    assert sentence.endswith("on sn40l calls would be 3 looped, 34 fused.")
    text = page_text(against_parts(found), 100)
    assert "Closest by counts: library" in text
    assert "+32 rope and cache: 64 recorded, 32 with library" in text
    assert text.count(" recorded, ") == 1
    assert "No policy is close" not in text


def test_a_step_that_is_something_else_is_told(comparison: Comparison, tmp_path: Path) -> None:
    run = Run()
    run.step("decode", tuned_token(3))
    found = profile(read_recording(nsys_file(tmp_path / "run.sqlite", *run.rows)))
    assert "No policy is close: is a step one run of the workload?" in page_text(
        against_parts(beside(found, comparison)), 200
    )


def test_what_is_not_asked_for_follows_the_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def answer(request: Request, graph: object) -> Comparison:
        asked.append(request)
        return compare(Request("softmax", policies=("library",), modes=("looped",)))

    monkeypatch.setattr("experiments.compare.compare", answer)
    run = Run()
    run.step("decode 0", [("gemm", 100)] * 9, graph=True)
    found = profile(read_recording(nsys_file(tmp_path / "run.sqlite", *run.rows)))
    against(found, Request(WORKLOAD), ())
    against(found, Request(WORKLOAD, gpu="b200"), ("gpu", "launch"))
    assert [(one.gpu, one.launch) for one in asked] == [("h100_sxm", "graph"), ("b200", "stream")]


@pytest.mark.parametrize(
    ("device", "machine"),
    [
        ("NVIDIA H100 80GB HBM3", "h100_sxm"),
        ("NVIDIA H100 PCIe", "h100_pcie"),
        ("NVIDIA A100-SXM4-80GB", "a100_sxm"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("NVIDIA H200", "h200"),
        ("NVIDIA B200", "b200"),
        ("AMD Instinct MI250X", "h100_sxm"),
        ("GPU 0", "h100_sxm"),
    ],
)
def test_the_machine_that_stands_for_a_device(device: str, machine: str) -> None:
    assert machine_of(device, "h100_sxm") == machine


def test_json_has_what_the_page_tells(tuned: Path, comparison: Comparison) -> None:
    found = profile(read_recording(tuned))
    (device,) = profile_record(found)["devices"]
    assert device["kernels_per_step"] == {"min": 356, "median": 356, "max": 356}
    assert device["constant"] is True
    assert sum(row["instances"] for row in device["classes"]) == 3 * 356
    assert sum(row["total_ns"] for row in device["kernels"]) == device["account"]["busy_ns"]
    record = against_record(beside(found, comparison))
    assert record["closest"] == "library"
    assert record["differences"] == [{"name": "rope and cache", "recorded": 64, "predicted": 32}]
    json.dumps(record, allow_nan=False)


def test_what_is_drawn_are_the_numbers_of_the_tables(tuned: Path, comparison: Comparison) -> None:
    found = profile(read_recording(tuned))
    (device,) = found.devices
    set_beside = beside(found, comparison)
    drawn = {row["class"]: row["time_us"] for row in class_rows(device, set_beside) if row["run"] == "recorded"}
    assert drawn == {row.name: pytest.approx(row.durations.total_ns / 3e3) for row in device.classes}
    of_model = [row for row in class_rows(device, set_beside) if row["run"] == "model, library"]
    assert sum(row["kernels"] for row in of_model) == 324
    spans = step_rows(found, device, set_beside)
    kernels = [row for row in spans if row["run"] == "recorded: decode_step 1" and row["lane"] != "launch"]
    assert sum(row["end_ns"] - row["start_ns"] for row in kernels) == device.steps[1].busy_ns
    model = [row for row in spans if row["run"].startswith("model: h100_sxm, library") and row["lane"] != "launch"]
    assert len(model) == 324
    assert {row["lane"] for row in spans if row["run"].startswith("model: sn40l")} == {"launch", "sections"}
    assert sum(row["idle_us"] for row in gap_rows(device)) == pytest.approx(device.account.idle_ns / 1e3)


def test_the_command_draws_and_prints_beside_a_model(tmp_path: Path) -> None:
    run = Run()
    for number in range(2):
        run.step(f"run {number}", [("softmax_warp_forward", 5_000)])
    file = nsys_file(tmp_path / "run.sqlite", *run.rows)
    options = ["--against", "softmax", "--policy", "library", "--mode", "looped", "--set", "rows=1024"]
    result = CliRunner().invoke(cli, ["profile", str(file), *options, "--json", "--plot", str(tmp_path / "drawn")])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["against"]["predicted"][0]["counts"] == {"reduction and softmax": 1}
    names = {path.name.split(".")[0].removesuffix("_one_column") for path in (tmp_path / "drawn").iterdir()}
    assert names == {"step", "gaps", "kernels_by_class", "time_by_class"}


def test_csv_has_the_columns_of_nsight(tuned: Path) -> None:
    result = CliRunner().invoke(cli, ["profile", str(tuned), "--csv"])
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    columns = "time_percent total_ns instances avg_ns med_ns min_ns max_ns stddev_ns name"
    assert ",".join(rows[0]) == "device,what," + columns.replace(" ", ",") + ",class,per_step"
    for what in ("class", "kernel"):
        assert sum(float(row["time_percent"]) for row in rows if row["what"] == what) == pytest.approx(100)


def test_the_page_tells_what_was_put_into_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    run = Run(host_ns=30_000)
    for number in range(4):
        run.step(f"decode_step {number}", [("gemm", 10_000)] * (3 if number else 2))
    file = nsys_file(tmp_path / "run.sqlite", *run.rows)
    result = CliRunner().invoke(cli, ["profile", str(file), "--top", "0"])
    assert result.exit_code == 0
    assert "2 to 3 kernels a step, median 3; 1 of 4 steps differ from it" in result.stdout
    assert "host-bound" in result.stdout
    assert "It cannot see inside a kernel" in " ".join(result.stdout.split())
    assert "cudaLaunchKernel: 11 calls, 30.00 us each (median), 82.50 us a step" in result.stdout
