"""Sweeps to start from: a YAML file each, known by its name."""

from __future__ import annotations

from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.errors import UnknownName
from patterns.plugin import data_files


def example_names() -> tuple[str, ...]:
    """The examples that there are."""
    return data_files(__name__, ".yaml")


def sweep_file(name_or_path: str) -> Path | Traversable:
    """The file of a sweep: an example's, by its name, else the path itself. Raises UnknownName for what is neither."""
    path = Path(name_or_path)
    with suppress(OSError):  # reading it tells of that
        if path.name == name_or_path and not path.suffix and not path.exists():
            return files(__name__).joinpath(f"{need_example(name_or_path)}.yaml")
    return path


def need_example(name: str) -> str:
    """The name of an example. Raises UnknownName."""
    if name not in example_names():
        raise UnknownName("sweep", name, example_names())
    return name
