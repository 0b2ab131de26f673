"""Templates, styles and scripts of this folder, made one file that needs nothing but itself."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from zlib import compress

from experiments.charting.columns import CAPITALS
from experiments.column_units import SYMBOLS

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

PAGE = "experiments.page"
NUMBER_AND_UNIT = re.compile(rf"(?<=\d) (?=(?:{'|'.join(SYMBOLS.values())})(?!\w))")
# Of zlib: the smallest data.
MOST = 9


@cache
def text_of(name: str) -> str:
    """A file of this folder."""
    return files(PAGE).joinpath(name).read_text(encoding="utf-8")


def rendered(template: str, scripts: tuple[str, ...] = (), **values: Any) -> str:
    """A page: what the template says, with its style and its scripts inside. Values are escaped unless Markup.

    The page's own policy lets it run no other script and load nothing.
    """
    script = "\n".join(text_of(name) for name in scripts)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    found = environment().get_template(template)
    return found.render(style=markup(text_of("page.css")), script=markup(script), script_digest=digest, **values)


def page_bytes(page: str) -> bytes:
    """A page as a file. Other people's names may hold what steers a terminal, and what is no letter in any encoding."""
    from experiments.text.page import STEERING

    return page.translate(STEERING).encode(errors="replace")


@cache
def environment() -> Environment:
    """Where templates are found: every value is escaped, and a name that is missing is a bug."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(text_of),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(unbroken=unbroken, title=title)
    return made


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and its unit."""
    return NUMBER_AND_UNIT.sub("\N{NO-BREAK SPACE}", text)


def title(name: str) -> str:
    """A study's or a picture's name for people: 'can the GPU close the gap'."""
    return " ".join(CAPITALS.get(word, word) for word in name.split("_")).replace("off chip", "off-chip")


def markup(text: str) -> Markup:
    """A text that is HTML already."""
    from markupsafe import Markup

    return Markup(text)


def data_markup(data: Any) -> Markup:
    """Data for a script element that unpacked.js reads: JSON, deflated, in base64. Packed it is a fifth or less."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return markup(b64encode(compress(text.encode(), MOST)).decode())
