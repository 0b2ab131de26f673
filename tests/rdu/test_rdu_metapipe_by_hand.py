"""Metapipes that cannot be: made by hand, too large for a machine, carrying wrongly: one clear message each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from patterns.errors import Deadlock
from rdu_model import Metapipeline, compile_metapipe, load_machine, simulate_metapipe
from rdu_model.pipe import Load, Metapipe, Pipe, Stage, Store
from tests.rdu.test_rdu_metapipe_mistakes import messages, start

CASES: dict[str, Callable[[], object]] = {}


def case(write: Callable[[], object]) -> Callable[[], object]:
    """A mistake, named like the function that makes it."""
    return CASES.setdefault(write.__name__, write)


def product() -> Metapipe:
    """A correct one, to be broken."""
    p, a, b, c = start()
    with p.metapipe(2):
        p.store_tile(c, p.mat_mul(p.load_tile(a, (256, 8)), p.load_tile(b, (8, 64))))
    return p.build()


def with_body(*items: Any) -> None:
    """The product's metapipe with another body, put together by hand."""
    compile_metapipe(replace(product(), body=(Pipe("m", 256, items),)), load_machine("unit"))


A, B = Load("load A", "A"), Load("load B", "B")


def carried(depth: int) -> Metapipe:
    """Ten times x <- x + x: the stage holds the old x while it makes the new one."""
    p = Metapipeline("doubling")
    x, y = p.input_region("x", "n", (8,)), p.output_region("y", "n", (8,))
    tile = p.load_tile(x, (8,))
    with p.iterations(10):
        p.carry(tile, p.zip("add", tile, tile, name="twice"), into=y, depth=depth)
    return p.build()


@case
def row_par_beyond_the_agcus() -> object:
    p, a, b, c = start()
    with p.metapipe(2):
        p.store_tile(c, p.mat_mul(p.load_tile(a, (256, 8), row_par=10_000), p.load_tile(b, (8, 64))))
    return compile_metapipe(p.build(), load_machine("sn40l"))


@case
def stage_larger_than_the_chip() -> object:
    p, a, b, c = start()
    with p.metapipe(2):
        p.store_tile(c, p.mat_mul(p.load_tile(a, (256, 8)), p.load_tile(b, (8, 64)), pcus=2000))
    return compile_metapipe(p.build(), load_machine("sn40l"))


@case
def buffer_larger_than_all_pmus() -> object:
    p = Metapipeline("large")
    x, y = p.input_region("x", "m k", (2**15, 2**15)), p.output_region("y", "m k", (2**15, 2**15))
    p.store_tile(y, p.map("neg", p.load_tile(x, (2**15, 2**15))))
    return compile_metapipe(p.build(), load_machine("sn40l"))


@case
def stage_that_reads_its_own_result() -> object:
    return with_body(A, B, Stage("mat_mul", (("mat_mul",), ("load B",))), Store("store C", "C", "mat_mul"))


@case
def stages_in_a_ring() -> object:
    p = Metapipeline("ring")
    x, y = p.input_region("x", "m", (8,)), p.output_region("y", "m", (8,))
    p.store_tile(y, p.map("neg", p.zip("add", p.load_tile(x, (8,)), p.load_tile(x, (8,)), name="a"), name="b"))
    load, _, _, _, store = p.build().body
    ring = (load, Stage("a", (("load x",), ("b",))), Stage("b", (("a",),)), store)
    return compile_metapipe(replace(p.build(), body=ring), load_machine("unit"))


@case
def stage_that_is_made_below() -> object:
    return with_body(A, Store("store C", "C", "mat_mul"), B, Stage("mat_mul", (("load A",), ("load B",))))


@case
def item_that_nobody_makes() -> object:
    return with_body(A, B, Stage("mat_mul", (("load A",), ("load BB",))), Store("store C", "C", "mat_mul"))


@case
def items_of_one_name() -> object:
    return with_body(A, A, Stage("mat_mul", (("load A",), ("load A",))), Store("store C", "C", "mat_mul"))


@case
def pipe_without_extent() -> object:
    return compile_metapipe(replace(product(), body=(Pipe("m", -1, product().body),)), load_machine("unit"))


@case
def pipe_over_an_unknown_dim() -> object:
    return compile_metapipe(replace(product(), body=(Pipe("z", 2, product().body),)), load_machine("unit"))


@case
def hand_made_depth_0() -> object:
    return compile_metapipe(replace(product(), depths=(("mat_mul", 0),)), load_machine("unit"))


@case
def carry_that_is_too_shallow() -> object:
    return simulate_metapipe(carried(1), load_machine("unit"))


@case
def carry_outside_iterations() -> object:
    p, a, _, _ = start()
    tile = p.load_tile(a, (512, 8))
    return p.carry(tile, p.map("neg", tile))


@case
def carry_that_nobody_reads() -> object:
    p = Metapipeline("p")
    x, other = p.input_region("x", "n", (8,)), p.input_region("other", "n", (8,))
    with p.iterations(2):
        p.carry(x, p.map("neg", p.load_tile(other, (8,))))
    return p.build()


@case
def iterations_inside_a_metapipe() -> object:
    p, _, _, _ = start()
    with p.metapipe(2), p.iterations(3):
        pass
    return None


@case
def one_tile_stored_again_and_again() -> object:
    p, a, b, c = start()
    tile = p.mat_mul(p.load_tile(a, (512, 8)), p.load_tile(b, (8, 64)))
    x = p.input_region("x", "z", (4,))
    with p.metapipe(2):
        total = p.reduce("sum", p.load_tile(x, (2,)), "z")
        p.store_tile(c, tile)
    p.store_tile(p.output_region("y", "", ()), total)
    return p.build()


def test_every_mistake_has_its_message(golden: Callable[[str, str], None]) -> None:
    golden("rdu/metapipe_by_hand.txt", messages(CASES))


def test_a_carry_that_is_too_shallow_names_its_buffer_and_the_depth_that_would_do() -> None:
    with pytest.raises(Deadlock) as caught:
        simulate_metapipe(carried(1), load_machine("unit"))
    assert "waits for a free slot of 'carry x', which is full (1 slot)" in str(caught.value)
    assert "2 slots in 'carry x' would do" in str(caught.value)
    simulate_metapipe(carried(2), load_machine("unit"))
