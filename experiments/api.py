"""patternloom's verbs for scripts and notebooks: load, lower, simulate, summarize, compare, plot ...

    from experiments.api import compare, load, lower, plot, report, simulate, summarize, sweep

    graph = load("llama-3.1-8b", context=8192)
    report = summarize(simulate(lower(graph, "h100_sxm", "library")))
    print(report.calls, report.time_s, report.bound_s)
    comparison = compare("llama-3.1-8b", gpus=2, sockets=2)
    plot(comparison, "fusion").save("plots")
    report(comparison).save("report.html")
    frame = sweep("decode_by_context").to_dataframe()

Each verb returns a new frozen value and changes none. What a user got wrong raises a UserError with the same message as
at the command line. In a notebook the values show themselves as tables and pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.notebook.displays import tell_ipython
from patterns.errors import UserError
from patterns.run import run_plan
from patterns.summarize import summarize

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.notebook.plotted import Plotted
    from experiments.notebook.recorded import Recorded
    from experiments.notebook.reported import Reported
    from experiments.notebook.swept import Swept
    from experiments.study import Result
    from patterns.graph import Graph
    from patterns.library import Phase
    from patterns.plan import Plan
    from patterns.report import Execution

__all__ = [
    "UserError",
    "compare",
    "load",
    "lower",
    "names",
    "plot",
    "profile",
    "report",
    "run",
    "simulate",
    "summarize",
    "sweep",
]
# Fields of a Request that are pairs, and mappings here.
PAIRED = frozenset(("settings", "options"))


def load(
    workload: str | Path,
    *,
    phase: Phase = "decode",
    batch: int | None = None,
    context: int | None = None,
    members: int = 1,
    extents: Mapping[str, int | str] | None = None,
) -> Graph:
    """The graph of a workload, as one of `members` has it: a name of the library, a YAML file, or an imported one.

    batch, context: sequences, and tokens in the cache after the run (None: the graph's own). extents: others, by name.
    Raises UnknownName, SpecError and other UserErrors.
    """
    from patterns.library import workload as read

    return read(str(workload), phase, batch, context, members, extents)


def lower(
    graph: Graph,
    machine: str,
    mode: str = "",
    *,
    members: int = 1,
    parameters: Mapping[str, str] | None = None,
    **choices: Any,
) -> Plan:
    """How a machine runs the graph: its calls, in order. mode: a GPU's policy or an RDU's mode ('': its default).

    parameters: of the machine, replaced, as texts with units ({"hbm_bytes_per_s": "4.8 TB/s"}).
    choices: what else the machine's model is asked: of a GPU schedule, launch and options; of an RDU orchestration,
    placement, collectives and seed. Raises UnknownName, DoesNotFit and other UserErrors.
    """
    from experiments.request import Request
    from experiments.sides import load_machine, side_on
    from experiments.sides import lower as lowered

    request = Request(graph.name, **(choices | {"options": _pairs(choices.get("options", {}))}))
    side = side_on(request, ("gpu", "rdu"), machine, mode, members)
    return lowered(side, graph, load_machine(side.family, machine, parameters or {}), mode)


def simulate(plan: Plan) -> Execution:
    """The plan, run: when everything happened. Raises Deadlock."""
    return run_plan(plan)


def compare(workload: str | Path, **request: Any) -> Comparison:
    """One workload on a GPU and on an RDU in every mode; `request`: fields of experiments.request.Request by name.

    settings and options are mappings: {"context": 8192, "gpu.hbm_bytes_per_s": "4.8 TB/s"}. Raises UserErrors.
    """
    from experiments.compare import compare as compared
    from experiments.request import Request

    request |= {name: _pairs(request.get(name, {})) for name in PAIRED}
    return compared(Request(str(workload), **request))


def plot(comparison: Comparison, kind: str) -> Plotted:
    """A picture of a comparison, of a kind that `patternloom list plots` tells of. Raises UnknownName."""
    from experiments.notebook.plotted import plotted

    return plotted(comparison, kind)


def report(comparison: Comparison) -> Reported:
    """A comparison as one page of HTML that needs no network: tables, both time lines, graph, bounds and sources."""
    from experiments.notebook.reported import Reported
    from experiments.page.report import report_page
    from experiments.text.comparison import title

    return Reported(title(comparison).replace("\n", ": "), report_page(comparison))


def sweep(
    source: str | Path | Mapping[str, Any],
    store: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    retry: bool = False,
) -> Swept:
    """Every point of a sweep, run: a file, an example's name, or a mapping of what a file would say.

    store: an SQLite file, in which rows are kept: those that it has are not run again (with `retry`: those that are
    ok). settings: one value of a field for all points. jobs: worker processes (None: the cores, where there is enough
    to do). scheduler: of a Dask cluster, "tcp://HOST:PORT". A point that does not fit or fails is a row that says why.
    Raises SpecError and other UserErrors for what is wrong with the sweep, its store or its cluster.
    """
    from experiments.notebook.swept import sweep_of
    from experiments.sweep.workers import Workers

    if jobs is not None and (jobs < 1 or scheduler is not None):
        raise UserError("jobs: at least 1, and not with a scheduler, whose cluster has its own")
    return sweep_of(source, _pairs(settings or {}), store, Workers(jobs, scheduler), retry)


def profile(file: str | Path, step: str = "", *, against: str = "", **request: Any) -> Recorded:
    """What a recording of torch.profiler or Nsight Systems shows: kernels a step, their classes, busy and idle time.

    step: a regular expression for the names of the ranges that are steps. against: a workload that the model runs
    beside it; `request`: as of `compare`, and what is not given follows the recording. Raises UserErrors.
    """
    from experiments.notebook.recorded import recorded

    if request and not against:
        raise UserError(f"{', '.join(request)}: of the model, which is asked with against=WORKLOAD")
    return recorded(Path(file), step, against, request | {n: _pairs(request[n]) for n in PAIRED & request.keys()})


def names(section: str) -> tuple[str, ...]:
    """What there is of a section of `patternloom list`: "machines", "graphs", "policies" ... Raises UnknownName."""
    from experiments.catalogue import SECTION_ENTRIES
    from patterns.errors import UnknownName

    if section not in SECTION_ENTRIES:
        raise UnknownName("section", section, SECTION_ENTRIES)
    return tuple(entry.name for entry in SECTION_ENTRIES[section]())


def run(study: str) -> Result:
    """A study, run: its sentence and its files by name. Raises UnknownName and other UserErrors."""
    from experiments.study import run_study

    return run_study(study)


def _pairs(values: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """A mapping as pairs of texts."""
    return tuple((name, str(value)) for name, value in values.items())


tell_ipython()
