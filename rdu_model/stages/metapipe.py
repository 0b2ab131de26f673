"""metapipe: the pipeline of each section in the words of the language, with its buffers, their PMUs and why so many."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

from patterns.plural import number_of
from rdu_model.buffers import Buffer, carry_pmus, paces, pmus_for
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Lines, Shown, title
from rdu_model.language.vocabulary import in_columns, size_text, statements, steps_text
from rdu_model.pipe import Carry, Leaf, Load, Pipe, Reorder, Stage, Store
from rdu_model.section import Section

RANK = 3
PLACED = False

LEGEND = """\
  LOAD_TILE   a stream from off-chip memory into PMUs, row_par rows at a time; # of a step
  BUFFER      tiles in PMUs; # slots x size, PMUs, and how many of them capacity, reads and writes need
  BUFFER(fn)  the same buffer, read in another order: it takes no unit and no time
  others      a stage on units of its own; # PCUs and cycles for a tile"""


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The program of each section."""
    shown: list[Shown] = []
    for compiled in chosen:
        shown += [title(compiled), program(compiled.section)]
    return (*shown, LEGEND)


def program(section: Section) -> Lines:
    """The statements of a section, each with what it takes."""
    return in_columns(
        (statement.depth, statement.text, _note(statement.about, section)) for statement in statements(section)
    )


def _note(about: Leaf | Buffer | Carry | Pipe | None, section: Section) -> str:
    return "" if about is None else note(about, section)


@singledispatch
def note(about: Leaf | Buffer | Carry | Pipe, section: Section) -> str:
    """What a statement takes."""
    raise TypeError(about)


@note.register
def _(about: Pipe, section: Section) -> str:
    return steps_text(section, about)


@note.register
def _(about: Load, section: Section) -> str:
    return size_text(section.flow.load_bytes(about.name, section.flow.sizes_at(about.name)))


@note.register
def _(about: Stage, section: Section) -> str:
    on, unit_class = section.groups[about.name], section.flow.asked[about.name].unit_class
    if unit_class == "network":
        return "links between sockets"
    return f"{number_of(on.pcus, 'PCU')}, {number_of(on.cycles, 'cycle')}" if on.pcus else "only moves bytes"


@note.register
def _(about: Reorder, section: Section) -> str:
    return "changed access pattern"


@note.register
def _(about: Store, section: Section) -> str:
    moved = section.flow.asked[about.source].touched(section.flow.sizes_at(about.name))[1]
    return size_text(moved)


@note.register
def _(about: Buffer, section: Section) -> str:
    held = f"{about.slots} x {size_text(about.slot_bytes)} in {number_of(about.pmus, 'PMU')}"
    ahead = ", reads ahead" if about.slots > about.link.depth else ""
    return f"{held} ({why_pmus(section, about)}){ahead}"


@note.register
def _(about: Carry, section: Section) -> str:
    whole = section.flow.asked[about.source].touched(section.flow.metapipe.graph.sizes)[1]
    pmus = number_of(carry_pmus(section.flow, about, section.machine), "PMU")
    stored = "; the last is stored" if about.stored else ""
    return f"{about.slots} x {size_text(whole)} in {pmus} for {', '.join(about.readers)}{stored}"


def asked_pmus(section: Section, buffer: Buffer) -> Mapping[str, int]:
    """PMUs that capacity, reads and writes of a buffer ask for, each for itself."""
    read, written = paces(section.flow, buffer.link, section.groups, section.machine)
    machine = section.machine
    return {
        "capacity": pmus_for(buffer.slots * buffer.slot_bytes, 0, 0, machine),
        "read": pmus_for(0, read, 0, machine),
        "write": pmus_for(0, 0, written, machine),
    }


def why_pmus(section: Section, buffer: Buffer) -> str:
    """What asks for how many PMUs of a buffer, the most first; what asks for one is not named beside others."""
    asked = sorted(asked_pmus(section, buffer).items(), key=lambda pair: -pair[1])
    most = asked[0][1]
    told = [f"{name} {number:,}" for name, number in asked if number > 1] if most > 1 else ["capacity"]
    return ("asked for: " if buffer.pmus < most else "") + ", ".join(told)
