"""One row of a sweep: what a point came to, or why it came to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from traceback import extract_tb
from typing import TYPE_CHECKING

from experiments.export import LEVELS
from experiments.point import off_chip_bytes
from experiments.sweep.engine import BUGS, simulate_point
from experiments.sweep.nearest import nearest_change
from patterns.errors import DoesNotFit, UserError
from patterns.graph_file.compose import ASKED

if TYPE_CHECKING:
    from experiments.point import Point
    from patterns.brief import Brief
    from patterns.report import Report

OK, INFEASIBLE, FAILED = "ok", "infeasible", "failed"
# What a table has of each point that ran, in order; units are in the names.
METRICS = (
    "calls",
    "calls_per_layer",
    "time_us",
    "bound_us",
    "off_chip_bytes",
    *(f"{level}_bytes" for level in LEVELS),
    "energy_j",
    "energy_low_j",
    "energy_high_j",
)

Number = int | float | None


@dataclass(frozen=True)
class Row:
    """status: 'ok', 'infeasible' (a machine has too little of something) or 'failed'. metrics: in the order of METRICS.

    mode: as it was run. bound: the resource that limits the bound. message: why a point is not ok. resource, needed,
    available, nearest: what an infeasible point lacks, and the nearest change that would make it feasible. more: what
    else was asked for, seconds by name.
    """

    status: str
    mode: str = ""
    bound: str = ""
    metrics: tuple[Number, ...] = (None,) * len(METRICS)
    message: str = ""
    resource: str = ""
    needed: int | None = None
    available: int | None = None
    nearest: str = ""
    more: tuple[tuple[str, float], ...] = ()


def row_of(point: Point, extras: tuple[str, ...], content: str = "") -> Row:
    """Run a point whose workload's files have this digest. Nothing that is wrong with it raises: the row tells it."""
    try:
        found = simulate_point(point, extras, content)
    except DoesNotFit as misfit:
        nearest = nearest_change(point, misfit, content)
        return Row(
            INFEASIBLE,
            message=str(misfit),
            resource=misfit.resource,
            needed=misfit.needed,
            available=misfit.available,
            nearest=nearest,
        )
    except UserError as error:
        return Row(FAILED, message=str(error).replace(ASKED, ""))
    except BUGS as error:
        return Row(FAILED, message=f"bug: {type(error).__name__}: {error} ({_where(error)})")
    return Row(OK, found.mode, found.bound, metrics_of(found), more=_more(found, extras))


def metrics_of(found: Brief | Report) -> tuple[Number, ...]:
    """The numbers of a run, in the order of METRICS."""
    by_level = dict(found.bytes)
    energy = found.energy
    return (
        found.calls,
        found.calls_per_layer,
        found.time_ps / 1e6,
        found.bound_ps / 1e6,
        off_chip_bytes(found),
        *(by_level.get(level, 0) for level in LEVELS),
        *((energy.typical_j, energy.low_j, energy.high_j) if energy else (None, None, None)),
    )


def _more(found: Brief | Report, extras: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Parts that were asked for, in seconds."""
    parts = [(extra, name, ps) for extra in extras for name, ps in getattr(found, f"{extra}_ps")]
    return tuple((f"{extra}_{name}_s", ps / 1e12) for extra, name, ps in parts)


def _where(error: BaseException) -> str:
    """The line that raised, without its folder: rows are the same wherever they are made."""
    frame = extract_tb(error.__traceback__)[-1]
    return f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
