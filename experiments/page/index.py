"""The page that lists studies that were run, with what each asks and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.page.provenance import made_with
from experiments.page.render import rendered

FILE = "index.html"


@dataclass(frozen=True)
class Listed:
    """A study, its question and its finding; its page is in a folder of its name."""

    name: str
    question: str
    finding: str


def index_page(studies: Sequence[Listed]) -> bytes:
    """The page, whole."""
    return rendered("index.html", ("page.js",), studies=studies, made_with=made_with()[1]).encode()
