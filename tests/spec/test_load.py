"""YAML to plain data with positions: what works, and what is refused where."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.documents.yaml_tree import MAX_DEPTH, MAX_NODES
from patterns.errors import SpecError
from patterns.load import Document, load_file, load_text


def loaded(text: str) -> Document:
    document = load_text(text, "f.yaml")
    document.refuse([])
    return document


def test_scalars_follow_yaml_1_2_and_quotes_make_text() -> None:
    text = """
hbm: 3.35e12
seq: 1e5
padded: 010
octal: 0o17
words: [no, on, off, 2:4, 2024-01-01, "1e5", '010', "null"]
truth: [true, False]
block: |
  two
  lines
"""
    assert loaded(text).data == {
        "hbm": 3.35e12,
        "seq": 1e5,
        "padded": 10,
        "octal": 15,
        "words": ["no", "on", "off", "2:4", "2024-01-01", "1e5", "010", "null"],
        "truth": [True, False],
        "block": "two\nlines\n",
    }


def test_anchors_and_aliases_are_expanded() -> None:
    assert loaded("a: &x [1, {b: 2}]\nc: *x\nd: [*x, *x]\n").data == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": [[1, {"b": 2}], [1, {"b": 2}]],
    }


def test_an_anchor_can_be_used_as_a_key_and_be_set_again() -> None:
    assert loaded("a: &x word\n*x : 1\nb: &x other\nc: *x").data == {"a": "word", "word": 1, "b": "other", "c": "other"}


def test_merge_keys_bring_in_what_is_not_there() -> None:
    text = """
base: &tile {m: 128, n: 128, stages: 2}
a: {<<: *tile, n: 256}
b: {<<: *tile}
c: {n: 64, <<: [{k: 1, m: 1}, *tile]}
"<<": text
"""
    assert loaded(text).data == {
        "base": {"m": 128, "n": 128, "stages": 2},
        "a": {"m": 128, "n": 256, "stages": 2},
        "b": {"m": 128, "n": 128, "stages": 2},
        "c": {"n": 64, "k": 1, "m": 1, "stages": 2},
        "<<": "text",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &t {m: 1}\nb: {<<: *t, n: 1, n: 2}", "f.yaml:2:19: b.n: repeated key 'n', twice on line 2; keep one"),
        ("a: 1\nb: 2\na: 3", "f.yaml:3:1: a: repeated key 'a', on lines 1 and 3; keep one"),
        ("a: {b: [{c: 1,\n c: 2}]}", "f.yaml:2:2: a.b.0.c: repeated key 'c', on lines 1 and 2; keep one"),
        ("'a': 1\n\"a\": 2", "f.yaml:2:1: a: repeated key 'a', on lines 1 and 2; keep one"),
        ("a: {<<: 3}", "f.yaml:1:5: a: << merges a mapping or a list of mappings, as in <<: *name"),
        ("a: {<<: [3]}", "f.yaml:1:5: a: << merges a mapping or a list of mappings, as in <<: *name"),
        ("a: [1, ~]", "f.yaml:1:8: a.1: empty; give it a value or leave it out"),
        ("a:\nb: 1", "f.yaml:1:3: a: empty; give it a value or leave it out"),
        ("1: 2", "f.yaml:1:1: a key is a word; '1' reads as a number: rename it"),
        ("{[a]: 2}", "f.yaml:1:2: a key is a word, not a list or a mapping"),
        ("a: &x [1]\n*x : 2", "f.yaml:2:1: a key is a word, not an alias of a list or a mapping"),
        ("a: *x", "f.yaml:1:4: a: no anchor &x above *x"),
        ("a: &x {b: *x}", "f.yaml:1:11: a.b: *x is inside its own anchor &x: it would never end"),
        ("a: &x [&x [*x]]", "f.yaml:1:12: a.0.0: *x is inside its own anchor &x: it would never end"),
        ("a: !!str 1", "f.yaml:1:4: a: tags are not read: !!str; write the plain value"),
        ("a: !mine {b: 1}", "f.yaml:1:4: a: tags are not read: !mine; write the plain value"),
        ("a: ! 1", "f.yaml:1:4: a: tags are not read: !; write the plain value"),
        ("a: 1e999", "f.yaml:1:4: a: the number 1e999 is too large to hold"),
        ("a: 1\n...\n---\nb: 2", "f.yaml:3:1: a second document starts here; a file has one"),
        ("", "f.yaml:1:1: the file is empty"),
        ("---\n...\n", "f.yaml:1:1: the file is empty"),
        ("a: \x07", "f.yaml:1:4: not YAML: control characters are not allowed"),
        ("a: 1\nb: [1, 2\nc: 3", "f.yaml:3:2: b: not YAML: did not find expected"),
        ("a: 'x", "f.yaml:1:6: a: not YAML: found unexpected end of stream"),
        ("\ud800: 1", "f.yaml:1:1: not YAML: surrogates not allowed"),
    ],
)
def test_what_is_refused_and_where(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(text)
    assert str(caught.value).startswith(message)


def test_mistakes_that_leave_a_file_readable_are_told_together() -> None:
    with pytest.raises(SpecError) as caught:
        loaded("a: !!int 1\nb:\na: 2\n3: 4\n")
    assert [mistake.line for mistake in caught.value.mistakes] == [1, 2, 3, 4]


def test_where_everything_is_written() -> None:
    document = loaded("top:\n  list: [10, 'text']\nmore: &a {k: 0x10}\nused: *a\n")
    marks = {path: (mark.line, mark.column) for path, mark in document.where.items()}
    assert marks[("top", "list")] == (2, 9)
    assert marks[("top", "list", 1)] == (2, 14)
    assert marks[("used",)] == (4, 7)
    assert marks[("used", "k")] == (3, 14)
    assert {path: (mark.line, mark.column) for path, mark in document.keys.items()}[("top", "list")] == (2, 3)
    assert document.written(("more", "k")) == "0x10"
    assert str(document.inside(("top", "list", 1), 2, "here")) == "f.yaml:2:17: top.list.1: here"


def test_the_limits_are_where_they_are_said_to_be() -> None:
    assert loaded(f"a: [{'x, ' * (MAX_NODES - 3)}]")
    with pytest.raises(SpecError, match="more than 100,000 values"):
        loaded(f"a: [{'x, ' * (MAX_NODES - 2)}]")
    assert loaded("[" * MAX_DEPTH + "x" + "]" * MAX_DEPTH)
    with pytest.raises(SpecError, match=f"nested deeper than {MAX_DEPTH} levels"):
        loaded("[" * (MAX_DEPTH + 1) + "x" + "]" * (MAX_DEPTH + 1))


def test_aliases_count_as_often_as_they_are_used() -> None:
    hundred = ", ".join("x" * 100)
    assert loaded(f"a: &a [{hundred}]\nb: [{', '.join(['*a'] * 980)}]")
    with pytest.raises(SpecError, match="more than 100,000 values once aliases are expanded"):
        loaded(f"a: &a [{hundred}]\nb: [{', '.join(['*a'] * 990)}]")


printable = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"], include_characters="\n\t"), max_size=20)
words = st.text("abcxyz_", min_size=1, max_size=5).filter(lambda word: word not in ("", "null"))
data = st.recursive(
    st.one_of(st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), printable),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(words, below, max_size=4)),
    max_leaves=20,
)


@settings(deadline=None)
@given(data)
def test_json_is_read_as_itself(value: object) -> None:
    import json

    assert load_text(json.dumps({"a": value}, ensure_ascii=False), "f.yaml").data == {"a": value}


@settings(deadline=None)
@given(st.one_of(st.text(), st.text("[]{}:,&*!|>'\"%@`#-? \n\tab01e.<~^", max_size=80)))
def test_any_text_is_data_or_a_spec_error(text: str) -> None:
    try:
        document = load_text(text, "f.yaml")
        document.refuse([])
    except SpecError as error:
        assert str(error).startswith("f.yaml:")  # noqa: PT017
    else:
        assert set(document.where) >= set(document.keys)


@pytest.mark.parametrize(
    ("content", "what", "remedy"),
    [
        ("name: é\n".encode("utf-16"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
        ("name: é\n".encode("utf-16-le"), "text in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
        ("name: é\n".encode("utf-16-be"), "text in UTF-16", "iconv -f UTF-16BE -t UTF-8"),
        ("name: é\n".encode("utf-32"), "text in UTF-32", "iconv -f UTF-32 -t UTF-8"),
        (gzip.compress(b"name: a\n", mtime=0), "packed with gzip", "gunzip"),
        (bz2.compress(b"name: a\n"), "packed with bzip2", "bunzip2"),
        (b"PK\x03\x04" + b"x" * 99, "a zip archive", "unpack it first"),
        (b"\0" * 257 + b"ustar", "a tar archive", "tar -xf"),
    ],
)
def test_what_is_no_utf_8_text_is_told_with_what_would_help(
    content: bytes, what: str, remedy: str, tmp_path: Path
) -> None:
    file = tmp_path / "g.yaml"
    file.write_bytes(content)
    with pytest.raises(SpecError) as refused:
        load_file(file)
    assert str(refused.value).startswith(f"{file}:1:1: not UTF-8 text, but {what}; ")
    assert str(refused.value).endswith(remedy)
