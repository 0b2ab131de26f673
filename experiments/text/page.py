"""A page on stdout: texts and tables, with rich at a terminal and as plain text elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

import click

from experiments.text.table import Table, split, table_text

PIPED_WIDTH = 100


@dataclass(frozen=True)
class Verbatim:
    """A text whose lines are kept as they are."""

    text: str


@dataclass(frozen=True)
class Code:
    """A text whose lines are wrapped only where they do not fit, and then further in than they begin."""

    text: str


Part = str | Table | Verbatim | Code
FURTHER_IN = 8
# What would steer a terminal: names of other people's files may hold it.
STEERING = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")


def show_page(parts: Iterable[Part]) -> None:
    """Print the parts, an empty line between them; empty texts are left out."""
    width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    shown = [part for part in parts if part]
    if sys.stdout and sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        show_rich(shown, width)
    else:
        click.echo(page_text(shown, width))


def page_text(parts: Iterable[Part], width: int) -> str:
    """The parts as plain text, each line of a text wrapped to `width`."""
    return "\n\n".join(part_text(part, width) for part in parts)


def part_text(part: Part, width: int) -> str:
    """One part as plain text."""
    if isinstance(part, Table):
        return table_text(part, width)
    if isinstance(part, Code):
        return "\n".join(code_line(line, width) for line in part.text.split("\n"))
    return part.text if isinstance(part, Verbatim) else wrapped(part, width)


def code_line(line: str, width: int) -> str:
    """One line of code; what does not fit stands below it, the sign of a comment with its first word."""
    if len(line) <= width:
        return line
    indent = " " * min(len(line) - len(line.lstrip()) + FURTHER_IN, width // 2)
    kept = line.replace("# ", "#\0")
    broken = textwrap.wrap(kept, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)
    return "\n".join(broken).replace("#\0", "# ")


def wrapped(text: str, width: int) -> str:
    """Every line of a text wrapped on its own."""
    return "\n".join(wrapped_line(line, width) for line in text.split("\n"))


def wrapped_line(line: str, width: int) -> str:
    """One line wrapped; what continues an indented line stands below it, below the words of a '  name  words'."""
    entry = re.match(r" {2,}(?:\S+ )*?\S+ {2,}| *", line)
    indent = " " * min(entry.end(), width // 2) if entry else ""
    return "\n".join(textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)) or line


def show_rich(parts: Iterable[Part], width: int) -> None:
    """The same parts drawn by rich, in colour unless NO_COLOR says otherwise."""
    from rich.console import Console
    from rich.text import Text

    console = Console(width=width, highlight=False)
    for part in parts:
        if isinstance(part, Table):
            for number, piece in enumerate(split(part, width)):
                console.print(*([""] if number else []), rich_table(piece), sep="\n")
        else:
            console.print(Text(part_text(part, width).translate(STEERING)), soft_wrap=True)
        console.print()


def rich_table(table: Table) -> object:
    """A table for rich, as wide as the plain grid; rows whose first cell begins with a star stand out."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    lines_only = box.Box("    \n    \n ── \n    \n ── \n ── \n    \n    \n")
    drawn = RichTable(box=lines_only, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)
    for column in table.columns:
        drawn.add_column(
            Text(column.heading), justify="right" if column.right else "left", vertical="bottom", no_wrap=True
        )
    for number, row in enumerate(table.rows):
        drawn.add_row(
            *(Text(cell.translate(STEERING)) for cell in row),  # never markup: names may have brackets
            style="bold" if row[0].startswith("*") else None,
            end_section=number + 1 in table.rules,
        )
    return drawn
