"""What a person can get wrong in a metapipe: one clear message each, none of them a traceback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from patterns.errors import UserError
from rdu_model import Metapipeline
from rdu_model.language.writing import Region, Tile
from tests.rdu.pipelines import chain

CASES: dict[str, Callable[[], object]] = {}


def messages(cases: dict[str, Callable[[], object]]) -> str:
    """What is said of each mistake."""
    said = []
    for name, write in cases.items():
        with pytest.raises(UserError) as caught:
            write()
        said.append(f"{name}:\n  {caught.value}\n")
    return "".join(said)


def case(write: Callable[[], object]) -> Callable[[], object]:
    """A mistake, named like the function that makes it."""
    return CASES.setdefault(write.__name__, write)


def start(**options: Any) -> tuple[Metapipeline, Region, Region, Region]:
    """A matmul's regions."""
    p = Metapipeline("wrong")
    a, b = p.input_region("A", "m k", (512, 8)), p.input_region("B", "k n", (8, 64))
    return p, a, b, p.output_region("C", "m n", (512, 64), **options)


def scattered() -> tuple[Metapipeline, Region, Tile]:
    """Rows written into a cache, not yet stored."""
    p = Metapipeline("cache")
    cache, at = p.state_region("cache", "c d", (8, 4)), p.input_region("at", "t", (2,), "int32")
    rows = p.load_tile(p.input_region("rows", "t d", (2, 4)), (2, 4))
    return p, cache, p.scatter(cache, p.load_tile(at, (2,)), rows, "c")


@case
def depth_0() -> object:
    return chain((4,), 4, (0,))


@case
def depth_that_is_no_number() -> object:
    return chain((4,), 4, ("two",))  # type: ignore[arg-type]


@case
def steps_below_0() -> object:
    with Metapipeline("p").metapipe(-3):
        pass
    return None


@case
def steps_that_are_no_whole_number() -> object:
    with Metapipeline("p").metapipe(2.5):  # type: ignore[arg-type]
        pass
    return None


@case
def steps_that_are_true() -> object:
    with Metapipeline("p").metapipe(True):
        pass
    return None


@case
def region_instead_of_a_tile() -> object:
    p, a, b, _ = start()
    return p.mat_mul(a, p.load_tile(b, (8, 64)))  # type: ignore[arg-type]


@case
def something_instead_of_a_tile() -> object:
    p, a, _, _ = start()
    return p.zip("add", p.load_tile(a, (512, 8)), 3)  # type: ignore[arg-type]


@case
def tile_of_a_metapipe_that_has_ended() -> object:
    p, a, b, _ = start()
    with p.metapipe(2):
        tile = p.load_tile(a, (256, 8))
    return p.mat_mul(tile, p.load_tile(b, (8, 64)))


@case
def tile_of_another_metapipeline() -> object:
    (p, a, _, _), (q, _, b, _) = start(), start()
    return q.mat_mul(p.load_tile(a, (512, 8)), q.load_tile(b, (8, 64)))


@case
def region_of_another_metapipeline() -> object:
    (p, _, _, _), (_, a, _, _) = start(), start()
    return p.load_tile(a, (512, 8))


@case
def loading_an_output() -> object:
    p, _, _, c = start()
    return p.load_tile(c, (512, 64))


@case
def storing_in_an_input() -> object:
    p, a, _, _ = start()
    return p.store_tile(a, p.map("neg", p.load_tile(a, (512, 8))))


@case
def two_stores_in_one_region() -> object:
    p, a, b, c = start()
    a_tile, b_tile = p.load_tile(a, (512, 8)), p.load_tile(b, (8, 64))
    p.store_tile(c, p.mat_mul(a_tile, b_tile))
    return p.store_tile(c, p.mat_mul(a_tile, b_tile))


@case
def one_tile_in_two_regions() -> object:
    p, a, b, c = start()
    tile = p.mat_mul(p.load_tile(a, (512, 8)), p.load_tile(b, (8, 64)))
    p.store_tile(c, tile)
    return p.store_tile(p.output_region("D", "m n", (512, 64)), tile)


@case
def name_used_twice() -> object:
    p, a, _, _ = start()
    tile = p.map("neg", p.load_tile(a, (512, 8)), name="first")
    return p.map("neg", tile, name="first")


@case
def region_declared_twice() -> object:
    p, _, _, _ = start()
    return p.input_region("A", "m k", (512, 8))


@case
def extents_that_differ() -> object:
    p, _, _, _ = start()
    return p.input_region("D", "m k", (512, 9))


@case
def extent_that_is_text() -> object:
    return Metapipeline("p").input_region("x", "m k", ("512", 8))  # type: ignore[arg-type]


@case
def shape_without_a_dim() -> object:
    p, a, _, _ = start()
    return p.load_tile(a, (512,))


@case
def shape_that_is_a_number() -> object:
    p, a, _, _ = start()
    return p.load_tile(a, 512)  # type: ignore[arg-type]


@case
def shape_of_floats() -> object:
    p, a, _, _ = start()
    return p.load_tile(a, (512 / 2, 8))  # type: ignore[arg-type]


@case
def dim_twice() -> object:
    return Metapipeline("p").input_region("x", "m m", (4, 4))


@case
def unknown_dtype() -> object:
    return Metapipeline("p").input_region("x", "m", (4,), "bfloat16")


@case
def name_with_a_space() -> object:
    return Metapipeline("p").input_region("the x", "m", (4,))


@case
def unknown_function() -> object:
    p, a, _, _ = start()
    return p.map("expp", p.load_tile(a, (512, 8)))


@case
def argument_that_is_text() -> object:
    p, a, _, _ = start()
    return p.map("scale", p.load_tile(a, (512, 8)), by="2")


@case
def unknown_argument() -> object:
    p, a, _, _ = start()
    return p.map("exp", p.load_tile(a, (512, 8)), base=2)


@case
def row_par_0() -> object:
    p, a, _, _ = start()
    return p.load_tile(a, (512, 8), row_par=0)


@case
def pcus_below_0() -> object:
    p, a, _, _ = start()
    return p.map("neg", p.load_tile(a, (512, 8)), pcus=-1)


@case
def tile_that_nobody_reads() -> object:
    p, a, b, c = start()
    p.load_tile(a, (512, 8))
    p.store_tile(c, p.mat_mul(p.load_tile(a, (512, 8)), p.load_tile(b, (8, 64))))
    return p.build()


@case
def build_inside_a_metapipe() -> object:
    p, _, _, _ = start()
    with p.metapipe(2):
        return p.build()


@case
def metapipe_over_another_dim() -> object:
    p, a, _, _ = start()
    with p.metapipe(2, over="n"):
        p.load_tile(a, (256, 8))
    return None


@case
def no_metapipe_for_a_tile() -> object:
    p, a, _, _ = start()
    return p.load_tile(a, (256, 8))


@case
def state_read_under_its_old_name() -> object:
    p, cache, rows = scattered()
    p.store_tile(cache, rows)
    return p.load_tile(cache, (8, 4))


@case
def rows_of_a_state_that_are_not_stored() -> object:
    p, _, _ = scattered()
    return p.build()


@case
def rows_of_a_state_as_a_tile() -> object:
    p, _, rows = scattered()
    return p.map("neg", rows)


@case
def index_that_is_no_integer() -> object:
    p, a, _, _ = start()
    return p.gather(a, p.load_tile(p.input_region("at", "t", (2,)), (2,)), "m")


@case
def region_of_another_dtype() -> object:
    p, a, _, _ = start()
    return p.store_tile(p.output_region("D", "k m", (8, 512), "fp8"), p.buffer(p.load_tile(a, (512, 8)), "k m"))


def test_every_mistake_has_its_message(golden: Callable[[str, str], None]) -> None:
    golden("rdu/metapipe_mistakes.txt", messages(CASES))


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    p = Metapipeline("numpy")
    x, y = p.input_region("x", "m", (np.int64(8),)), p.output_region("y", "m", (8,))
    with p.metapipe(np.int32(2)):  # type: ignore[arg-type]
        p.store_tile(y, p.map("neg", p.load_tile(x, (np.int64(4),)), pcus=np.int64(1)))  # type: ignore[arg-type]
    assert p.build().body[0].extent == 4  # type: ignore[union-attr]
