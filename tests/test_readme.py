"""What the README shows is what the code prints, and what it tells people to type is what the checks run."""

from __future__ import annotations

import doctest
import re
import runpy
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from experiments.compare import Comparison

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
EXAMPLE = re.compile(r"^```console\n\$ (patternloom [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GRAPH = re.compile(r"^```yaml\n(# (\S+\.yaml)\n.*?)^```$", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
pages = runpy.run_path(str(ROOT / "tests" / "docs" / "pages.py"), run_name="pages")
PICTURES = ("fusion", "overlap")


def examples() -> list[str]:
    """The commands of the README's examples."""
    return [found[1] for found in EXAMPLE.finditer(README.read_text(encoding="utf-8"))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone's folder as a reader has it, with the graphs that the README shows."""
    for found in GRAPH.finditer(README.read_text(encoding="utf-8")):
        (tmp_path / found[2]).write_text(found[1], encoding="utf-8")
    (tmp_path / "patterns").symlink_to(ROOT / "patterns")
    return tmp_path


def output_of(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command of the README prints, cut as its `| head -n N` says."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(folder)
    return str(pages["printed"](command))


@pytest.mark.parametrize("command", examples())
def test_an_example_prints_what_the_readme_says(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    text = README.read_text(encoding="utf-8")
    printed = output_of(command, folder, monkeypatch)
    if pytestconfig.getoption("--update-golden"):
        text = EXAMPLE.sub(lambda m: f"```console\n$ {m[1]}\n{printed}```" if m[1] == command else m[0], text)
        README.write_text(text, encoding="utf-8")
    shown = next(found[2] for found in EXAMPLE.finditer(text) if found[1] == command)
    assert printed == shown, "the README is out of date: run pytest tests/test_readme.py --update-golden"


def test_the_session_in_python_runs_as_shown() -> None:
    text = "\n".join(SESSION.findall(README.read_text(encoding="utf-8")))
    session = doctest.DocTestParser().get_doctest(text, {}, "README", str(README), 0)
    assert len(session.examples) > 5
    assert doctest.DocTestRunner().run(session).failed == 0


def test_there_are_examples_of_the_main_commands() -> None:
    shown = {command.split()[1] for command in examples()}
    assert shown >= {"compare", "show", "check", "list"}


def test_the_two_commands_are_the_ones_that_the_checks_run() -> None:
    lines = README.read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line.startswith("python3 -m venv ")]
    assert len(commands) == 2
    assert "pip install" in commands[0]
    assert "patternloom compare llama-3.1-8b" in commands[0]
    assert commands[1].endswith("python -m pytest -q -n 2")
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert 'grep -m1 -E "^python3 -m venv .*$1" README.md' in run
    assert "readme_command 'patternloom compare'" in run
    assert "readme_command 'pytest'" in run


@cache
def shown_comparison() -> Comparison:
    """What the pictures are of."""
    from experiments.compare import compare
    from experiments.request import Request

    return compare(Request("llama-3.1-8b"))


@pytest.mark.parametrize("kind", PICTURES)
def test_the_pictures_in_docs_show_what_the_code_computes(kind: str, pytestconfig: pytest.Config) -> None:
    from experiments.picture import drawn

    files = drawn(shown_comparison(), [kind])
    docs = ROOT / "docs"
    if pytestconfig.getoption("--update-golden"):
        docs.mkdir(exist_ok=True)
        (docs / f"{kind}.png").write_bytes(files[f"{kind}.png"])
        (docs / f"{kind}.csv").write_bytes(files[f"{kind}.csv"])
    assert (docs / f"{kind}.png").is_file()
    assert f"docs/{kind}.png" in README.read_text(encoding="utf-8")
    assert (docs / f"{kind}.csv").read_bytes() == files[f"{kind}.csv"], "docs/ is out of date: run --update-golden"


# Families whose figures are all in the project, few enough to be compared again by every run of the tests.
DRAWN = ("flash_attention_2", "flash_attention_3", "memory_bound", "launch", "gemm_published", "llama_decode_kernels")


def test_the_picture_of_measurements_shows_what_the_model_predicts(pytestconfig: pytest.Config) -> None:
    from experiments.picture import drawn_validation
    from experiments.validate import Question, validate

    files = drawn_validation(validate(Question(families=DRAWN, jobs=1)))
    docs = ROOT / "docs"
    if pytestconfig.getoption("--update-golden"):
        (docs / "predicted_measured.png").write_bytes(files["predicted_measured.png"])
        (docs / "predicted_measured.csv").write_bytes(files["predicted_measured.csv"])
    assert (docs / "predicted_measured.png").is_file()
    shown = (docs / "predicted_measured.csv").read_bytes()
    assert shown == files["predicted_measured.csv"], "docs/ is out of date: run --update-golden"


def test_the_readme_names_what_the_wheel_installs_and_every_library() -> None:
    text = README.read_text(encoding="utf-8")
    for name in ("patterns", "gpu_model", "rdu_model", "experiments"):
        assert f"`{name}`" in text
    for library in (
        "networkx",
        "numpy",
        "matplotlib",
        "PyYAML",
        "pydantic",
        "click",
        "rich",
        "pytest",
        "hypothesis",
        "SimPy",
    ):
        assert library in text
