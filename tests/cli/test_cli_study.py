"""Studies: every one runs, its sentence holds what the table holds, and its files are whole."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.cli import cli
from experiments.studies import (
    conflicting_figures,
    drafted_tokens,
    energy_ladder,
    memory_that_changes_the_winner,
    model_switching,
)
from experiments.study import Study, study_named, study_names
from experiments.survey import Survey
from rdu_model import load_machine

COMPARISONS = [name for name in study_names() if isinstance(study_named(name), Study)]
SURVEYS = [name for name in study_names() if isinstance(study_named(name), Survey)]
TINY = "llama-3.2-1b"
ALTERNATIVES = conflicting_figures.alternatives
# What replaces the cases of surveys that run for long; tests/benchmarks runs all of their own.
FEW: Mapping[str, Mapping[str, Any]] = {
    "bandwidth_limits": {"COLUMNS": (256,)},
    "schedule_ranking": {"GEMM_PARAMETERS": {"slots": ((), "")}},
    "stages_by_latency": {"LATENCIES": (300, 3000)},
    "batch_and_context_crossover": {"MODEL": TINY, "RDU_MODE": "fused", "GRIDS": (("h100_sxm", 1, (1,), (256, 512)),)},
    "memory_that_changes_the_winner": {
        "MODEL": TINY,
        "SWEEPS": (
            ("l2_bytes", "h100_sxm", "L2", (0.5, 1.0), (memory_that_changes_the_winner.Step("decode", 1, 256, 1),)),
        ),
    },
    "producer_consumer_gemm": {"SIZE": 512},
    "tokens_by_latency": {"MODEL": TINY, "CONTEXT": 256, "MEMBERS": 1, "BATCHES": (1,), "LIMITS_MS": (1, 100)},
    "can_the_gpu_close_the_gap": {"MODEL": "rms_norm", "CONTEXT": None},
    "intermediates": {"MODEL": TINY, "STEPS": (("decode", 1, 256),)},
    "kernel_looping": {"MODELS": ((TINY, 1),), "BATCHES": (1,), "CONTEXT": 256},
    "transpose_breaks_fusion": {"ROWS": 512, "COLUMNS": 256},
    "all_reduce_overlap": {"MODELS": {TINY: (2,)}, "MODEL": TINY, "AMONG": 2, "CONTEXT": 256},
    "drafted_tokens": {
        "VERIFY": TINY,
        "DRAFTED": (1,),
        "CONTEXT": 256,
        "WAYS": (("h100_sxm", "operator"), ("sn40l", "operator")),
    },
    "energy_ladder": {"WORKLOADS": energy_ladder.WORKLOADS | {energy_ladder.TOKEN: TINY}},
    "fuse_what": {"MODELS": ("rms_norm",)},
    "on_chip_capacity": {"MODEL": TINY, "DECODES": ((1, 256),), "PROMPTS": (64,)},
    "fixed_time_per_layer": {"MODELS": (TINY,), "MEMBERS": (1, 4), "CONTEXT": 256},
    "model_switching": {
        "EXPERT": TINY,
        "PROMPT": 64,
        "SYSTEMS": tuple(
            replace(
                one,
                model=TINY if one.model == model_switching.EXPERT else one.model,
                mode="fused" if one.mode == "looped" else one.mode,
            )
            for one in model_switching.SYSTEMS
        ),
    },
    "conflicting_figures": {
        "MODEL": TINY,
        "CONTEXT": 256,
        "alternatives": lambda: list(ALTERNATIVES())[:2],
    },
    "fp8_attention_error": {"HEADS": 1, "TOKENS": 64, "HEAD_DIM": 16, "BLOCK": 16},
    "off_chip_bytes": {"WORKLOADS": (("softmax", "decode", None), (TINY, "decode", 256))},
    "what_the_lectures_say": {
        "experiments.claims.calls_and_fusion.MODEL": TINY,
        "experiments.claims.calls_and_fusion.CONTEXT": 256,
        "experiments.claims.calls_and_fusion.PROMPT": 128,
        "experiments.claims.calls_and_fusion.SOCKETS": 2,
    },
    "workloads": {"ready_made": lambda: ("softmax", "lora"), "MANY": 1},
}


@pytest.fixture
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made and rendered for one study alone; what is long is asked of a small model."""
    name = request.getfixturevalue("name")
    if name != "softmax_as_patterns":
        monkeypatch.setattr("experiments.picture.rendered", not_rendered)
    if name == "calls_per_token":
        study = study_named(name)
        assert isinstance(study, Study)
        few = replace(study, request=replace(study.request, workload=TINY, context=256))
        monkeypatch.setattr(f"experiments.studies.{name}.STUDY", few)


def not_rendered(figure: object, stem: str) -> list[tuple[str, bytes]]:
    """Files in the place of a figure's."""
    return [(f"{stem}.png", b"\x89PNG"), (f"{stem}.svg", b"<svg/>")]


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", COMPARISONS)
def test_a_study_writes_its_files_and_says_what_it_found(name: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    folder = tmp_path / name
    reports = json.loads((folder / "reports.json").read_text())["reports"]
    rows = list(csv.DictReader(io.StringIO((folder / "reports.csv").read_text())))
    assert [row["mode"] for row in rows] == [report["mode"] for report in reports]
    configuration = json.loads((folder / "configuration.json").read_text())
    study = study_named(name)
    assert isinstance(study, Study)
    assert configuration["request"]["workload"] == study.request.workload
    for figure in study.figures:
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{figure}.svg").read_text()
    page = (folder / "page.txt").read_text()
    assert page.startswith(study.question)
    sentence = result.stdout.strip().removeprefix(f"{name}: ")
    assert sentence in " ".join(page.split())
    assert sentence in " ".join(unescape((folder / "page.html").read_text()).split())
    if name == "calls_per_token":  # the headline is what was counted
        calls = {report["mode"]: report["calls"] for report in reversed(reports)}
        assert all(f"{calls[mode]:,}" in sentence for mode in ("operator", "library", "looped"))


# Of a finding that is read at once; the rest is told in details.
MOST_WORDS = 60


@pytest.mark.parametrize("name", SURVEYS)
def test_a_survey_writes_its_table_and_says_what_it_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Figures are made and not rendered: that is tested with the kinds of plots, and with studies of one comparison.
    monkeypatch.setattr("experiments.picture.rendered", not_rendered)
    for what, few in FEW.get(name, {}).items():
        monkeypatch.setattr(what if "." in what else f"experiments.studies.{name}.{what}", few)
    result = CliRunner().invoke(cli, ["run", name, "-o", str(tmp_path)])
    assert result.exit_code == 0, result.stderr
    folder, study = tmp_path / name, study_named(name)
    data = json.loads((folder / "table.json").read_text())["rows"]
    rows = list(csv.DictReader(io.StringIO((folder / "table.csv").read_text())))
    assert len(rows) == len(data) > 1
    assert all(list(row) == list(data[0]) for row in rows)
    for figure in study.figures:
        stem = figure if isinstance(figure, str) else figure.name
        assert (folder / f"{stem}.png").read_bytes().startswith(b"\x89PNG")
        assert (folder / f"{stem}.csv").read_text().count("\n") > 1
    page = " ".join((folder / "page.txt").read_text().split())
    assert page.startswith(study.question)
    sentence = result.stdout.strip().removeprefix(f"{name}: ")
    assert sentence in page
    assert sentence in " ".join(unescape((folder / "page.html").read_text()).split())
    assert len(sentence.split()) <= MOST_WORDS


def test_every_conflicting_figure_can_be_set() -> None:
    rows = list(ALTERNATIVES())
    assert len(rows) > 3
    for row in rows[1:]:
        assert load_machine(conflicting_figures.MACHINE, dict(row.settings)) != load_machine(
            conflicting_figures.MACHINE
        )


@pytest.mark.parametrize(
    ("accepted", "drafted", "tokens"), [(0.7, 4, 2.77), (0.8, 4, 3.36), (0.9, 4, 4.10), (0.5, 1, 1.5)]
)
def test_a_round_of_drafted_tokens_gives_what_its_source_says(accepted: float, drafted: int, tokens: float) -> None:
    found = drafted_tokens.expected_tokens(accepted, drafted)
    assert found == pytest.approx((1 - accepted ** (drafted + 1)) / (1 - accepted)) == pytest.approx(tokens, abs=0.005)


def test_an_unknown_study_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["run", "calls_per_tokens", "-o", str(tmp_path / "new")])
    assert result.exit_code == 2
    assert "did you mean 'calls_per_token'?" in result.stderr
    assert not (tmp_path / "new").exists()
