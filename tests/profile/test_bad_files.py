"""What is no recording, or a broken one: one line that says what it is and what would help, and exit status 2."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from experiments.cli import cli
from experiments.page.ranks import ranks_page
from experiments.page.recorded import recorded_page
from experiments.profile import json_stream
from experiments.profile.formats import kineto, nsys
from experiments.profile.profiled import profile
from experiments.profile.ranks import rank_of, ranks_of
from experiments.profile.read import read_recording
from patterns.errors import UserError
from tests.profile.runs import GEMM, NORM, Run
from tests.profile.written import kineto_events, kineto_text, nsys_file


@cache
def text() -> str:
    """A good trace of two steps."""
    run = Run()
    for number in range(2):
        run.step(f"decode_step {number}", [(NORM, 1_400), (GEMM, 20_000)] * 4)
    return kineto_text(kineto_events(*run.rows))


def told(file: Path, *arguments: str) -> str:
    """The message of a refusal, which is one line without a traceback."""
    result = CliRunner().invoke(cli, ["profile", str(file), *arguments])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert len(result.stderr) < 500
    return result.stderr


def database(*statements: str) -> Callable[[Path], None]:
    """What makes an SQLite file."""

    def make(file: Path) -> None:
        with closing(sqlite3.connect(file)) as store, store:
            for statement in statements:
                store.execute(statement)

    return make


def cut_in_half(content: bytes) -> bytes:
    return content[: len(content) // 2]


KERNELS = "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT)"
CPU_ONLY = json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2}]})
NO_KERNELS = json.dumps({"traceEvents": []})
BAD_KERNEL = json.dumps({"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": "?", "dur": 2}]})
FILES: dict[str, tuple[bytes | Callable[[Path], None], tuple[str, ...]]] = {
    "empty": (b"", ("empty", "torch.profiler")),
    "blanks": (b"  \n", ("no recording that is known",)),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(100), ("no recording that is known", "torch.profiler")),
    "a report of nsys": (b"NVIDIA Tegra Profiler Report\0", ("nsys export --type sqlite",)),
    "a zip": (b"PK\x03\x04" + bytes(30), ("unpack it",)),
    "JSON that is cut off": (text().encode()[:-400], ("broken at letter", "ends in the middle", "15 kernels", "again")),
    "gzip that is cut off": (cut_in_half(gzip.compress(text().encode())), ("gzip data is cut off", "kernels", "again")),
    "gzip that is broken": (gzip.compress(text().encode())[:60] + b"x" * 400, ("gzip data is broken",)),
    "JSON that breaks": (
        text().replace('"dur": 1.400', '"dur": 1.4.0', 1).encode(),
        ("broken at letter", "whole up to"),
    ),
    "another list": (b"[1, 2, 3]", ("no trace", "traceEvents")),
    "a number": (b"[", ("no recording that is known",)),
    "a config": (b'{"model_type": "llama", "layers": 32}', ("no trace", "'model_type'")),
    "nested without end": (b'{"traceEvents": [' + b"[" * 100_000, ("recursion",)),
    "a number without end": (b'{"traceEvents": [' + b"1" * 9_000 + b"]}", ("limit",)),
    "only a CPU": (CPU_ONLY.encode(), ("without kernels of a GPU", "1 cpu_op", "ProfilerActivity.CUDA")),
    "no events": (NO_KERNELS.encode(), ("without kernels of a GPU", "no events")),
    "only bad kernels": (BAD_KERNEL.encode(), ("without kernels", "1 event skipped", "no number")),
    "another database": (database("CREATE TABLE people (name TEXT)"), ("no export of nsys", "people", "nsys export")),
    "an empty database": (database("CREATE TABLE a (b)", "DROP TABLE a"), ("no export of nsys", "none")),
    "an export of the CPU": (database("CREATE TABLE NVTX_EVENTS (start INT, end INT)"), ("without kernels", "--trace")),
    "an export without rows": (database(KERNELS), ("without kernels",)),
    "a broken database": (nsys.HEAD + bytes(2_000), ("broken SQLite file", "again")),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_that_is_no_recording_is_refused(case: str, tmp_path: Path) -> None:
    content, fragments = FILES[case]
    file = tmp_path / "run.json"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        content(file)
    message = told(file)
    for fragment in fragments:
        assert fragment in message


def test_a_folder_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rank0.json").touch()
    assert "in it: rank0.json" in told(tmp_path)
    assert "no such file" in told(tmp_path / "no.json")


def test_what_is_whole_before_the_break_is_counted(tmp_path: Path) -> None:
    """Cut right after the tenth kernel."""
    ends = [place for place in range(len(text())) if text().startswith('"cat": "kernel"', place)]
    file = tmp_path / "run.json"
    file.write_text(text()[: ends[10]], encoding="utf-8")
    assert "with 10 kernels" in told(file)


def test_a_file_that_is_too_large_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "run.json"
    file.write_text(text(), encoding="utf-8")
    monkeypatch.setattr(kineto, "MOST_ROWS", 20)
    assert "more than 20 kernels, launches and ranges; record fewer steps" in told(file)
    run = Run()
    run.step("step", [(GEMM, 1)] * 30)
    monkeypatch.setattr(nsys, "MOST_ROWS", 20)
    assert "30 rows in CUPTI_ACTIVITY_KIND_KERNEL" in told(nsys_file(tmp_path / "run.sqlite", *run.rows))


def test_one_value_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MOST_LETTERS", 2**20)
    file = tmp_path / "run.json"
    file.write_text('{"traceEvents": [{"name": "' + "x" * 2**22, encoding="utf-8")
    assert "one value has more than" in told(file)


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--step", "("], "is no regular expression"),
        (["--step", "no_such"], "with launches there is: 'decode_step N' x 2"),
        (["--json", "--csv"], "choose one"),
        (["--batch", "4"], "--batch: of the model, which --against WORKLOAD asks for"),
        (["--against", "no_such"], "unknown workload"),
        (["--top", "-1"], "must be at least 0"),
    ],
)
def test_options_that_cannot_be_are_refused(arguments: list[str], fragment: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(text(), encoding="utf-8")
    result = CliRunner().invoke(cli, ["profile", str(file), *arguments])
    assert result.exit_code == 2
    assert fragment in result.stderr


def test_letters_that_are_no_utf_8_are_read_as_signs_for_them(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_bytes(b"\xef\xbb\xbf" + text().encode().replace(b"fused_add", b"fused\xff\xfe", 1))
    assert "fused\ufffd\ufffd" in read_recording(file).kernels[0].name


@settings(max_examples=40)
@given(place=st.floats(0, 1), drop=st.integers(0, 40), put=st.binary(max_size=6), pack=st.booleans())
def test_damaged_text_is_read_or_refused(
    place: float, drop: int, put: bytes, pack: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    content = text().encode()
    content = gzip.compress(content) if pack else content
    at = int(place * len(content))
    refused_or_read(tmp_path_factory.getbasetemp() / "damaged.json", content[:at] + put + content[at + drop :])


@settings(max_examples=40)
@given(place=st.floats(0, 1), put=st.binary(min_size=1, max_size=40))
@example(place=0.12109375, put=b"\x80")  # a name in the list of tables
def test_a_damaged_database_is_read_or_refused(
    place: float, put: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = tmp_path_factory.getbasetemp() / "good.sqlite"
    if not good.exists():
        run = Run()
        run.step("decode", [(GEMM, 1_000), (NORM, 100)])
        nsys_file(good, *run.rows)
    content = good.read_bytes()
    at = int(place * len(content))
    refused_or_read(good.with_name("damaged.sqlite"), content[:at] + put + content[at + len(put) :])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
fields = st.fixed_dictionaries(
    {"ph": st.just("X"), "cat": st.sampled_from(["kernel", "cuda_runtime", "user_annotation"])},
    optional=dict.fromkeys(("name", "ts", "dur", "pid", "tid", "args"), values),
)


@settings(max_examples=60)
@given(events=st.lists(fields | values, max_size=6))
def test_events_of_any_shape_are_read_or_refused(
    events: list[object], tmp_path_factory: pytest.TempPathFactory
) -> None:
    refused_or_read(tmp_path_factory.getbasetemp() / "odd.json", json.dumps({"traceEvents": events}).encode())


def refused_or_read(file: Path, content: bytes) -> None:
    """A recording is accounted for and makes a page, alone and beside itself; anything else is a UserError."""
    file.write_bytes(content)
    try:
        found = profile(read_recording(file))
    except UserError:
        return
    for device in found.devices:
        assert device.account.busy_ns + device.account.idle_ns == device.account.span_ns
        assert sum(band.total_ns for band in device.account.gaps) == device.account.idle_ns
    recorded_page(found, None, 3, "", ())
    rank = rank_of(found, 3)
    ranks_page(ranks_of([rank, rank]), 3, "", ())


@pytest.mark.parametrize(
    ("made", "what"),
    [
        (lambda: text().encode("utf-16"), "text in UTF-16, no recording; save it as UTF-8: iconv -f UTF-16 "),
        (lambda: text().encode("utf-16-le"), "text in UTF-16, no recording; save it as UTF-8: iconv -f UTF-16LE "),
        (lambda: gzip.compress(gzip.compress(text().encode())), "packed with gzip twice; unpack it once: gunzip"),
        (
            lambda: gzip.compress(text().encode("utf-16")),
            "text in UTF-16 in a gzip file, no recording; gunzip it, then save it as UTF-8",
        ),
        (lambda: gzip.compress(b"SQLite format 3\0"), "an export of nsys, packed with gzip; unpack it first"),
        (lambda: gzip.compress(b"\0" * 257 + b"ustar"), "a tar archive in a gzip file"),
        (lambda: b"BZh" + b"x" * 99, "packed with bzip2, no recording"),
    ],
)
def test_what_packed_or_wrote_a_file_is_told(made: Callable[[], bytes], what: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json.gz"
    file.write_bytes(made())
    assert what in told(file)
