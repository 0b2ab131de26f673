"""The command: figures of a family, JSON, pictures, and messages for what does not exist."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from experiments.export import records_csv
from experiments.picture import in_style
from experiments.plot import predicted_measured
from experiments.validate import FamilyResult, Question, Validation, validate
from experiments.validation.row import Compared, Refused, Row

TABLE = (
    "gpu,library,gemm_dtype,m,n,k,latency_us\n"
    "h100_sxm,ours,bfloat16,4096,4096,4096,200\n"
    "h100_sxm,ours,bfloat16,16,4096,4096,12\n"
    "a100_sxm,ours,bfloat16,16,4096,4096,22\n"
    "l40,ours,bfloat16,16,4096,4096,30\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gemm.csv").write_text(TABLE)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["validate", *arguments])


def test_every_run_of_the_lecture_is_equal_to_the_cycle() -> None:
    (lecture,) = validate(Question(families=("lecture",))).families
    assert [(one.row.id, one.predicted) for one in lecture.compared] == [
        (one.row.id, one.row.measured) for one in lecture.compared
    ]
    assert not lecture.refused
    assert len(lecture.compared) == 78


def test_json_has_families_and_rows_and_nothing_else(folder: Path) -> None:
    result = run("gemm", "lecture", "--aiconfigurator", str(folder), "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert set(data) == {"families", "rows"}
    assert set(data["families"]) == {"gemm", "lecture"}
    assert set(data["families"]["gemm"]) == {"rows", "mape_percent", "median_percent", "p90_percent", "bias_percent"}
    assert data["families"]["gemm"]["rows"] == 3
    rows = [row for row in data["rows"] if row["family"] == "gemm"]
    assert [set(row) for row in rows] == [{"family", "id", "predicted", "measured", "unit", "source"}] * 3
    assert [row["measured"] for row in rows] == [200, 12, 22]
    by_id = {row["id"]: row for row in data["rows"]}
    assert by_id["sync_load"]["predicted"] == by_id["sync_load"]["measured"] == 167168


def test_the_page_has_the_figures_the_worst_rows_and_where_tables_are_from(folder: Path) -> None:
    result = run("gemm", "--aiconfigurator", str(folder))
    assert result.exit_code == 0, result.output
    assert "gemm" in result.output
    assert "the rows that are farthest off" in result.output
    assert "h100_sxm bf16 4096x4096x4096" in result.output
    text = " ".join(result.output.split())
    assert f"Measured tables: {folder}" in text
    assert "GPUs that are no machines here are left out: l40." in text


def test_a_gpu_and_a_number_of_rows_are_kept_to(folder: Path) -> None:
    (found,) = validate(Question(("gemm",), gpus=("h100_sxm",), rows=1, folder=folder)).families
    assert [one.row.machine for one in found.compared] == ["h100_sxm"]
    assert found.there == 2


def test_a_parameter_of_the_machine_can_be_replaced(folder: Path) -> None:
    def predicted(**settings: str) -> float:
        question = Question(("gemm",), ("h100_sxm",), 1, folder, tuple(settings.items()), jobs=1)
        ((one,),) = ((found.compared) for found in validate(question).families)
        return one.predicted

    assert predicted(launch_gap_ps="2 us") - predicted(launch_gap_ps="1 us") == pytest.approx(1.0, abs=1e-6)


def test_the_answer_does_not_depend_on_the_number_of_processes(folder: Path) -> None:
    (folder / "gemm.csv").write_text(
        TABLE.splitlines()[0] + "\n" + "".join(f"h100_sxm,ours,bfloat16,{m},1024,512,5\n" for m in range(1, 140))
    )
    one, two = (validate(Question(("gemm",), folder=folder, jobs=jobs)).families[0] for jobs in (1, 2))
    assert [c.predicted for c in one.compared] == [c.predicted for c in two.compared]
    assert len(one.compared) == 139


def test_a_row_that_the_model_refuses_is_told_apart(folder: Path) -> None:
    (folder / "gemm.csv").write_text(TABLE.splitlines()[0] + "\nh100_sxm,ours,bfloat16,900000,900000,64,5\n")
    (found,) = validate(Question(("gemm",), folder=folder)).families
    assert [type(one) for one in (*found.compared, *found.refused)] == [Refused]
    output = run("gemm", "--aiconfigurator", str(folder)).output
    assert "1 row not predicted" in output
    assert "does not fit" in output


def test_pictures_are_written_with_their_data(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "plots"
    result = run("gemm", "gemm_worklog", "--aiconfigurator", str(folder), "--plot", str(out))
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    stems = ("predicted_measured", "predicted_measured_one_column")
    files = {f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg", "pdf")}
    assert names == files | {"predicted_measured.csv"}
    assert len((out / "predicted_measured.csv").read_text().splitlines()) == 1 + 3 + 5


def test_rows_of_all_sorts_are_drawn_together() -> None:
    """Ranges, rows that an explanation stands beside, rows that are only shown beside."""
    plain = Row("a", "h100_sxm", float, 10.0, "us", "a paper")
    others = (replace(plain, id="b", to=20.0), replace(plain, id="c", machine="sn40l"), replace(plain, target=False))
    beside = (Compared(row, 9.0) for row in others[1:])
    compared = (Compared(plain, 11.0), Compared(others[0], 15.0, "for a reason"), *beside)
    with in_style():
        picture = predicted_measured.draw(Validation((FamilyResult("f", compared, (), 4),), ""))
    assert records_csv(picture.rows).count("\n") == 4
    assert [row["measured_to"] for row in picture.rows] == [None, 20.0, None]
    points = [tuple(p) for c in picture.figure.axes[0].collections[1:] for p in np.asarray(c.get_offsets()).tolist()]
    assert sorted(points) == [(10.0, 9.0), (10.0, 11.0), (15.0, 15.0)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gem",), "unknown family 'gem' (did you mean 'gemm'?)"),
        (("gemm", "--gpu", "h100"), "unknown GPU 'h100'"),
        (("gemm", "--aiconfigurator", "nowhere"), "there is no folder nowhere"),
        (("gemm", "--rows", "0"), "must be at least 1, is 0"),
        (("gemm", "--set", "hbm"), "is not name=value"),
        (("gemm_worklog", "--set", "hbm_bytes=80 GB", "--set", "gpu.hbm_bytes=90 GB"), "'hbm_bytes' is set twice"),
        (("gemm_worklog", "--set", "hbm_byte=80 GB"), "hbm_byte"),
        (("launch", "--set", "name=x"), "unknown parameter 'name'"),
    ],
)
def test_a_mistake_is_told_and_ends_with_status_two(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_without_tables_it_runs_on_the_published_figures_and_says_how_to_get_more() -> None:
    result = run("gemm", "gemm_worklog")
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    if "installed package" not in text:
        assert "pip install 'patternloom[validation]'" in text
        assert "No rows of: gemm." in text


def test_families_of_published_figures_need_no_database() -> None:
    assert "pip install" not in run("launch").output


def test_dtypes_that_are_left_out_are_told_with_their_rows(tmp_path: Path) -> None:
    others = "".join(f"h100_sxm,ours,{dtype},16,16,16,9\n" for dtype in ("nvfp4", "bf17", "nvfp4"))
    (tmp_path / "gemm.csv").write_text(TABLE.splitlines(keepends=True)[0] + others)
    text = " ".join(run("gemm", "--aiconfigurator", str(tmp_path)).output.split())
    assert "gemm: 3 rows of the tables left out, which the model does not have: " in text
    assert "gemm_dtype bf17 (1), gemm_dtype nvfp4 (2)." in text
    (tmp_path / "gemm.csv").write_text(TABLE)
    assert "left out, which" not in run("gemm", "--gpu", "h100_sxm", "--aiconfigurator", str(tmp_path)).output


def test_what_is_rounded_to_nothing_has_no_sign_of_its_own() -> None:
    from experiments.text.validation import signed

    assert [signed(value) for value in (-0.04, 0.04, -5.25, 12)] == ["+0.0", "+0.0", "-5.2", "+12.0"]


def test_an_outcome_is_a_row_with_a_prediction_or_a_reason(folder: Path) -> None:
    (found,) = validate(Question(("gemm",), ("a100_sxm",), folder=folder)).families
    assert all(isinstance(one, Compared) and one.predicted > 0 for one in found.compared)
