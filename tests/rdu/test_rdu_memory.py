"""Off-chip bytes of an RDU by tensor and reason, and the laws of spilling on random graphs."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from patterns.library import workload
from patterns.write import write_graph
from rdu_model import Choices, compile_graph, load_machine, lower
from rdu_model.memory import expected, off_chip, transfers
from rdu_model.orchestrate import mode_named, mode_names
from rdu_model.spill import find_homes
from tests.random_graphs import random_graph
from tests.rdu.memory_checks import (
    check_homes,
    check_nothing_is_overwritten,
    check_rows,
    moved,
    report_of,
    unit_with,
)

# Laws.


@pytest.mark.parametrize("mode", mode_names())
def test_more_hbm_moves_less_through_ddr(mode: str) -> None:
    """Down to what both memories do together, time falls, too: weights in DDR stream beside those in HBM."""
    graph = workload("llama-3.1-8b", overrides={"layers": 4})
    before, slower = None, None
    for gib in (1, 3, 6):
        machine = load_machine("sn40l", {"hbm_bytes": f"{gib} GiB"})
        plan = lower(graph, machine, mode=mode)
        report, through = report_of(plan), moved(plan)
        together = machine.hbm_bytes_per_s * machine.hbm_efficiency + machine.ddr_bytes_per_s * machine.ddr_efficiency
        assert report.time_s >= sum(through.values()) / together
        if before is not None and slower is not None:
            assert through["ddr"] <= before
            assert report.time_ps <= slower * 1.08
        before, slower = through["ddr"], report.time_ps
    assert before == 0


@pytest.mark.parametrize("mode", mode_names())
def test_nothing_changes_where_everything_fits(mode: str) -> None:
    graph = workload("llama-3.1-8b", overrides={"layers": 2})
    plans = [lower(graph, load_machine("sn40l", {"hbm_bytes": size}), mode=mode) for size in ("8 GiB", "64 GiB")]
    assert plans[0].calls == plans[1].calls
    assert plans[0].warnings == plans[1].warnings == ()
    assert plans[0].spilled_bytes == 0


@settings(max_examples=12, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(st.randoms(use_true_random=False), st.sampled_from(mode_names()), st.integers(0, 100))
def test_rows_are_the_traffic_and_homes_do_not_collide(random: Random, mode: str, percent: int) -> None:
    graph = random_graph(random)
    note(write_graph(graph))
    whole = compile_graph(graph, load_machine("unit"), Choices(mode))
    taken = max((home.end for home in whole.homes), default=1)
    machine = unit_with(max(1, taken * percent // 100), 2 * taken)
    compiled, plan = compile_graph(graph, machine, Choices(mode)), lower(graph, machine, mode=mode)
    check_homes(whole, load_machine("unit"))
    check_homes(compiled, machine)
    check_nothing_is_overwritten(graph, compiled)
    check_rows(graph, compiled, plan)
    report = report_of(plan)
    assert report.time_ps >= report.bound_ps
    assert sum(amount for _, amount in report.waterfall_ps) == report.time_ps
    blocks = [one.block.name for one in compiled.sections]
    assert find_homes(graph, machine, tuple(transfers(compiled.sections)), blocks) == compiled.homes


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("hbm", ["64 GiB", "1 GiB"])
@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_rows_of_llama_are_its_traffic(phase: str, hbm: str, mode: str) -> None:
    machine = load_machine("sn40l", {"hbm_bytes": hbm})
    graph = workload("llama-3.1-8b", phase=phase, context=512, overrides={"layers": 2}, members=2)
    compiled = compile_graph(graph, machine, Choices(mode), 2)
    check_homes(compiled, machine)
    check_nothing_is_overwritten(graph, compiled)
    check_rows(graph, compiled, lower(graph, machine, mode=mode, members=2))


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("name", ["llama-3.1-8b", "mixtral-8x7b", "mamba2", "softmax"])
def test_calls_move_once_what_they_were_expected_to_before_they_were_sections(name: str, mode: str) -> None:
    graph = workload(name)
    compiled = compile_graph(graph, load_machine("sn40l"), Choices(mode))
    due: Counter[tuple[int, str, bool]] = Counter()
    found: Counter[tuple[int, str, bool]] = Counter()
    for stream in expected(graph, mode_named(mode).calls(graph)):
        due[stream.section, stream.storage, stream.written] += stream.num_bytes
    for stream in transfers(compiled.sections):
        found[stream.section, stream.storage, stream.written] += stream.once_bytes
    # What all executions in a call share may be small enough to be brought by each of them.
    assert due == found if mode != "looped" else due <= found
    assert found.total() <= 1.001 * due.total()


def test_fusion_removes_what_passes_between_calls_and_nothing_else() -> None:
    graph, machine = workload("softmax"), load_machine("sn40l")
    rows = {mode: off_chip(graph, compile_graph(graph, machine, Choices(mode)).sections) for mode in mode_names()}
    unfused = {(row.tensor, row.reason): row.num_bytes for row in rows["unfused"]}
    fused = {(row.tensor, row.reason): row.num_bytes for row in rows["fused"]}
    gone = {key: amount for key, amount in unfused.items() if key not in fused}
    assert {tensor for tensor, _ in gone} == {"e", "s"}
    assert all("between" in reason for _, reason in gone)
    assert unfused == fused | gone
