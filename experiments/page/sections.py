"""Sections of a page: a heading, and below it texts, tables, bars and pictures as they stand in a list."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.page.bars import Account
from experiments.page.parts import part_markup
from experiments.page.render import environment, markup
from experiments.page.study import slim
from experiments.text.page import Part

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str


@dataclass(frozen=True)
class Warned:
    """A text that must not be overlooked."""

    text: str


@dataclass(frozen=True)
class Folded:
    """What is seen when its summary is opened."""

    summary: str
    body: Markup


@dataclass(frozen=True)
class Drawn:
    """A picture and its title."""

    title: str
    svg: bytes

    @property
    def source(self) -> str:
        """The picture as an address that holds it."""
        return f"data:image/svg+xml;base64,{b64encode(slim(self.svg)).decode()}"


Piece = Part | Account | Heading | Warned | Folded | Drawn
# Which macro of pieces.html makes it.
MACROS = {Account: "account", Heading: "heading", Warned: "warned", Folded: "folded", Drawn: "drawn"}


@dataclass(frozen=True)
class Section:
    """A part of a page, and where links to it lead."""

    anchor: str
    title: str
    body: Markup


def section(anchor: str, title: str, pieces: Iterable[Piece]) -> Section:
    """A section of these pieces."""
    return Section(anchor, title, body_of(pieces))


def body_of(pieces: Iterable[Piece]) -> Markup:
    """Pieces one after another; empty texts are left out."""
    return markup("\n".join(_piece_markup(piece) for piece in pieces if piece))


def _piece_markup(piece: Piece) -> str:
    macro = MACROS.get(type(piece))
    if macro is None:
        return part_markup(piece)  # type: ignore[arg-type]
    return str(getattr(environment().get_template("pieces.html").module, macro)(piece))
