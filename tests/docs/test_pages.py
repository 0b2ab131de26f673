"""Pages of the documentation: what they tell readers to type gives what they show, and what they name is there."""

from __future__ import annotations

import re
import runpy
import shlex
import tomllib
from pathlib import Path

import pytest

from patterns.plugin import load_module

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("*.md"))
pages = runpy.run_path(str(Path(__file__).with_name("pages.py")), run_name="pages")
# Followed by tests of their own.
ELSEWHERE = ("first-graph", "compile-flow", "metapipes", "extend", "quickstart", "profile")
FOLLOWED = [
    page.stem
    for page in PAGES
    if page.stem not in ELSEWHERE
    and re.search(r"^```(console|python)$", page.read_text(encoding="utf-8"), re.MULTILINE)
]


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_page_shows_what_its_commands_print(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    page = DOCS / f"{name}.md"
    (tmp_path / "patterns").symlink_to(ROOT / "patterns")  # as in a clone's folder
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    found, text = pages["followed"](page), page.read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        text = pages["refreshed"](text, found)
        page.write_text(text, encoding="utf-8")
    assert found == dict(pages["CONSOLE"].findall(text)), "the page is out of date: run this test with --update-golden"
    assert pages["failed_sessions"](page) == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_command_of_a_page_is_left_out(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    commands = [command for command, _ in pages["CONSOLE"].findall(text)]
    assert len(re.findall(r"^\$ ", text, re.MULTILINE)) == text.count("```console\n") == len(commands)
    used = " ".join((*commands, *pages["SHELL"].findall(text)))
    own = [name for name, _ in pages["files"](text) if name.split("/")[0] not in pages["PACKAGES"]]
    assert [name for name in own if name not in used] == []


def lines_of_shell() -> list[str]:
    """Every line that pages and the README tell readers to type in a shell, beside those whose output they show."""
    texts = [page.read_text(encoding="utf-8") for page in (*PAGES, ROOT / "README.md")]
    return [line for text in texts for block in pages["SHELL"].findall(text) for line in block.splitlines()]


@pytest.mark.parametrize("line", lines_of_shell())
def test_a_line_for_the_shell_is_one_that_works(line: str) -> None:
    """Its command knows the options, its extras are declared, its folders are there; it is not run."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for part in line.split(" && "):
        program, *arguments = shlex.split(part)
        what = Path(program).name
        assert what in ("python3", "python", "pip", "patternloom", "sphinx-build", "nsys")
        if what == "pip":
            named = re.findall(r"\[([\w,]+)\]", part)
            assert {extra for group in named for extra in group.split(",")} <= set(extras)
        elif what == "sphinx-build":
            assert (ROOT / arguments[1] / "conf.py").is_file()
        elif what == "patternloom" and arguments[0] != "--version":
            command = load_module("experiments.commands", arguments[0], "command").command
            assert command.make_context(arguments[0], arguments[1:])


def test_pages_link_to_what_is_there() -> None:
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    ]
    assert [f"{page.name}: {target}" for page, target in links if not (DOCS / target).exists()] == []
    assert len(links) > 20


def test_every_example_that_comes_along_is_read() -> None:
    from experiments.sweep.examples import example_names, sweep_file
    from experiments.sweep.read import read_sweep

    assert all(read_sweep(sweep_file(name)).columns for name in example_names())
