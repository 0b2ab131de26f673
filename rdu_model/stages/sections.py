"""sections: what each call holds and takes, what crosses from one to the next off the chip, and why each ends there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from patterns.plural import number_of
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Rows, Shown
from rdu_model.language.vocabulary import size_text
from rdu_model.machine import usable_pcus
from rdu_model.memory import transfers

RANK = 4
PLACED = False


@dataclass(frozen=True)
class Crossing:
    """A tensor that one section makes and another loads, in one call of each. what: its name where it is read."""

    tensor: str
    maker: str
    reader: str
    what: str
    written_bytes: int
    read_bytes: int


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The sections, what crosses between them, and what stopped them."""
    return tuple(_shown(compilation, chosen))


def _shown(compilation: Compilation, chosen: tuple[Compiled, ...]) -> Iterator[Shown]:
    calls = sum(_calls(compiled) for compiled in compilation.sections)
    machine = compilation.sections[0].section.machine
    yield (
        f"{number_of(len(compilation.sections), 'section')}, {number_of(calls, 'call')} in all; a section has at most "
        f"{usable_pcus(machine):,} PCUs and {machine.pmus:,} PMUs"
    )
    headings = ("section", "nodes", "calls", "executions\nin a call", "PCUs", "PMUs", "PMUs\nmissing")
    yield Rows(headings, tuple(_row(compiled) for compiled in chosen))
    names = {compiled.section.name for compiled in chosen}
    found = [one for one in crossings(compilation) if names & {one.maker, one.reader}]
    if found:
        yield "What crosses from a section to another, through off-chip memory, in one call of each:"
        rows = (
            (one.tensor, one.maker, one.reader, one.what, *map(size_text, (one.written_bytes, one.read_bytes)))
            for one in found
        )
        yield Rows(("tensor", "made in", "read in", "as", "written", "read"), tuple(rows))
    yield "Why each ends where it does:\n" + "\n".join(f"  {c.section.name}  {why(c)}" for c in chosen)
    for refusal in compilation.refusals:
        if any(set(refusal.nodes) & set(compiled.section.flow.metapipe.nodes) for compiled in chosen):
            yield f"{refusal.nodes[0]} ... {refusal.nodes[-1]}: {refusal.reason}"


def _calls(compiled: Compiled) -> int:
    return compiled.block.count // compiled.section.flow.metapipe.iterations


def _row(compiled: Compiled) -> tuple[str, int, int, int, int, int, int | None]:
    section = compiled.section
    metapipe = section.flow.metapipe
    nodes, calls = len(metapipe.nodes), _calls(compiled)
    return section.name, nodes, calls, metapipe.iterations, section.pcus, section.pmus, section.lacking_pmus or None


def why(compiled: Compiled) -> str:
    """What stopped a section, for people."""
    if compiled.stopped is not None:
        return compiled.stopped.text
    block, held = compiled.block, compiled.section.flow.metapipe.nodes
    if len(held) == len(block.nodes):
        return f"holds the whole of block {block.name!r}"
    last = f"ends with block {block.name!r}; " if block.nodes[-1].name in held else ""
    return f"{last}{compiled.reason}"


def crossings(compilation: Compilation) -> Iterator[Crossing]:
    """Every tensor that a section makes and a section loads, in the order in which they are loaded."""
    makers = {
        asked.node.writes: number
        for number, compiled in enumerate(compilation.sections)
        for asked in compiled.section.flow.asked.values()
    }
    moved: dict[tuple[int, str, bool], int] = {}
    for stream in transfers(compilation.sections):
        key = stream.section, stream.tensor, stream.written
        moved[key] = moved.get(key, 0) + stream.num_bytes // stream.calls
    for (number, tensor, written), read_bytes in moved.items():
        reader = compilation.sections[number]
        for made, what in _made_as(reader, tensor) if not written else ():
            if made in makers:
                maker = makers[made]
                name, written_bytes = compilation.sections[maker].section.name, moved.get((maker, made, True), 0)
                yield Crossing(made, name, reader.section.name, what, written_bytes, read_bytes)


def _made_as(compiled: Compiled, tensor: str) -> Iterator[tuple[str, str]]:
    """Under which names a loaded tensor is made: its own, and as the result that an execution hands to the next."""
    own = {asked.node.writes for asked in compiled.section.flow.asked.values()}
    if tensor not in own:
        yield tensor, ""
    if compiled.section.flow.metapipe.iterations < compiled.block.count:
        for inside, result in compiled.block.carried:
            if inside == tensor:
                yield result, f"{inside}, next execution"
