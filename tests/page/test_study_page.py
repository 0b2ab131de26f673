"""The pages of studies: they say what the text page says, hold their pictures, and need nothing else."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments import study
from experiments.cli import cli
from experiments.page.parts import part_markup
from experiments.page.render import title, unbroken
from experiments.page.study import machines_in, slim, study_page
from experiments.study import Result
from experiments.survey import Survey, cell, heading, shown_table
from experiments.text.table import Column, Table

FILES = {
    "configuration.json": b'{"cases": [{"machine": "a100_sxm"}, {"step": {"machine": "sn40l"}}, {"machine": "none"}]}',
    "speed.svg": b"<svg/>",
    "speed_one_column.svg": b"<svg/>",
    "speed.csv": b"a\n1\n",
}
# What a browser would load: an address in src, in url() or in a link to a style.
LOADS = re.compile(r"""(?:src|srcset)=["'](?!data:)|url\(|<link|@import""")


def words(page: bytes) -> str:
    """What a page says, without its elements."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page.decode())).split())


def test_a_page_holds_question_finding_table_picture_and_provenance() -> None:
    table = Table((Column("machine", right=False), Column("time\nus")), (("a100_sxm", "1.250"), ("<b>", "2.000")))
    page = study_page("drafted_tokens", "Is a < b?", ("It is, by 1.250 & more.", "See <c>."), [table], FILES)
    told = words(page)
    for text in (
        "Is a < b?",
        "It is, by 1.250 & more.",
        "See <c>.",
        "time us",
        "1.250",
        "<b>",
        "patternloom 0.",
        "speed.csv",
    ):
        assert text in told
    assert "gpu_model/machines/a100_sxm.yaml, sha256 " in told
    assert page.count(b"<img ") == 1
    assert b"data:image/svg+xml;base64,PHN2Zy8+" in page
    assert not LOADS.search(page.decode())


def test_names_and_units_are_for_people() -> None:
    assert title("can_the_gpu_close_the_gap") == "can the GPU close the gap"
    assert title("off_chip_bytes") == "off-chip bytes"
    assert unbroken("12 ms of 96 KiB, 5 % by 3 steps") == "12\xa0ms of 96\xa0KiB, 5\xa0% by 3 steps"


def test_what_a_row_has_in_common_with_the_row_above_is_quiet() -> None:
    table = Table((Column("a"), Column("b"), Column("c")), (("1", "2", "3"), ("1", "2", "3"), ("4", "2", "3")), keys=2)
    cells = re.findall(r'<th scope="row" class="number( same)?">(\d)</th>', part_markup(table))
    assert cells == [("", "1"), ("", "2"), (" same", "1"), (" same", "2"), ("", "4"), ("", "2")]


def test_a_wide_table_is_smaller_and_columns_of_files_are_named() -> None:
    table = Table(tuple(Column(f"c{number}") for number in range(13)), (("1",) * 13,))
    assert 'class="wide"' in part_markup(table)
    assert 'class="wide"' not in part_markup(Table(table.columns[1:], (("1",) * 12,)))
    survey = Survey("?", (1,), lambda _: None, lambda _: "", files_only=("time_us", "calls"))
    table, more = shown_table([{"mode": "a", "time_us": 1.5, "calls": 3}], survey)
    assert isinstance(table, Table)
    assert table.rows == (("a",),)
    assert heading("registers_per_thread", 4) == "registers/\nthread"
    assert heading("tokens_per_s", 4) == "tokens/s"
    assert [cell(value) for value in (-190.048, 30.0, 1024, None)] == ["-190.0", "30.00", "1,024", "-"]
    assert more == "table.csv has 2 more columns: time us, calls."


@pytest.mark.parametrize(("png", "kind"), [(b"a" * 9, b"svg+xml;base64,PHN2Zy8+"), (b"a" * 5, b"png;base64,YWFhYWE=")])
def test_a_page_holds_the_smaller_picture(png: bytes, kind: bytes) -> None:
    page = study_page("drafted_tokens", "?", ("", ""), [], FILES | {"speed.png": png})
    assert page.count(b"data:image/" + kind) == 1


def test_a_picture_in_a_page_has_shorter_places_and_the_same_numbers() -> None:
    told = b'<path d="M 1.23456 7.5"/><text x="3.98765">8.585</text>'
    assert slim(told) == b'<path d="M 1.23 7.5"/><text x="3.98">8.585</text>'


def test_the_machines_of_a_configuration_are_found_wherever_they_stand() -> None:
    found = machines_in({"request": {"gpu": "h200", "rdu": "sn10"}, "cases": [{"machine": "v100"}, {"mode": "unit"}]})
    assert [fact for fact, _ in found] == ["GPU file", "GPU file", "RDU file"]
    assert [value.split("/")[-1].split(".")[0] for _, value in found] == ["h200", "v100", "sn10"]


def test_running_all_lists_what_each_study_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("drafted_tokens", "workloads")
    monkeypatch.setattr(study, "study_names", lambda: names)
    monkeypatch.setattr(study, "run_study", lambda name, tell: Result(f"{name} <found>", (("page.html", b"page"),)))
    result = CliRunner().invoke(cli, ["run", "all", "-j", "1", "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    index = (tmp_path / "index.html").read_bytes()
    for name in names:
        assert f'href="{name}/page.html"'.encode() in index
        assert f"{name} <found>" in words(index)
        assert (tmp_path / name / "page.html").read_bytes() == b"page"
    assert not LOADS.search(index.decode())
