"""Energy: parts add up, events are the plan's own bytes and work, ranges are ranges, a steady RDU issues nothing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest

from experiments.compare import Outcome
from experiments.export import report_row, reports_csv, reports_json
from experiments.point import Point, point_record, run_point
from experiments.text.energy import energy_parts, joules_text, range_text
from experiments.text.table import Table
from gpu_model.energy import flops_event, register_instructions
from gpu_model.loader import loader_named
from gpu_model.machine import load_machine, machine_names, read_machine
from gpu_model.price import mma
from patterns.energy import EnergyPrices, Event
from patterns.errors import UserError
from patterns.plan import Level
from patterns.spent import ENERGY_PARTS, energy_of, events_of
from rdu_model import load_machine as load_rdu
from rdu_model import machine_names as rdu_names

H100 = load_machine("h100_sxm")
FEW = (("layers", "3"), ("hidden", "512"), ("model_heads", "4"), ("model_kv_heads", "2"), ("model_ffn", "768"))
POINTS = (
    Point("softmax", "h100_sxm", "pattern"),
    Point("softmax", "sn40l", "looped"),
    Point("gqa_decode", "a100_sxm"),
    Point("gemm", "h200"),
    Point("gemm_fp8_blocks", "b200", "epilogue"),
    Point("llama-3.1-8b", "b200", "megakernel", context=64, settings=FEW),
    Point("tensor_parallel_mlp", "h100_sxm", members=2),
    Point("tensor_parallel_mlp", "sn40l", "unfused", members=2),
)


@pytest.fixture(scope="module")
def outcomes() -> Mapping[Point, Outcome]:
    """Every point, run once."""
    return {point: run_point(point) for point in POINTS}


def test_parts_and_their_ends_add_up(outcomes: Mapping[Point, Outcome]) -> None:
    for outcome in outcomes.values():
        energy = outcome.report.energy
        assert energy is not None
        for end in ("low_j", "typical_j", "high_j"):
            assert getattr(energy, end) == pytest.approx(sum(getattr(part, end) for part in energy.parts))
        assert all(0 <= part.low_j <= part.typical_j <= part.high_j for part in energy.parts)
        assert 0 < energy.low_j < energy.typical_j < energy.high_j
        assert [part.name for part in energy.parts] == [
            name for name in ENERGY_PARTS if name in {part.name for part in energy.parts}
        ]


def test_bytes_of_every_level_are_those_of_the_report(outcomes: Mapping[Point, Outcome]) -> None:
    for outcome in outcomes.values():
        parts = {part.name: part.num_events for part in outcome.report.energy.parts}  # type: ignore[union-attr]
        for level in get_args(Level):
            assert parts.get(level, 0) == dict(outcome.report.bytes)[level], level


def test_flops_and_ops_are_the_work_that_calls_issue(outcomes: Mapping[Point, Outcome]) -> None:
    for outcome in outcomes.values():
        plan, issued = outcome.execution.plan, Counter[str]()
        for call in plan.calls:
            issued.update({name: amount * call.count * plan.members for name, amount in call.work})
        parts = {part.name: part.num_events for part in outcome.report.energy.parts}  # type: ignore[union-attr]
        assert parts["matrix"] == issued["matrix_flops"]
        assert (parts["vector"], parts["special"]) == (issued["vector_ops"], issued["special_ops"])


def test_static_energy_is_power_times_time_times_members(outcomes: Mapping[Point, Outcome]) -> None:
    report = outcomes[Point("tensor_parallel_mlp", "h100_sxm", members=2)].report
    (static,) = (part for part in report.energy.parts if part.name == "static")  # type: ignore[union-attr]
    assert static.typical_j == pytest.approx(2 * 71.8 * report.time_s)


def test_an_rdu_issues_no_instructions_and_a_gpu_does(outcomes: Mapping[Point, Outcome]) -> None:
    for outcome in outcomes.values():
        instructions = events_of(outcome.execution.plan).get("instructions", 0)
        assert (instructions == 0) == (outcome.report.family == "rdu")


def test_flops_are_told_apart_by_the_type_that_is_multiplied(outcomes: Mapping[Point, Outcome]) -> None:
    fp8 = events_of(outcomes[Point("gemm_fp8_blocks", "b200", "epilogue")].execution.plan)
    assert fp8["fp8_flops"] > 0
    assert "bf16_flops" not in fp8
    assert flops_event("fp8", load_machine("a100_sxm")) == "bf16_flops"
    assert flops_event("int8", load_machine("a100_sxm")) == "fp8_flops"
    assert flops_event("fp32", H100) == "fp32_flops"


def test_a_48_kb_tile_is_3072_copies_of_16_bytes_in_96_instructions_or_one_of_tma() -> None:
    tile_bytes = (128 + 256) * 64 * 2
    assert tile_bytes // 16 == 3072
    assert loader_named("cp_async").instructions(H100, tile_bytes) == 96
    assert loader_named("registers").instructions(H100, tile_bytes) == 2 * 96
    # One tensor map an operand: A and B.
    assert sum(loader_named("tma").instructions(H100, rows * 64 * 2) for rows in (128, 256)) == 2
    assert register_instructions(tile_bytes) == 96


def test_what_a_gemm_issues_is_counted_by_hand() -> None:
    plan = run_point(Point("gemm", "h100_sxm", settings=(("m", "256"), ("n", "512"), ("k", "640")))).execution.plan
    call = plan.calls[0]
    rows, columns = (next(loop.extent for loop in call.tiling.loops if loop.dim == dim) for dim in ("m", "n"))
    tiles, steps = (256 // rows) * (512 // columns), 640 // 64
    # An m64nNk16 is issued by four warps; each operand of each step is one TMA load; results leave 512 bytes at a time.
    matrix = tiles * steps * (rows // 64) * (64 // 16) * -(-columns // 256) * 4
    conversions = 256 * 512 // 32
    expected = matrix + tiles * steps * 2 + conversions + 256 * 512 * 2 // 512
    assert dict(call.events)["instructions"] == expected
    loaded, read = tiles * 640 * (rows + columns) * 2, tiles * steps * 4 * (rows // 64) * (64 + columns) * 16 * 2
    assert dict(call.events)["smem_bytes"] == loaded + read


def test_a_matrix_instruction_is_one_of_its_shape() -> None:
    assert mma(H100, 64, 256, 16, "bf16").instructions == 1
    assert mma(H100, 128, 256, 64, "bf16").instructions == 8
    assert mma(load_machine("a100_sxm"), 128, 128, 32, "bf16").instructions == 8 * 16 * 2


@pytest.mark.parametrize(("machine", "mode"), [("h100_sxm", "library"), ("sn40l", "looped")])
def test_twice_the_rows_never_take_less(machine: str, mode: str) -> None:
    found = []
    for rows in (16, 32, 64, 128):
        settings = (("m", str(rows)), ("n", "1024"), ("k", "1024"))
        energy = run_point(Point("gemm", machine, mode, settings=settings)).report.energy
        assert energy is not None
        found.append((energy.low_j, energy.typical_j, energy.high_j))
    for before, after in pairwise(found):
        assert all(less <= more for less, more in zip(before, after, strict=True))


def test_every_machine_prices_all_that_it_does_or_nothing() -> None:
    gpus = {name: load_machine(name).has_prices for name in machine_names()}
    assert {name for name, known in gpus.items() if not known} == {"unit", "lecture_sm"}
    rdus = {name: load_rdu(name).has_prices for name in rdu_names()}
    assert {name for name, known in rdus.items() if not known} == {"unit", "plasticine"}
    sources = dict(read_machine("h200").sources)
    priced = [name for name in EnergyPrices.__dataclass_fields__ if not name.startswith(("ddr", "onchip"))]
    assert all(len(sources[name]) > 20 for name in priced)


def test_a_machine_without_energies_has_no_energy() -> None:
    outcome = run_point(Point("softmax", "lecture_sm", "pattern", settings=(("rows", "8"), ("columns", "8"))))
    assert outcome.report.energy is None
    assert point_record(Point("softmax", "lecture_sm"), outcome)["energy_j"] is None
    assert json.loads(reports_json([outcome]))["reports"][0]["energy"] is None
    assert {value for name, value in report_row(outcome).items() if name.startswith("energy_")} == {None}
    assert reports_csv([outcome]).splitlines()[1].count(",,,,,") >= 1


def test_an_event_without_a_price_is_a_bug_of_the_model(outcomes: Mapping[Point, Outcome]) -> None:
    execution = outcomes[POINTS[0]].execution
    plan = replace(execution.plan, prices=EnergyPrices(static_watts=(1.0, 2.0, 3.0)))
    with pytest.raises(AssertionError, match="has no price"):
        energy_of(plan, 1)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("[1 pJ/B, 3 pJ/B, 2 pJ/B]", "hbm_joules_per_byte: [low, typical, high] are due in that order"),
        ("[1 pJ/B, 3 pJ/B]", "a list of 3 values is due, found 2"),
        ("93 pJ/B", "a list ([a, b]) is due"),
        ("[1, 2, 3]", "a unit is due"),
        ("[-1 pJ/B, 2 pJ/B, 3 pJ/B]", "must be finite and at least 0"),
    ],
)
def test_a_wrong_price_is_told(value: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load_machine("h100_sxm", {"hbm_joules_per_byte": value})
    assert message in str(caught.value)


def test_some_prices_alone_are_refused() -> None:
    with pytest.raises(UserError, match="all prices of energy or none"):
        load_machine("lecture_sm", {"static_watts": "[1 W, 2 W, 3 W]"})


def test_a_price_can_be_set() -> None:
    price = ("gpu.static_watts", "[100 W, 200 W, 300 W]")
    outcome = run_point(Point("softmax", "h100_sxm", "pattern", settings=(price,)))
    static = outcome.report.energy.parts[-1]  # type: ignore[union-attr]
    assert static.typical_j == pytest.approx(200 * outcome.report.time_s)


def test_exports_have_the_same_joules(outcomes: Mapping[Point, Outcome]) -> None:
    outcome = outcomes[POINTS[0]]
    energy = outcome.report.energy
    assert energy is not None
    record = json.loads(reports_json([outcome]))["reports"][0]["energy"]
    heading, row = (line.split(",") for line in reports_csv([outcome]).splitlines())
    columns = dict(zip(heading, row, strict=True))
    assert record["typical_j"] == float(columns["energy_j"]) == energy.typical_j
    assert record["parts"]["hbm"]["typical_j"] == float(columns["energy_hbm_j"])
    assert [float(columns[f"energy_{end}_j"]) for end in ("low", "high")] == [energy.low_j, energy.high_j]
    assert sum(float(columns[f"energy_{part}_j"]) for part in ENERGY_PARTS) == pytest.approx(energy.typical_j)


def test_events_are_known_ones(outcomes: Mapping[Point, Outcome]) -> None:
    for outcome in outcomes.values():
        for call in outcome.execution.plan.calls:
            assert {name for name, _ in call.events} <= set(get_args(Event))


def test_the_page_has_the_reports_joules_and_shares_that_add_up(outcomes: Mapping[Point, Outcome]) -> None:
    reports = [outcome.report for outcome in outcomes.values()]
    title, table, note = energy_parts(reports, "token", 1)
    assert isinstance(table, Table)
    headings = [column.heading.replace("\n", " ") for column in table.columns]
    assert headings[:4] == ["machine", "mode", "energy/ token", "low to high"]
    for report, row in zip(reports, table.rows, strict=True):
        assert report.energy is not None
        assert row[2] == joules_text(report.energy.typical_j)
        shares = [float(cell.rstrip("%")) for cell in row[4:] if cell != "-"]
        assert sum(shares) == pytest.approx(100, abs=0.11)
    assert "No energies of an RDU are published" in str(note)
    assert energy_parts([replace(report, energy=None) for report in reports], "token", 1) == []
    assert "Energy of one token" in str(title)


def test_several_tokens_have_a_column_of_one(outcomes: Mapping[Point, Outcome]) -> None:
    report = outcomes[POINTS[0]].report
    table = energy_parts([report], "token", 16)[1]
    assert isinstance(table, Table)
    assert table.columns[4].heading == "per\nsequence"
    assert report.energy is not None
    assert table.rows[0][4] == joules_text(report.energy.typical_j / 16)


@pytest.mark.parametrize(
    ("joules", "text"), [(2.674, "2.67 J"), (0.0281, "28.1 mJ"), (4.1e-4, "410 uJ"), (120.4, "120 J"), (0.0, "0 J")]
)
def test_joules_as_text(joules: float, text: str) -> None:
    assert joules_text(joules) == text
    assert range_text(1.08, 4.32) == "1.08-4.32 J"
