"""How the documentation is built: sphinx-build -W docs build/docs."""

from __future__ import annotations

import re
from importlib.metadata import version as version_of
from typing import Any

project = "patternloom"
author = "the patternloom authors"
project_copyright = author
release = version_of("patternloom")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
html_title = f"patternloom {release}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_copyright = False
exclude_patterns = ["README.md"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
# Sessions show `>>>`, commands show `$`.
highlight_language = "text"
pygments_style = "friendly"
pygments_dark_style = "monokai"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
maximum_signature_line_length = 80
autodoc_member_order = "bysource"
add_module_names = False


def fill(app: Any, page: str, source: list[str]) -> None:
    """Put tables that are made from the code in the place of `{{ table NAME }}` in a page."""
    from experiments.documented.tables import filled

    source[0] = filled(source[0])


def plain(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are plain words with names in backticks: nothing else in them is markup."""
    found: list[str] = []
    for line in lines:
        if line.startswith(" ") and found and not found[-1].startswith(" "):
            found += ["", "::", ""] if found[-1] else ["::", ""]
        indented = line.startswith(" ")
        if not indented and line and found and found[-1].startswith(" "):
            found.append("")
        found.append(line if indented else _escaped(line))
    lines[:] = found


def plain_help(app: Any, context: Any, lines: list[str]) -> None:
    """Help texts of commands are plain words, too."""
    lines[:] = [line if line.startswith((".. ", "   :")) else re.sub("(?<!`)`(?!`)", "``", line) for line in lines]


def _escaped(line: str) -> str:
    """A line with names in backticks as code, and nothing else as markup."""
    parts = line.split("`")
    if len(parts) % 2 == 0:
        return re.sub(r"([*|_`\\])", r"\\\1", line)
    return "".join(
        f"``{part}``" if place % 2 else re.sub(r"([*|_\\])", r"\\\1", part) for place, part in enumerate(parts)
    )


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", plain)
    app.connect("sphinx-click-process-description", plain_help)
    app.connect("sphinx-click-process-options", plain_help)
