"""The shape of the project: who may import whom, how long things may be, and which names are not used."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("patterns", "gpu_model", "rdu_model", "experiments")
TOP_LEVEL = {"pyproject.toml", "README.md", "LICENSE", ".ci", ".gitignore", "docs", "tests", *PACKAGES}

# What the files of a package may import of the four packages; the longest prefix that fits a file decides.
MAY_IMPORT = {
    "patterns": ("patterns",),
    "patterns/pipeline": ("patterns.pipeline", "patterns.units", "patterns.errors"),
    "gpu_model": ("patterns", "gpu_model"),
    "rdu_model": ("patterns", "rdu_model"),
    "experiments": PACKAGES,
}
LIBRARIES = {
    "networkx",
    "numpy",
    "matplotlib",
    "yaml",
    "pydantic",
    "pydantic_core",
    "click",
    "rich",
    "ml_dtypes",
    "pygraphviz",
    "onnx",
    "google",  # protocol buffers, which come with onnx
    "joblib",
    "jinja2",
    "markupsafe",  # which comes with jinja2
    "pandas",
    "xarray",
    "pyarrow",
    "distributed",
    "dask",
    "IPython",
}
FILE_LINES = 300
FUNCTION_LINES = 40
# Files of a folder whose files do not register themselves: what is more wants rooms.
FOLDER_FILES = 40
REGISTRIES = {"experiments/studies", "experiments/families"}
FORBIDDEN_STEMS = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core"}
FORBIDDEN_CLASS_ENDINGS = ("Manager", "Handler", "Helper", "Utils")
MUTABLE_MAKERS = {"list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict", "bytearray"}
MUTATING_METHODS = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "clear"}

Breach = tuple[int, str]
Rule = Callable[[str, ast.Module], Iterator[Breach]]


def sources(*folders: str) -> list[Path]:
    """Python files of the folders, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def breaches(rules: Mapping[Rule, tuple[str, ...]]) -> list[str]:
    """What rules find in their folders, as 'file:line: what'. Every file is parsed once."""
    found = []
    for path in sources(*{folder: None for folders in rules.values() for folder in folders}):
        name = path.relative_to(ROOT).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        held = [rule for rule, folders in rules.items() if name.split("/")[0] in folders]
        found += [f"{name}:{line}: {what}" for rule in held for line, what in rule(name, tree)]
    return found


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every module that a file names in an import, or in a text that looks like a module of ours."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield node.lineno, module
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names if module in PACKAGES)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            root, _, rest = node.value.partition(".")
            if root in PACKAGES and rest and rest.replace(".", "").isidentifier():
                yield node.lineno, node.value


def within(module: str, allowed: tuple[str, ...]) -> bool:
    """Whether a module is one of the allowed, or lies in one."""
    return any(module == name or module.startswith(name + ".") for name in allowed)


def import_direction(file: str, tree: ast.Module) -> Iterator[Breach]:
    """Imports against the direction, relative imports, and libraries that are not declared."""
    folder = max((folder for folder in MAY_IMPORT if file.startswith(folder + "/")), key=len)
    for line, module in imported(tree):
        root = module.split(".")[0]
        if module.startswith("."):
            yield line, f"relative import {module}"
        elif root in PACKAGES and not within(module, MAY_IMPORT[folder]) and not only_a_package(module, folder):
            yield line, f"{folder} may not import {module}"
        elif root not in PACKAGES and root not in LIBRARIES and root not in sys.stdlib_module_names:
            yield line, f"{module} is not a declared dependency"


def only_a_package(module: str, folder: str) -> bool:
    """`from patterns import units` names `patterns` too: what it takes from it is checked under its own name."""
    return module in PACKAGES and any(name.startswith(module + ".") for name in MAY_IMPORT[folder])


def function_length(file: str, tree: ast.Module) -> Iterator[Breach]:
    """Functions that are too long."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno is not None:
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines, {FUNCTION_LINES} are allowed"


def class_names(file: str, tree: ast.Module) -> Iterator[Breach]:
    """Classes whose names say nothing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name.endswith(FORBIDDEN_CLASS_ENDINGS):
            yield node.lineno, f"class {node.name}: name it after what it is"


def module_state(file: str, tree: ast.Module) -> Iterator[Breach]:
    """`global`, and module-level lists, dicts and sets that code changes."""
    mutable = {name for statement in tree.body for name in names_of_mutables(statement)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield node.lineno, f"global {', '.join(node.names)}"
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, (ast.Store, ast.Del)):
            if isinstance(node.value, ast.Name) and node.value.id in mutable:
                yield node.lineno, f"{node.value.id} is changed"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            holder = node.func.value
            if node.func.attr in MUTATING_METHODS and isinstance(holder, ast.Name) and holder.id in mutable:
                yield node.lineno, f"{holder.id} is changed"


def names_of_mutables(statement: ast.stmt) -> list[str]:
    """Names that a module-level statement binds to a list, dict or set."""
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return []
    displays = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    value = statement.value
    maker = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in MUTABLE_MAKERS
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [t.id for t in targets if isinstance(t, ast.Name) and (maker or isinstance(value, displays))]


def type_ladders(file: str, tree: ast.Module) -> Iterator[Breach]:
    """if/elif chains that test a type three times or more: a dict from type to function says it once."""
    for node in ast.walk(tree):
        tests = 0
        branch: ast.stmt | None = node if isinstance(node, ast.If) else None
        while isinstance(branch, ast.If):
            tests += any(getattr(getattr(n, "func", None), "id", "") == "isinstance" for n in ast.walk(branch.test))
            branch = branch.orelse[0] if len(branch.orelse) == 1 else None
        if tests >= 3:
            yield node.lineno, f"{tests} type tests in a row"


def kinds_by_name(file: str, tree: ast.Module) -> Iterator[Breach]:
    """Comparisons of a node's kind: a machine asks for traits."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            if any(isinstance(side, ast.Attribute) and side.attr == "kind" for side in sides):
                yield node.lineno, "compares a kind's name"


@pytest.mark.parametrize("package", PACKAGES)
def test_there_are_four_typed_packages(package: str) -> None:
    assert (ROOT / package / "__init__.py").is_file()
    assert (ROOT / package / "py.typed").is_file()


def test_the_top_level_holds_what_the_design_says() -> None:
    lines = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    ignored = [".git", *(line.rstrip("/") for line in lines if line)]
    entries = {entry.name for entry in ROOT.iterdir() if not any(fnmatch(entry.name, p) for p in ignored)}
    assert entries <= TOP_LEVEL, f"not allowed at the top level: {sorted(entries - TOP_LEVEL)}"


# The folders that a rule is of: a machine never asks for the name of a kind, functions are short in tests, too.
RULES: Mapping[Rule, tuple[str, ...]] = {
    **dict.fromkeys((import_direction, class_names, module_state, type_ladders), PACKAGES),
    kinds_by_name: ("gpu_model", "rdu_model"),
    function_length: (*PACKAGES, "tests"),
}


def test_the_rules_hold_in_every_file() -> None:
    assert breaches(RULES) == []


def test_files_are_short_and_named_after_what_they_hold() -> None:
    files = sources(*PACKAGES, "tests")
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    assert [f"{path}: {n} lines" for path, n in lengths.items() if n > FILE_LINES] == []
    stems = {part.removesuffix(".py") for path in files for part in path.relative_to(ROOT).parts}
    assert stems & FORBIDDEN_STEMS == set()


def test_no_folder_is_overfull() -> None:
    folders = Counter(path.parent.relative_to(ROOT).as_posix() for path in sources(*PACKAGES))
    assert {name: n for name, n in folders.items() if n > FOLDER_FILES and name not in REGISTRIES} == {}


@pytest.mark.parametrize(
    ("rule", "file", "text"),
    [
        (import_direction, "patterns/x.py", "from gpu_model import fit"),
        (import_direction, "patterns/x.py", "import experiments.cli"),
        (import_direction, "gpu_model/x.py", "def f():\n    from rdu_model.price import y"),
        (import_direction, "rdu_model/x.py", "load('gpu_model.machines')"),
        (import_direction, "patterns/pipeline/x.py", "from patterns.graph import Graph"),
        (import_direction, "patterns/pipeline/x.py", "from patterns import graph"),
        (import_direction, "patterns/x.py", "from . import graph"),
        (import_direction, "patterns/x.py", "import simpy"),
        (class_names, "patterns/x.py", "class PlanManager: ..."),
        (module_state, "patterns/x.py", "SEEN = {}\ndef f():\n    SEEN[1] = 2"),
        (module_state, "patterns/x.py", "seen: list[int] = []\ndef f():\n    seen.append(1)"),
        (module_state, "patterns/x.py", "n = 0\ndef f():\n    global n\n    n += 1"),
        (
            type_ladders,
            "patterns/x.py",
            "if isinstance(a, B): ...\nelif isinstance(a, C): ...\nelif isinstance(a, D): ...",
        ),
        (kinds_by_name, "gpu_model/x.py", "y = node.kind == 'mm'"),
        (function_length, "patterns/x.py", "def f():\n" + "    x = 1\n" * 40),
    ],
)
def test_a_rule_finds_its_breach(rule: Rule, file: str, text: str) -> None:
    assert list(rule(file, ast.parse(text)))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("patterns/pipeline/x.py", "from patterns import units"),
        ("patterns/pipeline/x.py", "from patterns.errors import UserError"),
        ("experiments/x.py", "import gpu_model, rdu_model"),
        ("patterns/x.py", "import json\nimport numpy as np"),
    ],
)
def test_an_allowed_import_is_allowed(file: str, text: str) -> None:
    assert list(import_direction(file, ast.parse(text))) == []
