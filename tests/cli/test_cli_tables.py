"""Tables: as a grid where they fit, in pieces or stacked where they do not."""

from __future__ import annotations

import io

import pytest

from experiments.text.page import Code, page_text, part_text, rich_table, show_rich
from experiments.text.table import Column, Table, split, table_text

TABLE = Table(
    (Column("machine", right=False), Column("mode", right=False), Column("calls"), Column("time per\ntoken")),
    (("gpu", "operator", "808", "11.02 ms"), ("rdu", "looped", "3", "5.12 ms")),
    rules=(1,),
    keys=2,
)


def test_a_grid_lines_up() -> None:
    assert table_text(TABLE, 80).splitlines() == [
        "                          time per",
        "machine  mode      calls     token",
        "----------------------------------",
        "gpu      operator    808  11.02 ms",
        "----------------------------------",
        "rdu      looped        3   5.12 ms",
    ]


def test_a_table_that_does_not_fit_is_split_with_its_keys() -> None:
    for width in (27, 30, 33):
        text = table_text(TABLE, width)
        assert text.count("operator") == 2
        assert "----" in text
        assert max(map(len, text.splitlines())) <= width


def test_a_table_that_cannot_be_split_far_enough_is_stacked() -> None:
    assert table_text(TABLE, 20).splitlines()[:3] == [
        "gpu operator",
        "  calls           808",
        "  time per token  11.02 ms",
    ]


def test_words_of_a_stacked_row_are_wrapped_beside_their_name() -> None:
    table = Table((Column("claim", right=False), Column("when", right=False)), (("calls", "one two three " * 4),))
    assert table_text(table, 32).splitlines() == [
        "calls",
        "  when  one two three one two",
        "        three one two three one",
        "        two three",
    ]


@pytest.mark.parametrize("width", range(27, 45))
def test_a_grid_is_never_wider_than_asked(width: int) -> None:
    assert max(map(len, table_text(TABLE, width).splitlines())) <= width


@pytest.mark.parametrize("width", [26, 30, 34, 60])
def test_every_cell_is_shown_once(width: int) -> None:
    cells = [row[i] for piece in split(TABLE, width) for row in piece.rows for i in range(2, len(row))]
    assert sorted(cells) == sorted(["808", "11.02 ms", "3", "5.12 ms"])


def test_a_long_name_leaves_half_the_width_for_words() -> None:
    text = page_text([f"  {'a' * 26}  all layers in one call"], 30)
    assert max(map(len, text.splitlines())) <= 30
    assert text.splitlines()[1:] == [" " * 15 + "all layers in", " " * 15 + "one call"]


def test_texts_are_wrapped_and_entries_keep_their_indent() -> None:
    text = page_text(["a rule:\n  looped  all layers in one call of the machine", TABLE], 30)
    assert text.splitlines()[:3] == ["a rule:", "  looped  all layers in one", "          call of the machine"]


def test_code_is_broken_only_where_it_does_not_fit() -> None:
    code = "role a\n    start load on load, 13 cycles, then arrive full(ring)  # bytes 1,024"
    assert part_text(Code(code), 80) == code
    assert part_text(Code(code), 60).split("\n") == [
        "role a",
        "    start load on load, 13 cycles, then arrive full(ring)",
        "            # bytes 1,024",
    ]
    assert part_text(Code(code), 40).split("\n")[2] == "            arrive full(ring)  # bytes"


def test_rich_draws_the_same_cells_in_the_same_width() -> None:
    from rich.console import Console

    drawn = io.StringIO()
    Console(width=80, file=drawn).print(rich_table(TABLE))
    lines = [line.rstrip() for line in drawn.getvalue().splitlines()]
    assert lines == [line.replace("-", "─") for line in table_text(TABLE, 80).splitlines()]


def test_what_a_name_holds_is_drawn_and_never_followed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table((Column("name[/b]", right=False),), (("a[/x][bold]<&>",), ("b\x1b[31mred",)))
    show_rich([table, "as \x1b[2J is"], 80)
    drawn = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [drawn[0], *drawn[2:]] == ["name[/b]", "a[/x][bold]<&>", "b\ufffd[31mred", "", "as \ufffd[2J is", ""]
