"""Element types: bytes of packed elements, and what operands of two types are multiplied as."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_model.machine import load_machine
from gpu_model.operand_types import converted
from gpu_model.tiles.spaces import spaces_of
from patterns.count import compulsory_by_storage, group_traffic, node_demand, tensor_bytes
from patterns.dtypes import bytes_of, multiplied_dtype
from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.numbers.rounding import every_result
from patterns.read import parse_graph
from rdu_model.ask import ask
from rdu_model.operand_types import widened

# 3 x 5 elements of 4 bits are 7.5 bytes.
PACKED = """
name: packed
extents: {m: 3, k: 5, n: 7, layers: 4}
tensors:
  x: {dims: [m, k], dtype: bf16, role: input}
blocks:
  body:
    count: layers
    carried: {x: z}
    tensors:
      w: {dims: [k, m], dtype: int4, role: weight}
    nodes:
      y: {kind: mm, reads: [x, w], over: [m]}
      z: {kind: zip, fn: add, reads: [x, y]}
"""


def product(left: str, right: str) -> Graph:
    """[2, 3] by [3, 4]."""
    return parse_graph(f"""
name: product
extents: {{m: 2, k: 3, n: 4}}
tensors:
  a: {{dims: [m, k], dtype: {left}, role: input}}
  b: {{dims: [k, n], dtype: {right}, role: weight}}
nodes:
  c: {{kind: mm, reads: [a, b]}}
""")


@pytest.mark.parametrize(
    ("elements", "dtype", "due"), [(1, "int4", 1), (15, "int4", 8), (16, "fp4_e2m1", 8), (3, "fp8_e5m2", 3)]
)
def test_bytes_are_rounded_up_once(elements: int, dtype: str, due: int) -> None:
    assert bytes_of(elements, dtype) == due


def test_a_packed_tensor_has_whole_bytes_and_so_has_a_tile_of_it() -> None:
    """15 elements are 8 bytes, a tile of 3 is 2, four copies are 4 x 8: each copy lies by itself."""
    made = parse_graph(PACKED)
    assert tensor_bytes(made, "w") == 8
    assert tensor_bytes(made, "w", {"k": 1}) == 2
    assert compulsory_by_storage(made)[0]["w"] == 4 * 8
    assert dict(group_traffic(made, "body", ["y"]).reads)["w"] == 8


def test_machines_count_packed_tiles_alike() -> None:
    """A tile of 3 x 1 elements of 4 bits is 2 bytes on both; of 3 x 3, 5 bytes, not 9 or 3."""
    made = parse_graph(PACKED)
    y = made.blocks[0].nodes[0]
    (space,) = spaces_of(made, [y], ())
    (access,) = (access for access in space.reads if access.tensor == "w")
    for k, due in ((1, 2), (3, 5)):
        sizes = {**made.sizes, "k": k}
        assert access.num_bytes(sizes) == due
        assert ask(made, y).touched(sizes)[0][1] == due


@pytest.mark.parametrize(
    ("left", "right", "due", "ops"),
    [
        ("bf16", "bf16", "bf16", 0),
        ("fp8_e4m3", "fp8_e5m2", "fp8", 0),
        ("int8", "int8", "int8", 0),
        ("bf16", "int4", "bf16", 12),
        ("int8", "int4", "int8", 12),
        ("int4", "int4", "int8", 18),
        ("fp8", "int4", "bf16", 18),
        ("fp8", "bf16", "bf16", 6),
    ],
)
def test_operands_of_two_types_are_multiplied_in_one(left: str, right: str, due: str, ops: int) -> None:
    """6 elements on the left, 12 on the right; what is converted costs a vector op each."""
    assert multiplied_dtype(left, right) == due
    made = product(left, right)
    assert node_demand(made, made.blocks[0].nodes[0]).vector_ops == ops


def test_integers_add_up_in_32_bits() -> None:
    assert product("int8", "int4").tensor_named["c"].dtype == "int32"
    made = parse_graph("""
name: sums
extents: {m: 2, k: 3}
tensors:
  a: {dims: [m, k], dtype: int8, role: input}
nodes:
  total: {kind: reduce, fn: sum, reads: [a], over: [k]}
  most:  {kind: reduce, fn: max, reads: [a], over: [k]}
""")
    assert [made.tensor_named[name].dtype for name in ("total", "most")] == ["int32", "int8"]
    assert evaluate(made, {"a": np.full((2, 3), 127)}, rounding=every_result)["total"].tolist() == [381, 381]


def test_the_plan_says_what_is_converted() -> None:
    a100 = load_machine("a100_sxm")
    assert list(converted(product("bf16", "int4"), a100)) == ["operands of int4 are converted to be multiplied as bf16"]
    assert list(converted(product("fp8_e5m2", "fp8"), a100)) == [
        "a100_sxm does not multiply fp8: its products are priced at the rate of fp16"
    ]


def test_an_rdu_tells_of_products_that_it_has_no_rate_for() -> None:
    assert list(widened(product("fp8_e4m3", "fp8_e5m2"))) == [
        "products of fp8 are priced at the rate of bf16: no other is known"
    ]
    assert not list(widened(product("bf16", "int4")))
