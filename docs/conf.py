"""How the documentation is built: sphinx-build -W docs build/docs."""

from __future__ import annotations

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
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
add_module_names = False


def fill(app: Any, page: str, source: list[str]) -> None:
    """Put tables that are made from the code in the place of `{{ table NAME }}` in a page."""
    from experiments.documented.tables import filled

    source[0] = filled(source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", fill)
