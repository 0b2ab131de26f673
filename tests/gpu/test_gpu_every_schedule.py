"""Laws of every schedule there is, on every generation that can run it: sums, bounds, jumps, numbers, predictions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpu_model import load_machine, lower
from gpu_model.schedule import AUTO, schedule_named, schedule_names
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from tests.test_laws import check_jump, check_run

GENERATIONS = ("v100", "a100_sxm", "h100_sxm", "b200")
# A small graph for each sort of kernel, with extents that tiles do not divide.
GRAPHS = {
    "mm": ("gemm", {"m": "130", "n": "70", "k": "100"}),
    "stream": ("softmax", {"rows": "7", "columns": "300"}),
    "online": ("attention", {"seq": "70", "context": "70", "kv_heads": "1", "group": "1", "head_dim": "24"}),
}


def graph_for(name: str) -> Graph | None:
    """A graph with kernels that the schedule serves; none for sums over GPUs."""
    job = next((job for job in schedule_named(name).SERVES if job in GRAPHS), "")
    return workload(GRAPHS[job][0], overrides=GRAPHS[job][1]) if job else None


def runs() -> Iterator[tuple[str, str]]:
    for name in schedule_names():
        if name == AUTO or graph_for(name) is None:
            continue
        for machine in GENERATIONS:
            features = load_machine(machine).features
            if set(schedule_named(name).NEEDS) <= set(features) and _loads(name, features):
                yield name, machine


def _loads(name: str, features: tuple[str, ...]) -> bool:
    known = schedule_named(name).LOADERS
    return "registers" in known or bool(set(known) & set(features))


@pytest.mark.parametrize(("name", "machine"), list(runs()))
def test_a_schedule_obeys_the_laws(name: str, machine: str) -> None:
    graph = graph_for(name)
    assert graph is not None
    plan = lower(graph, load_machine(machine), schedule=name)
    assert any(call.schedule.startswith(f"{name} (") for call in plan.calls)
    check_run(plan)
    check_jump(plan)
    arrays = random_arrays(graph, 1)
    expected, got = evaluate(graph, arrays), execute(plan, arrays)
    for output, array in expected.items():
        assert got[output] == pytest.approx(array, rel=1e-9, abs=1e-9), output
