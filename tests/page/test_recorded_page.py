"""The pages of recordings say what the text says, hold their pictures, and need nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from os import fsdecode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from experiments.cli import cli
from experiments.page.ranks import ranks_page, seats_bars
from experiments.page.recorded import recorded_page
from experiments.page.recorded_bars import class_bars, device_bars, step_bars
from experiments.profile.against import Against, against
from experiments.profile.pictures import charts, inside_pages, title_of
from experiments.profile.profiled import Profile, profile
from experiments.profile.ranks import Ranks, rank_of, ranks_of, read_ranks
from experiments.profile.read import read_recording
from experiments.profile.recording import Device
from experiments.profile.show_against import whole_parts
from experiments.profile.show_ranks import ranks_parts
from experiments.request import Request
from experiments.text.page import Part
from experiments.text.table import Table
from tests.page.browser import listen, opened_browser
from tests.page.made import HOSTILE, QUOTES
from tests.page.test_study_page import LOADS, words
from tests.profile.runs import GEMM, NORM, Run
from tests.profile.test_ranks import NCCL, quiet, three
from tests.profile.written import kineto_events, kineto_text

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ASKED = ("--against", "swiglu_mlp", "--policy", "operator", "--policy", "library", "--mode", "looped")
TOP = 4


@dataclass(frozen=True)
class Made:
    """A recording, its page, and what the command said."""

    file: Path
    page: Path
    result: Result
    found: Profile
    beside: Against


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Steps with a collective beside a product, gaps of all lengths, kernels without a launch and hostile names."""
    folder = tmp_path_factory.mktemp("recorded")
    run = Run()
    for number in range(3):
        run.step(f"decode_step {number}", [(NORM, 1_400), (GEMM, 38_100), (NCCL, 7_000), (HOSTILE, 1_600)])
        run.now += 30_000 * number
    beside = [one._replace(stream=9, start=one.start + 100) for one in run.kernels if one.name == GEMM]
    lost = [one._replace(correlation=0) for one in run.kernels[:1]]
    strange = [one._replace(name=NCCL if one.start % 2 else QUOTES) for one in beside]
    events = kineto_events([*run.kernels, *strange, *lost], run.launches, run.ranges)
    events.append({"ph": "X", "cat": "kernel", "name": GEMM, "ts": "?", "dur": 3})
    file = folder / "<b>run.json"
    file.write_text(kineto_text(events, cuda_runtime_version=12040), encoding="utf-8")
    page = folder / "page.html"
    arguments = [str(file), *ASKED, "--top", str(TOP), "-o", str(page)]
    result = CliRunner().invoke(cli, ["profile", *arguments])
    found = profile(read_recording(file))
    request = Request("swiglu_mlp", policies=("operator", "library"), modes=("looped",))
    return Made(file, page, result, found, against(found, request, ()))


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ranks, Path]:
    folder = tmp_path_factory.mktemp("ranks")
    files = three(folder, late=1)
    page = folder / "ranks.html"
    result = CliRunner().invoke(cli, ["profile", *map(str, files), "--top", str(TOP), "-o", str(page)])
    assert result.exit_code == 0, result.stderr
    return read_ranks(files, "", TOP, quiet), page


def phrases(parts: Iterable[Part]) -> Iterator[str]:
    """Every line of the text and every row of its tables, as words."""
    for part in parts:
        if isinstance(part, Table):
            yield from (" ".join(" ".join(row).split()) for row in part.rows)
            yield " ".join(" ".join(column.heading for column in part.columns).split())
        else:
            yield from (" ".join(line.split()) for line in str(part).split("\n"))


def missing(page: Path, parts: Iterable[Part]) -> list[str]:
    """What the text says and the page does not."""
    told = words(page.read_bytes())
    return [phrase for phrase in phrases(parts) if phrase not in told]


def test_the_page_says_all_that_the_text_says(made: Made) -> None:
    assert made.result.exit_code == 0, made.result.stderr
    assert made.result.stderr == f"wrote {made.page}\n"
    parts = list(whole_parts(made.found, made.beside, TOP))
    assert len(list(phrases(parts))) > 50
    assert missing(made.page, parts) == []
    assert "cuda runtime version 12040" in words(made.page.read_bytes())


def test_the_page_of_ranks_says_all_that_the_text_says_and_each_file_alone(ranks: tuple[Ranks, Path]) -> None:
    found, page = ranks
    assert missing(page, ranks_parts(found)) == []
    for rank in found.ranks:
        assert missing(page, whole_parts(profile(read_recording(Path(rank.file))), None, TOP)) == []


def test_what_must_not_be_overlooked_is_a_warning(made: Made) -> None:
    page = made.page.read_text(encoding="utf-8")
    for text in ("skipped 1 event: a time that is no number", "unattributed: 1 kernel (1.400 us) without a launch"):
        assert f'<p class="warning">{text}' in page


def test_bars_are_as_long_as_what_they_are_of(made: Made, ranks: tuple[Ranks, Path]) -> None:
    (device,) = made.found.devices
    account = device.account
    whole, gaps = device_bars(device).rows
    assert sum(piece.width for piece in whole.pieces) == pytest.approx(100, abs=0.01)
    assert whole.pieces[-1].width == pytest.approx(100 * account.idle_ns / account.span_ns, abs=0.001)
    bands = [band for band in account.gaps if band.count]
    assert len(bands) == len(gaps.pieces) == 3
    for band, piece in zip(bands, gaps.pieces, strict=True):
        assert piece.width == pytest.approx(100 * band.total_ns / account.idle_ns, abs=0.001)
    longest = max(row.durations.total_ns for row in device.classes)
    for class_row, bar in zip(device.classes, class_bars(device).rows, strict=True):
        assert sum(piece.width for piece in bar.pieces) == pytest.approx(
            100 * class_row.durations.total_ns / longest, abs=0.001
        )
    times = [device.step_ns * 1000, *(one.time_ps for one in made.beside.predicted)]
    for time_ps, bar in zip(times, step_bars(made.beside).rows, strict=True):
        assert bar.pieces[0].width == pytest.approx(100 * time_ps / max(times), abs=0.001)
    found, _ = ranks
    spans = [seat.times.span_ns / seat.num_steps for seat in found.seats]
    for seat, span, bar in zip(found.seats, spans, seats_bars(found).rows, strict=True):
        assert sum(piece.width for piece in bar.pieces) == pytest.approx(100 * span / max(spans), abs=0.01)
        assert bar.pieces[0].width == pytest.approx(100 * seat.part_ns("compute") / max(spans), abs=0.001)


def test_the_same_recording_gives_the_same_page_and_no_picture_is_drawn_twice(made: Made) -> None:
    drawn = charts(made.found, made.beside)
    files = {f"{chart.name}.svg": f"<svg>{chart.name}</svg>".encode() for _, chart in drawn}
    pictures = inside_pages(drawn, files)
    assert [svg for _, svg in pictures] == list(files.values())
    pages = {recorded_page(made.found, made.beside, TOP, "", pictures) for _ in range(2)}
    assert len(pages) == 1
    assert next(iter(pages)).count(b"<img ") == len(files)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser() as found:
        yield found


def test_pages_need_nothing_run_nothing_strange_and_fit_a_telephone(
    browser: Browser, made: Made, ranks: tuple[Ranks, Path]
) -> None:
    for file, pictures in ((made.page, 4), (ranks[1], 2)):
        assert not LOADS.search(file.read_text(encoding="utf-8"))
        page = browser.new_page(viewport={"width": 420, "height": 900}, color_scheme="dark")
        heard = listen(page)
        page.goto(file.as_uri())
        assert page.locator("figure.picture img").count() == pictures
        shown = "[...document.images].every((one) => one.complete && one.naturalWidth > 0)"
        page.wait_for_function(shown)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("button.theme").click()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
        assert page.evaluate("window.hacked") is None
        assert page.locator("script").count() == 1
        assert heard.complaints == []
        assert [one for one in heard.requests if not one.startswith("data:")] == [file.as_uri()]
        page.close()


def test_a_page_without_the_model_says_what_is_to_be_known_first(made: Made, tmp_path: Path) -> None:
    page = tmp_path / "plain.html"
    page.write_bytes(recorded_page(made.found, None, 10, "", ()))
    assert missing(page, whole_parts(made.found, None, 10)) == []
    (device,) = made.found.devices
    assert f'<p class="finding">GPU 0 (NVIDIA H100 80GB HBM3): {device.kernels_per_step} kernels' in page.read_text()
    assert "Beside the model" not in words(page.read_bytes())


def test_what_no_file_can_hold_stands_as_a_sign(tmp_path: Path) -> None:
    """Halves of letters in a trace and in the name of its file, and what steers a terminal."""
    run = Run()
    run.step("step \ud800 \x1b[31m", [("k\udfff \x00 $x_1$", 1_000)] * 2)
    file = tmp_path / fsdecode(b"run\xff.json")
    file.write_text(kineto_text(kineto_events(*run.rows), [Device(0, "G\ud800PU", 8)]), encoding="utf-8")
    found = profile(read_recording(file))
    rank = rank_of(found, 3)
    for page in (recorded_page(found, None, 3, "", ()), ranks_page(ranks_of([rank, rank]), 3, "", ())):
        told = page.decode()
        assert "run?.json" in told
        assert "k\ufffd \ufffd $x_1$" in told
        assert not {"\x00", "\x1b"} & set(told)
    drawn = "".join(str(value) for rows, _ in charts(found, None) for row in rows for value in row.values())
    drawn += title_of(found, found.devices[0]) + ranks_of([rank]).seats[0].label
    assert "step \ufffd  [Nm on G\ufffdPU" in drawn
    assert drawn.encode() == drawn.encode(errors="replace")


@pytest.mark.parametrize(
    ("output", "fragment"),
    [
        ("{folder}", "a page's name ends in .html, as in {folder}/profile.html"),
        ("{folder}/run.json", "a page's name ends in .html, as in {folder}/run.json.html"),
        ("{folder}/none/page.html", "there is no folder {folder}/none"),
        ("{folder}/link.html", "it is read from"),
        ("{folder}/taken.html", "it is a folder"),
    ],
)
def test_a_place_that_is_no_place_for_a_page_is_refused(output: str, fragment: str, made: Made, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(made.file.read_bytes())
    (tmp_path / "link.html").symlink_to(tmp_path / "run.json")
    (tmp_path / "taken.html").mkdir()
    before = {one.name: one.stat().st_size for one in tmp_path.iterdir()}
    result = CliRunner().invoke(
        cli, ["profile", str(tmp_path / "run.json"), "-o", output.format(folder=tmp_path)], catch_exceptions=False
    )
    assert result.exit_code == 2
    assert fragment.format(folder=tmp_path) in result.stderr
    assert result.stdout == ""
    assert {one.name: one.stat().st_size for one in tmp_path.iterdir()} == before


def test_a_place_is_refused_before_the_recording_is_read(tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    page = tmp_path / "none" / "page.html"
    result = CliRunner().invoke(cli, ["profile", str(tmp_path / "empty.json"), "-o", str(page)])
    assert "there is no folder" in result.stderr


def test_a_page_that_was_there_is_whole_if_the_recording_is_not(made: Made, tmp_path: Path) -> None:
    file, page = tmp_path / "cut.json", tmp_path / "page.html"
    file.write_bytes(made.file.read_bytes()[:-400])
    page.write_text("before", encoding="utf-8")
    (tmp_path / "other.txt").touch()
    result = CliRunner().invoke(cli, ["profile", str(file), "-o", str(page)])
    assert result.exit_code == 2
    assert page.read_text(encoding="utf-8") == "before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cut.json", "other.txt", "page.html"]
