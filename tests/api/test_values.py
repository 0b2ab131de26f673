"""What the verbs give: values that can be sent to other processes, and the same pictures as the command line has."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

from experiments import api
from experiments.floorplan import asked_floorplan
from experiments.notebook.plotted import plotted
from experiments.picture import in_style, rendered
from experiments.request import Request

GRAPH = api.load("softmax")
ONE: dict[str, Any] = {"policies": "library", "modes": "looped"}


def test_values_are_copied_and_sent_to_other_processes() -> None:
    plan = api.lower(GRAPH, "h100_sxm")
    execution = api.simulate(plan)
    comparison = api.compare(GRAPH, **ONE)
    values = (GRAPH, plan, execution, api.summarize(execution), comparison, api.report(comparison))
    for value in (*values, api.sweep({"fixed": {"workload": "softmax", "machine": "sn40l"}})):
        assert pickle.loads(pickle.dumps(value)) == value
    plot = api.plot(comparison, "calls")
    sent = pickle.loads(pickle.dumps(plot))
    assert sent == plot
    assert (sent.files, sent.data_csv, sent._repr_svg_()) == (plot.files, plot.data_csv, plot._repr_svg_())


def test_a_floorplan_is_that_of_the_command_line() -> None:
    plot = api.plot(GRAPH, "floorplan", section="softmax.s", modes="unfused")
    again = plotted(asked_floorplan(Request("softmax", modes=("unfused",)), "softmax.s"), "floorplan")
    assert plot.rows == again.rows
    assert plot.picture is not None
    assert again.picture is not None
    # A picture that is drawn again has the same bytes.
    with in_style():
        first, second = (rendered(found.narrow, "narrow", ("svg",)) for found in (plot.picture, again.picture))
    assert first == second


def test_threads_of_a_new_process_get_what_one_gets(tmp_path: Path) -> None:
    # What a verb needs is imported when it is first asked for, here by four threads at once.
    script = """
import threading
from experiments import api
found = []
ask = lambda: found.append(api.compare("softmax", rows=64, policies=["library"], modes=["fused"]).to_records())
threads = [threading.Thread(target=ask) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(found), all(records == found[0] for records in found), len(found[0]))
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("4 True 2\n", "")
