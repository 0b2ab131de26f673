"""Every item of the language: right numbers, and the bytes that it should move and no others."""

from __future__ import annotations

import numpy as np
import pytest

from patterns.evaluate import evaluate, random_arrays
from rdu_model import Metapipeline, execute_metapipe, load_machine, simulate_metapipe
from rdu_model.metapipe import steps_of
from rdu_model.pipe import Metapipe


def moved(metapipe: Metapipe, members: int = 1) -> dict[str, int]:
    """What it moves on `unit`, after its numbers are found to be those of its graph."""
    arrays = random_arrays(metapipe.graph, 1, members)
    due = evaluate(metapipe.graph, arrays, members)
    found = execute_metapipe(metapipe, arrays)
    assert set(found) == set(due)
    for name, array in due.items():
        np.testing.assert_allclose(found[name], array, atol=1e-9)
    return dict(simulate_metapipe(metapipe, load_machine("unit")).counters)


@pytest.mark.parametrize("resident", [False, True])
def test_rows_of_a_table_are_loaded_where_the_index_says_or_the_table_is_kept(resident: bool) -> None:
    p = Metapipeline("embed")
    table, ids = p.weight_region("table", "v h", (100, 24)), p.input_region("ids", "t", (37,), "int32")
    rows = p.output_region("rows", "t h", (37, 24))
    kept = p.load_tile(table, (100, 24)) if resident else table
    with p.metapipe(steps_of(37, 8)):
        p.store_tile(rows, p.gather(kept, p.load_tile(ids, (8,)), "v"))
    looked_up = 100 * 24 * 2 if resident else 37 * 24 * 2
    assert moved(p.build())["hbm_bytes"] == looked_up + 37 * 4 + 37 * 24 * 2


def test_a_looked_up_table_is_cut_as_the_pipes_around_cut_it() -> None:
    p = Metapipeline("embed")
    table, ids = p.weight_region("table", "v h", (100, 24)), p.input_region("ids", "t", (5,), "int32")
    rows = p.output_region("rows", "t h", (5, 24))
    index = p.load_tile(ids, (5,))
    scale = p.input_region("scale", "h", (24,))
    with p.metapipe(steps_of(24, 7)):
        p.store_tile(rows, p.zip("mul", p.gather(table, index, "v"), p.load_tile(scale, (7,))))
    assert moved(p.build())["hbm_bytes"] == 2 * 5 * 24 * 2 + 5 * 4 + 24 * 2


def test_rows_written_into_a_cache_are_read_again_with_the_rest_of_it() -> None:
    p = Metapipeline("attend")
    cache, at = p.state_region("cache", "c d", (50, 8)), p.input_region("at", "t", (4,), "int32")
    x, w = p.input_region("x", "t e", (4, 6)), p.weight_region("w", "e d", (6, 8))
    q, scores = p.input_region("q", "h d", (3, 8)), p.output_region("scores", "h c", (3, 50))
    keys = p.mat_mul(p.load_tile(x, (4, 6)), p.load_tile(w, (6, 8)))
    newer = p.store_tile(cache, p.scatter(cache, p.load_tile(at, (4,)), keys, "c"))
    query = p.load_tile(q, (3, 8))
    with p.metapipe(steps_of(50, 16)):
        p.store_tile(scores, p.mat_mul(query, p.load_tile(newer, (16, 8))))
    # The rows leave, and the whole cache comes back.
    written, read = 4 * 8 * 2, 50 * 8 * 2
    assert moved(p.build())["hbm_bytes"] == written + read + (4 * 6 + 6 * 8 + 3 * 8 + 3 * 50) * 2 + 4 * 4


@pytest.mark.parametrize("fn", ["add", "max"])
def test_rows_are_combined_with_those_of_a_state_over_several_steps(fn: str) -> None:
    p = Metapipeline("histogram")
    state, at = p.state_region("state", "c d", (50, 8)), p.input_region("at", "t", (20,), "int32")
    x = p.input_region("x", "t d", (20, 8))
    with p.metapipe(3):
        rows = p.scatter(state, p.load_tile(at, (8,)), p.load_tile(x, (8, 8)), "c", fn)  # type: ignore[arg-type]
    p.store_tile(state, rows)
    # Rows are read, and written back.
    assert moved(p.build())["hbm_bytes"] == 3 * 20 * 8 * 2 + 20 * 4


def test_rows_are_written_into_a_copy_of_a_tile() -> None:
    p = Metapipeline("copy")
    x, at = p.input_region("x", "c d", (9, 4)), p.input_region("at", "t", (3,), "int32")
    rows, y = p.input_region("rows", "t d", (3, 4)), p.output_region("y", "c d", (9, 4))
    index = p.load_tile(at, (3,))
    with p.metapipe(2):
        made = p.scatter(p.load_tile(x, (9, 3)), index, p.load_tile(rows, (3, 3)), "c")
        p.store_tile(y, p.map("neg", made))
    assert moved(p.build())["hbm_bytes"] == (2 * 9 + 3) * 4 * 2 + 3 * 4


def test_what_iterations_hand_on_stays_on_the_chip() -> None:
    p = Metapipeline("loop")
    x, y = p.input_region("x", "r n", (5, 8)), p.output_region("y", "r n", (5, 8))
    w = p.weight_region("w", "n k", (8, 8), each=True)
    with p.iterations(6):
        w_tile = p.load_tile(w, (8, 8))
        with p.metapipe(steps_of(5, 2)):
            x_tile = p.load_tile(x, (2, 8))
            product = p.mat_mul(x_tile, w_tile)
            back = p.buffer(product, pattern="slice", along="k", start=0, to={"n": 8})
            new = p.zip("add", x_tile, p.map("tanh", back), name="new")
        p.carry(x, new, into=y)
    # The weights of six iterations, x once although its load stands inside, y once.
    assert moved(p.build())["hbm_bytes"] == (6 * 64 + 2 * 40) * 2


def test_every_access_pattern_of_a_buffer() -> None:
    p = Metapipeline("patterns")
    x, y = p.input_region("x", "t hd", (10, 12)), p.output_region("y", "head t d", (3, 10, 4))
    z, back = p.output_region("z", "t twice", (10, 8)), p.output_region("back", "t whole", (10, 12))
    with p.metapipe(4):
        tile = p.load_tile(x, (3, 12))
        split = p.buffer(tile, pattern="split", along="hd", to={"head": 3, "d": 4})
        p.store_tile(y, p.buffer(split, "head t d"))
        rolled = p.buffer(tile, pattern="roll", along="hd", by=5)
        half = p.buffer(rolled, pattern="slice", along="hd", start=2, to={"half": 4})
        p.store_tile(z, p.concat(half, half, along="half", to={"twice": 8}))
        p.store_tile(back, p.buffer(split, pattern="merge", parts="head d", to={"whole": 12}))
    assert moved(p.build())["hbm_bytes"] == (10 * 12 * 3 + 10 * 8) * 2


def test_a_sum_over_sockets_between_stages() -> None:
    p = Metapipeline("parallel")
    x, w = p.input_region("x", "t n", (20, 6)), p.weight_region("w", "n m", (6, 5))
    y = p.output_region("y", "m t", (5, 20))
    w_tile = p.load_tile(w, (6, 5))
    with p.metapipe(3):
        p.store_tile(y, p.buffer(p.all_reduce(p.mat_mul(p.load_tile(x, (7, 6)), w_tile), 4), "m t"))
    counters = moved(p.build(), 4)
    assert (counters["hbm_bytes"], counters["network_bytes"]) == ((120 + 30 + 100) * 2, 100 * 2 * 2 * 3 // 4)


def test_results_in_another_dtype_and_order() -> None:
    p = Metapipeline("wide")
    a, b = p.input_region("a", "m k", (6, 100), "fp8"), p.input_region("b", "k n", (100, 4), "fp8")
    c, d = p.output_region("c", "n m", (4, 6), "fp32"), p.output_region("d", "n m", (4, 6), "fp8")
    with p.metapipe(steps_of(100, 16)):
        product = p.mat_mul(p.load_tile(a, (6, 16)), p.load_tile(b, (16, 4)), dims="n m", dtype="fp32")
    p.store_tile(d, p.map("cast", product, dtype="fp8"))
    p.store_tile(c, p.map("neg", product))
    assert moved(p.build())["hbm_bytes"] == 10 * 100 + 24 * 4 + 24
