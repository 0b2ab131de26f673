"""Attention on operands that matrix instructions read in one order only: 8-bit values on Hopper are transposed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from gpu_model import load_machine, lower
from gpu_model.asked import Ask, Asked
from gpu_model.attention.work import Online, transposed_bytes
from gpu_model.machine import Machine
from gpu_model.options import Options
from gpu_model.policy import kernels, policy_named
from gpu_model.products.combine import choose_parts
from gpu_model.schedule import schedule_named
from gpu_model.tiles.cuts import Cut
from gpu_model.tiles.space import Space
from gpu_model.tiles.spaces import spaces_of
from gpu_model.work import Choice, Use, Wave, Work
from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.plan import Tile

H100, B200, LECTURE = (load_machine(name) for name in ("h100_sxm", "b200", "lecture_sm"))
PRODUCERS = ("attention_serial", "attention_pingpong", "attention_both")
ALIKE = ("attention_intra_warpgroup", "flash_attention_2")


def graph(dtype: str, tokens: int, batch: int = 1, heads: int = 16, head_dim: int = 128, seq: int = 0) -> Graph:
    sizes = {"batch": batch, "seq": seq or tokens, "context": tokens, "kv_heads": heads, "group": 1}
    made = workload("attention", overrides={name: str(size) for name, size in {**sizes, "head_dim": head_dim}.items()})
    tensors = (replace(t, dtype=dtype) if t.dtype == "bf16" and t.role != "output" else t for t in made.tensors)
    return replace(made, tensors=tuple(tensors))


def space(made: Graph, machine: Machine = H100) -> Space:
    ask = Ask(machine, "auto", Options(), 0)
    (group,), _ = kernels(made, made.blocks[0], ask, policy_named("library"))
    return spaces_of(made, group.nodes, group.inside, group.online)[0]


def cut(made: Graph, rows: int = 128, keys: int = 128) -> Cut:
    loops = (Tile("batch", 1), Tile("kv_heads", 1), Tile("seq", rows))
    return Cut(space(made), loops, (Tile("context", keys),))


def with_order(made: Graph, dims: tuple[str, ...]) -> Graph:
    """The graph with its values in another order."""
    return replace(made, tensors=tuple(replace(t, dims=dims) if t.name == "v" else t for t in made.tensors))


def test_only_small_values_with_the_wrong_dim_innermost_are_transposed() -> None:
    made = graph("fp8", 4096)
    assert transposed_bytes(cut(made), H100) == 128 * 128
    assert transposed_bytes(cut(graph("bf16", 4096)), H100) == 0
    assert transposed_bytes(cut(with_order(made, ("batch", "kv_heads", "head_dim", "context"))), H100) == 0
    assert transposed_bytes(cut(made), LECTURE) == transposed_bytes(cut(made), B200) == 0


def test_small_values_that_are_multiplied_as_wider_ones_stay_as_they_are() -> None:
    """An fp8 cache with queries in bf16."""
    made = graph("bf16", 4096)
    mixed = replace(made, tensors=tuple(replace(t, dtype="fp8") if t.name in "kv" else t for t in made.tensors))
    assert transposed_bytes(cut(mixed), H100) == 0


def test_small_probabilities_cost_two_permutes_for_eight() -> None:
    small, wide = (Online(cut(graph(dtype, 4096)), H100).step()[0] for dtype in ("fp8", "bf16"))
    assert small.vector_ops - wide.vector_ops == small.compare_ops - wide.compare_ops == 128 * 128 // 4


def test_room_for_values_twice_is_what_the_published_tile_takes() -> None:
    """FlashAttention-3 for head dim 256 and 8 bits: blocks of 128 keys, two of each ring; three do not fit."""
    made = graph("fp8", 4096, head_dim=256)
    options = {"tile_m": 128, "tile_k": 128, "slots": 2, "warpgroups": 2}
    lower(made, H100, schedule="attention_pingpong", options=options)
    with pytest.raises(DoesNotFit, match="at most 2 fit"):
        lower(made, H100, schedule="attention_pingpong", options={**options, "slots": 3})


# Two tiles of 128 queries and 8 blocks of 128 keys, 16 KiB of keys and of values each.
STEPS, TILES, KIB = 8, 2, 1024
WORK = Work(
    name="attention",
    waves=(Wave(TILES, Use("load", 400, "load"), Use("store", 512, "store"), held=Use("load", 200, "queries")),),
    steps=STEPS,
    slot_bytes=32 * KIB,
    step=(Use("tc", 512, "mma"), Use("special", 1024, "special"), Use("vector", 900, "vector"), Use("tc", 512, "mma")),
    finish=(Use("vector", 256, "convert"),),
    latency_cycles=700,
    row_blocks=2,
    transposed_bytes=16 * KIB,
)


def cycles_of(name: str, cycles_per_kib: int, work: Work = WORK) -> int:
    schedule = schedule_named(name)
    machine = replace(H100, transpose_cycles_per_kib=cycles_per_kib)
    choice = Choice(2, schedule.LOADERS[0], 2)
    timeline = simulate(schedule.program(work, choice, machine))
    busy = dict(timeline.busy_cycles).get("smem", 0)
    assert busy == TILES * STEPS * work.transposed_bytes // KIB * cycles_per_kib
    return timeline.total_cycles


@pytest.mark.parametrize("name", PRODUCERS)
def test_who_transposes_loads_the_next_block_after_that(name: str) -> None:
    """A slow one sets the pace: transfers of keys and values, their latency and the transposing, one after another."""
    slow, slower = (cycles_of(name, per_kib) for per_kib in (300, 400))
    assert slower - slow == pytest.approx(TILES * STEPS * 16 * 100, rel=0.02)
    period = 16 * 400 + WORK.waves[0].load.cycles + WORK.latency_cycles
    assert slower > TILES * STEPS * period


@pytest.mark.parametrize("name", PRODUCERS + ALIKE)
def test_transposing_never_makes_it_faster(name: str) -> None:
    plain = replace(WORK, transposed_bytes=0)
    found = [cycles_of(name, 0, plain), *(cycles_of(name, per_kib) for per_kib in (16, 64, 256))]
    assert found == sorted(found)


@pytest.mark.parametrize("name", PRODUCERS + ALIKE)
def test_predictions_are_near_the_simulation(name: str) -> None:
    errors = list(_errors(name))
    assert sum(map(abs, errors)) / len(errors) < 0.12
    assert max(map(abs, errors)) < 0.35


def _errors(name: str) -> Iterator[float]:
    random = Random(3)
    for _ in range(10):
        tokens, head_dim = random.choice([128, 512, 2048, 4096]), random.choice([64, 128, 256])
        seq = random.choice([tokens, 1])
        made = graph("fp8", tokens, random.choice([1, 8]), random.choice([4, 16]), head_dim, seq)
        asked = Asked("a", (space(made),), name, Options(), online=True)
        chosen, _ = choose_parts(asked, H100, 0)
        program = schedule_named(name).program(chosen.work, chosen.choice, H100)
        yield schedule_named(name).predict(chosen.work, chosen.choice, H100) / simulate(program).total_cycles - 1


def test_other_types_take_what_they_took() -> None:
    made = graph("bf16", 2048)
    costly = replace(H100, transpose_cycles_per_kib=1000)
    (one,), (other,) = (lower(made, machine).calls for machine in (H100, costly))
    assert simulate(one.program).total_cycles == simulate(other.program).total_cycles
