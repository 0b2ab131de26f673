"""The folder is the registry: a file in it has the file's name, and nothing else registers it."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import ModuleType

from patterns.errors import UnknownName


def modules(package: str) -> tuple[str, ...]:
    """Names of the modules in a package's folder, sorted; those that start with '_' are not offered."""
    return _stems(package, ".py")


@cache
def load_module(package: str, name: str, what: str) -> ModuleType:
    """The module `name` of a package. Raises UnknownName, which calls it a `what`.

    Asked of every node of a graph, so it is remembered; a module that another thread imports is waited for.
    """
    known = modules(package)
    if name not in known:
        raise UnknownName(what, name, known)
    return import_module(f"{package}.{name}")


def data_files(package: str, suffix: str) -> tuple[str, ...]:
    """Names, without suffix, of the data files of a package, sorted."""
    return _stems(package, suffix)


def data_file(package: str, name: str, suffix: str, what: str) -> Traversable:
    """The data file `name` + `suffix` of a package. Raises UnknownName, which calls it a `what`."""
    known = data_files(package, suffix)
    if name not in known:
        raise UnknownName(what, name, known)
    return files(package).joinpath(name + suffix)


@cache
def _stems(package: str, suffix: str) -> tuple[str, ...]:
    """Asked for every kernel and every machine: a folder is looked into once."""
    names = (entry.name for entry in files(package).iterdir())
    return tuple(sorted(n[: -len(suffix)] for n in names if n.endswith(suffix) and not n.startswith("_")))
