"""Metapipes as Python: what is printed builds the same metapipe, of a person's and of a compiled graph's alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.library import graph_names, workload
from patterns.pipeline.simulate import simulate
from rdu_model import Choices, Metapipeline, compile_graph, execute_metapipe, load_machine, simulate_metapipe
from rdu_model.emit import emit
from rdu_model.language.alone import alone
from rdu_model.language.source import write_metapipe
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe
from tests.random_graphs import random_graph
from tests.rdu.random_metapipes import random_metapipe

SN40L = load_machine("sn40l")
# Graphs that are long to compile for nothing.
FEW_EXPERTS = {"hidden": "256", "model_expert_ffn": "512", "model_vocabulary": "512", "context": "256", "batch": "8"}
SMALLER = {"gpt2_training": {"batch": "2", "seq": "256"}, "mixtral": FEW_EXPERTS}
# What it is made of, others have too.
LARGE = ("deepseek_v3", "speculative_decoding")


def built(metapipe: Metapipe) -> Metapipe:
    """What its source builds."""
    names: dict[str, Metapipe] = {}
    exec(write_metapipe(metapipe), names)
    return names["pipeline"]


def compiled(name: str, mode: str) -> Iterator[Metapipe]:
    """The metapipes of a library graph."""
    graph = workload(name, overrides=SMALLER.get(name, {}))
    for one in compile_graph(graph, SN40L, Choices(mode=mode)).sections:
        yield one.section.flow.metapipe


def test_a_metapipe_is_printed_as_a_person_would_write_it() -> None:
    p = Metapipeline("matmul")
    a, b = p.input_region("A", "m k", (300, 7)), p.weight_region("B", "k n", (7, 100))
    c = p.output_region("C", "n m", (100, 300))
    with p.metapipe(steps_of(300, 256), drain=True):
        a_tile = p.load_tile(a, (256, 7), row_par=4)
        with p.metapipe(steps_of(100, 64)):
            product = p.buffer(p.mat_mul(a_tile, p.load_tile(b, (7, 64)), pcus=8), depth=3)
            p.store_tile(c, p.buffer(product, "n m"))
    assert write_metapipe(p.build()).splitlines() == [
        "from rdu_model import Metapipeline",
        "",
        "p = Metapipeline('matmul')",
        "A = p.input_region('A', 'm k', (300, 7), 'bf16')",
        "B = p.weight_region('B', 'k n', (7, 100), 'bf16')",
        "C = p.output_region('C', 'n m', (100, 300), 'bf16')",
        "with p.metapipe(2, over='m', tile=256, drain=True):",
        "    load_A = p.load_tile(A, (256, 7), 4, name='load A')",
        "    with p.metapipe(2, over='n', tile=64):",
        "        load_B = p.load_tile(B, (7, 64), 1, name='load B')",
        "        mat_mul = p.mat_mul(load_A, load_B, over='k', pcus=8, name='mat_mul')",
        "        p.buffer(mat_mul, depth=3)",
        "        buffer = p.buffer(mat_mul, 'n m', name='buffer')",
        "        p.store_tile(C, buffer)",
        "pipeline = p.build()",
    ]


@given(st.integers(0, 10**9))
def test_what_a_person_writes_comes_back(seed: int) -> None:
    metapipe, _ = random_metapipe(Random(seed))
    assert alone(built(metapipe)) == alone(metapipe) == alone(alone(metapipe))


def turns() -> Iterator[tuple[str, str]]:
    """Every graph in a mode, the next in the next; those whose layers repeat also looped."""
    modes = ("fused", "unfused", "looped")
    for at, name in enumerate(name for name in graph_names() if name not in LARGE):
        yield name, modes[at % len(modes)]
        if modes[at % len(modes)] != "looped" and any(block.count > 1 for block in workload(name).blocks):
            yield name, "looped"


@pytest.mark.parametrize(("name", "mode"), list(turns()))
def test_what_is_compiled_from_a_graph_comes_back(name: str, mode: str) -> None:
    for metapipe in compiled(name, mode):
        assert alone(built(metapipe)) == alone(metapipe)


@settings(max_examples=25)
@given(st.integers(0, 10**9), st.sampled_from(["fused", "looped"]))
def test_what_is_compiled_from_a_random_graph_comes_back(seed: int, mode: str) -> None:
    for one in compile_graph(random_graph(Random(seed)), SN40L, Choices(mode=mode)).sections:
        metapipe = one.section.flow.metapipe
        # What reads a state under an old name, or hands on through memory, cannot be written: that is said.
        with suppress(UserError):
            assert alone(built(metapipe)) == alone(metapipe)


@pytest.mark.parametrize("name", ["softmax", "attention", "swiglu_mlp"])
def test_what_comes_back_takes_as_long_and_computes_the_same(name: str) -> None:
    (one,) = compile_graph(workload(name), SN40L, Choices()).sections
    again = built(one.section.flow.metapipe)
    assert simulate_metapipe(again, SN40L).total_cycles == simulate(emit(one.section)).total_cycles
    small = built(next(compiled_small(name)))
    arrays = random_arrays(small.graph, 1)
    for output, array in evaluate(small.graph, arrays).items():
        np.testing.assert_allclose(execute_metapipe(small, arrays)[output], array, atol=1e-9)


def test_a_looped_prefill_comes_back_with_what_it_hands_on() -> None:
    graph = workload("llama-3.1-8b", overrides={"seq": "64", "context": "512"})
    _, decoder, _ = (one.section for one in compile_graph(graph, SN40L, Choices(mode="looped")).sections)
    metapipe = decoder.flow.metapipe
    assert len(metapipe.carries) == 2
    again = built(metapipe)
    assert alone(again) == alone(metapipe)
    assert (
        simulate_metapipe(again, SN40L, spans=False).total_cycles == simulate(emit(decoder), spans=False).total_cycles
    )


def compiled_small(name: str) -> Iterator[Metapipe]:
    """The same graph with extents that numpy is quick with, and that no tile divides."""
    graph = workload(name)
    few = {dim: str(min(size, 37)) for dim, size in graph.extents}
    for one in compile_graph(workload(name, overrides=few), SN40L, Choices()).sections:
        yield one.section.flow.metapipe
