"""The greatest of a row: their order, ties, what is refused, what it counts, and taking it in parts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.count import compulsory, graph_demand, node_demand
from patterns.errors import SpecError
from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.numbers.execute import execute
from patterns.numbers.tiles import PlanError, tiled_dims
from patterns.plan import Tiling
from patterns.read import parse_graph
from patterns.write import write_graph
from tests.kinds.plans import call, plan, tiles


def selects(rows: int, wide: int, kept: int, more: str = "") -> Graph:
    """The values and the indices of the greatest of rows that have `wide` elements."""
    return parse_graph(f"""
name: selects
extents: {{rows: {rows}, wide: {wide}, kept: {kept}}}
tensors: {{x: {{dims: [rows, wide], dtype: bf16, role: input}}}}
nodes:
  values: {{kind: select, fn: values, reads: [x], along: wide, to: kept}}
  places: {{kind: select, fn: indices, reads: [x], along: wide, to: kept}}
{more}""")


def by_hand(row: list[float], kept: int) -> list[int]:
    """Where the greatest are: of equal ones the first first."""
    return sorted(range(len(row)), key=lambda at: (-row[at], at))[:kept]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.integers(-3, 3), min_size=7, max_size=7), min_size=1, max_size=4), st.integers(1, 7))
def test_the_greatest_come_first_and_of_equal_ones_the_first(rows: list[list[float]], kept: int) -> None:
    made = selects(len(rows), 7, kept)
    found = evaluate(made, {"x": np.array(rows, dtype=float)})
    expected = [by_hand(row, kept) for row in rows]
    np.testing.assert_array_equal(found["places"], expected)
    np.testing.assert_array_equal(
        found["values"], [[row[at] for at in of] for row, of in zip(rows, expected, strict=True)]
    )


@pytest.mark.parametrize("wide", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("rows", [1, 3])
def test_taken_in_parts_it_is_the_same(wide: int, rows: int) -> None:
    made = selects(3, 7, 3)
    arrays = {"x": np.random.default_rng(0).integers(-2, 3, (3, 7)).astype(float)}
    loops = Tiling(tiles(rows=rows, wide=wide))
    found = execute(plan(made, call("values places", loops, block="selects")), arrays)
    for name, array in evaluate(made, arrays).items():
        np.testing.assert_array_equal(found[name], array)


def test_what_is_kept_is_not_cut() -> None:
    """A tile of the k greatest is not the k greatest of a tile."""
    made = selects(3, 7, 3)
    assert all(tiled_dims(made, node) == {"rows", "wide"} for _, node in made.nodes())
    with pytest.raises(PlanError, match=r"needs x of all parts"):
        execute(
            plan(made, call("values places", Tiling(splits=(("wide", 2),)), block="selects")), {"x": np.ones((3, 7))}
        )


def test_the_shape_and_the_dtype_are_those_of_what_is_kept() -> None:
    made = selects(3, 7, 2)
    assert [(made.tensor_named[n].dims, made.tensor_named[n].dtype) for n in ("values", "places")] == [
        (("rows", "kept"), "bf16"),
        (("rows", "kept"), "int32"),
    ]
    assert parse_graph(write_graph(made)) == made
    assert compulsory(made).output_bytes == 3 * 2 * (2 + 4)


@pytest.mark.parametrize(
    ("kept", "values", "places"),
    [
        (1, 100, 200),  # as a reduce by max, and by argmax
        (2, 200, 400),  # with each of the two
        (8, 800, 1600),  # each of the eight: a network would have 6 + 1 + 3 stages
        (32, 2100, 4200),  # 15 + 1 + 5 stages
        (100, 2800, 5600),  # a sort: 7 * 8 / 2 stages
    ],
)
def test_it_counts_compares(kept: int, values: int, places: int) -> None:
    made = selects(1, 100, kept)
    (_, first), (_, second) = made.nodes()
    assert node_demand(made, first).vector_ops == values
    assert node_demand(made, second).vector_ops == places
    assert graph_demand(made).matrix_flops == 0


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ("{kind: select, fn: values, reads: [x], along: wide, to: rows}", "'rows' is a dim of x already"),
        ("{kind: select, fn: values, reads: [x], along: wid, to: kept}", "x has no dim 'wid' to select from (did you"),
        ("{kind: select, fn: values, reads: [x], to: kept}", "say along: one dim of x to select from"),
        ("{kind: select, fn: values, reads: [x], along: wide}", "to"),
        ("{kind: select, fn: values, reads: [x], along: wide, to: more}", "dim 'more' has no extent"),
        ("{kind: select, fn: values, reads: [x, x], along: wide, to: kept}", "a select has one operand"),
        ("{kind: select, fn: least, reads: [x], along: wide, to: kept}", "one of values, indices is due"),
        (
            "{kind: select, fn: values, reads: [x], along: rows, to: kept}",
            "5 elements ('kept') cannot be selected from",
        ),
    ],
)
def test_what_cannot_be_selected_is_refused(node: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        selects(3, 7, 5, f"  z: {node}\n")
    assert message in str(refused.value)
