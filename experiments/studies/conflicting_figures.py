"""What public figures of the SN40L that contradict each other change: each alternative of its file, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from experiments.survey import Record, Survey

MACHINE, MODEL, SOCKETS, CONTEXT = "sn40l", "llama-3.1-8b", 8, 4096
PHASES = (("decode", "looped"), ("prefill", "fused"))
# These alternatives are one: the same peak by another shape.
TOGETHER = ("pcu_stages", "clock_hz")
AS_FILED = "as in the file"


def records() -> list[Record]:
    """A row an alternative: times of a decode step and of a prompt, and how many times those of the file's values."""
    rows: list[Record] = []
    for figure, value, settings in alternatives():
        times = {phase: time_ms(phase, mode, settings) for phase, mode in PHASES}
        first = rows[0] if rows else None
        row: Record = {"figure": figure, "value": value}
        for phase, took_ms in times.items():
            row[f"{phase}_ms"] = took_ms
            row[f"{phase}_ratio"] = took_ms / (first[f"{phase}_ms"] if first else took_ms)
        rows.append(row)
    return rows


def alternatives() -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """(figure, its value, what to set), the file's own values first."""
    from rdu_model.machine import read_machine

    yield AS_FILED, "", {}
    origins = {origin.field: origin for origin in read_machine(MACHINE).origins}
    both = {name: origins[name].alternatives[0].written for name in TOGETHER}
    yield " and ".join(TOGETHER), ", ".join(both.values()), both
    for name, origin in origins.items():
        if name not in TOGETHER:
            for other in origin.alternatives:
                yield name, other.written, {name: other.written}


def time_ms(phase: str, mode: str, settings: Mapping[str, str]) -> float:
    """One run with these values in place of the file's."""
    from patterns.library import workload
    from patterns.run import run_plan
    from rdu_model import load_machine, lower

    graph = workload(MODEL, phase, context=CONTEXT, members=SOCKETS)
    plan = lower(graph, load_machine(MACHINE, settings), mode=mode, members=SOCKETS)
    return run_plan(plan, spans=False).schedule.total_cycles / 1e9


def finding(rows: Sequence[Record]) -> str:
    """Which figure matters most to each phase, and by how much."""
    told = []
    for phase, _ in PHASES:
        most = max(rows, key=lambda row: abs(row[f"{phase}_ratio"] - 1))
        still = sum(abs(row[f"{phase}_ratio"] - 1) < 0.01 for row in rows[1:])
        told.append(
            f"{phase} takes {rows[0][f'{phase}_ms']:.3f} ms by the file's values; {most['figure']} at {most['value']}"
            f" matters most ({most[f'{phase}_ratio']:.2f} times as long), and {still} of {len(rows) - 1} alternatives"
            f" change it by less than 1 %"
        )
    return f"{MODEL} on {SOCKETS} x {MACHINE}: {'; '.join(told)}."


STUDY = Survey(
    question="How much depends on which of the public figures of the SN40L are right?",
    records=records,
    finding=finding,
    keys=2,
)
