"""Why a kernel has its schedule, in words: what it and the others that were tried are predicted to take."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_model.asked import Asked, Chosen
from gpu_model.schedule import told_of


def schedule_reason(asked: Asked, chosen: Chosen, candidates: Iterable[Chosen]) -> str:
    """The best of each schedule with its predicted cycles, fastest first; then those of which no candidate fits.

    '' where there was nothing to choose from, or where the schedule was named; but a schedule may tell of itself.
    """
    itself = told_of(chosen.schedule, chosen.work, chosen.choice, chosen.machine)
    best: dict[str, Chosen] = {}
    for candidate in sorted(candidates, key=lambda c: (c.misfit is not None, c.predicted_cycles)):
        best.setdefault(candidate.schedule, candidate)
    if asked.schedule == chosen.schedule or len(best) < 2:
        return itself
    others = [other for name, other in best.items() if name != chosen.schedule]
    fast = sorted((o for o in others if o.misfit is None), key=lambda o: o.predicted_cycles)
    listed = ", ".join(f"{o.schedule} {o.predicted_cycles:,}" for o in fast)
    close = fast and fast[0].predicted_cycles < chosen.predicted_cycles
    rule = ", which is close to the fastest and keeps more SMs or slots at work" if close else ""
    told = [f"predicted to take {chosen.predicted_cycles:,} cycles{rule}" + (f", where {listed}" if listed else "")]
    told += [f"{o.schedule} does not fit" for o in others if o.misfit is not None]
    return "; ".join([*told, itself] if itself else told)
