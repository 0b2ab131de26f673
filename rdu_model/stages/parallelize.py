"""parallelize: the units of each stage of each section, its cycles, which of them limits, and what padding costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from patterns.pipeline.bounds import limiting_unit, work_by_unit
from patterns.pipeline.program import Program
from patterns.pipeline.script import Op, Run, Start
from patterns.pipeline.uses import flat_ops
from rdu_model.compilation import Compilation, Compiled
from rdu_model.compile_stage import Rows, Shown, title
from rdu_model.emit import emit
from rdu_model.machine import usable_pcus
from rdu_model.price import issued_flops, spread
from rdu_model.section import Section

RANK = 2
PLACED = False

CLASSES = {"matrix": "systolic", "vector": "SIMD", "network": "links", "memory": "none"}
LEGEND = """\
  units       systolic or SIMD: PCUs as that; links: to other sockets; none: it only moves bytes, by PMUs
  blocks      of the systolic array (grouped x rows x columns) or of SIMD lanes in a full tile; PCUs share them out
  cycles      of a full tile on the PCU with the most blocks; in all: with ports, ways and the start of every tile
  of slowest  the stage's cycles as a part of those of the stage that has most
  padding     FLOPs that the arrays are busy with for each FLOP that is needed"""


def show(compilation: Compilation, chosen: tuple[Compiled, ...]) -> tuple[Shown, ...]:
    """The stages of each section on their units."""
    shown: list[Shown] = []
    for compiled in chosen:
        shown += [title(compiled), *_stages(compiled.section)]
    return (*shown, LEGEND)


def _stages(section: Section) -> Iterator[Shown]:
    program = emit(section)
    scripts = {role.name: role.script for role in program.roles}
    in_all = {name: _held_cycles(scripts[name]) for name in section.groups}
    slowest = max(in_all.values(), default=0)
    if in_all:
        headings = ("stage", "units", "blocks", "PCUs", "blocks\na PCU", "cycles", "tiles", "cycles\nin all")
        rows = tuple(_row(section, name, in_all[name], slowest) for name in in_all)
        yield Rows((*headings, "of\nslowest", "padding"), rows)
    machine = section.machine
    yield (
        f"{_limit(program, in_all)} {section.pcus:,} of {usable_pcus(machine):,} usable PCUs are used; the socket has "
        f"{machine.pcus:,}."
    )


def _limit(program: Program, in_all: Mapping[str, int]) -> str:
    """What sets the pace: the unit with most cycles, beside the slowest stage where that is another."""
    unit, work = limiting_unit(program), dict(work_by_unit(program))
    stage = max(in_all, key=lambda name: in_all[name], default="")
    if unit.unit_class != "memory" or not stage:
        return f"{stage or unit.name} limits: {in_all.get(stage, work[unit.name]):,} cycles."
    return (
        f"{unit.name.upper()} limits: its streams take {work[unit.name]:,} cycles, the slowest stage, {stage}, "
        f"{in_all[stage]:,}."
    )


def _held_cycles(script: tuple[Op, ...]) -> int:
    """Cycles for which a role holds units."""
    return sum(op.cycles * times for op, times in flat_ops(script) if isinstance(op, Run | Start))


def _row(section: Section, name: str, in_all: int, slowest: int) -> tuple[str | int | float | None, ...]:
    flow, on = section.flow, section.groups[name]
    each = prod(spread(on.work.blocks, on.pcus)) if on.pcus else None
    asked = flow.asked[name]
    return (
        name,
        CLASSES[asked.unit_class],
        " x ".join(f"{axis:,}" for axis in on.work.blocks) if on.pcus else "",
        on.pcus or None,
        each,
        on.cycles or None,
        flow.tiles_of(name),
        in_all,
        in_all / slowest if slowest else None,
        _padding(section, name),
    )


def _padding(section: Section, name: str) -> str:
    """Issued by needed FLOPs of a full tile, '' for what has no systolic array."""
    flow, on = section.flow, section.groups[name]
    issued = issued_flops(flow.asked[name], on.work, section.machine)
    needed = flow.asked[name].demand(flow.sizes_at(name)).matrix_flops
    return f"{issued / needed:.2f}x" if issued and needed else ""
