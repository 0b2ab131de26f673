"""Several recordings of one run: each is let go of before the next, and who is waited for is found."""

from __future__ import annotations

import csv
import gc
import io
import json
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.page.ranks import ranks_page
from experiments.profile import ranks as ranks_module
from experiments.profile.parted import PARTS
from experiments.profile.pictures import rank_charts
from experiments.profile.profiled import profile
from experiments.profile.ranks import MANY, Ranks, notes_of, read_ranks
from experiments.profile.read import read_recording
from experiments.profile.recording import Device, Recording
from experiments.profile.show_ranks import class_times_table, ranks_parts, waited_text
from experiments.profile.waited import apart, waited_for
from experiments.text.page import page_text
from experiments.text.quantity import digits
from patterns.errors import UserError
from tests.profile.runs import GEMM, NORM, Run
from tests.profile.written import kineto_events, kineto_text, nsys_file

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
LATE_NS = 6_000


def rank_file(
    folder: Path,
    number: int,
    gemm_ns: int = 30_000,
    wait_ns: int = 9_000,
    steps: int = 3,
    gap_ns: int = 900,
    name: str = "decode_step",
    **said: object,
) -> Path:
    """A rank whose steps are eight products, each with a norm before it and a collective after it."""
    run = Run(device=number, gap_ns=gap_ns)
    for step in range(steps):
        run.step(f"{name} {step}", [(NORM, 1_000), (GEMM, gemm_ns), (NCCL, wait_ns)] * 8, graph=True)
    file = folder / f"trace{number}.json"
    info = {"distributedInfo": {"backend": "nccl", "rank": number, "world_size": 3} | said}
    text = kineto_text(kineto_events(*run.rows), [Device(number, "NVIDIA H100 80GB HBM3", 132)], **info)
    file.write_text(text, encoding="utf-8")
    return file


def quiet(text: str) -> None:
    """Nothing is told of what is read."""


def read(*files: Path, step: str = "") -> Ranks:
    return read_ranks(files, step, 3, quiet)


def three(folder: Path, late: int = -1) -> list[Path]:
    """Three ranks that end their collectives together; one may come late to all of them."""
    return [
        rank_file(folder, number, 30_000 + LATE_NS * (number == late), 9_000 + LATE_NS * (number != late > -1))
        for number in (2, 0, 1)
    ]


def test_ranks_stand_in_order_with_what_each_shows_alone(tmp_path: Path) -> None:
    files = three(tmp_path, late=1)
    found = read(*files)
    assert [seat.label for seat in found.seats] == ["rank 0", "rank 1", "rank 2"]
    for seat in found.seats:
        alone = profile(read_recording(Path(seat.rank.file)))
        assert seat.device == alone.devices[0]
        assert seat.part_ns("communication") * 3 == sum(
            row.durations.total_ns for row in seat.device.classes if row.name == "communication"
        )
    assert notes_of(found) == []


def test_the_rank_that_computes_longest_is_waited_for(tmp_path: Path) -> None:
    """Eight products of 6 us more than those of the others."""
    found = read(*three(tmp_path, late=1))
    waited = waited_for(found)
    assert waited is not None
    assert (waited.seat.label, waited.cause, waited.more_ns) == ("rank 1", "compute", 8 * LATE_NS)
    assert apart(found)["step"].between_ns == 0
    assert apart(found)["communication"].between_ns == 8 * LATE_NS
    told = page_text(ranks_parts(found), 200)
    assert "rank 1 is waited for: it is in collectives shortest, and it computes 48.00 us a step longer than" in told
    assert "Compute: from 248.0 us (rank 0) to 296.0 us (rank 1), 19.4% more" in told


def test_the_rank_whose_gpu_is_idle_is_waited_for(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, 0), rank_file(tmp_path, 1, wait_ns=5_000, gap_ns=2_900)]
    waited = waited_for(read(*files))
    assert waited is not None
    assert (waited.seat.label, waited.cause) == ("rank 1", "idle")
    assert waited.more_ns == pytest.approx(24 * 2_000, rel=0.05)


def test_nobody_is_waited_for_where_ranks_are_alike(tmp_path: Path) -> None:
    found = read(*three(tmp_path))
    assert waited_for(found) is None
    assert waited_text(found).startswith("No rank is waited for: their communication is less than 1% of a step apart.")


def test_without_communication_the_slowest_is_named(tmp_path: Path) -> None:
    files = []
    for number, gemm_ns in enumerate((20_000, 25_000)):
        run = Run(gap_ns=0)
        for step in range(2):
            run.step(f"decode {step}", [(GEMM, gemm_ns)] * 4, graph=True)
        files.append(nsys_file(tmp_path / f"rank{number}.sqlite", *run.rows))
    found = read(*files)
    steps = [seat.step_ns for seat in found.seats]
    behind = f"{100 * (steps[1] / steps[0] - 1):.1f}%"
    assert f"rank1.sqlite is slowest, {behind} behind the fastest" in waited_text(found)


def test_a_file_is_let_go_of_before_the_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[weakref.ref[Recording]] = []

    def reads(file: Path) -> Recording:
        gc.collect()
        assert [one for one in before if one() is not None] == []
        found = read_recording(file)
        before.append(weakref.ref(found))
        return found

    monkeypatch.setattr(ranks_module, "read_recording", reads)
    assert len(read(*three(tmp_path)).ranks) == len(before) == 3


def test_what_is_not_alike_is_told(tmp_path: Path) -> None:
    run = Run(device=2)
    for step in range(2):
        run.step(f"decode_step {step}", [(GEMM, 9_000), (NCCL, 900)])
    events = kineto_events(*run.rows)
    events.append({"ph": "X", "cat": "kernel", "name": GEMM, "ts": "?", "dur": 3})
    last = tmp_path / "trace2.json"
    info = {"rank": 5, "world_size": 40}
    last.write_text(kineto_text(events, [Device(2, "NVIDIA A100", 108)], distributedInfo=info), encoding="utf-8")
    told = page_text(notes_of(read(rank_file(tmp_path, 0, world_size=40), last)), 1000)
    assert "The run had 40 ranks; not among the files: 1, 2, 3, 4, 6, 7, 8, 9, ...\n" in told
    assert "Not as many steps in all: 3 in rank 0, 2 in rank 5; figures are of one step" in told
    assert "Not all GPUs are alike: 1 x NVIDIA H100 80GB HBM3, 1 x NVIDIA A100" in told
    assert "trace2.json: skipped 1 event: a time that is no number" in told


@pytest.mark.parametrize("said", [{"rank": True}, {"rank": "1"}, {"rank": -1}, {"rank": None}])
def test_a_rank_that_is_no_number_is_named_by_its_file(said: dict[str, object], tmp_path: Path) -> None:
    found = read(rank_file(tmp_path, 1, **said), rank_file(tmp_path, 0))
    assert [seat.label for seat in found.seats] == ["trace1.json", "trace0.json"]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = []
    for number in range(2):
        folder = tmp_path / f"rank{number}"
        folder.mkdir()
        files.append(rank_file(folder, number, rank=None).rename(folder / "trace.json"))
    assert [seat.label for seat in read(*files).seats] == [str(file) for file in files]


def linked(folder: Path) -> list[Path]:
    (folder / "link.json").symlink_to(rank_file(folder, 0))
    return [folder / "trace0.json", folder / "link.json"]


def copied(folder: Path) -> list[Path]:
    content = rank_file(folder, 0).read_bytes()
    (folder / "copy.json").write_bytes(content)
    return [folder / "trace0.json", folder / "copy.json"]


def of_two_tools(folder: Path) -> list[Path]:
    run = Run()
    run.step("decode_step 0", [(GEMM, 1_000)])
    return [rank_file(folder, 0), nsys_file(folder / "run.sqlite", *run.rows)]


REFUSED: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "the same path": (lambda folder: [rank_file(folder, 0)] * 2, "trace0.json: twice; give the file of each rank once"),
    "a link": (linked, "link.json: the same file as "),
    "a copy": (copied, "copy.json: holds the same recording as "),
    "the same rank": (
        lambda folder: [rank_file(folder, 0), rank_file(folder, 1, rank=0, steps=2)],
        "trace1.json: of rank 0, as ",
    ),
    "two tools": (of_two_tools, "run.sqlite: of nsys (SQLite export), but "),
    "two kinds of steps": (
        lambda folder: [rank_file(folder, 0), rank_file(folder, 1, name="prefill")],
        "its steps are 'prefill N', but those of ",
    ),
    "none there": (lambda folder: [rank_file(folder, 0), folder / "no.json"], "no.json: cannot be read: no such file"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_not_of_one_run_are_refused(case: str, tmp_path: Path) -> None:
    made, fragment = REFUSED[case]
    with pytest.raises(UserError, match=r"trace|json|sqlite") as refused:
        read(*made(tmp_path))
    assert fragment in str(refused.value)


def test_what_can_be_seen_at_once_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "empty.json").touch()
    with pytest.raises(UserError, match="empty"):
        read_ranks([rank_file(tmp_path, 0), tmp_path / "empty.json"], "", 3, told.append)
    assert told == []


def test_steps_that_are_asked_for_may_have_other_names(tmp_path: Path) -> None:
    found = read(rank_file(tmp_path, 0), rank_file(tmp_path, 1, name="prefill"), step="decode|prefill")
    assert [seat.num_steps for seat in found.seats] == [3, 3]
    with pytest.raises(UserError, match=r"trace2.json: no range has a name that --step 'no_such' finds"):
        read(*three(tmp_path), step="no_such")


def test_pictures_are_of_the_same_numbers(tmp_path: Path) -> None:
    found = read(*three(tmp_path, late=0))
    (parts, _), (classes, _) = rank_charts(found)
    for row, seat in zip(parts, found.seats, strict=True):
        assert row == {"rank": seat.label} | {f"{part}_us": seat.part_ns(part) / 1e3 for part in PARTS}
    products = [row["time_us"] for row in classes if row["class"] == "matrix product"]
    assert products == [8 * 36.0, 8 * 30.0, 8 * 30.0]


def test_of_many_ranks_the_least_and_the_most_are_told(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, number, 30_000 + 100 * number, steps=1) for number in range(MANY + 1)]
    table = class_times_table(read(*files))
    products = next(row for row in table.rows if row[0] == "matrix product")
    norms = next(row for row in table.rows if row[0] == "norm")
    assert norms == ("norm", "8.000", "all", "8.000", "all")
    assert products == ("matrix product", "240.0", "rank 0", digits(240 + 0.8 * MANY), f"rank {MANY}")


def test_what_has_too_many_bars_or_colours_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = read(*three(tmp_path))
    assert [chart.name for _, chart in rank_charts(found)] == ["ranks", "time_by_class"]
    monkeypatch.setattr("experiments.profile.pictures.MANY", 2)
    assert [chart.name for _, chart in rank_charts(found)] == ["ranks"]
    monkeypatch.setattr("experiments.profile.pictures.MOST_BARS", 2)
    assert rank_charts(found) == ()
    assert b"Pictures" not in ranks_page(found, 3, "", ())


def test_the_command_tells_them_as_text_json_and_csv(tmp_path: Path) -> None:
    files = list(map(str, three(tmp_path, late=2)))
    runner = CliRunner()
    text = runner.invoke(cli, ["profile", *files])
    assert text.exit_code == 0, text.stderr
    assert text.stdout.startswith("3 files of one run\n  rank 0: ")
    assert "rank 2 is waited for" in text.stdout
    assert f"reading {files[1]} (2 of 3)\n" in text.stderr
    record = json.loads(runner.invoke(cli, ["profile", *files, "--json"]).stdout)
    assert record["waited_for"] == {"rank": "rank 2", "cause": "compute", "longer_than_the_others_ns": 8 * LATE_NS}
    rows = list(csv.DictReader(io.StringIO(runner.invoke(cli, ["profile", *files, "--csv"]).stdout)))
    assert [row["file"] for row in rows if row["what"] == "class"] == [name for name in sorted(files) for _ in range(3)]


def test_the_model_stands_beside_one_recording_only(tmp_path: Path) -> None:
    files = map(str, three(tmp_path))
    result = CliRunner().invoke(cli, ["profile", *files, "--against", "softmax"])
    assert result.exit_code == 2
    assert "--against sets one recording beside the model, here are 3: choose one" in result.stderr
