"""Arithmetic on extents: exact, small, and safe."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.expression import ExpressionError, ExtentsError, evaluate, parse, renamed, resolve

LLAMA = {"hidden": 4096, "heads": 32, "context": 4097}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("hidden // heads", 128),
        ("hidden / heads", 128),
        ("ceildiv(context, 128) * 128", 4224),
        ("align(context, 128)", 4224),
        ("ceil(context / 128)", 33),
        ("floor(context / 128)", 32),
        ("min(hidden, context, 5000) - max(1, 2)", 4094),
        ("-5 // 2", -3),
        ("-5 % 3", 1),
        ("2 ** 8", 256),
        ("hidden ** 0", 1),
        ("log2(hidden)", 12),
        ("ceil(log2(hidden + 1))", 13),
        ("floor(log2(hidden - 1))", 11),
        ("ceil(log2(2 ** 8 * 2 ** 8))", 16),
        ("1e3", 1000),
        ("0.1 * 30", 3),
        ("  hidden  ", 4096),
        ("(hidden + 1) * 2 / 2 - 1", 4096),
    ],
)
def test_values(text: str, value: int) -> None:
    assert evaluate(text, LLAMA) == value


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("hidden / 3", 0, "is 1365.33, not a whole number; use // or ceildiv"),
        ("hiden * 2", 0, r"unknown name 'hiden' \(did you mean 'hidden'\?\)"),
        ("2 * hiden", 4, "unknown name 'hiden'"),
        ("  hidden // 0", 2, "division by zero"),
        ("hidden % (heads - 32)", 0, "division by zero"),
        ("1 + hidden ** heads", 4, "an exponent is a number from 0 to 8"),
        ("2 ** 9", 0, "an exponent is a number from 0 to 8"),
        ("2 ** -1", 0, "an exponent is a number from 0 to 8"),
        ("((9 ** 8) ** 8) ** 8", 0, "beyond"),
        ("1e300 * 1e300", 0, "beyond"),
        ("1e999", 0, "too large"),
        ("log2(0)", 0, "log2 of 0"),
        ("log2()", 0, "log2 takes 1 argument, found 0"),
        ("ceildiv(1)", 0, "ceildiv takes 2 arguments, found 1"),
        ("mx(1, 2)", 0, r"no function 'mx' \(did you mean 'max'\?\)"),
        ("max(1, key=2)", 0, "'max\\(1, key=2\\)' is not allowed here"),
        ("min(*hidden)", 4, "'\\*hidden' is not allowed here"),
        ("hidden.real", 0, "'hidden.real' is not allowed here"),
        ("hidden[0]", 0, "not allowed here"),
        ("[1 for x in y]", 0, "not allowed here"),
        ("lambda: 1", 0, "not allowed here"),
        ("1 if heads else 2", 0, "not allowed here"),
        ("heads < 3", 0, "not allowed here"),
        ("heads and 3", 0, "not allowed here"),
        ("~heads", 0, "not allowed here"),
        ("+heads", 0, "not allowed here"),
        ("heads << 3", 0, "not allowed here"),
        ("heads @ 3", 0, "not allowed here"),
        ("(x := 3)", 1, "not allowed here"),
        ("'text'", 0, "not allowed here"),
        ("True", 0, "not allowed here"),
        ("1j", 0, "not allowed here"),
        ("...", 0, "not allowed here"),
        ("__import__('os').system('true')", 0, "not allowed here"),
        ("1if heads else 2", 0, "not allowed here"),
        ("heads +", 6, "is not arithmetic"),
        ("2:4", 1, "is not arithmetic"),
        ("010", 0, "is not arithmetic"),
        ("", 0, "is not arithmetic"),
        ("a\nb", 0, "is not arithmetic"),
        ("heads\0", 0, "is not arithmetic|too deeply"),
        ("heads * ü", 8, "'ü' is not part of arithmetic"),
        ("1" * 501, 0, "of 501 characters; at most 500"),
        ("-" * 400 + "1", 101, "nested deeper than 100 levels"),
        ("(" * 240 + "1" + ")" * 240, None, "is not arithmetic|too deeply"),
    ],
)
def test_what_is_refused_and_where(text: str, offset: int | None, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        evaluate(text, LLAMA)
    if offset is not None and "is not arithmetic" not in str(caught.value):
        assert caught.value.offset == offset


def test_extents_in_any_order() -> None:
    extents = {"a": "b + 1", "b": "c * 2", "c": 4, "d": "a"}
    assert resolve(extents) == {"a": 9, "b": 8, "c": 4, "d": 9}
    assert list(resolve(extents)) == ["a", "b", "c", "d"]


def test_every_mistake_of_extents_is_told_once_and_the_others_have_values() -> None:
    extents = {"a": "b", "b": "c + 1", "c": "a", "d": "d", "e": 0, "f": "g / 3", "g": 8, "h": "f + 1", "i": "x + g"}
    with pytest.raises(ExtentsError) as caught:
        resolve(extents)
    told = {mistake.name: mistake.message for mistake in caught.value.mistakes}
    assert told["a"] == "refers to itself: a -> b -> c -> a"
    assert told["d"] == "refers to itself: d -> d"
    assert "found 0" in told["e"]
    assert "not a whole number" in told["f"]
    assert "unknown extent 'x'" in told["i"]
    assert set(told) == {"a", "d", "e", "f", "i"}
    assert caught.value.resolved == {"g": 8}


def test_a_chain_longer_than_the_stack() -> None:
    chain: dict[str, int | str] = {f"x{i}": f"x{i + 1}" for i in range(3000)}
    assert resolve({**chain, "x3000": 7})["x0"] == 7


def trees(names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    leaves = st.one_of(st.integers(0, 9).map(str), names)
    return st.recursive(
        leaves,
        lambda below: st.one_of(
            st.tuples(below, st.sampled_from(["+", "-", "*", "//", "%", "/"]), below).map(
                lambda t: f"({t[0]} {t[1]} {t[2]})"
            ),
            below.map(lambda t: f"-{t}"),
            st.tuples(below, below).map(lambda t: f"min({t[0]}, {t[1]})"),
        ),
        max_leaves=8,
    )


@settings(deadline=None)
@given(trees(st.sampled_from(["a", "b"])), st.integers(1, 100), st.integers(1, 100))
def test_it_agrees_with_exact_arithmetic_in_python(text: str, a: int, b: int) -> None:
    import re

    exact_text = re.sub(r"\b(\d+)\b", r"F(\1)", text)
    try:
        expected = Fraction(eval(exact_text, {"F": Fraction, "min": min}, {"a": Fraction(a), "b": Fraction(b)}))
    except ZeroDivisionError:
        with pytest.raises(ExpressionError, match="division by zero"):
            evaluate(text, {"a": a, "b": b})
        return
    if expected.denominator == 1:
        assert evaluate(text, {"a": a, "b": b}) == expected
    else:
        with pytest.raises(ExpressionError, match="not a whole number"):
            evaluate(text, {"a": a, "b": b})


@settings(deadline=None)
@given(st.integers(1, 2**200))
def test_log2_of_whole_numbers_is_never_rounded_over_a_power(number: int) -> None:
    assert evaluate("ceil(log2(n))", {"n": number}) == (number - 1).bit_length()
    assert evaluate("floor(log2(n))", {"n": number}) == number.bit_length() - 1


@settings(deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(1, 10**6))
def test_ceildiv_and_align(number: int, step: int) -> None:
    assert evaluate("ceildiv(n, s)", {"n": number, "s": step}) == math.ceil(Fraction(number, step))
    aligned = evaluate("align(n, s)", {"n": number, "s": step})
    assert aligned % step == 0
    assert 0 <= aligned - number < step


@settings(deadline=None)
@given(st.one_of(st.text(max_size=600), st.text("ab1(),+-*/%.'[]{}:=<> \n\\@#!~", max_size=60)))
def test_any_text_is_a_number_or_an_expression_error(text: str) -> None:
    offset = 0
    try:
        expression = parse(text)
        evaluate(text, dict.fromkeys((name for name, _ in expression.names), 3))
    except ExpressionError as error:
        offset = error.offset
    assert 0 <= offset <= len(text)


def test_names_are_replaced_as_whole_words() -> None:
    assert renamed("min(e5, 1e5) * e", {"e5": "used_e5", "e": "used_e"}) == "min(used_e5, 1e5) * used_e"
