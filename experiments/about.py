"""What a file says about itself: its docstring, or of the comment at its top."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files

# A line of a docstring that begins so much further in than the one above continues its words.
GOES_ON = 8


def about_module(module: str) -> str:
    """The first sentence of a module's docstring, '' without one."""
    return first_sentence(import_module(module).__doc__ or "")


def below_the_first(module: str) -> list[str]:
    """A module's docstring without its first paragraph: lines of a paragraph as one, indented ones as they are, with
    what goes on below the words of one.
    """
    lines: list[str] = []
    joins = False
    for line in (import_module(module).__doc__ or "").partition("\n\n")[2].rstrip().splitlines():
        is_text = bool(line) and not line.startswith(" ")
        if line and ((is_text and joins) or (lines and _indent(line) > _indent(lines[-1]) + GOES_ON)):
            lines[-1] += f" {line.strip()}"
        elif line:
            lines.append(line)
        joins = is_text
    return lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def docstring(module: str) -> str:
    """The whole docstring of a module, on one line."""
    return " ".join((import_module(module).__doc__ or "").split())


def about_data(package: str, file: str) -> str:
    """The first sentence of the comment at the top of a data file, '' without one."""
    lines = files(package).joinpath(file).read_text(encoding="utf-8").splitlines()
    comment = []
    for line in lines:
        if not line.startswith("# "):
            break
        comment.append(line.removeprefix("# "))
    return first_sentence("\n".join(comment))


def about_config(package: str, file: str) -> str:
    """What a model's config.json is of."""
    config = json.loads(files(package).joinpath(file).read_text(encoding="utf-8"))
    return f"config.json of a {', '.join(config.get('architectures', ['model']))}"


def first_sentence(text: str) -> str:
    """The first sentence of the first paragraph, on one line, with its full stop."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + stop.strip()
