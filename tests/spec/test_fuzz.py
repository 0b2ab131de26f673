"""Files, expressions and settings that nobody meant: a UserError or a result, soon, and in little memory.

`PATTERNLOOM_FUZZ_SECONDS=600 pytest tests/spec/test_fuzz.py` tries for longer, with another seed each time.
"""

from __future__ import annotations

import operator
import os
import resource
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from time import perf_counter, process_time, time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.errors import SpecError, UserError
from patterns.expression import evaluate, resolve
from patterns.library import workload
from patterns.plugin import data_file, data_files
from tests.spec.mutations import PIECES, mutated

SECONDS = float(os.environ.get("PATTERNLOOM_FUZZ_SECONDS", "1.5"))
SEED = int(time()) if "PATTERNLOOM_FUZZ_SECONDS" in os.environ else 5
# One file at most, in CPU time; and what all together may add to the process.
SLOWEST_S = 10.0
MOST_BYTES = 500 * 2**20
SETTINGS = ("rows", "columns", "context", "hidden", "nothing", "tensor_parallel")


def sound_files() -> dict[str, list[bytes]]:
    """Sound files by the end of their name."""
    library = "patterns.library"
    return {
        ".yaml": [data_file(library, name, ".yaml", "graph").read_bytes() for name in data_files(library, ".yaml")],
        ".json": [
            data_file(f"{library}.configs", name, ".json", "config").read_bytes()
            for name in data_files(f"{library}.configs", ".json")
        ],
    }


def mistake_of(ask: Callable[[], object]) -> UserError | None:
    """The mistake that something is refused with; None if it is not. Anything else that is raised is a bug."""
    try:
        ask()
    except UserError as error:
        return error
    return None


def need_told(mistake: UserError | None) -> None:
    """Whatever is refused says something, not too much, and where in the file."""
    if mistake is not None:
        assert 0 < len(str(mistake).strip()) < 2 * 2**20
        places = mistake.mistakes if isinstance(mistake, SpecError) else ()
        assert all(place.line >= 1 and place.column >= 1 for place in places)


def tried(file: Path, content: bytes) -> None:
    """Read a file: a graph or a mistake of the user's, soon. It is left there if that fails."""
    file.write_bytes(content)
    begun = process_time()
    need_told(mistake_of(lambda: workload(str(file))))
    assert process_time() - begun < SLOWEST_S


def test_changed_files_are_read_or_refused(tmp_path: Path) -> None:
    random = Random(SEED)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end = perf_counter() + SECONDS
    files = {suffix: sorted(found, key=len) for suffix, found in sound_files().items()}
    count = 0
    while perf_counter() < end:
        suffix = random.choice(list(files))
        # Small files more often: they take less time.
        sound = files[suffix][int(len(files[suffix]) * random.random() ** 2)]
        file = tmp_path / f"changed{suffix}"
        tried(file, mutated(sound, files[suffix], random))
        count += 1
    assert count > 0
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < MOST_BYTES
    print(f"{count} files, seed {SEED}, {grown / 2**20:.0f} MiB more")


WORDS = (
    "hidden",
    "heads",
    "(",
    ")",
    " ",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "8",
    "0",
    "3.5",
    "1e9",
    ",",
    "min(",
    "log2(",
)
PARTS = st.lists(
    st.one_of(st.sampled_from(WORDS), st.sampled_from([p.decode("latin-1") for p in PIECES]), st.text(max_size=3))
)


@settings(max_examples=60, deadline=None)
@given(PARTS)
def test_any_expression_is_a_number_or_refused(parts: list[str]) -> None:
    values = {"hidden": 4096, "heads": 32}
    need_told(mistake_of(lambda: operator.index(evaluate("".join(parts), values))))


@settings(max_examples=40, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcdef"), st.one_of(PARTS.map("".join), st.sampled_from(["a", "b + c", "2 * d"])))
)
def test_extents_that_need_each_other_are_resolved_or_refused(extents: dict[str, str]) -> None:
    need_told(mistake_of(lambda: resolve(extents)))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.one_of(st.sampled_from(SETTINGS), st.text(max_size=5)), PARTS.map("".join), max_size=3))
def test_any_setting_is_taken_or_refused(overrides: dict[str, str]) -> None:
    for name in ("softmax", "llama-3.2-1b"):
        need_told(mistake_of(partial(workload, name, overrides=overrides)))


@pytest.mark.parametrize(
    ("name", "extent"), [("llama-3.2-1b", "vocabulary"), ("deepseek_v3", "experts"), ("speculative_decoding", "new")]
)
def test_kinds_are_not_asked_about_extents_that_have_no_value(name: str, extent: str) -> None:
    mistake = mistake_of(partial(workload, name, overrides={extent: "1 // 0"}))
    assert isinstance(mistake, SpecError)
    assert str(mistake).startswith(f"--set {extent}:1:1: ")


def test_a_thousand_mistakes_are_counted_and_not_all_told(tmp_path: Path) -> None:
    file = tmp_path / "repeated.yaml"
    file.write_text("name: x\n" + "extents: {}\n" * 1001)
    mistake = mistake_of(lambda: workload(str(file)))
    assert isinstance(mistake, SpecError)
    assert str(mistake).splitlines()[-1] == f"... and {len(mistake.mistakes) - 200:,} mistakes more"
    assert len(mistake.mistakes) > 1000


def test_limits_hold_at_their_edges(tmp_path: Path) -> None:
    sound = data_file("patterns.library", "softmax", ".yaml", "graph").read_bytes()
    file = tmp_path / "long.yaml"
    room = 2**20 - len(sound)
    tried(file, sound + b"#" * room)
    file.write_bytes(sound + b"#" * (room + 1))
    with pytest.raises(SpecError, match="larger than 1,048,576 bytes"):
        workload(str(file))
    for opened, closed in ((b"[", b"]"), (b"{a: ", b"}")):
        for depth in (10, 1000, 100_000):
            tried(file, b"name: " + opened * depth + closed * depth)
            tried(tmp_path / "deep.json", opened.replace(b"a:", b'"a":') * depth + b"1" + closed * depth)
