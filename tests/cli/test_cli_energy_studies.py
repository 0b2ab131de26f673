"""Studies of energy: rows by hand, and findings that follow their numbers."""

from __future__ import annotations

import pytest

from experiments.studies import energy_ladder as ladder
from experiments.studies import energy_of_an_access as access
from experiments.studies import instructions_saved as saved
from experiments.survey import Record


def ladder_rows(times: float) -> list[Record]:
    """The lecture's rungs, and every workload on every machine so many times above its arithmetic."""
    rungs = [ladder.record(ladder.Rung(*rung)) for rung in ladder.LADDER]
    names = (ladder.VECTOR_OP, *ladder.WORKLOADS)
    machines = (*ladder.GPUS, ladder.RDU)
    return rungs + [ladder._row(what, name, 1.0, (times, times, times), 50.0) for what in names for name in machines]


def test_a_gpu_is_ten_to_a_hundred_times_above_an_asic_by_the_ladder() -> None:
    gpu = ladder.record(ladder.Rung("GPU", 10))
    assert (gpu["low_times"], gpu["high_times"]) == (10, 100)
    assert gpu["times_bare_arithmetic"] == pytest.approx(31.6, rel=0.01)


@pytest.mark.parametrize(("times", "where"), [(3.0, "below"), (30.0, "in"), (300.0, "beyond")])
def test_the_ladders_sentence_follows_the_numbers(times: float, where: str) -> None:
    sentence = ladder.finding(ladder_rows(times))
    assert f"the GPUs {where} that range" in ladder.details(ladder_rows(times))
    assert f"large GEMM {times:.3g} to {times:.3g} (sn40l {times:.3g})" in sentence
    assert sentence.startswith("By the ladder a GPU takes 10 to 100 times an ASIC's energy.")


def test_a_vector_op_of_a_gpu_pays_for_its_instruction_and_an_rdus_does_not() -> None:
    gpu, rdu = (ladder.record(ladder.VectorOp(name)) for name in ("h100_sxm", "sn40l"))
    assert gpu["pj_per_op"] == pytest.approx(0.61 + 456 / 32)
    assert rdu["pj_per_op"] == pytest.approx(0.61)


def test_a_run_is_compared_with_the_operations_that_its_graph_needs() -> None:
    point = ladder.Point("gemm", "h100_sxm", settings=(("m", "256"), ("n", "256"), ("k", "256")))
    row = ladder.record(point)
    assert row["pj_per_op"] == pytest.approx(row["times_bare_arithmetic"] * (0.21 + 0.38) / 2)
    assert row["low_times"] < row["times_bare_arithmetic"] < row["high_times"]


def test_printed_energies_and_prices_are_of_64_bits() -> None:
    rows = {(row["table"], row["what"]): row for row in map(access.record, access.cases())}
    assert rows["lecture", "LPDDR"]["pj"] == 1200
    assert rows["45 nm", "DRAM"]["pj"] == 1280
    assert (rows["7 nm", "HBM2"]["low_pj"], rows["7 nm", "HBM2"]["high_pj"]) == (250, 450)
    assert rows["h100_sxm", "HBM"]["pj"] == pytest.approx(8 * 93.4)
    assert rows["sn40l", "DDR"]["pj"] == pytest.approx(1280)
    assert ("sn40l", access.A_THREADS) not in rows
    sentence = access.finding(list(rows.values()))
    assert "60 (lecture), 278 (45 nm), 207 (7 nm)" in sentence
    assert "23 on h100_sxm" in access.details(list(rows.values()))


def test_a_tile_and_an_instruction_by_hand() -> None:
    tile = saved.record(saved.TileLoad("h100_sxm", "cp_async"))
    assert (tile["instructions"], tile["issue_nj"]) == (96, pytest.approx(96 * 0.456))
    assert tile["arithmetic_nj"] == pytest.approx(2 * 128 * 256 * 64 * 0.395e-3)
    vector = saved.record(saved.Instruction("a100_sxm", matrix=False, printed_percent=saved.HFMA))
    assert vector["overhead_percent"] == pytest.approx(100 * 631 / (32 * 0.85))
    matrix = saved.record(saved.Instruction("a100_sxm", matrix=True, printed_percent=saved.HMMA))
    assert matrix["overhead_percent"] == pytest.approx(100 * 631 / (2 * 16 * 8 * 16 * 0.546))
    # Four warps issue an m64n256k16.
    assert saved.record(saved.Instruction("h100_sxm", matrix=True))["instructions"] == 4


def test_what_tma_saves_is_in_the_sentence() -> None:
    rows = [saved.record(case) for case in saved.cases() if not isinstance(case, saved.Point)]
    rows += [
        saved._row(saved.KERNEL, saved.H100, how, n, n / 1e9, 1.0, None) for how, n in (("cp_async", 400), ("tma", 100))
    ]
    rows.append(saved._row(saved.KERNEL, saved.RDU, "RDU, looped", 0, 0.0, 1.0, None))
    sentence = saved.finding(rows)
    assert "3,072 copies of 16 bytes: 96 warp instructions with cp.async, 192 through registers, 2 with TMA" in sentence
    assert "TMA saves 75 %" in sentence
    assert "an RDU issues 0 instructions." in saved.details(rows)
