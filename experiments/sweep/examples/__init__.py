"""Sweeps to start from: a YAML file each, known by its name."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from patterns.plugin import data_files


def example_names() -> tuple[str, ...]:
    """The examples that there are."""
    return data_files(__name__, ".yaml")


def sweep_file(name_or_path: str) -> Path | Traversable:
    """The file of a sweep: an example's, by its name, else the path itself."""
    if name_or_path in example_names() and not Path(name_or_path).exists():
        return files(__name__).joinpath(f"{name_or_path}.yaml")
    return Path(name_or_path)
