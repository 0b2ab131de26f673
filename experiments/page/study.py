"""The page of a study: its question, what was found, pictures, table, configuration, and what it was made with."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from experiments.about import below_the_first
from experiments.page.parts import parts_markup
from experiments.page.provenance import DIGITS, Fact, machine_fact, made_with
from experiments.page.render import rendered
from experiments.sides import Family, machine_names

if TYPE_CHECKING:
    from experiments.text.page import Part

# An element's name and attributes, and in them a number with more digits than a picture needs.
ELEMENT = re.compile(rb"<[^>]*>")
MORE_DIGITS = re.compile(rb"(\d\.\d\d)\d+")
STUDIES = "experiments.studies"
CONFIGURATION = "configuration.json"
# Of a study of one comparison.
REPORT = "report.html"
# Below what names a configuration tells of machines, and of which families.
MACHINE_KEYS: Mapping[str, tuple[Family, ...]] = {"machine": ("gpu", "rdu"), "gpu": ("gpu",), "rdu": ("rdu",)}


@dataclass(frozen=True)
class Shown:
    """A picture inside the page, and the files beside it that hold the same."""

    name: str
    source: str
    beside: tuple[str, ...]


def study_page(
    name: str, question: str, found: tuple[str, str], parts: Sequence[Part], files: Mapping[str, bytes]
) -> bytes:
    """The page, whole. found: its sentence, and details or ''. parts: the tables below the finding.

    files: of the study, its pictures among them by name.
    """
    configuration = files[CONFIGURATION].decode()
    page = rendered(
        "study.html",
        ("page.js",),
        name=name,
        question=question,
        finding=found[0],
        details=found[1],
        about=below_the_first(f"{STUDIES}.{name}"),
        pictures=list(pictures(files)),
        parts=parts_markup(parts),
        files=sorted(files),
        report=REPORT,
        configuration=configuration,
        provenance=[made_with(), sources(name), *machines_in(json.loads(configuration))],
    )
    return page.encode()


def sources(name: str) -> Fact:
    """A digest of the study and of all that its numbers follow from."""
    from experiments.study_folder import study_version

    return ("study and models", f"sha256 {study_version(name)[:DIGITS]}")


def pictures(files: Mapping[str, bytes]) -> Iterator[Shown]:
    """Every picture that there is as SVG, in its full width: so, or as PNG where that is smaller."""
    for file, content in files.items():
        stem, _, suffix = file.rpartition(".")
        if suffix == "svg" and not stem.endswith("_one_column"):
            kinds = {"svg+xml": slim(content), "png": files.get(f"{stem}.png", b"")}
            kind, held = min(((kind, held) for kind, held in kinds.items() if held), key=lambda one: len(one[1]))
            source = f"data:image/{kind};base64,{b64encode(held).decode()}"
            beside = (f"{stem}.{other}" for other in ("csv", "png", "pdf", "svg"))
            yield Shown(stem, source, tuple(one for one in beside if one in files))


def slim(svg: bytes) -> bytes:
    """The same picture with places in hundredths of a point, which no eye tells from millionths; its words stay."""
    return ELEMENT.sub(lambda element: MORE_DIGITS.sub(rb"\1", element[0]), svg)


def machines_in(configuration: Any) -> list[Fact]:
    """The machine files that a configuration names, each once, in order of their names."""
    named = sorted(set(machines_named(configuration)))
    return [machine_fact(family, machine) for family, machine in named]


def machines_named(data: Any) -> Iterator[tuple[Family, str]]:
    """(family, machine) for every machine in JSON data."""
    if isinstance(data, list):
        for value in data:
            yield from machines_named(value)
    elif isinstance(data, dict):
        for key, value in data.items():
            families = MACHINE_KEYS.get(key, ()) if isinstance(value, str) else ()
            yield from ((family, value) for family in families if value in machine_names(family))
            yield from machines_named(value)
