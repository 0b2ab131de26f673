"""Several CTAs of a kernel on one SM at once: thread-level parallelism, which hides one CTA's waiting behind another's
work.

Each CTA is the schedule's own Program for its share of the SM's tiles; together they share the SM's units. Its warps
are spread over the sub-partitions, so a CTA with a warp for each of them issues from all schedulers at once: the lanes
of `issue` become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpu_model.fit import resident
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARP
from gpu_model.renamed import Names, renamed
from gpu_model.roles import computing_cycles
from gpu_model.schedule import Schedule, is_resident
from gpu_model.work import Choice, Wave, Work
from patterns.errors import DoesNotFit
from patterns.pipeline.hashed import changed
from patterns.pipeline.program import Program, Unit
from patterns.plural import number_of

# Unit classes of which every role has a lane of its own.
OWN_LANES = ("launch", "sync")


def by_cta(work: Work, ctas: int) -> tuple[Work, ...]:
    """The work of each CTA: tiles dealt out in turn; CTAs without any are left out."""
    dealt = (replace(work, waves=_dealt(work, cta, ctas)) for cta in range(ctas))
    return tuple(share for share in dealt if share.waves)


def _dealt(work: Work, cta: int, ctas: int) -> tuple[Wave, ...]:
    """Of the tiles in the order of waves, every `ctas`-th from number `cta` on."""
    waves, before = [], 0
    for wave in work.waves:
        tiles = len(range((cta - before) % ctas, wave.tiles, ctas))
        before += wave.tiles
        if tiles:
            waves.append(changed(wave, tiles=tiles))
    return tuple(waves)


def with_ctas(
    what: str,
    fixed: int | None,
    work: Work,
    schedule: Schedule,
    choice: Choice,
    why: DoesNotFit | None,
    machine: Machine,
) -> tuple[Choice, DoesNotFit | None]:
    """The choice with as many CTAs as the hardware puts on an SM, or as were fixed; and why it does not fit, if so.

    As many as fit, at most one for each tile, where CTAs end with their tiles (RESIDENT); one of a persistent kernel.
    """
    if why or (fixed is None and (work.tiles == 1 or not is_resident(schedule))):
        return (changed(choice, ctas=fixed) if fixed else choice), why
    try:
        held = resident(schedule.demand(work, choice, machine), machine)
    except DoesNotFit as misfit:
        return choice, misfit
    if fixed and fixed > held.ctas_per_sm:
        most, limit = held.ctas_per_sm, f"limited by {held.limit}"
        why = DoesNotFit(what, "CTAs on an SM", fixed, most, limit, would_do=f"{number_of(most, 'CTA')} would do")
    return changed(choice, ctas=min(fixed or held.ctas_per_sm, work.tiles)), why


def predicted(schedule: Schedule, work: Work, choice: Choice, machine: Machine) -> int:
    """Cycles in closed form: the longest CTA as if it were alone, or what all ask of the unit that is asked most."""
    if choice.ctas == 1:
        return schedule.predict(work, choice, machine)
    # The first CTA has most tiles.
    alone = schedule.predict(changed(work, waves=_dealt(work, 0, choice.ctas)), choice, machine)
    step = changed(work, steps=1, waves=(changed(work.waves[0], tiles=1),))
    rest = schedule.predict(step, choice, machine)
    held, of_step = held_cycles(work), held_cycles(step)
    # The busiest unit is not at work before its first use and after its last: the rest of a step and of a tile's end.
    return max(alone, *(cycles + rest - of_step[unit] for unit, cycles in held.items()))


def least_of_ctas(work: Work, machine: Machine) -> int:
    """What `predicted` gives at least for warps that all load and compute, however many CTAs are beside each other.

    The busiest unit works for all tiles; the rest of a tile's first step and of its end is beside nothing.
    """
    first = work.waves[0]
    rest = first.load.cycles + work.latency_cycles + computing_cycles(work.step, machine) + work.end_cycles(first)
    of_step = held_cycles(changed(work, steps=1, waves=(changed(first, tiles=1, steps=0),)))
    longest = max(cycles + rest - of_step[unit] for unit, cycles in held_cycles(work).items() if unit in of_step)
    return machine.kernel_ramp_cycles + longest + machine.kernel_drain_cycles


def held_cycles(work: Work) -> dict[str, int]:
    """Cycles that all tiles hold each unit."""
    held: dict[str, int] = {}
    for wave in work.waves:
        uses = [(use, wave.tiles * work.steps_of(wave)) for use in (*work.step, wave.load)]
        uses += [(use, wave.tiles) for use in (*work.finish, wave.store)]
        for use, times in uses:
            held[use.unit] = held.get(use.unit, 0) + use.cycles * times
    return held


def program(schedule: Schedule, work: Work, choice: Choice, machine: Machine) -> Program:
    """The Program of an SM: the schedule's own, or those of several CTAs that share its units."""
    if choice.ctas == 1:
        return schedule.program(work, choice, machine)
    parts = [schedule.program(part, choice, machine) for part in by_cta(work, choice.ctas)]
    warps = -(-schedule.demand(work, choice, machine).threads // WARP)
    return together(work.name, parts, max(1, machine.sub_partitions // warps))


def together(name: str, parts: Sequence[Program], issue_lanes: int) -> Program:
    """Programs side by side on the same units; channels, barriers and roles get the number of their part."""
    numbered = [_numbered(part, number) for number, part in enumerate(parts)]
    return Program(
        name,
        _units(parts, issue_lanes),
        tuple(channel for part in numbered for channel in part.channels),
        tuple(role for part in numbered for role in part.roles),
        tuple(barrier for part in numbered for barrier in part.barriers),
    )


def _units(parts: Sequence[Program], issue_lanes: int) -> tuple[Unit, ...]:
    """The units of all parts, those of each once."""
    found: dict[str, Unit] = {}
    for part in parts:
        for unit in part.units:
            before = found.get(unit.name)
            if unit.unit_class == "issue":
                found[unit.name] = replace(unit, lanes=issue_lanes)
            elif before and unit.unit_class in OWN_LANES:
                found[unit.name] = replace(unit, lanes=before.lanes + unit.lanes)
            else:
                found[unit.name] = before or unit
    return tuple(found.values())


def _numbered(part: Program, number: int) -> Program:
    def own(name: str) -> str:
        return f"{name}.{number}"

    names = Names(channel=own, barrier=own)
    return replace(
        part,
        channels=tuple(replace(channel, name=own(channel.name)) for channel in part.channels),
        barriers=tuple(replace(barrier, name=own(barrier.name)) for barrier in part.barriers),
        roles=tuple(replace(role, name=own(role.name), script=renamed(role.script, names)) for role in part.roles),
    )
