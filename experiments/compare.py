"""Run one workload on both machines, in every mode that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from experiments.settings import Settings, settle
from experiments.sides import HEADLINE, Side, load_machine, lower, sides
from patterns.library import workload
from patterns.run import run_plan
from patterns.summarize import summarize

if TYPE_CHECKING:
    import pandas
    import xarray

    from experiments.request import Request
    from experiments.validation.plan_bands import PartBand
    from patterns.graph import Graph
    from patterns.report import Execution, Report


@dataclass(frozen=True)
class Outcome:
    """One machine in one mode: what was run, what is read off it, and the error bands of its parts (none: ())."""

    execution: Execution
    report: Report
    bands: tuple[PartBand, ...] = ()

    @property
    def headline(self) -> bool:
        """Whether this is one of the pair that the comparison is about."""
        return (self.report.family, self.report.mode) in HEADLINE.items()


@dataclass(frozen=True)
class Comparison:
    """A workload on a GPU and on an RDU. `graph`: as one GPU has it."""

    request: Request
    graph: Graph = field(repr=False)
    outcomes: tuple[Outcome, ...] = field(repr=False)

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports, in order."""
        return tuple(outcome.report for outcome in self.outcomes)

    def to_records(self) -> list[dict[str, object]]:
        """A record a machine and mode, as `compare --csv` prints them; units are in the names."""
        from experiments.export import report_rows

        return report_rows(self.outcomes)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row a machine and mode. Raises UserError without the extra `analysis`."""
        from experiments.frames import to_dataframe

        return to_dataframe(self.to_records())

    def to_xarray(self) -> xarray.Dataset:
        """Arrays over machine and mode. Raises UserError without the extra `analysis`."""
        from experiments.frames import to_xarray

        return to_xarray(self.to_records(), ("machine", "mode"))

    def _repr_html_(self) -> str:
        from experiments.notebook.displays import comparison_html

        return comparison_html(self)


def compare(request: Request, graph: Graph | None = None) -> Comparison:
    """Lower, simulate and summarize every mode of both sides. Raises UserErrors.

    graph: the workload's, of one of the members that both sides have (None: read by its name).
    """
    both = sides(request)
    settings = settle(request, both, graph)
    shares = {side.members for side in both}
    graphs = {members: graph or read_graph(request, members, settings) for members in shares}
    outcomes = [outcome for side in both for outcome in run_side(graphs[side.members], side, settings)]
    return Comparison(request, graphs[both[0].members], tuple(outcomes))


def run_side(graph: Graph, side: Side, settings: Settings) -> list[Outcome]:
    """Every mode of one side, from the most calls to the fewest."""
    from experiments.validation.plan_bands import plan_bands

    done = executions(graph, side, settings)
    known = bands_hold(side, settings)
    outcomes = [Outcome(execution, summarize(execution), plan_bands(execution) if known else ()) for execution in done]
    return sorted(outcomes, key=lambda outcome: -outcome.report.calls)


def bands_hold(side: Side, settings: Settings) -> bool:
    """Whether a side's times are of what measurements were compared with: an RDU as its file has it, as sections are
    compiled for a study. On a GPU changed parameters leave the parts that a time is made of.
    """
    asked = dict(side.keywords)
    as_fitted = asked.get("placement") == "estimate" and asked.get("collectives") == "overlapped"
    return side.family == "gpu" or (as_fitted and not settings.of_machine("rdu"))


def executions(graph: Graph, side: Side, settings: Settings) -> list[Execution]:
    """One side's runs, in the order of its modes. The graph is that of one of its members."""
    machine = load_machine(side.family, side.machine, settings.of_machine(side.family))
    return [run_plan(lower(side, graph, machine, mode)) for mode in side.modes]


def read_graph(request: Request, members: int, settings: Settings) -> Graph:
    """The workload's graph for one of `members`. Raises UserErrors."""
    return workload(
        request.workload,
        phase=request.phase,
        batch=request.batch,
        context=request.context,
        members=members,
        overrides=settings.of_graph(),
    )
