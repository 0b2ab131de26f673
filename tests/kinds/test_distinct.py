"""How many different rows a gather finds: right values from the formula by hand, and from drawing."""

from __future__ import annotations

from fractions import Fraction

import numpy
import pytest

from experiments.text.graph import remarks
from patterns.count import compulsory, parameter_bytes
from patterns.counting.distinct import expected_distinct
from patterns.errors import SpecError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.kind import kind_of, remark_of
from patterns.read import parse_graph
from patterns.write import write_graph

# One expert of Mixtral 8x7B: three matrices of 4096 x 14336 in 2 bytes.
EXPERT_BYTES = 352_321_536


def gathers(tokens: int, distinct: str, outside: str = "refuse") -> Graph:
    """The experts' three matrices, gathered by what the router chose."""
    nodes = "\n".join(
        f"  {name}: {{kind: gather, reads: [w_{name}, chosen], along: experts, outside: {outside}{distinct}}}"
        for name in ("gate", "up", "down")
    )
    return parse_graph(f"""
name: experts
extents: {{tokens: {tokens}, experts: 8, slots: 2, hidden: 4096, ffn: 14336}}
tensors:
  chosen: {{dims: [tokens, slots], dtype: int32, role: input}}
  w_gate: {{dims: [experts, hidden, ffn], dtype: bf16, role: weight}}
  w_up:   {{dims: [experts, hidden, ffn], dtype: bf16, role: weight}}
  w_down: {{dims: [experts, ffn, hidden], dtype: bf16, role: weight}}
nodes:
{nodes}
""")


@pytest.mark.parametrize(("tokens", "experts"), [(1, "2.0"), (2, "3.5"), (3, "4.625"), (8, "7.1991"), (32, "7.9992")])
def test_tokens_that_draw_two_of_eight_experts_read_the_expected_ones(tokens: int, experts: str) -> None:
    """8 (1 - (1 - 2/8) ** tokens): neither all 8 nor min(8, 2 * tokens)."""
    made = gathers(tokens, ", distinct: uniform")
    moved = compulsory(made)
    exact = 8 * (1 - Fraction(3, 4) ** tokens)
    assert moved.weight_bytes == 0
    # Each of three tables is rounded once, to an element of 2 bytes.
    assert abs(moved.gathered_bytes - exact * EXPERT_BYTES) <= 3
    assert f"{float(exact):.{len(experts) - 2}f}" == experts
    assert parameter_bytes(made) == 8 * EXPERT_BYTES


def test_three_tokens_read_1_629_487_104_bytes() -> None:
    made = gathers(3, ", distinct: uniform")
    assert compulsory(made).gathered_bytes == 1_629_487_104
    node = made.blocks[0].nodes[0]
    assert remark_of(node, made) == "expected 4.625 of 8 rows, drawn uniformly"
    assert compulsory(gathers(3, "")).gathered_bytes == 6 * EXPERT_BYTES


@pytest.mark.parametrize(("rows", "together", "draws"), [(8, 2, 3), (16, 4, 5), (10, 1, 20)])
def test_drawing_finds_as_many_as_expected(rows: int, together: int, draws: int) -> None:
    random = numpy.random.default_rng(0)
    order = random.random((20_000, draws, rows)).argsort(axis=-1)[..., :together]
    found = numpy.zeros((20_000, rows), dtype=bool)
    numpy.put_along_axis(found, order.reshape(20_000, -1), True, axis=1)
    # A count of at most 16 rows spreads by less than 2: over 20,000 runs its mean by less than 0.015.
    assert abs(found.sum(axis=1).mean() - float(expected_distinct(rows, together, draws))) < 0.045


def test_a_million_draws_find_all_rows_and_take_no_time() -> None:
    assert float(expected_distinct(256, 8, 10**6)) == 256
    assert float(expected_distinct(10**7, 1, 10**6)) == pytest.approx(10**7 * (1 - (1 - 1e-7) ** 10**6), rel=1e-9)


def test_a_written_number_is_what_all_tiles_together_find() -> None:
    made = gathers(3, ", distinct: tokens + 1")
    node = made.blocks[0].nodes[0]
    row = 4096 * 14336
    assert compulsory(made).gathered_bytes == 3 * 4 * row * 2
    assert remark_of(node, made) == "4 of 8 rows, as written"
    tile = {**made.sizes, "tokens": 1, "ffn": 14336 // 2}
    (read, index), written = kind_of(node).touched(node, made, tile)
    # A third of the tokens by half of each row: six such parts have all; a started element is a whole one.
    assert (read, index, written) == (-(-4 * row // 6), 2, 2 * row // 2)
    assert 6 * read >= 4 * row


def test_parts_of_rows_together_find_no_less_than_the_whole() -> None:
    made = gathers(4, ", distinct: uniform")
    node = made.blocks[0].nodes[0]
    (whole, _), _ = kind_of(node).touched(node, made, made.sizes)
    (part, _), _ = kind_of(node).touched(node, made, {**made.sizes, "ffn": 1, "hidden": 1})
    assert part * 14336 * 4096 >= whole


def test_a_tile_of_draws_finds_the_expected_number_of_its_own() -> None:
    made = gathers(4, ", distinct: uniform")
    node = made.blocks[0].nodes[0]
    (read, _), _ = kind_of(node).touched(node, made, {**made.sizes, "tokens": 2, "ffn": 1})
    assert read == 3.5 * 4096


def test_each_of_several_tables_is_drawn_from_by_itself() -> None:
    made = parse_graph("""
name: own
extents: {sets: 3, draws: 2, slots: 2, rows: 4, width: 8}
tensors:
  table: {dims: [sets, rows, width], dtype: bf16, role: weight}
  at: {dims: [sets, draws, slots], dtype: int32, role: input}
nodes:
  found: {kind: gather, reads: [table, at], along: rows, distinct: uniform}
""")
    assert compulsory(made).gathered_bytes == 3 * 3 * 8 * 2  # 4 (1 - (1/2) ** 2) = 3 of each


@pytest.mark.parametrize(
    ("distinct", "message"),
    [
        ("7", "distinct is 7 rows; at least 1 is found, and chosen [tokens, slots] looks up 6"),
        ("tokens * 3", "distinct is 9 rows; at least 1 is found, and chosen [tokens, slots] looks up 6"),
        ("0", "distinct is 0 rows; at least 1 is found"),
        ("unifrom", "unknown name 'unifrom' (did you mean 'uniform'?)"),
        ("2.5", "a whole number or an expression of extents is due"),
    ],
)
def test_more_rows_than_there_are_or_are_looked_up_are_refused(distinct: str, message: str) -> None:
    with pytest.raises(SpecError) as refused:
        gathers(3, f", distinct: {distinct}")
    assert message in str(refused.value)


def test_a_draw_of_more_rows_than_the_table_has_is_refused() -> None:
    with pytest.raises(SpecError, match=r"draws 9 different rows at once .* and 'experts' has 8"):
        parse_graph(write_graph(gathers(3, ", distinct: uniform")).replace("slots: 2", "slots: 9"))


def test_it_changes_no_numbers_and_is_written_as_it_was_read() -> None:
    small = "hidden: 4096, ffn: 14336", "hidden: 3, ffn: 2"
    written, plain = (
        parse_graph(write_graph(gathers(3, text)).replace(*small)) for text in (", distinct: uniform", "")
    )
    assert parse_graph(write_graph(written)) == written
    arrays = random_arrays(plain, 0)
    for name, array in evaluate(plain, arrays).items():
        assert (evaluate(written, arrays)[name] == array).all()


def test_a_page_tells_how_rows_are_counted() -> None:
    assert remarks(gathers(3, ", distinct: uniform")) == (
        "\n  rows  gate, up, down: expected 4.625 of 8 rows, drawn uniformly"
    )
    assert remarks(gathers(3, "")) == ""
