"""The same sweep on a Dask cluster, and clusters that are not there."""

from __future__ import annotations

import socket
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.sweep.read import read_sweep
from experiments.sweep.run import run_sweep
from experiments.sweep.store import opened
from experiments.sweep.workers import Workers
from patterns.errors import UserError
from tests.sweep.sweeps import SOFTMAX, quiet, run_in, written


@pytest.mark.filterwarnings("ignore")
def test_rows_of_a_cluster_are_those_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    file = written(tmp_path, SOFTMAX)
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(protocol="tcp", host="127.0.0.1", **options) as cluster:
        there = Workers(scheduler=cluster.scheduler_address)
        with opened(None) as store, opened(None) as alone:
            summary = run_sweep(read_sweep(file), store, there, quiet)
            assert (summary.ran, dict(summary.statuses)) == (12, {"ok": 12})
            run_in(alone, file)
            assert list(store.rows("cheap")) == list(alone.rows("cheap"))
        # In this process the driver and the worker are of one release; a driver of another notices.
        monkeypatch.setattr("experiments.sweep.cluster.model_version", lambda: "newer")
        with opened(None) as store, pytest.raises(UserError, match="has another release of patternloom"):
            run_sweep(read_sweep(file), store, there, quiet)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense"])
def test_a_scheduler_that_is_not_there(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("experiments.sweep.cluster.CONNECT_S", 0.3)
    result = CliRunner().invoke(cli, ["sweep", str(written(tmp_path, SOFTMAX)), "--scheduler", address])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: there is no Dask scheduler at {address}: ")


@pytest.mark.filterwarnings("ignore")
def test_what_answers_and_is_no_scheduler_is_told_in_a_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    with socket.create_server(("127.0.0.1", 0)) as server:
        greeting = threading.Thread(target=lambda: server.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n" * 9))
        greeting.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        result = CliRunner().invoke(cli, ["sweep", str(written(tmp_path, SOFTMAX)), "--scheduler", address])
        greeting.join()
    assert result.exit_code == 2
    assert result.stderr == f"Error: there is no Dask scheduler at {address}: what answers there speaks otherwise\n"


def test_without_the_extra_its_name_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = CliRunner().invoke(cli, ["sweep", str(written(tmp_path, SOFTMAX)), "--scheduler", "tcp://127.0.0.1:9"])
    assert result.exit_code == 2
    assert "pip install 'patternloom[cluster]'" in result.stderr
