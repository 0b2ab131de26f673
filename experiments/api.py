"""patternloom's verbs for scripts and notebooks: load, lower, simulate, summarize, compare, plot ...

    from experiments.api import compare, load, lower, plot, report, simulate, summarize, sweep

    graph = load("llama-3.1-8b", context=8192)
    found = summarize(simulate(lower(graph, "h100_sxm", "library")))
    print(found.calls, found.time_s, found.bound_s)
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

from experiments.notebook import asked
from experiments.notebook.displays import tell_ipython
from patterns.errors import UnknownName, UserError
from patterns.graph import Graph
from patterns.run import run_plan

if TYPE_CHECKING:
    from experiments.compare import Comparison
    from experiments.notebook.plotted import Plotted
    from experiments.notebook.recorded import Recorded
    from experiments.notebook.reported import Reported
    from experiments.notebook.swept import Swept
    from experiments.study import Result
    from patterns.library import Phase
    from patterns.plan import Plan
    from patterns.report import Execution, Report

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
# What graphs and plans are asked besides extents.
KEYWORDS = (*asked.OF_A_GRAPH, *asked.OF_A_PLAN, "members", "mode", "parameters")


def load(
    workload: str | Path | Graph,
    *,
    phase: Phase = "decode",
    batch: int | None = None,
    context: int | None = None,
    members: int = 1,
    extents: Mapping[str, int | str] | None = None,
    **others: int | str | None,
) -> Graph:
    """The graph of a workload, as one of `members` has it: a name of the library, a YAML file, or an imported one.

    batch, context: sequences, and tokens in the cache after the run (None: the graph's own). Other extents by name, as
    keywords (rows=64) or in `extents`. A Graph is returned as it is. Raises UnknownName, SpecError, other UserErrors.
    """
    from patterns.library import workload as read

    named = asked.extents_of(extents, others)
    if isinstance(workload, Graph):
        given = {"phase": phase != "decode", "batch": batch, "context": context, "members": members != 1, **named}
        asked.need_unasked(workload, [name for name, value in given.items() if value])
        return workload
    name, sizes = asked.workload_name(workload), {"batch": batch, "context": context}
    whole = {what: asked.number_or_none(what, value) for what, value in sizes.items()}
    share = asked.number("members", members)
    try:
        return read(name, asked.text("phase", phase), whole["batch"], whole["context"], share, named)
    except UnknownName as error:
        if error.what == "extent":
            asked.need_known([error.name], asked.extents_by_name(name, {}), KEYWORDS)
        raise


def lower(
    workload: str | Path | Graph,
    machine: str,
    mode: str = "",
    *,
    members: int | None = None,
    parameters: Mapping[str, str] | None = None,
    **choices: Any,
) -> Plan:
    """How a machine runs a workload: its calls, in order. mode: a GPU's policy or an RDU's mode ('': its default).

    machine: its name; `gpu.NAME` or `rdu.NAME` where both families have it.
    members: that share it (None: as many as the Graph is of, else one). parameters: of the machine, replaced, as texts
    with units ({"hbm_bytes_per_s": "4.8 TB/s"}). choices: what else the machine's model is asked (of a GPU schedule,
    launch and options; of an RDU orchestration, placement, collectives and seed), and of a workload that is named its
    sizes, as of `load`. Raises UnknownName, DoesNotFit and other UserErrors.
    """
    from experiments.request import Request
    from experiments.sides import load_machine, side_on
    from experiments.sides import lower as lowered

    of_plan, of_graph = asked.split_choices(choices)
    given = asked.number_or_none("members", members)
    if isinstance(workload, Graph):
        asked.need_known(of_graph, workload.sizes, KEYWORDS)
        graph, share = load(workload, **of_graph), asked.members_of(workload) if given is None else given
    else:
        share = 1 if given is None else given
        graph = load(workload, members=share, **of_graph)
    request = Request(graph.name, **of_plan)
    side = side_on(request, ("gpu", "rdu"), asked.text("machine", machine), asked.text("mode", mode), share)
    asked.need_of_family(of_plan, side.family, machine)
    replaced = dict(asked.pairs("parameters", parameters or {}))
    return lowered(side, graph, load_machine(side.family, side.machine, replaced), mode)


def simulate(plan: Plan) -> Execution:
    """The plan, run: when everything happened. Raises Deadlock."""
    from patterns.plan import Plan

    return run_plan(asked.need("simulate", Plan, plan, "lower(workload, machine) makes one"))


def summarize(execution: Execution) -> Report:
    """What is to be read off a run: calls, time, bound, bytes, overlap, energy."""
    from patterns.report import Execution
    from patterns.summarize import summarize as summarized

    return summarized(asked.need("summarize", Execution, execution, "simulate(plan) makes one"))


def compare(workload: str | Path | Graph, **request: Any) -> Comparison:
    """One workload on a GPU and on an RDU in every mode; `request`: fields of experiments.request.Request by name.

    Other keywords are extents of the graph (rows=64). settings and options are mappings: {"context": 8192,
    "gpu.hbm_bytes_per_s": "4.8 TB/s"}. A Graph is run as it is. Raises UserErrors.
    """
    from experiments.compare import compare as compared

    return compared(asked.request_of(workload, request), workload if isinstance(workload, Graph) else None)


def plot(comparison: Comparison | str | Path | Graph, kind: str, **request: Any) -> Plotted:
    """A picture of a comparison, of a kind that `patternloom list plots` tells of. Raises UnknownName.

    A workload in its place is compared first, `request` as of `compare`. A floorplan is of a workload on an RDU, in the
    first of `modes`: of its call `section`, or of the one in which most time goes.
    """
    from experiments.notebook.plotted import plotted
    from experiments.picture import check_kinds, plot_kinds

    check_kinds((asked.text("kind", kind),))
    if kind not in plot_kinds("floorplan"):
        return plotted(_compared("plot", comparison, request), kind)
    if not isinstance(comparison, str | Path | Graph):
        raise UserError(f"a {kind} is of one call on an RDU: plot(WORKLOAD, {kind!r}, modes=..., section=...)")
    from experiments.floorplan import asked_floorplan

    section = asked.text("section", request.pop("section", ""))
    graph = comparison if isinstance(comparison, Graph) else None
    return plotted(asked_floorplan(asked.request_of(comparison, request), section, graph), kind)


def report(comparison: Comparison | str | Path | Graph, **request: Any) -> Reported:
    """A comparison as one page of HTML that needs no network: tables, both time lines, graph, bounds and sources.

    A workload in its place is compared first, `request` as of `compare`.
    """
    from experiments.notebook.reported import Reported
    from experiments.page.report import report_page
    from experiments.text.comparison import title

    found = _compared("report", comparison, request)
    return Reported(title(found).replace("\n", ": "), report_page(found))


def sweep(
    source: str | Path | Mapping[str, Any],
    store: str | Path | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    scheduler: str | None = None,
    retry: bool = False,
    **fields: int | float | str,
) -> Swept:
    """Every point of a sweep, run: a file, an example's name, or a mapping of what a file would say.

    store: an SQLite file, in which rows are kept: those that it has are not run again (with `retry`: those that are
    ok). settings, or keywords: one value of a field for all points. jobs: worker processes (None: the cores, where
    there is enough to do). scheduler: of a Dask cluster, "tcp://HOST:PORT". A point that does not fit or fails is a row
    that says why.
    Raises SpecError and other UserErrors for what is wrong with the sweep, its store or its cluster.
    """
    from experiments.notebook.swept import sweep_of
    from experiments.sweep.workers import Workers

    if asked.number_or_none("jobs", jobs) is not None and (asked.number("jobs", jobs) < 1 or scheduler is not None):
        raise UserError("jobs: at least 1, and not with a scheduler, whose cluster has its own")
    if not isinstance(source, str | Path | Mapping):
        raise UserError(f"a sweep is a file, an example's name or a mapping; found {asked.shown(source)}")
    place = None if store is None else asked.path("store", store)
    address = None if scheduler is None else asked.text("scheduler", scheduler)
    pins = (*asked.pairs("settings", settings or {}), *asked.pairs("fields", fields))
    return sweep_of(source, pins, place, Workers(jobs, address), retry)


def profile(file: str | Path, step: str = "", *, against: str | Path | Graph | None = None, **request: Any) -> Recorded:
    """What a recording of torch.profiler or Nsight Systems shows: kernels a step, their classes, busy and idle time.

    step: a regular expression for the names of the ranges that are steps. against: a workload that the model runs
    beside it; `request`: as of `compare`, and what is not given follows the recording. Raises UserErrors.
    """
    from experiments.notebook.recorded import recorded

    if request and not against:
        raise UserError(f"{', '.join(request)}: of the model, which is asked with against=WORKLOAD")
    return recorded(asked.path("file", file), asked.text("step", step), against, request)


def names(section: str) -> tuple[str, ...]:
    """What there is of a section of `patternloom list`: "machines", "graphs", "policies" ... Raises UnknownName."""
    from experiments.catalogue import SECTION_ENTRIES

    if asked.text("section", section) not in SECTION_ENTRIES:
        raise UnknownName("section", section, SECTION_ENTRIES)
    return tuple(entry.name for entry in SECTION_ENTRIES[section]())


def run(study: str) -> Result:
    """A study, run: its sentence and its files by name. Raises UnknownName and other UserErrors."""
    from experiments.study import run_study

    return run_study(asked.text("study", study))


def _compared(verb: str, subject: Comparison | str | Path | Graph, request: Mapping[str, Any]) -> Comparison:
    """The comparison that a verb is of; of a workload, made now. Raises UserErrors."""
    from experiments.compare import Comparison

    if isinstance(subject, str | Path | Graph):
        return compare(subject, **request)
    if request:
        raise UserError(f"{', '.join(request)}: the comparison is made already; give it to compare(...)")
    return asked.need(verb, Comparison, subject, "compare(workload) makes one, or name a workload")


tell_ipython()
