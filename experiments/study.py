"""A study: a question, what was run to answer it, and the sentence that its numbers support.

A Study is one comparison; a Survey (see survey.py) is whatever runs it declares.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from experiments.request import Request
from patterns.plugin import load_module, modules

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.survey import Survey
    from patterns.report import Report

STUDIES = "experiments.studies"
PAGE_WIDTH = 100


@dataclass(frozen=True)
class Study:
    """One experiment, declared. `finding` makes its short sentence from what was computed, `details` what else that
    says; figures are files in plot/."""

    question: str
    request: Request
    finding: Callable[[Comparison], str]
    figures: tuple[str, ...] = ("fusion", "overlap")
    details: Callable[[Comparison], str] | None = None


@dataclass(frozen=True)
class Result:
    """A study that was run: its sentence, and its files by name."""

    finding: str
    files: tuple[tuple[str, bytes], ...] = field(repr=False)

    def save(self, folder: str | Path) -> tuple[Path, ...]:
        """Write every file into a folder, which is made if need be. Returns the paths. Raises UserError."""
        from experiments.output import write_folder

        return write_folder(Path(folder), dict(self.files))

    def _repr_html_(self) -> str:
        from experiments.notebook.displays import result_html

        return result_html(self)


def study_names() -> tuple[str, ...]:
    """Every study: the files in studies/."""
    return modules(STUDIES)


def study_named(name: str) -> Study | Survey:
    """The study `name`. Raises UnknownName."""
    return cast("Study | Survey", load_module(STUDIES, name, "study").STUDY)


def run_study(name: str, tell: Callable[[str], None] | None = None) -> Result:
    """Run a study: its pages, its table (CSV, JSON) and figures. tell: told of each row of a survey as it is made.

    Raises UserErrors.
    """
    from experiments.survey import Survey, run_survey, untold

    study = study_named(name)
    if isinstance(study, Survey):
        finding, files = run_survey(name, study, PAGE_WIDTH, tell or untold)
        return Result(finding, tuple(files.items()))
    return run_comparison(name, study)


def run_comparison(name: str, study: Study) -> Result:
    """Run a study of one comparison: with its resolved configuration and reports. Raises UserErrors."""
    from experiments.compare import compare
    from experiments.export import reports_csv, reports_json
    from experiments.page.report import report_page
    from experiments.page.study import study_page
    from experiments.picture import drawn
    from experiments.text.comparison import comparison_parts
    from experiments.text.page import page_text

    comparison = compare(study.request)
    finding, parts = study.finding(comparison), comparison_parts(comparison)
    details = study.details(comparison) if study.details else ""
    page = page_text([part for part in (study.question, finding, details, *parts) if part], PAGE_WIDTH)
    texts = {
        "page.txt": page + "\n",
        "configuration.json": json.dumps({"study": name, "request": asdict(study.request)}, indent=2) + "\n",
        "reports.csv": reports_csv(comparison.outcomes),
        "reports.json": reports_json(comparison.outcomes),
        "report.html": report_page(comparison),
    }
    files = {file: text.encode() for file, text in texts.items()} | drawn(comparison, study.figures)
    files["page.html"] = study_page(name, study.question, (finding, details), parts, files)
    return Result(finding, tuple(files.items()))


def report_of(reports: Sequence[Report], mode: str) -> Report:
    """The report of a mode, which the study has asked for."""
    return next(report for report in reports if report.mode == mode)
