"""From graphs to plans: every mode computes what the graph says, and its calls say what they do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import prod

import numpy as np
import pytest

from patterns.count import compulsory, graph_demand
from patterns.errors import UnknownName, UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.script import Run, Start
from patterns.pipeline.uses import flat_ops
from patterns.plan import Plan, Tile, Tiling
from patterns.read import parse_graph
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine, lower, mode_names
from rdu_model.lanes import WAY
from rdu_model.machine import Machine

SMALL = {
    "layers": "3",
    "hidden": "52",
    "model_heads": "4",
    "head_dim": "10",
    "model_kv_heads": "2",
    "model_ffn": "75",
    "model_vocabulary": "101",
    "context": "19",
}
GRAPHS: Mapping[str, tuple[str, str, dict[str, str]]] = {
    "softmax": ("softmax", "decode", {"rows": "37", "columns": "29"}),
    "stable_softmax": ("stable_softmax", "decode", {"rows": "5", "columns": "300"}),
    "gemm": ("gemm", "decode", {"m": "100", "n": "77", "k": "65"}),
    "gemm_bias_act": ("gemm_bias_act", "decode", {"m": "33", "n": "70", "k": "41"}),
    "rms_norm": ("rms_norm", "decode", {}),
    "decode": ("llama", "decode", SMALL),
    "prefill": ("llama", "prefill", {**SMALL, "context": "17", "layers": "2"}),
}
# A fabric so small that tiles must be, too: PMUs of 256 bytes.
MACHINES = {
    "unit": load_machine("unit"),
    "sn40l": load_machine("sn40l"),
    "tiny": load_machine("unit", {"pmu_bytes": "256 B", "pmus": "90", "pcus": "40", "prefetch_bytes": "2 KiB"}),
}


def graph_named(name: str) -> Graph:
    """A small graph whose extents no tile divides."""
    workload_name, phase, extents = GRAPHS[name]
    if name == "rms_norm":
        known = workload(workload_name).sizes
        extents = {dim: "77" for dim in known if known[dim] > 77}
    return workload(workload_name, phase=phase, overrides=extents)


def loops_of(tiling: Tiling) -> list[Tile]:
    """Every loop of a tiling."""
    return [*tiling.loops, *(tile for nest in tiling.nests for tile in loops_of(nest.tiling))]


def tiles_of(tiling: Tiling, nodes: tuple[str, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """How many tiles each node has."""
    outer = prod(-(-sizes[tile.dim] // tile.extent) for tile in tiling.loops)
    inner = {name: n for nest in tiling.nests for name, n in tiles_of(nest.tiling, nest.nodes, sizes).items()}
    return {name: outer * inner.get(name, 1) for name in nodes}


@cache
def plan_of(graph: str, machine: str, mode: str) -> Plan:
    """A small graph on a machine."""
    return lower(graph_named(graph), MACHINES[machine], mode=mode)


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_every_plan_computes_its_graph(graph: str, machine: str, mode: str) -> None:
    plan = plan_of(graph, machine, mode)
    arrays = random_arrays(plan.graph, 1)
    expected, found = evaluate(plan.graph, arrays), execute(plan, arrays)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, err_msg=name)


def test_tiles_on_the_tiny_fabric_do_not_divide() -> None:
    plan = plan_of("prefill", "tiny", "fused")
    assert [tile for call in plan.calls for tile in loops_of(call.tiling) if plan.graph.sizes[tile.dim] % tile.extent]


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_calls_say_what_their_programs_do(graph: str, machine: str, mode: str) -> None:
    plan = plan_of(graph, machine, mode)
    execution = run_plan(plan)
    for call, run in zip(plan.calls, execution.calls, strict=True):
        counted = dict(run.timeline.counters)
        work, traffic = dict(call.work), dict(call.traffic)
        assert {**work, **{f"{level}_bytes": amount for level, amount in traffic.items()}} == counted
        assert call.reason
    report = summarize(execution)
    assert min(amount for _, amount in report.waterfall_ps) >= 0
    assert report.bound_ps <= report.time_ps


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("graph", GRAPHS)
def test_a_stage_works_once_for_every_tile(graph: str, machine: str, mode: str) -> None:
    plan = plan_of(graph, machine, mode)
    for call in plan.calls:
        tiles = tiles_of(call.tiling, call.nodes, plan.graph.sizes)
        for role in call.program.roles:
            if role.name in tiles:
                runs = sum(
                    times for op, times in flat_ops(role.script) if isinstance(op, Run | Start) and op.unit != WAY
                )
                assert runs == tiles[role.name] * call.iterations, (call.name, role.name)


@pytest.mark.parametrize("mode", mode_names())
@pytest.mark.parametrize("graph", GRAPHS)
def test_no_call_does_less_than_the_graph_asks(graph: str, mode: str) -> None:
    plan = plan_of(graph, "sn40l", mode)
    total: dict[str, int] = {}
    for call in plan.calls:
        for name, amount in call.work:
            total[name] = total.get(name, 0) + amount * call.count
    demand = graph_demand(plan.graph)
    assert total["hbm_bytes"] >= compulsory(plan.graph).total_bytes
    assert total.get("matrix_flops", 0) >= demand.matrix_flops
    assert total.get("vector_ops", 0) >= demand.vector_ops
    assert total.get("special_ops", 0) >= demand.special_ops


@pytest.mark.parametrize("machine", MACHINES)
def test_fusing_never_moves_more_bytes(machine: str) -> None:
    def moved(mode: str) -> int:
        plan = plan_of("decode", machine, mode)
        return sum(dict(call.work)["hbm_bytes"] * call.count for call in plan.calls)

    assert moved("looped") <= moved("fused") < moved("unfused")


def test_calls_by_mode() -> None:
    assert mode_names() == ("unfused", "operator", "fused", "looped")
    softmax = {mode: plan_of("softmax", "sn40l", mode) for mode in mode_names()}
    assert {mode: len(plan.calls) for mode, plan in softmax.items()} == {
        "fused": 1,
        "looped": 1,
        "operator": 1,
        "unfused": 3,
    }
    for mode, calls, launches in (("looped", 3, 3), ("fused", 3, 1 + 3 + 1)):
        plan = plan_of("decode", "sn40l", mode)
        assert len(plan.calls) == calls
        assert sum(call.count for call in plan.calls) == launches
    assert [call.iterations for call in plan_of("decode", "sn40l", "looped").calls] == [1, 3, 1]
    unfused = plan_of("decode", "sn40l", "unfused")
    assert len(unfused.calls) == sum(len(block.nodes) for block in unfused.graph.blocks)


@pytest.mark.parametrize("mode", mode_names())
def test_names_of_calls_are_unique(mode: str) -> None:
    names = [call.name for call in plan_of("decode", "tiny", mode).calls]
    assert len(set(names)) == len(names)


def test_softmax_on_unit_by_hand() -> None:
    # 8 rows of 16 columns, one byte and one op a cycle, 64 PCUs. A row is 32 bytes. Tiles of one row: HBM brings a row
    # in 32 cycles and stores one in 32, and the stages take 1 cycle each or less. 16 x 32 bytes are 512 cycles: HBM
    # never rests but for the three stages of the first row's fill, while it loads the second, so 512 in all.
    graph = workload("softmax", overrides={"rows": "8", "columns": "16"})
    (call,) = run_plan(lower(graph, load_machine("unit"), mode="fused")).calls
    assert call.timeline.busy_cycles["hbm"] == 512
    assert call.timeline.total_cycles == 512


def test_orchestration_by_hardware_or_by_the_host() -> None:
    graph = workload("softmax", overrides={"rows": "8", "columns": "16"})
    times = {
        kind: run_plan(lower(graph, load_machine("unit"), mode="unfused", orchestration=kind)).schedule.total_cycles
        for kind in ("hardware", "software")
    }
    calls = run_plan(lower(graph, load_machine("unit"), mode="unfused")).calls
    busy = sum(call.duration_ps for call in calls)
    # On unit a call costs 3 x 1 ns by the AGCUs and 3 x 10 ns by the host, which waits for each to end.
    assert times == {"hardware": busy + 3 * 3000, "software": busy + 3 * 30000}


def test_unknown_names_are_refused() -> None:
    graph = workload("softmax")
    with pytest.raises(UnknownName, match=r"unknown RDU mode 'loop' \(did you mean 'looped'"):
        lower(graph, load_machine("unit"), mode="loop")
    with pytest.raises(UnknownName, match="unknown orchestration 'hard'"):
        lower(graph, load_machine("unit"), orchestration="hard")


def test_sockets_are_checked() -> None:
    graph = workload("softmax")
    with pytest.raises(UserError, match="0 sockets: at least 1 is needed"):
        lower(graph, load_machine("sn40l"), members=0)
    with pytest.raises(UserError, match="needs 17 sockets, there is 16"):
        lower(graph, load_machine("sn40l"), members=17)


@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_lowering_is_deterministic(machine: Machine) -> None:
    graph = graph_named("decode")
    assert lower(graph, machine) == lower(graph, machine)


def test_more_lookups_than_rows_still_fetch_row_by_row() -> None:
    text = """
name: lookup
extents: {rows: 200000, hidden: 4096, n: 250000}
tensors:
  table: {dims: [rows, hidden], dtype: bf16, role: weight}
  index: {dims: [n], dtype: int32, role: input}
nodes:
  y: {kind: gather, reads: [table, index], along: rows}
"""
    graph = parse_graph(text)
    for mode in mode_names():
        plan = lower(graph, load_machine("sn40l"), mode=mode)
        moved = sum(dict(call.traffic)["hbm"] * call.count for call in plan.calls)
        # The rows in and out, and the index; the table of 1.6 GB is never on the chip.
        assert moved == 250_000 * (2 * 4096 * 2 + 4)
