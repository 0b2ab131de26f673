"""Attention kernels: what a step asks of an SM, causal work, tiles over SMs, and predictions near the simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Ask, Asked
from gpu_model.attention.busiest import busiest
from gpu_model.attention.kept import kept_steps
from gpu_model.attention.scripts import blocks_of, tensor_cycles
from gpu_model.attention.work import Online, price_online
from gpu_model.options import Options
from gpu_model.policy import kernels, policy_named
from gpu_model.products.combine import choose_parts
from gpu_model.schedule import schedule_named
from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import DoesNotFit, UserError
from patterns.graph import Graph
from patterns.library import workload
from patterns.pipeline.listing import listing
from patterns.pipeline.simulate import simulate
from patterns.plan import Call, Tile
from patterns.summarize import summarize

H100, LECTURE = load_machine("h100_sxm"), load_machine("lecture_sm")
HOPPER = ("attention_serial", "attention_pingpong", "attention_both", "attention_intra_warpgroup", "flash_attention_2")


def graph(batch: int, seq: int, context: int, kv_heads: int, group: int = 1, head_dim: int = 128) -> Graph:
    sizes = {"batch": batch, "seq": seq, "context": context, "kv_heads": kv_heads, "group": group, "head_dim": head_dim}
    return workload("attention", overrides={name: str(size) for name, size in sizes.items()})


def space(made: Graph) -> Space:
    """The iteration space of the attention kernel."""
    (group,), _ = kernels(made, made.blocks[0], ASK, policy_named("library"))
    return spaces_of(made, group.nodes, group.inside, group.online)[0]


ASK = Ask(H100, "auto", Options(), 0)


def cut(made: Graph, rows: int, keys: int, parts: int = 1) -> Cut:
    loops = (Tile("batch", 1), Tile("kv_heads", 1), Tile("seq", rows))
    return Cut(space(made), loops, (Tile("context", keys),), parts)


def amount(call: Call, resource: str) -> int:
    return dict(call.work)[resource]  # type: ignore[index]


def test_a_step_is_the_lectures() -> None:
    """64 queries x 128 keys: 512 cycles a product, 512 for exponentials; 4 instructions a score, one more a sum."""
    scores, values = price_online(cut(graph(1, 64, 4096, 1), 64, 128), LECTURE).step
    assert scores.matrix_cycles == values.matrix_cycles == 512
    assert scores.special_ops == 64 * 128
    assert scores.vector_ops == 4 * 64 * 128 + 64 * 128


def test_a_division_waits_for_the_last_step_and_a_mask_for_the_diagonal() -> None:
    online = Online(cut(graph(1, 64, 4096, 1), 64, 128), LECTURE)
    finish = online.finish()
    assert finish.special_ops == 64  # a reciprocal a row
    # Divide and convert 64 x 128 sums, and compare and select the scores of one block.
    assert finish.vector_ops == 2 * 64 * 128 + 2 * 64 * 128


def test_query_heads_of_a_group_are_rows_of_a_tile() -> None:
    call = lower(graph(64, 1, 8192, 8, group=4), H100).calls[0]
    assert {tile.dim for tile in call.tiling.loops} == {"batch", "kv_heads"}


@pytest.mark.parametrize("rows", [32, 64, 100])
@pytest.mark.parametrize("keys", [64, 96])
@pytest.mark.parametrize(("seq", "context"), [(300, 300), (70, 500), (1, 200), (256, 256)])
def test_blocks_that_a_mask_hides_are_not_run(rows: int, keys: int, seq: int, context: int) -> None:
    made = cut(graph(2, seq, context, 3), rows, keys)
    steps = []
    for start in range(0, seq, rows):
        last = min(start + rows, seq) - 1
        needed = context - seq + last + 1
        steps += [sum(first < needed for first in range(0, context, keys))] * 2 * 3
    kept = kept_steps(made)
    found = sorted(count for tiles, count in kept for _ in range(tiles)) if kept else [made.steps_per_tile] * made.tiles
    assert found == sorted(steps)


def test_a_causal_prefill_issues_half_of_the_products_and_the_diagonal() -> None:
    call = lower(graph(1, 8192, 8192, 16), H100).calls[0]
    full = 4 * 16 * 8192 * 8192 * 128
    assert full // 2 < amount(call, "matrix_flops") < 0.53 * full


def test_a_chunk_at_the_end_of_a_context_is_nearly_full() -> None:
    call = lower(graph(1, 512, 16384, 16), H100).calls[0]
    assert amount(call, "matrix_flops") > 0.97 * 4 * 16 * 512 * 16384 * 128


def least_busy(kept: tuple[tuple[int, int], ...], sms: int) -> int:
    """The greatest number of steps of an SM when tiles go to the least busy one, one by one."""
    busy = [0] * sms
    for tiles, steps in kept:
        for _ in range(tiles):
            busy[busy.index(min(busy))] += steps
    return max(busy)


@pytest.mark.parametrize("seed", range(6))
def test_the_busiest_sm_has_what_giving_out_tiles_leaves_it(seed: int) -> None:
    random = Random(seed)
    kept = tuple((random.randint(1, 20), steps) for steps in sorted(random.sample(range(1, 60), 9), reverse=True))
    for order in (kept, kept[::-1]):
        assert sum(count * steps for count, steps in busiest(order, 24)) == least_busy(order, 24)


def test_of_many_tiles_the_busiest_sm_is_estimated() -> None:
    kept = tuple((100, steps) for steps in range(64, 0, -1))
    found = sum(count * steps for count, steps in busiest(kept, 132))
    assert found == pytest.approx(least_busy(kept, 132), rel=0.02)


def test_longest_first_is_faster_than_the_order_of_the_grid() -> None:
    kept = tuple((16, steps) for steps in range(64, 0, -1))
    longest_first, grid = (sum(c * s for c, s in busiest(order, 132)) for order in (kept, kept[::-1]))
    assert longest_first < 0.95 * grid


def test_what_other_instructions_take_of_the_registers_is_lost_to_products() -> None:
    asked = Asked("a", (space(graph(1, 2048, 2048, 16)),), "attention_both", Options(), online=True)
    chosen, _ = choose_parts(asked, H100, 0)
    work, choice = chosen.work, chosen.choice
    needed = sum(use.cycles for use in work.step if use.unit == "tc")
    vector = sum(use.cycles for use in work.step if use.unit == "vector")
    special = sum(use.cycles for use in work.step if use.unit == "special") * 16 // 128
    lost = tensor_cycles(blocks_of(work, choice, H100, overlaps=True)) - needed
    assert lost == pytest.approx(H100.mma_port_stalls * (vector + special), rel=0.01)


@pytest.mark.parametrize(("head_dim", "keys"), [(64, 224), (128, 192), (256, 96)])
def test_registers_limit_blocks_of_keys(head_dim: int, keys: int) -> None:
    """Scores, probabilities and sums of 64 rows on 128 threads; at most 240 registers with two warpgroups."""
    made = graph(1, 4096, 4096, 16, head_dim=head_dim)
    options = {"tile_m": 128, "tile_k": keys + 32, "slots": 2, "warpgroups": 2}
    with pytest.raises(DoesNotFit):
        lower(made, H100, schedule="attention_both", options=options)


@pytest.mark.parametrize("name", HOPPER)
def test_predictions_are_near_the_simulation(name: str) -> None:
    errors = list(_errors(name))
    assert sum(map(abs, errors)) / len(errors) < 0.12
    assert max(map(abs, errors)) < 0.45


def _errors(name: str) -> Iterator[float]:
    random = Random(2)
    for _ in range(12):
        tokens, decode = random.choice([128, 512, 1024, 4096]), random.random() < 0.4
        made = graph(random.choice([1, 8, 32]), 1 if decode else tokens, tokens, random.choice([1, 4, 16]), 1, 128)
        asked = Asked("a", (space(made),), name, Options(), online=True)
        chosen, _ = choose_parts(asked, H100, 0)
        program = schedule_named(name).program(chosen.work, chosen.choice, H100)
        yield schedule_named(name).predict(chosen.work, chosen.choice, H100) / simulate(program).total_cycles - 1


@pytest.mark.parametrize("name", HOPPER)
def test_rings_of_all_lengths_end(name: str) -> None:
    """A tile of fewer steps than slots, of as many, and of more."""
    schedule = schedule_named(name)
    for tokens in (64, 128, 192, 256, 512, 1024):
        asked = Asked("a", (space(graph(1, tokens, tokens, 1)),), name, Options(), online=True)
        chosen, _ = choose_parts(asked, H100, 0)
        for slots in schedule.slot_counts(6):
            for warpgroups in schedule.WARPGROUPS:
                choice = Choice(slots, chosen.choice.loader, warpgroups)
                assert simulate(schedule.program(chosen.work, choice, H100)).total_cycles > 0


def test_a_split_fills_the_sms_and_its_parts_stay_in_the_l2() -> None:
    split, combine = lower(graph(1, 1, 8192, 8, group=4), H100).calls
    ((dim, parts),) = split.tiling.splits
    assert dim == "context"
    assert 100 < 8 * parts <= 132
    cache = 2 * 8 * 8192 * 128 * 2
    assert amount(split, "hbm_bytes") < 1.01 * cache
    assert amount(combine, "hbm_bytes") < 20_000  # results only


def test_no_split_where_tiles_nearly_fill_the_sms() -> None:
    assert len(lower(graph(16, 1, 8192, 8, group=4), H100).calls) == 1


@pytest.mark.parametrize("machine", ["v100", "a100_sxm", "h100_sxm", "b200", "lecture_sm"])
def test_every_machine_has_an_attention_schedule(machine: str) -> None:
    call = lower(graph(2, 300, 300, 2), load_machine(machine)).calls[0]
    assert call.schedule.startswith(("attention_", "flash_attention_2"))


def test_attention_schedules_say_where_there_is_no_attention() -> None:
    plan = lower(workload("gemm"), H100, schedule="attention_both")
    assert "runs attention" in plan.warnings[0]
    assert not plan.calls[0].schedule.startswith("attention")


def test_a_machine_that_lacks_what_a_schedule_needs_is_told_what_works() -> None:
    with pytest.raises(
        UserError, match=r"attention_both needs tma, which a100_sxm lacks; flash_attention_2 works there"
    ):
        lower(graph(1, 64, 64, 1), load_machine("a100_sxm"), schedule="attention_both")


def test_flash_attention_2_says_where_the_rest_went() -> None:
    """mma.sync reaches 62.9 % of the rate, and other instructions take registers' ports: that is below peak."""
    from patterns.run import run_plan

    made = graph(1, 8192, 8192, 16)
    report = summarize(run_plan(lower(made, H100, schedule="flash_attention_2", launch="graph")))
    parts = {name: amount / report.time_ps for name, amount in report.waterfall_ps}
    assert parts["speed_of_light"] < 0.45
    assert parts["below_peak"] > 0.4
    assert sum(parts.values()) == pytest.approx(1)


# A tile of 128 queries and 8 blocks of 128 keys on the lecture's SM, with what real machines add.
PRODUCT = Use("tc", 1024, "mma")
SHOWN = Work(
    name="attention",
    waves=(Wave(2, Use("load", 1024, "load"), Use("store", 512, "store"), held=Use("load", 512, "queries")),),
    steps=8,
    slot_bytes=65_536,
    step=(
        Use("tc", 1024, "mma"),
        Use("special", 1024, "special"),
        Use("vector", 512, "vector"),
        Use("tc", 1024, "mma"),
    ),
    finish=(Use("vector", 256, "convert"),),
    latency_cycles=700,
    row_blocks=2,
)
COSTLY = replace(LECTURE, mma_port_stalls=0.5, mma_latency_cycles=100, turn_cycles=20, tile_start_cycles=500)


@pytest.mark.parametrize("name", HOPPER)
def test_a_listing_is_as_it_was_read(name: str, golden: Callable[[str, str], None]) -> None:
    loader = schedule_named(name).LOADERS[0]
    golden(f"gpu_listing_{name}.txt", listing(schedule_named(name).program(SHOWN, Choice(2, loader, 2), COSTLY)))


def test_wide_heads_over_few_keys_have_one_slot_rather_than_tiles_of_one_row() -> None:
    (call,) = lower(graph(8, 32, 32, 1, group=8, head_dim=512), H100).calls
    assert "(1 slot," in call.schedule
    assert {tile.dim: tile.extent for tile in call.tiling.loops}["seq"] == 8
    assert simulate(call.program).total_cycles < 20_000


@pytest.mark.parametrize("schedule", HOPPER)
def test_one_slot_will_do(schedule: str) -> None:
    """The user may fix one, which no schedule chooses: what is due comes in time, whatever the steps are."""
    for context in (100, 128, 256, 700):
        (call,) = lower(
            graph(1, 64, context, 1), H100, schedule=schedule, options={"slots": 1, "tile_n": 128, "splits": 1}
        ).calls
        one = simulate(call.program).total_cycles
        (call,) = lower(
            graph(1, 64, context, 1), H100, schedule=schedule, options={"slots": 2, "tile_n": 128, "splits": 1}
        ).calls
        assert call.schedule.startswith(f"{schedule} (2 slots")
        assert one >= 0.95 * simulate(call.program).total_cycles
