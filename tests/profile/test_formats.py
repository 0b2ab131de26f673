"""Every format gives back the rows that were written, whatever a release wrote them like."""

from __future__ import annotations

import gzip
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from experiments.profile import unpacked
from experiments.profile.formats import kineto
from experiments.profile.read import read_recording
from experiments.profile.recording import Device, Kernel, Launch, Range, Recording
from tests.profile.runs import ATTENTION, GEMM, NORM, Run
from tests.profile.written import OLD, bare_text, kineto_events, kineto_text, nsys_file


@pytest.fixture(scope="module")
def run() -> Run:
    """Two steps: one launched kernel by kernel with a copy at its end, one as a CUDA graph."""
    run = Run()
    run.step(
        "decode_step 0", [(NORM, 1_401), (GEMM, 20_003), (ATTENTION, 6_907), ("Memcpy DtoH (Device -> Pinned)", 900)]
    )
    run.step("decode_step 1", [(NORM, 1_402), (GEMM, 20_004), ("Memset (Device)", 700)], graph=True)
    return run


def text_file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def plain(path: Path, run: Run) -> Path:
    return text_file(path / "run.json", kineto_text(kineto_events(*run.rows)))


def packed(path: Path, run: Run) -> Path:
    file = path / "run.pt.trace.json.gz"
    file.write_bytes(gzip.compress(kineto_text(kineto_events(*run.rows)).encode()))
    return file


def bare(path: Path, run: Run) -> Path:
    return text_file(path / "run.json", bare_text(kineto_events(*run.rows)))


def old(path: Path, run: Run) -> Path:
    return text_file(path / "run.json", kineto_text(kineto_events(*run.rows, names=OLD), distributedInfo={"rank": 0}))


def events_first(path: Path, run: Run) -> Path:
    members = json.loads(bare_text(kineto_events(*run.rows)))
    return text_file(path / "run.json", json.dumps({"traceEvents": members, "traceName": "a/b.json", "more": [1, [2]]}))


def export(path: Path, run: Run) -> Path:
    return nsys_file(path / "run.sqlite", *run.rows)


def new_export(path: Path, run: Run) -> Path:
    return nsys_file(path / "run.whatever", *run.rows, version="_V3", text_ids=False)


@pytest.mark.parametrize("write", [plain, packed, bare, old, export, new_export])
def test_every_row_comes_back(write: Callable[[Path, Run], Path], run: Run, tmp_path: Path) -> None:
    found = read_recording(write(tmp_path, run))
    kernels = sorted(run.kernels, key=lambda kernel: kernel.start)
    assert [timed(kernel) for kernel in found.kernels] == [timed(kernel) for kernel in kernels]
    assert [kernel.activity for kernel in found.kernels] == [kernel.activity for kernel in kernels]
    works = [kernel.name for kernel in found.kernels if kernel.activity == "kernel"]
    assert works == [kernel.name for kernel in kernels if kernel.activity == "kernel"]
    assert list(found.ranges) == run.ranges
    assert [launch._replace(name="") for launch in found.launches] == [one._replace(name="") for one in run.launches]
    assert [one.name for one in found.launches] == ["cudaLaunchKernel"] * 4 + ["cudaGraphLaunch"]
    assert not found.skipped
    assert not found.notes


def timed(kernel: Kernel) -> tuple[int, ...]:
    """What every format says of a kernel."""
    return kernel.device, kernel.stream, kernel.start, kernel.end, kernel.correlation


def test_events_may_stand_before_what_describes_them(run: Run, tmp_path: Path) -> None:
    assert len(read_recording(events_first(tmp_path, run)).kernels) == len(run.kernels)


def test_times_keep_every_nanosecond(run: Run, tmp_path: Path) -> None:
    """Microseconds since 1970 with three decimals have more digits than a double: it would round to 256 ns."""
    kernel = run.kernels[0]
    assert float(f"{kernel.start // 1000}.{kernel.start % 1000:03d}") * 1000 != kernel.start
    assert read_recording(plain(tmp_path, run)).kernels[0].start == kernel.start


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_it_does_not_matter_where_a_piece_of_a_file_ends(
    size: int, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number may go on in the next piece, and so may a letter of several bytes."""
    kernel = run.kernels[0]._replace(name="köl☃")
    text = kineto_text(kineto_events([kernel, *run.kernels[1:3]], run.launches[:3], []), schemaVersion=12345)
    file = text_file(tmp_path / "run.json", json.dumps(json.loads(text, parse_float=lambda t: t), ensure_ascii=False))
    whole = read_recording(file)
    monkeypatch.setattr(unpacked, "PIECE", size)
    for content in (file.read_bytes(), gzip.compress(file.read_bytes())):
        file.write_bytes(content)
        assert read_recording(file).kernels == whole.kernels
        assert read_recording(file).version == "12345"


def test_devices_are_described_by_either_format(run: Run, tmp_path: Path) -> None:
    h100 = Device(0, "NVIDIA H100 80GB HBM3", 132)
    assert read_recording(plain(tmp_path, run)).devices == (h100,)
    assert read_recording(export(tmp_path, run)).devices == (h100,)
    assert read_recording(bare(tmp_path, run)).devices == (Device(0, "GPU 0"),)


def test_a_process_has_launch_numbers_of_its_own(tmp_path: Path) -> None:
    """Two ranks in one export number their launches alike."""
    runs = [Run(device=rank, process=100 + rank) for rank in range(2)]
    for rank, run in enumerate(runs):
        run.step("decode_step 0", [(GEMM, 5_000)] * (2 + rank))
    rows = [[row for run in runs for row in run.rows[part]] for part in range(3)]
    from experiments.profile.profiled import profile

    found = profile(read_recording(nsys_file(tmp_path / "two.sqlite", *rows)))  # type: ignore[arg-type]
    assert [device.kernels_per_step for device in found.devices] == [2, 3]
    assert [len(device.steps) for device in found.devices] == [1, 1]
    devices = {step.process: {one.kernel.device for one in step.work} for step in found.steps.steps}
    assert devices == {100: {0}, 101: {1}}


def test_an_export_of_whole_graphs_says_that_kernels_are_not_seen(tmp_path: Path) -> None:
    row = Kernel("", "graph", 0, 7, 1_000, 9_000, 5, 1, False)
    launch = Launch("cudaGraphLaunch", 5, 6, 0, 500, 1)
    found = read_recording(nsys_file(tmp_path / "graphs.sqlite", [row], [launch], [Range("step", 5, 6, 0, 600)]))
    assert found.kernels[0].name == "[a whole CUDA graph]"
    assert "--cuda-graph-trace=node" in found.notes[0]


def test_an_export_without_the_tables_of_the_host_is_read(tmp_path: Path, run: Run) -> None:
    found = read_recording(nsys_file(tmp_path / "bare.sqlite", run.kernels, [], []))
    assert (len(found.kernels), found.launches, found.ranges) == (len(run.kernels), (), ())


def test_an_export_may_lack_columns_and_names(tmp_path: Path) -> None:
    file = tmp_path / "thin.sqlite"
    with closing(sqlite3.connect(file)) as store, store:
        store.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT)")
        store.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 77)")
    found = read_recording(file)
    assert found.kernels[0][:6] == ("(a kernel without a name)", "kernel", 0, 0, 5, 9)
    assert found.version == ""


def one_event(tmp_path: Path, text: str, **beside: object) -> Recording:
    """A trace of one good kernel and one event that is written as it is."""
    good = bare_text(kineto_events([Kernel(GEMM, "kernel", 0, 7, 1_000, 2_000, 0, 1, False)], [], []))
    head = "".join(f'"{name}": {json.dumps(value)}, ' for name, value in beside.items())
    return read_recording(text_file(tmp_path / "odd.json", f'{{{head}"traceEvents": {good[:-1]}, {text}]}}'))


KERNEL = '"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f'{{{KERNEL}, "ts": NaN, "dur": 1}}', "a time that is no number"),
        (f'{{{KERNEL}, "ts": 1, "dur": -Infinity}}', "a time that is no number"),
        (f'{{{KERNEL}, "ts": 1, "dur": 1e999}}', "a duration or time that overflowed"),
        (f'{{{KERNEL}, "ts": true, "dur": 1}}', "a time that is no number"),
        (f'{{{KERNEL}, "dur": 1}}', "a time that is no number"),
        (f'{{{KERNEL}, "ts": "soon", "dur": 1}}', "a time that is no number"),
        (f'{{{KERNEL}, "ts": 1, "dur": -3}}', "a negative duration"),
        (f'{{{KERNEL}, "ts": 1, "dur": 18446744073709551.615}}', "a duration or time that overflowed"),
        ("17", "no event, but another JSON value"),
    ],
)
def test_an_event_without_a_usable_time_is_counted_and_skipped(text: str, reason: str, tmp_path: Path) -> None:
    found = one_event(tmp_path, text)
    assert found.skipped == ((reason, 1),)
    assert len(found.kernels) == 1


def test_huge_and_odd_numbers_of_processes_and_streams_are_kept(tmp_path: Path) -> None:
    odd = '"ph": "X", "cat": "kernel", "name": "k", "pid": 99999999999999999999, "tid": "stream 7", "ts": 5, "dur": 1'
    found = one_event(tmp_path, f"{{{odd}}}")
    assert [(kernel.device, kernel.stream) for kernel in found.kernels] == [(0, 7), (99999999999999999999, 7)]


def test_neither_the_anchor_of_the_clock_nor_the_unit_of_display_changes_a_number(run: Run, tmp_path: Path) -> None:
    """Times are us since an anchor that the file tells of or not, as is the unit in which a viewer would show them."""
    texts = (
        kineto_text(kineto_events(*run.rows), baseTimeNanoseconds=1_727_000_000_123_456_789),
        kineto_text(kineto_events(*run.rows)).replace('"displayTimeUnit": "ms"', '"displayTimeUnit": "ns"'),
        kineto_text(kineto_events(*run.rows)),
    )
    assert len(set(texts)) == 3
    found = [read_recording(text_file(tmp_path / "trace.json", text)) for text in texts]
    assert found[0] == found[1] == found[2]


def test_another_schema_is_read_and_told(tmp_path: Path) -> None:
    assert "schemaVersion is 9" in one_event(tmp_path, "{}", schemaVersion=9).notes[0]


def test_an_amd_kernel_that_lasts_into_the_next_of_its_stream_is_cut_there(tmp_path: Path) -> None:
    kernels = [Kernel("Cijk_Alik", "kernel", 0, 7, start, start + 5_000, 0, 1, False) for start in (1_000, 4_000)]
    launches = [Launch("hipLaunchKernel", 1, 1, 0, 500, 1)]
    found = read_recording(text_file(tmp_path / "amd.json", kineto_text(kineto_events(kernels, launches, []))))
    assert [(kernel.start, kernel.end) for kernel in found.kernels] == [(1_000, 4_000), (4_000, 9_000)]
    assert found.skipped[0][1] == 1
    launches = [Launch("cudaLaunchKernel", 1, 1, 0, 500, 1)]
    found = read_recording(text_file(tmp_path / "h100.json", kineto_text(kineto_events(kernels, launches, []))))
    assert [(kernel.start, kernel.end) for kernel in found.kernels] == [(1_000, 6_000), (4_000, 9_000)]


def test_calls_that_start_no_work_are_not_kept(tmp_path: Path, run: Run) -> None:
    asked = [
        Launch(name, 1, 1, 0, 5, 0) for name in ("cudaGetDevice", "cudaFuncGetAttributes", "cudaStreamIsCapturing")
    ]
    kept = [Launch(name, 1, 1, 6, 9, 0) for name in ("cuLaunchKernelEx", "cudaMemcpyAsync", "cudaStreamSynchronize")]
    text = kineto_text(kineto_events(run.kernels, [*asked, *kept], []))
    assert [one.name for one in kineto.read(text_file(tmp_path / "calls.json", text)).launches] == [
        one.name for one in kept
    ]
