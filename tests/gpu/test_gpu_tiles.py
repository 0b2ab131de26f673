"""Tiles over SMs: waves, shares of the memory, bytes in flight, and predictions that are near what is simulated."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from gpu_model import load_machine, lower, policy_names
from gpu_model.asked import Ask
from gpu_model.policy import kernels, policy_named
from gpu_model.price import Transfer
from gpu_model.roles import assemble
from gpu_model.schedule import schedule_named
from gpu_model.tiles.assign import Transfers, waves
from gpu_model.tiles.space import cut, whole_reads, whole_writes
from gpu_model.tiles.spaces import spaces_of
from gpu_model.work import Choice, Use, Wave, Work
from patterns.count import group_traffic, hidden
from patterns.errors import DoesNotFit
from patterns.library import workload
from patterns.pipeline.program import Channel, Role
from patterns.pipeline.simulate import simulate
from patterns.plan import Call, Plan, Tile
from patterns.read import parse_graph

H100 = load_machine("h100_sxm")
TILES_BYTES_PER_S = H100.hbm_achieved_bytes_per_s * H100.tile_load_efficiency


def gemm(m: int, n: int, k: int, **options: int | str) -> Plan:
    schedule = str(options.pop("schedule", "auto"))
    graph = workload("gemm", overrides={"m": str(m), "n": str(n), "k": str(k)})
    return lower(graph, H100, schedule=schedule, options=options)


def cycles(call: Call) -> int:
    return simulate(call.program).total_cycles


def seconds(call: Call) -> float:
    return cycles(call) / call.clock_hz


def after_start_s(call: Call) -> float:
    """Seconds without what comes before a product's first load."""
    return seconds(call) - (H100.kernel_ramp_cycles + H100.product_ramp_cycles) / call.clock_hz


def hbm(call: Call) -> int:
    return dict(call.traffic)["hbm"]


def test_cut_takes_points_from_the_innermost_dim() -> None:
    sizes = {"a": 8, "b": 4, "c": 128}
    assert cut(("a", "b", "c"), sizes, 64) == (Tile("a", 1), Tile("b", 1), Tile("c", 64))
    assert cut(("a", "b", "c"), sizes, 256) == (Tile("a", 1), Tile("b", 2))
    assert cut(("a", "b", "c"), sizes, 10_000) == ()


def test_waves_are_sms_at_work_together() -> None:
    transfers = Transfers(Transfer(6400, 1, 1, 1), Transfer(0, 1, 1, 1), 1)
    full, last = waves(512, transfers, H100)
    assert (full.tiles, last.tiles) == (3, 1)
    # 512 tiles are 3 waves of 132 and one of 116: at its share of the HBM the last is faster by as much.
    assert full.load.cycles == -(-6400 * 132 * 183 // 301_000)
    assert last.load.cycles == -(-6400 * 116 * 183 // 301_000)
    assert len(waves(132, transfers, H100)) == 1


def test_one_tile_more_than_sms_takes_twice_as_long() -> None:
    # Each tile of 128 x 256 x 16384 is bound by its own SM's tensor core or L2 share, not by the HBM.
    options: dict[str, int | str] = {"tile_m": 128, "tile_n": 256, "schedule": "multistage", "stages": 4}
    one = gemm(128 * 12, 256 * 11, 8192, **options).calls[0]
    two = gemm(128 * 133, 256, 8192, **options).calls[0]
    assert cycles(two) == pytest.approx(2 * cycles(one), rel=0.25)
    assert cycles(two) > 1.5 * cycles(one)


@pytest.mark.parametrize(("n", "k"), [(6144, 4096), (28672, 4096), (4096, 14336), (128256, 4096)])
def test_a_skinny_product_nearly_reaches_the_memorys_rate(n: int, k: int) -> None:
    call = gemm(1, n, k).calls[0]
    reached = hbm(call) / after_start_s(call)
    assert 0.85 * TILES_BYTES_PER_S < reached < TILES_BYTES_PER_S


def test_a_skinny_product_is_spread_over_most_sms() -> None:
    call = gemm(1, 4096, 4096).calls[0]
    columns = next(tile.extent for tile in call.tiling.loops if tile.dim == "n")
    assert 4096 // columns >= 100


def test_few_bytes_in_flight_are_slow() -> None:
    # Little's law: what an SM has in flight, over the latency and its own transfer.
    options: dict[str, int | str] = {"tile_m": 64, "tile_n": 32, "schedule": "warp_specialized"}
    shallow, deep = (gemm(1, 4096, 4096, slots=slots, **options).calls[0] for slots in (1, 12))
    assert hbm(shallow) / after_start_s(shallow) < 0.4 * TILES_BYTES_PER_S
    assert hbm(deep) / after_start_s(deep) > 0.85 * TILES_BYTES_PER_S


def test_padding_is_seen_in_the_work_as_issued() -> None:
    asked = 2 * 4096 * 4096
    issued = dict(gemm(1, 4096, 4096).calls[0].work)["matrix_flops"]
    assert issued % asked == 0
    assert issued >= 8 * asked  # one column is computed as eight


def test_an_operand_that_fits_the_l2_comes_from_the_hbm_once() -> None:
    call = gemm(2048, 2048, 2048).calls[0]
    assert hbm(call) == 3 * 2048 * 2048 * 2
    assert dict(call.traffic)["l2"] > 4 * hbm(call)


def test_operands_beyond_the_l2_come_again_for_every_patch_of_tiles() -> None:
    call = gemm(8192, 8192, 8192, tile_m=128, tile_n=256).calls[0]
    once = 3 * 8192 * 8192 * 2
    # 132 tiles together are a patch of 16 x 8: a row's operand is shared by 8 tiles, a column's by 16.
    loaded_rows, loaded_columns = 8192 * 8192 * 2 * 32, 8192 * 8192 * 2 * 64
    assert hbm(call) == 8192 * 8192 * 2 + loaded_rows // 8 + loaded_columns // 16
    assert once < hbm(call) < 4 * once


def test_a_large_product_is_between_what_the_l2_and_the_tensor_core_allow() -> None:
    call = gemm(8192, 8192, 8192).calls[0]
    reached = 2 * 8192**3 / seconds(call)
    assert 0.6 < reached / 989.4e12 < 1


def test_fp8_runs_faster_than_bf16() -> None:
    def took(dtype: str) -> float:
        text = f"""
name: one
extents: {{m: 4096, n: 4096, k: 4096}}
tensors:
  a: {{dims: [m, k], dtype: {dtype}, role: input}}
  b: {{dims: [k, n], dtype: {dtype}, role: weight}}
  c: {{dims: [m, n], dtype: bf16, role: output}}
nodes:
  c: {{kind: mm, reads: [a, b]}}
"""
        return seconds(lower(parse_graph(text, "one.yaml", {}), H100).calls[0])

    assert 1.5 < took("bf16") / took("fp8") < 2.1


def test_a_single_slot_is_serial() -> None:
    # Eight tiles that load 4 and compute 6 with one slot: 8 x 10; with two the loads hide: 4 + 8 x 6.
    work = Work("w", (Wave(8, Use("load", 4, "load"), Use("store", 0, "store")),), 1, 1, (Use("tc", 6, "mma"),), (), 0)
    unit = load_machine("unit")
    ring = schedule_named("warp_specialized")
    assert simulate(ring.program(work, Choice(1), unit)).total_cycles == 80
    assert simulate(ring.program(work, Choice(2), unit)).total_cycles == 52


def test_loads_and_stores_share_the_memory_where_it_limits_both() -> None:
    # On the unit machine 300 rows of softmax are read and written at one byte a cycle, not at one each way.
    plan = lower(workload("softmax", overrides={"rows": "300", "columns": "64"}), load_machine("unit"))
    moved = 2 * 300 * 64 * 2
    assert hbm(plan.calls[0]) == moved
    assert cycles(plan.calls[0]) >= moved


def some_work(random: Random) -> Work:
    load, mma, end, latency = (int(10 ** random.uniform(0, 3.3)) for _ in range(4))
    path = random.choice(["store", "load"])
    wave = Wave(random.randint(1, 40), Use("load", load, "load"), Use(path, end, "store"))
    return Work("w", (wave,), random.choice([1, 2, 4, 8, 40]), 1024, (Use("tc", mma, "mma"),), (), latency)


@pytest.mark.parametrize("schedule", ["synchronous", "multistage", "warp_specialized", "streaming"])
def test_predictions_are_near_the_simulation(schedule: str) -> None:
    """Nine of ten within a tenth, whatever the shape: what is chosen by them is near the best."""
    random, how = Random(7), schedule_named(schedule)
    ratios = []
    for _ in range(200):
        work, choice = some_work(random), Choice(1 if schedule == "synchronous" else random.randint(1, 8), "tma")
        simulated = simulate(how.program(work, choice, H100), spans=False).total_cycles
        ratios.append(how.predict(work, choice, H100) / simulated)
    assert all(0.6 < ratio < 1.6 for ratio in ratios)
    assert sum(0.9 < ratio < 1.1 for ratio in ratios) > 180


def test_programs_list_only_the_units_they_use() -> None:
    program = assemble("empty", H100, (Channel("ring", 1),), (Role("nobody", ()),))
    assert program.units == ()
    assert {unit.name for unit in gemm(64, 64, 64).calls[0].program.units} <= {
        "tc",
        "vector",
        "load",
        "store",
        "hbm",
        "issue",
        "sync",
        "ramp",
    }


def test_the_share_of_a_transfer_is_exact() -> None:
    assert Transfer(100, 3, 1, 2).hbm_bytes == Fraction(100, 6).__floor__()


@pytest.mark.parametrize("policy", policy_names())
@pytest.mark.parametrize(
    "name", ["llama-3.1-8b", "softmax", "add_rms_norm", "attention", "swiglu_mlp", "gemm_bias_act"]
)
def test_kernels_move_what_crosses_the_border_of_their_nodes(name: str, policy: str) -> None:
    graph = workload(name)
    for block in graph.blocks:
        for group in kernels(graph, block, Ask(H100), policy_named(policy))[0]:
            spaces = spaces_of(graph, group.nodes, group.inside, group.online)
            traffic = group_traffic(graph, block.name, group.names)
            assert whole_reads(spaces) == dict(traffic.reads)
            assert whole_writes(spaces) == traffic.written_bytes
            assert group.inside == hidden(graph, group.names)


def test_slices_of_one_tensor_are_added_up() -> None:
    text = """
name: halves
extents: {n: 64, two: 8, half: 4}
tensors:
  x: {dims: [n, two], dtype: bf16, role: input}
  y: {dims: [n, half], dtype: bf16, role: output}
nodes:
  a: {kind: buffer, fn: slice, reads: [x], along: two, start: 0, to: half}
  b: {kind: buffer, fn: slice, reads: [x], along: two, start: 4, to: half}
  y: {kind: zip, fn: mul, reads: [a, b]}
"""
    call = lower(parse_graph(text, "halves.yaml", {}), H100).calls[0]
    assert call.nodes == ("a", "b", "y")
    assert hbm(call) == (64 * 8 + 64 * 4) * 2


@pytest.mark.parametrize("policy", policy_names())
def test_rows_that_an_index_finds_are_loaded_one_by_one_however_few_there_are(policy: str) -> None:
    text = """
name: lookup
extents: {rows: 200000, hidden: 64, n: N}
tensors:
  table: {dims: [rows, hidden], dtype: bf16, role: weight}
  index: {dims: [n], dtype: int32, role: input}
  y: {dims: [n, hidden], dtype: bf16, role: output}
nodes:
  y: {kind: gather, reads: [table, index], along: rows}
"""
    few, many = (
        lower(parse_graph(text.replace("N", n), "g.yaml", {}), H100, policy=policy) for n in ("1999", "400000")
    )
    assert hbm(few.calls[0]) == 1999 * (2 * 64 * 2 + 4)
    assert hbm(many.calls[0]) == 200_000 * 64 * 2 + 400_000 * (64 * 2 + 4)
    assert seconds(many.calls[0]) < 100 * seconds(few.calls[0])


def test_what_every_tile_has_whole_is_said_where_nothing_fits() -> None:
    text = """
name: histogram
extents: {n: 4096, bins: 200000}
tensors:
  x: {dims: [n], dtype: bf16, role: input}
  index: {dims: [n], dtype: int32, role: input}
  none: {dims: [bins], dtype: bf16, role: input}
  y: {dims: [bins], dtype: bf16, role: output}
nodes:
  y: {kind: scatter, fn: add, reads: [none, index, x], along: bins}
"""
    graph = parse_graph(text, "g.yaml", {})
    with pytest.raises(DoesNotFit, match=r"there is 232,448; every tile has bins \(now 200,000\) whole, so smaller"):
        lower(graph, H100)
    with pytest.raises(DoesNotFit, match="smaller tiles"):
        lower(workload("gemm"), load_machine("h100_sxm", {"smem_bytes_per_cta": "16 B"}))
