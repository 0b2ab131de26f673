"""Where a page's numbers come from: this version, the machine files, and what was asked. No date: the same question
gives the same bytes.
"""

from __future__ import annotations

from dataclasses import fields
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from experiments.sides import MODELS

if TYPE_CHECKING:
    from experiments.request import Request
    from experiments.sides import Family

DIGITS = 16

Fact = tuple[str, str]


def provenance(request: Request) -> list[Fact]:
    """What a comparison was made with: (what, value)."""
    return [
        made_with(),
        machine_fact("gpu", request.gpu),
        machine_fact("rdu", request.rdu),
        *((f"asked: {field.name}", asked(getattr(request, field.name))) for field in fields(request)),
    ]


def made_with() -> Fact:
    """The name and the version of this program."""
    return ("made with", f"patternloom {version('patternloom')}")


def machine_fact(family: Family, name: str) -> Fact:
    """A machine's file and a digest of its content."""
    return (f"{family.upper()} file", f"{MODELS[family]}/machines/{name}.yaml, sha256 {machine_digest(family, name)}")


def machine_digest(family: Family, name: str) -> str:
    """The first digits of the SHA-256 of a machine's file."""
    content = files(f"{MODELS[family]}.machines").joinpath(f"{name}.yaml").read_bytes()
    return sha256(content).hexdigest()[:DIGITS]


def asked(value: object) -> str:
    """What was asked, as text; what was left open says so."""
    if value is None:
        return "the graph's own"
    if isinstance(value, tuple):
        pairs = ("=".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
        return ", ".join(pairs) or "none, so all there are or the model's own"
    return str(value)
