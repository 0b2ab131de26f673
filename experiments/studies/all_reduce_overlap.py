"""What sums over 1 to 16 sockets cost as stages of a pipeline and as calls of their own, beside 1 to 8 GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from experiments.charting.reshape import Reshaped
from experiments.plot.lines import Lines
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from experiments.sides import Family
    from patterns.report import Report

# By model the numbers of members: of the larger, the HBM of fewer does not hold the weights.
MODELS = {"llama-3.1-8b": (1, 2, 4, 8, 16), "llama-3.1-70b": (4, 8, 16)}
PHASES = ("decode", "prefill")
CONTEXT = 4096
NODE_GPUS = 8
# What the sentence is about.
MODEL, AMONG = "llama-3.1-8b", 8
MACHINE = "sn40l"
# The same sections with links that cost nothing: what is missing then is what the links cost.
FREE_LINKS = (
    ("link_bytes_per_s", "1000 PB/s"),
    ("link_latency_ps", "0 s"),
    ("node_link_bytes_per_s", "1000 PB/s"),
    ("node_link_latency_ps", "0 s"),
)
STAGES, CALLS, LOOPED, KERNELS = "stages, fused", "calls, fused", "stages, looped", "kernels of GPUs"
# Only sums that are stages let all layers be one call, which matters where layers are short.
WAYS = {"decode": ((STAGES, "fused"), (LOOPED, "looped")), "prefill": ((STAGES, "fused"),)}


@dataclass(frozen=True)
class Case:
    """A model on so many members, which sum in one of the ways above."""

    model: str
    phase: str
    members: int
    sums_as: str


def cases() -> Iterator[Case]:
    """Every model, phase, number of members and way to sum that there is."""
    for model, counts in MODELS.items():
        for phase in PHASES:
            for members in counts:
                ways = [way for way, _ in WAYS[phase]]
                ways += [CALLS] if members > 1 else []
                ways += [KERNELS] if members <= NODE_GPUS else []
                yield from (Case(model, phase, members, way) for way in ways)


def record(case: Case) -> Record | None:
    """A row of the table; None where there is no room.

    sums_ms: as stages, what links that cost nothing would save; as calls or kernels, their time without that of
    launching them. sums_hbm_bytes: HBM traffic of the sums, of all members.
    """
    modes = dict(WAYS[case.phase])
    if case.sums_as in modes:
        found = with_links_and_without(case.model, case.phase, case.members, modes[case.sums_as])
        if found is None:
            return None
        linked, free = found
        more_bytes = dict(linked.bytes)["hbm"] - dict(free.bytes)["hbm"]
        return row_of(case, linked, linked.time_ps - free.time_ps, more_bytes)
    apart: dict[str, Any] = {"mode": "fused", "collectives": "separate"}
    tuned: dict[str, Any] = {"mode": "library", "launch": "graph"}
    on_gpu = case.sums_as == KERNELS
    outcome = run(case, "gpu" if on_gpu else "rdu", **(tuned if on_gpu else apart))
    return row_of(case, outcome.report, *of_calls(outcome)) if outcome else None


def with_links_and_without(model: str, phase: str, members: int, mode: str) -> tuple[Report, Report] | None:
    """A run of the same sections twice, the second time over links that cost nothing; None if there is no room."""
    from patterns.errors import DoesNotFit
    from patterns.library import workload
    from patterns.run import run_plan
    from patterns.summarize import summarize
    from rdu_model import load_machine
    from rdu_model.compilation import Choices, compile_graph
    from rdu_model.lowering import plan_of

    graph, machine = workload(model, phase, context=CONTEXT, members=members), load_machine(MACHINE)
    try:
        compiled = compile_graph(graph, machine, Choices(mode), members)
    except DoesNotFit:
        return None
    free = load_machine(MACHINE, dict(FREE_LINKS))
    unlinked = replace(
        compiled,
        sections=tuple(replace(one, section=replace(one.section, machine=free)) for one in compiled.sections),
    )
    plans = ((compiled, machine), (unlinked, free))
    linked, without = (
        summarize(run_plan(plan_of(sections, graph, on, members, mode, "hardware"))) for sections, on in plans
    )
    return linked, without


def run(case: Case, family: Family, **how: Any) -> Outcome | None:
    """One side in one mode; None if there is no room."""
    from experiments.point import Point, run_if_it_fits
    from experiments.request import GPU

    machine = MACHINE if family == "rdu" else GPU
    return run_if_it_fits(Point(case.model, machine, phase=case.phase, context=CONTEXT, members=case.members, **how))


def of_calls(outcome: Outcome) -> tuple[int, int]:
    """Picoseconds of all calls that do nothing but sum, and the bytes of HBM that they move on all members."""
    plan, runs = outcome.execution.plan, outcome.execution.calls
    summing = [(call, done) for call, done in zip(plan.calls, runs, strict=True) if call.collective]
    time_ps = sum(done.duration_ps * call.count for call, done in summing)
    return time_ps, plan.members * sum(dict(call.traffic).get("hbm", 0) * call.count for call, _ in summing)


def row_of(case: Case, report: Report, sums_ps: int, sums_bytes: int) -> Record:
    """What the table shows of a run."""
    return {
        "model": case.model,
        "phase": case.phase,
        "members": report.members,
        "machine": report.machine,
        "sums_as": case.sums_as,
        "calls": report.calls,
        "time_ms": 1e3 * report.time_s,
        "bound_ms": 1e3 * report.bound_s,
        "sums_ms": sums_ps / 1e9,
        "sums_percent": 100 * sums_ps / report.time_ps,
        "sums_hbm_bytes": sums_bytes,
        "network_bytes": dict(report.bytes)["network"],
    }


def finding(rows: Sequence[Record]) -> str:
    """What sums take of the time each way, in prefill and in decode."""
    told = []
    for phase in ("prefill", "decode"):
        share = {row["sums_as"]: row["sums_percent"] for row in rows if of_model(row, phase)}
        told.append([f"{share[way]:.1f} %" for way in (STAGES, CALLS, KERNELS)])
    prompt, step = told
    return (
        f"All-reduces among {AMONG} machines take {prompt[0]} of the time of a prompt of {CONTEXT:,} tokens ({MODEL})"
        f" as stages of the RDU's fused decoder, {prompt[1]} as calls of their own, {prompt[2]} as kernels of GPUs; of"
        f" a decode step {', '.join(step)}."
    )


def of_model(row: Record, phase: str) -> bool:
    """Whether a row is of the model, phase and number of members that the sentence is about."""
    return (row["model"], row["phase"], row["members"]) == (MODEL, phase, AMONG)


def details(rows: Sequence[Record]) -> str:
    """How long sums take each way, in how many calls, and what they move."""
    told = []
    for phase, what in (("decode", "a decode step"), ("prefill", f"a prompt of {CONTEXT:,} tokens")):
        by_way = {row["sums_as"]: row for row in rows if of_model(row, phase)}
        told.append(
            f"of {what} {taken(by_way[STAGES])} as stages of the fused decoder, {taken(by_way[CALLS])} as calls of"
            f" their own ({by_way[CALLS]['calls']:,} calls instead of {by_way[STAGES]['calls']}), and"
            f" {taken(by_way[KERNELS])} as kernels of {AMONG} GPUs"
        )
    moved = {
        way: sum(row["sums_hbm_bytes"] for row in rows if row["sums_as"] == way) / 1e9
        for way in (STAGES, LOOPED, CALLS, KERNELS)
    }
    return (
        f"Sums over {AMONG} members take, in {MODEL}, {'; '.join(told)}. Over all rows of this table sums as stages"
        f" move {moved[STAGES] + moved[LOOPED]:.1f} GB of HBM, as calls {moved[CALLS]:.1f} GB, as kernels"
        f" {moved[KERNELS]:.1f} GB.{exceptions(rows)}"
    )


def exceptions(rows: Sequence[Record]) -> str:
    """Where runs with separate sums are faster as a whole all the same; '' if nowhere."""
    times = {(row["model"], row["phase"], row["members"], row["sums_as"]): row["time_ms"] for row in rows}
    places = [key[:3] for key in times if key[3] == CALLS]
    faster = [
        f"{model} {phase} on {n}"
        for model, phase, n in places
        if times[model, phase, n, CALLS] < times[model, phase, n, STAGES]
    ]
    if not faster:
        return ""
    return (
        f" In {len(faster)} of {len(places)} runs ({', '.join(faster)}) the whole is faster with calls all the same:"
        " sections that end at the sums are smaller and have other tiles."
    )


def taken(row: Mapping[str, Any]) -> str:
    """'0.067 ms (2.9 %)'."""
    return f"{row['sums_ms']:.3f} ms ({row['sums_percent']:.1f} %)"


def summed(rows: Sequence[Record]) -> list[Record]:
    """Runs on several members: alone there is nothing to sum."""
    return [row for row in ways_in_order(rows) if row["members"] > 1]


def ways_in_order(rows: Sequence[Record]) -> list[Record]:
    """Rows by their way to sum, so that both pictures have one colour for each way; `run` names their panel."""
    ordered = sorted(rows, key=lambda row: (STAGES, LOOPED, CALLS, KERNELS).index(row["sums_as"]))
    return [row | {"run": f"{row['model']}, {row['phase']}"} for row in ordered]


STUDY = Survey(
    question="What do all-reduces cost where they overlap with loading weights and computing, and where they do not?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Reshaped(
            Lines(
                "sums_over_members",
                "members",
                "sums_percent",
                by="sums_as",
                panel="run",
                title="What sums over members take; a line ends where the model does not fit",
                y_label="% of the time",
                x_log=True,
            ),
            summed,
        ),
        Reshaped(
            Lines(
                "time_by_members",
                x="members",
                y="time_ms",
                by="sums_as",
                panel="run",
                title="Time of a step by number of machines, by how they sum",
                x_log=True,
                y_log=True,
            ),
            ways_in_order,
        ),
    ),
    keys=5,
)
