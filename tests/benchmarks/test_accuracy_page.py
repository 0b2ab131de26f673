"""The figures in docs/accuracy.md are what validation finds now, which takes minutes.

Run with `pytest -o addopts=--import-mode=importlib tests/benchmarks/test_accuracy_page.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from experiments.validate import Question, validate
from experiments.validation.errors import found_errors, known_errors
from experiments.validation.family import rows_of
from experiments.validation.row import Compared
from experiments.validation.runner import outcomes
from experiments.validation.tables import Tables

PAGE = Path(__file__).parents[2] / "docs" / "accuracy.md"
NUMBER = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
# A row of the page by how it begins, and the rows of validation whose predictions it has, in order.
PREDICTED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "looped over fused decode": ("rdu_modes", ("looped-over-fused-decode-8b", "looped-over-fused-decode-70b")),
    "fused over operator by operator, decode": (
        "rdu_modes",
        ("fused-over-operator-decode-7b", "fused-over-operator-decode-70b"),
    ),
    "started by hardware over by the host": (
        "rdu_modes",
        ("hardware-over-software-decode-7b", "hardware-over-software-decode-70b"),
    ),
    "HBM use of a 70B decoder": ("rdu_use", ("hbm-70b-16-sockets-fused", "hbm-70b-16-sockets-looped")),
    "PCU, PMU use of a fused decoder": ("rdu_use", ("pcus-70b-16-sockets", "pmus-70b-16-sockets")),
    "first token of 16 prompts": ("rdu_prefill", ("llama-3-8b-1024-b16",)),
    "a layer of a GPT-2 training step": ("sn30_training", ("o3-ms", "o0-over-o3")),
}


@cache
def found(family: str) -> Mapping[str, Compared]:
    """What validation finds of every row of a family, by its name."""
    every = outcomes(rows_of(family, Tables()), {"rdu": {}}, 1)
    return {one.row.id: one for one in every if isinstance(one, Compared)}


def written(begins: str) -> list[str]:
    """The numbers in the second cell of the page's row that begins so."""
    (line,) = (line for line in PAGE.read_text().splitlines() if line.startswith(f"| {begins}"))
    return NUMBER.findall(line.split(" | ")[1])


def as_written(value: float, like: str) -> str:
    """A number with as many decimals as another."""
    return f"{value:,.{len(like.partition('.')[2])}f}"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("begins", PREDICTED)
def test_a_row_of_the_page_has_what_is_predicted(begins: str) -> None:
    family, names = PREDICTED[begins]
    values = [found(family)[name].predicted for name in names]
    on_page = written(begins)
    assert on_page == [as_written(value, like) for value, like in zip(values, on_page, strict=True)]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_errors_of_decode_are_those_of_the_page() -> None:
    every = found("rdu_decode").values()
    errors = [abs(one.error_percent) for one in every if one.row.target]
    assert written("Llama 3 8B, 70B, decode") == [f"{sum(errors) / len(errors):.1f}", f"{max(errors):.1f}"]
    fast = [one.error_percent for one in every if re.search("llama-3-.*-b(16|32)$", one.row.id)]
    assert len(fast) == 9
    assert written("decode at batch 16 and 32") == [f"{min(fast):.0f}", f"{max(fast):.0f}"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_kept_errors_of_published_figures_are_what_is_found(tmp_path: Path) -> None:
    (tmp_path / "none.csv").write_text("no table\n")
    assert found_errors(None, validate(Question(folder=tmp_path)), None).figures == known_errors().figures
