"""What makes two runs the same: the resolved point, the files of its workload, and the model that runs it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable

from experiments.point import Point
from experiments.sides import MODELS, RDU_CHOICES, Family, families_of
from patterns.errors import UserError
from patterns.graph_file.contents import workload_digest

MISSING = "missing"
# What a row depends on besides the models: how a point is run, and what is told of it.
_OWN = ("compare.py", "point.py", "request.py", "settings.py", "sides.py", "sweep")
_SUFFIXES = (".py", ".yaml", ".json")
_GPU_CHOICES = ("launch", "schedule", "options")


@dataclass(frozen=True)
class Task:
    """A point to run: the key of its row, and the digest of its workload's files ('' of a workload of ours)."""

    key: str
    point: Point
    content: str


@lru_cache
def model_version() -> str:
    """A digest of the release, and of every source and data file that a result follows from."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        release = version("patternloom")
    except PackageNotFoundError:
        release = "unknown"
    digest = sha256(release.encode())
    for package in ("patterns", *MODELS.values()):
        _add(digest.update, files(package))
    for name in _OWN:
        _add(digest.update, files("experiments").joinpath(name))
    return digest.hexdigest()


def _add(update: object, place: Traversable) -> None:
    """Add a file, or all files of a folder in the order of their names."""
    assert callable(update)
    if place.is_file():
        if place.name.endswith(_SUFFIXES):
            update(f"{place.name}\0".encode() + sha256(place.read_bytes()).digest())
        return
    for entry in sorted(place.iterdir(), key=lambda entry: entry.name):
        _add(update, entry)


def resolved(point: Point) -> Point:
    """The point without what its machine is not asked: two points that are run alike are equal."""
    family = family_of(point.machine)
    if family is None:
        return point
    other = _GPU_CHOICES if family == "rdu" else RDU_CHOICES
    defaults = Point(point.workload, point.machine)
    settings = tuple(pair for pair in point.settings if pair[0].partition(".")[0] in ("graph", family))
    return replace(point, **{name: getattr(defaults, name) for name in other}, settings=settings)


@lru_cache
def family_of(machine: str) -> Family | None:
    """The family that has a machine; None where none has, or both."""
    found = families_of(machine)
    return found[0] if len(found) == 1 else None


def tasks_of(points: Sequence[Point], extras: Iterable[str]) -> list[Task]:
    """Each point with the key of its results. What a workload's files say is in it, or that they are not there."""
    told = json.dumps(sorted(extras))
    digests = {name: _digest(name) for name in {point.workload for point in points}}
    return [Task(_key(resolved(p), digests[p.workload], told), p, digests[p.workload]) for p in points]


def _digest(workload: str) -> str:
    try:
        return workload_digest(workload)
    except UserError:
        return MISSING


def _key(point: Point, digest: str, told: str) -> str:
    text = json.dumps(vars(point), sort_keys=True, separators=(",", ":"))
    return sha256("\0".join((model_version(), digest, told, text)).encode()).hexdigest()
