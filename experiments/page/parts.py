"""The parts of a text page (see experiments/text/page.py) as HTML: the same words and the same cells of tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from experiments.page.render import environment, markup
from experiments.text.page import Code, Part, Verbatim
from experiments.text.table import Table

if TYPE_CHECKING:
    from markupsafe import Markup

# '  name  words': an entry of a legend.
ENTRY = re.compile(r" {2,}(\S+(?: \S+)*) {2,}(\S.*)")
TEMPLATE = "parts.html"


def parts_markup(parts: Iterable[Part]) -> Markup:
    """Parts one after another; empty texts are left out."""
    return markup("\n".join(part_markup(part) for part in parts if part))


def part_markup(part: Part, caption: str = "") -> str:
    """One part. caption: of a table, for those who hear it."""
    macros = environment().get_template(TEMPLATE).module
    if isinstance(part, Table):
        return str(macros.table(part, caption))  # type: ignore[attr-defined]
    if isinstance(part, (Verbatim, Code)):
        return str(macros.verbatim(part.text))  # type: ignore[attr-defined]
    return str(macros.text(list(pieces(part))))  # type: ignore[attr-defined]


def pieces(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """A text in pieces: ('words', []) for a line, ('', entries) for lines of a legend below each other."""
    entries: list[tuple[str, str]] = []
    for line in text.split("\n"):
        found = ENTRY.fullmatch(line)
        if found:
            entries.append((found[1], found[2]))
            continue
        if entries:
            yield "", entries
            entries = []
        if line.strip():
            yield line.strip(), []
    if entries:
        yield "", entries
