"""Records as data frames, arrays and Parquet: the same numbers, types that stay, units that are told."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from experiments.column_units import unit_of
from experiments.frames import to_dataframe, to_parquet, to_xarray
from experiments.survey import Record
from experiments.sweep.export import records_of
from experiments.sweep.results import export_results
from experiments.sweep.store import opened
from patterns.errors import UnknownName, UserError
from tests.sweep.sweeps import SOFTMAX, run_in, written

# One point fails: rows are at least 1.
TEXT = SOFTMAX.replace("[16, 32, 48]", "[16, 0]")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Record, ...]:
    """Four rows with numbers and four without."""
    with opened(None) as store:
        run_in(store, written(tmp_path_factory.mktemp("sweep"), TEXT))
        return records_of(store, store.sweep("cheap"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_frame_and_its_arrays(records: tuple[Record, ...]) -> None:
    frame = to_dataframe(records)
    assert list(frame["status"]) == ["ok"] * 4 + ["failed"] * 4
    assert str(frame["hbm_bytes"].dtype) == "Int64"
    assert list(frame["time_us"][:4]) == [record["time_us"] for record in records[:4]]
    assert frame["time_us"][4:].isna().all()
    assert {name: frame.attrs["units"][name] for name in ("time_us", "hbm_bytes", "energy_j")} == {
        "time_us": "us",
        "hbm_bytes": "B",
        "energy_j": "J",
    }
    arrays = to_xarray(records, ("rows", "columns"))
    assert dict(arrays.sizes) == {"rows": 2, "columns": 4}
    assert float(arrays.time_us.sel(rows=16, columns=128)) == records[1]["time_us"]
    assert arrays.time_us.attrs["units"] == "us"
    with pytest.raises(UserError, match="several rows have the same rows: "):
        to_xarray(records, ("rows",))
    with pytest.raises(UnknownName, match="unknown column 'row' \\(did you mean 'rows'"):
        to_xarray(records, ("row",))
    with pytest.raises(UserError, match="no field differs"):
        to_xarray(records, ())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_columns_without_any_number_are_of_numbers_still(records: tuple[Record, ...]) -> None:
    frame = to_dataframe(records[4:])
    assert str(frame["time_us"].dtype) == "float64"
    assert str(to_xarray(records[4:], ("columns",)).time_us.dtype) == "float64"
    assert dict(to_xarray((), ("rows", "columns")).sizes) == {"rows": 0, "columns": 0}


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("time_us", "us"),
        ("gpu.hbm_bytes_per_s", "B/s"),
        ("matrix_flops_per_cycle", "FLOP/cycle"),
        ("time_per_call_us", "us"),
        ("calls_per_layer", ""),
        ("speed_ratio", ""),
        ("tokens", ""),
    ],
)
def test_the_unit_of_a_column_is_in_its_name(column: str, unit: str) -> None:
    assert unit_of(column) == unit


def test_texts_have_no_unit() -> None:
    assert to_dataframe([{"gpu.hbm_bytes_per_s": "2 TB/s", "time_us": 1.5}]).attrs["units"] == {"time_us": "us"}


def test_parquet_has_the_rows(records: tuple[Record, ...]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(to_parquet(records)))
    assert table.to_pylist() == [dict(record) for record in records]


@pytest.mark.parametrize(("ending", "begins"), [("csv", b"workload,mode,"), ("json", b"{\n"), ("parquet", b"PAR1")])
def test_a_file_has_the_form_of_its_name(tmp_path: Path, ending: str, begins: bytes) -> None:
    with opened(None) as store:
        run_in(store, written(tmp_path, TEXT))
        export_results(store, "cheap", tmp_path / f"rows.{ending}")
        assert (tmp_path / f"rows.{ending}").read_bytes().startswith(begins)
        with pytest.raises(UserError, match=r"unknown end of a file of rows '\.xls'"):
            export_results(store, "cheap", tmp_path / "rows.xls")


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_the_extra_its_name_is_told(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    make = {"pandas": to_dataframe, "pyarrow": to_parquet}[package]
    with pytest.raises(UserError, match=rf"needs the package {package}: pip install 'patternloom\[analysis\]'"):
        make([{"a": 1}])
