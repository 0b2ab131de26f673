"""The stages of the compile flow: what each made of a graph, as text and tables. They are files in stages/.

tiling -> parallelize -> metapipe -> sections -> memory -> place -> route -> listing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

from patterns.errors import UnknownName
from patterns.plugin import load_module, modules
from patterns.plural import number_of
from rdu_model.compilation import Compilation, Compiled

PACKAGE = "rdu_model.stages"
# What stands in the place of cells and routes of a section that was compiled with an estimate of them.
NOT_PLACED = "Its units have no cells: it was compiled with placement by estimate."

# Whole numbers as they are, floats as shares of one, None for what there is none of.
Cell = str | int | float | None


@dataclass(frozen=True)
class Lines:
    """A text whose lines mean something: a program, or a map, whose lines are not broken where they are too long."""

    lines: tuple[str, ...]
    is_map: bool = False


@dataclass(frozen=True)
class Rows:
    """A table. Headings have units in their names; the first `keys` columns name a row."""

    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    keys: int = 1


# A plain text is wrapped where it is printed.
Shown = str | Lines | Rows


class CompileStage(Protocol):
    """The names that a file in stages/ has. RANK: its place in the flow. PLACED: it shows sections that are placed."""

    RANK: int
    PLACED: bool

    def show(self, compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
        """What the stage made of the chosen sections of a compilation, in their order."""


def stage_names() -> tuple[str, ...]:
    """Every stage there is, in the order of the flow."""
    return tuple(sorted(modules(PACKAGE), key=lambda name: stage_named(name).RANK))


def stage_named(name: str) -> CompileStage:
    """The stage `name`. Raises UnknownName."""
    return cast(CompileStage, load_module(PACKAGE, name, "compile stage"))


def title(compiled: Compiled) -> str:
    """A section in a line: its call, its nodes, how often it runs, what it takes of the fabric."""
    section, block = compiled.section, compiled.block
    inside = section.flow.metapipe.iterations
    times = block.count // inside
    often = f", {number_of(inside, 'execution')} of the block in a call" if inside > 1 else ""
    often += f", {number_of(times, 'call')}" if times > 1 else ""
    held = number_of(len(section.flow.metapipe.nodes), "node")
    return f"{section.name}: {held}{often}; {number_of(section.pcus, 'PCU')}, {number_of(section.pmus, 'PMU')}"


def show_stage(name: str, compilation: Compilation, call: str = "") -> tuple[Shown, ...]:
    """What a stage made of a compilation, or of the section that is the call of that name. Raises UnknownName."""
    stage = stage_named(name)
    names = [compiled.section.name for compiled in compilation.sections]
    if call and call not in names:
        raise UnknownName("call", call, names)
    chosen = (one for one in compilation.sections if call in ("", one.section.name))
    return stage.show(compilation, tuple(chosen))
