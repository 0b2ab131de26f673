"""Every mapping of a workload on numbers: right ones pass, and each planted fault is seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import experiments.verify
from experiments.__main__ import run
from experiments.request import Request
from experiments.verify import Verification, verify
from patterns.numbers.split import part_ranges
from patterns.numbers.tiles import steps
from patterns.plan import Call, Plan, Tiling
from patterns.plugin import data_file

MINE = """
name: mine
extents: {rows: 513, columns: 1000, out: 33}
tensors:
  x: {dims: [rows, columns], dtype: fp16, role: input}
  w: {dims: [columns, out], dtype: fp16, role: weight}
nodes:
  r: {kind: map, fn: relu, reads: [x]}
  y: {kind: mm, reads: [r, w]}
  best: {kind: reduce, fn: argmax, reads: [y], over: [out]}
"""
GEMM = Request("gemm", policies=("library",), modes=("fused",), options=(("splits", "4"),))
ATTENTION = Request("attention", policies=("library",), modes=("fused",))
LLAMA = Request("llama-3.2-1b", policies=("operator",), modes=("looped",))
AUTO = ("auto",)


@pytest.mark.parametrize("request_", [GEMM, ATTENTION, replace(LLAMA, gpus=4, sockets=4)])
def test_plans_of_real_extents_compute_what_the_reference_does(request_: Request) -> None:
    result = verify(request_, AUTO)
    assert not result.wrong
    assert max(one.difference.error for one in result.checked) < 1e-14
    # Loops over single heads alone have no tails.
    assert all(one.ragged > 0 for one in result.checked if request_ != ATTENTION)


def test_members_run_both_kinds_of_sums() -> None:
    request = Request("tensor_parallel_mlp", policies=("library",), modes=("fused",), gpus=2, sockets=2)
    result = verify(request, ("ring", "one_shot"))
    ways = [way for one in result.checked for way in one.ways]
    collectives = [dict(way.side.keywords)["collectives"] for way in ways if way.side.family == "rdu"]
    assert sorted(map(str, collectives)) == ["overlapped", "separate"]
    assert [way.schedule for way in ways if way.side.family == "gpu"] == ["ring", "one_shot"]
    assert not result.wrong


def wrong(result: Verification) -> list[str]:
    """Machines of the mappings that are found to be wrong."""
    return [one.ways[0].side.family for one in result.wrong]


def without_tail(*arguments: Any) -> Iterator[Any]:
    found = list(steps(*arguments))
    lengths = [{dim: end - begin for dim, (begin, end) in ranges.items()} for ranges, _ in found]
    # The last tile of each loop is left out where it has less to do.
    yield from (one for one, length in zip(found, lengths, strict=True) if length == lengths[0])


def first_part_only(node: Any, left: Any, right: Any) -> Any:
    return left


def no_rescale(graph: Any, found: Any, name: str, parts: Any) -> list[float]:
    return [1.0] * len(parts)


def one_part_less(dim: str, extent: int, count: int) -> list[Any]:
    return part_ranges(dim, extent, count)[:-1]


@pytest.mark.parametrize(
    ("request_", "place", "fault"),
    [
        (GEMM, "patterns.numbers.tiled.steps", without_tail),
        (GEMM, "patterns.kinds.mm.merge", first_part_only),
        (ATTENTION, "patterns.numbers.online._weights", no_rescale),
        (ATTENTION, "patterns.numbers.split.part_ranges", one_part_less),
    ],
    ids=["dropped tail", "wrong accumulator", "forgotten rescale", "a part left out"],
)
def test_a_fault_in_how_plans_are_run_is_seen(
    request_: Request, place: str, fault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, fault)
    assert "gpu" in wrong(verify(request_, AUTO))


def planted(change: Callable[[Plan], Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    """Every GPU plan is made wrong in some way."""
    sound = experiments.verify.lower

    def lowered(side: Any, *arguments: Any) -> Plan:
        plan = sound(side, *arguments)
        return change(plan) if side.family == "gpu" else plan

    monkeypatch.setattr(experiments.verify, "lower", lowered)


def calls_changed(plan: Plan, change: Callable[[tuple[Call, ...]], tuple[Call, ...]]) -> Plan:
    return replace(plan, calls=change(plan.calls))


def parts_never_merged(plan: Plan) -> Plan:
    return calls_changed(plan, lambda calls: tuple(call for call in calls if not call.combines))


def a_call_left_out(plan: Plan) -> Plan:
    return calls_changed(plan, lambda calls: calls[:-1])


def calls_in_another_order(plan: Plan) -> Plan:
    return calls_changed(plan, lambda calls: (*calls[:4], calls[5], calls[4], *calls[6:]))


def accumulated_outside(plan: Plan) -> Plan:
    def turned(call: Call) -> Call:
        return replace(call, tiling=Tiling(tuple(reversed(call.tiling.loops)), call.tiling.splits))

    return calls_changed(plan, lambda calls: (turned(calls[0]), *calls[1:]))


@pytest.mark.parametrize(
    ("request_", "change", "told"),
    [
        (GEMM, parts_never_merged, "are not merged"),
        (GEMM, accumulated_outside, "accumulates over 'k' around"),
        (LLAMA, a_call_left_out, "left out, foreign or run twice"),
        (LLAMA, calls_in_another_order, "which no call before it has made visible"),
    ],
)
def test_a_fault_in_a_lowering_is_seen(
    request_: Request, change: Callable[[Plan], Plan], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(change, monkeypatch)
    result = verify(request_, AUTO)
    assert wrong(result) == ["gpu"]
    assert told in result.wrong[0].fault


def test_the_command_says_where_it_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["verify", "attention", "--policy", "library", "--mode", "fused", "--schedule", "auto"]
    assert run(arguments) == 0
    assert "all compute what the reference does" in capsys.readouterr().out
    monkeypatch.setattr("patterns.numbers.online._weights", no_rescale)
    assert run(arguments) == 1
    told = capsys.readouterr().out
    assert "WRONG: h100_sxm library auto: y[" in told
    assert "should be" in told
    assert run([*arguments, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [one["machine"] for one in found["mappings"] if one["wrong"]] == ["h100_sxm"]
    assert found["allowed_error"] < 1e-12


def test_an_online_softmax_that_is_not_rescaled_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a split: one kernel goes through the keys in steps.
    prefill = replace(ATTENTION, phase="prefill")
    (sound,) = (one for one in verify(prefill, AUTO).checked if one.ways[0].side.family == "gpu")
    assert not sound.splits
    assert [tile.dim for tile in sound.online] == ["context"]
    monkeypatch.setattr("patterns.numbers.online._weights", no_rescale)
    assert wrong(verify(prefill, AUTO)) == ["gpu"]


def test_parts_that_a_megakernel_merges_itself_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    request = replace(ATTENTION, policies=("megakernel",))
    (sound,) = (one for one in verify(request, AUTO).checked if one.ways[0].side.family == "gpu")
    assert (sound.calls, [dim for dim, _ in sound.splits]) == (1, ["context"])
    monkeypatch.setattr("patterns.numbers.split.part_ranges", one_part_less)
    assert wrong(verify(request, AUTO)) == ["gpu"]


def test_rounding_that_the_types_do_not_explain_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    result = verify(GEMM, AUTO)
    assert 0 < result.rounded.error <= result.allowed.rounded < 0.05
    assert all(one.rounded.error <= 2 * result.rounded.error for one in result.checked)
    from patterns.numbers.rounding import rounded

    # Sums of tiles in fp8 and not in fp32.
    sums = experiments.verify.execute

    def coarse(plan: Plan, *arguments: Any, **keywords: Any) -> Any:
        found = sums(plan, *arguments, **keywords)
        return {name: rounded(array, "fp8_e5m2") for name, array in found.items()} if "rounding" in keywords else found

    monkeypatch.setattr(experiments.verify, "execute", coarse)
    assert len(verify(GEMM, AUTO).wrong) == 2


def test_files_of_every_format(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    result = verify(Request(str(file), policies=("library",), modes=("fused",)), AUTO)
    assert not result.wrong
    # What nobody reads is an index: what a call leaves in memory before it is compared too.
    assert max(one.difference.error for one in result.checked) >= 0
    config = tmp_path / "config.json"
    config.write_text(data_file("patterns.library.configs", "qwen3-4b", ".json", "config").read_text())
    assert not verify(Request(str(config), policies=("megakernel",), modes=("operator",)), AUTO).wrong


def test_a_fault_before_an_index_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(MINE)
    # Too little to change which is the greatest.
    monkeypatch.setattr("patterns.kinds.mm.finish", lambda node, parts: parts[0] * (1 + 1e-9))
    assert "gpu" in wrong(verify(Request(str(file), policies=("library",), modes=("fused",)), AUTO))


def test_a_result_that_is_no_number_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "patterns.numbers.online._weights", lambda graph, found, name, parts: [np.float64("nan")] * len(parts)
    )
    (one,) = verify(ATTENTION, AUTO).wrong
    assert one.difference.error == float("inf")


def test_names_are_checked_before_any_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", "gemm", "--policy", "libary"]) == 2
    assert "did you mean 'library'?" in capsys.readouterr().err
    assert run(["verify", "gemm", "--schedule", "spilt_k"]) == 2
    assert "did you mean 'split_k'?" in capsys.readouterr().err


def test_an_output_that_is_zero_for_all_numbers_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    way = ["--policy", "library", "--mode", "fused", "--schedule", "auto"]
    assert run(["verify", "filter_sum", *way]) == 0
    assert "Zero everywhere for these random numbers, so that little is shown" in capsys.readouterr().out
    assert run(["verify", "softmax", *way, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["zero_outputs"] == []


def test_flags_that_are_given_keep_as_many_rows_as_are_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.yaml"
    file.write_text("""name: kept
extents: {rows: 5000, kept: rows // 10}
tensors:
  flags: {dims: [rows], dtype: int8, role: input}
  price: {dims: [rows], dtype: fp32, role: input}
  total: {dims: [], dtype: fp32, role: output}
nodes:
  places: {kind: filter, reads: [flags], along: rows, to: kept}
  found:  {kind: gather, reads: [price, places], along: rows, outside: zero}
  total:  {kind: reduce, fn: sum, reads: [found], over: [kept]}
""")
    assert run(["verify", str(file), "--policy", "library", "--mode", "fused", "--schedule", "auto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["zero_outputs"] == []
