"""One run: a workload on one machine in one mode. What studies and sweeps are made of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from experiments.request import Request
from patterns.errors import DoesNotFit

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.brief import Brief
    from patterns.report import Report


@dataclass(frozen=True)
class Point:
    """A workload on `members` of a machine. mode: a GPU's fusion policy or an RDU's mode ('': the model's choice).

    None and '' are the workload's or the model's own choice. settings: (name, value) texts, see settings.py; what a
    machine of the other family would be asked is ignored.
    """

    workload: str
    machine: str
    mode: str = ""
    phase: str = "decode"
    batch: int | None = None
    context: int | None = None
    members: int = 1
    launch: str = "stream"
    schedule: str = "auto"
    options: tuple[tuple[str, str], ...] = ()
    orchestration: str = "hardware"
    placement: str = "estimate"
    collectives: str = "overlapped"
    seed: int = 0
    settings: tuple[tuple[str, str], ...] = ()


def run_point(point: Point) -> Outcome:
    """Lower, simulate and summarize one point. Raises UserErrors: UnknownName, DoesNotFit, SpecError ..."""
    from experiments.compare import read_graph, run_side
    from experiments.settings import settle
    from experiments.sides import side_on

    request = _request(point)
    side = side_on(request, ("gpu", "rdu"), point.machine, point.mode, point.members)
    settings = settle(request, (side,))
    (outcome,) = run_side(read_graph(request, point.members, settings), side, settings)
    return outcome


def run_if_it_fits(point: Point) -> Outcome | None:
    """One point as `run_point` has it; None where its machine has too little of something. Raises other UserErrors."""
    try:
        return run_point(point)
    except DoesNotFit:
        return None


def _request(point: Point) -> Request:
    """The point as the request that compare.py reads; machine, mode and members come with the side."""
    shared: dict[str, Any] = {
        field.name: getattr(point, field.name) for field in fields(Request) if hasattr(point, field.name)
    }
    return Request(**shared)


def point_record(point: Point, outcome: Outcome) -> dict[str, Any]:
    """What a table shows of a run: calls, times in us, the bound beside them, off-chip bytes, joules if known.

    energy_j is the typical value, the other two are the ends that its sources leave open.
    """
    report = outcome.report
    energy = report.energy
    return {
        "machine": point.machine,
        "mode": report.mode,
        "members": report.members,
        "calls": report.calls,
        "time_us": report.time_ps / 1e6,
        "bound_us": report.bound_ps / 1e6,
        "bound": report.bound,
        "off_chip_bytes": off_chip_bytes(report),
        "energy_j": energy.typical_j if energy else None,
        "energy_low_j": energy.low_j if energy else None,
        "energy_high_j": energy.high_j if energy else None,
    }


def off_chip_bytes(found: Report | Brief) -> int:
    """Bytes to and from HBM and DDR, over all members."""
    by_level = dict(found.bytes)
    return by_level.get("hbm", 0) + by_level.get("ddr", 0)
