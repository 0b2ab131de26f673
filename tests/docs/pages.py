"""Pages of the documentation as a reader follows them: files are written, commands are typed, sessions are run.

As a script, in a process of its own: `pages.py PAGE FOLDER` follows a page in a folder and prints what each command
printed, as JSON. The packages are those that Python finds.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

CONSOLE = re.compile(r"^```console\n\$ (patternloom [^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"^```(?:yaml|python|json|text)\n# (\S+\.\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```python\n(>>> .*?)^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = re.compile(r" \| head -n (\d+)$")
QUIET = " 2>/dev/null"
# Exit statuses of a command that has a result: 3 where some points of a sweep are not ok.
RAN = (0, 3)
PACKAGES = ("patterns", "gpu_model", "rdu_model", "experiments")


def files(text: str) -> Iterator[tuple[str, str]]:
    """(name, content) of the files that a page shows: blocks whose first line is their name."""
    yield from FILE.findall(text)


def printed(command: str) -> str:
    """What a command prints, cut as its `| head -n N` says, and without stderr where it says so."""
    from click.testing import CliRunner

    from experiments.cli import cli

    head = HEAD.search(command)
    plain = HEAD.sub("", command)
    arguments = shlex.split(plain.removesuffix(QUIET))[1:]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=True)
    ran = result.exit_code in RAN and (plain.endswith(QUIET) or head)
    output = result.stdout if ran else result.output
    lines = output.splitlines(keepends=True)
    return "".join(lines[: int(head[1])] if head else lines)


def followed(page: Path) -> dict[str, str]:
    """What every command of a page prints, in the folder that one is in, with the files of the page."""
    os.environ["COLUMNS"] = "100"
    text = page.read_text(encoding="utf-8")
    for name, content in files(text):
        if name.split("/")[0] not in PACKAGES:
            Path(name).write_text(content, encoding="utf-8")
    return {command: printed(command) for command, _ in CONSOLE.findall(text)}


def refreshed(text: str, found: dict[str, str]) -> str:
    """The page with what its commands print."""
    return CONSOLE.sub(lambda m: f"```console\n$ {m[1]}\n{found[m[1]]}```", text)


def failed_sessions(page: Path) -> int:
    """How many lines of a page's sessions in Python give something else than it shows."""
    text = "\n".join(SESSION.findall(page.read_text(encoding="utf-8")))
    session = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    return doctest.DocTestRunner().run(session).failed


if __name__ == "__main__":
    os.chdir(sys.argv[2])
    print(json.dumps(followed(Path(sys.argv[1]))))
