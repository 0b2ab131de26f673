"""Conditions on extents: what a file requires of them, and what is said when they do not meet it."""

from __future__ import annotations

import pytest

from patterns.errors import SpecError
from patterns.expression import ExpressionError
from patterns.graph_file.conditions import broken
from patterns.library import workload
from patterns.read import parse_graph

TEXT = """
name: convolution
extents: {seq: 2048, fft: 64 * 64}
requires: [fft >= 2 * seq, "seq > 0"]
tensors: {x: {dims: [fft], dtype: bf16, role: input}}
nodes: {y: {kind: map, fn: exp, reads: [x]}}
"""


@pytest.mark.parametrize(
    ("text", "holds"),
    [("a >= 4", True), ("a>4", False), ("a == 2 ** 2", True), ("a < b / 2", True), ("b <= a", False), ("4 == a", True)],
)
def test_both_sides_are_arithmetic(text: str, holds: bool) -> None:
    assert (broken(text, {"a": 4, "b": 9}) == "") == holds


def test_what_is_broken_is_said_with_the_numbers_on_both_sides() -> None:
    assert broken("a >= 2 * b", {"a": 4, "b": 9}) == "requires a >= 2 * b, and a is 4 and 2 * b is 18"
    assert broken("a == b / 2", {"a": 4, "b": 9}) == "requires a == b / 2, and a is 4 and b / 2 is 4.5"


@pytest.mark.parametrize("text", ["a", "a >= b >= 1", "", "a = b", "a >= ", "a >= import"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        broken(text, {"a": 1, "b": 1})


def test_a_file_holds_for_the_extents_that_it_is_read_with() -> None:
    assert parse_graph(TEXT, overrides={"seq": "1024"}).sizes["seq"] == 1024
    with pytest.raises(SpecError, match=r"graph.yaml:4:12: requires.0: requires fft >= 2 \* seq, and fft is 4096"):
        parse_graph(TEXT, overrides={"seq": "2049"})
    with pytest.raises(SpecError, match=r"4:19: requires.0: unknown name 'w'"):
        parse_graph(TEXT.replace("2 * seq", "w"))


def test_a_prompt_is_no_longer_than_its_context() -> None:
    with pytest.raises(SpecError, match=r"requires seq <= context, and seq is 8192 and context is 4096"):
        workload("llama-3.1-8b", context=4096, overrides={"seq": 8192})
