"""What public figures of the SN40L that contradict each other change: each alternative of its file, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from experiments.charting.reshape import Reshaped
from experiments.plot.bars import Bars
from experiments.survey import Record, Survey

MACHINE, MODEL, SOCKETS, CONTEXT = "sn40l", "llama-3.1-8b", 8, 4096
PHASES = (("decode", "looped"), ("prefill", "fused"))
# These alternatives are one: the same peak by another shape.
TOGETHER = ("pcu_stages", "clock_hz")
AS_FILED = "as in the file"


@dataclass(frozen=True)
class Alternative:
    """A figure of the machine, its value, and what to set: (name, value)."""

    figure: str
    value: str
    settings: tuple[tuple[str, str], ...] = ()


def record(case: Alternative) -> Record:
    """A row an alternative: times of a decode step and of a prompt, and how many times those of the file's values."""
    row: Record = {"figure": case.figure, "value": case.value}
    for phase, mode in PHASES:
        row[f"{phase}_ms"] = time_ms(MODEL, phase, CONTEXT, mode, case.settings)
        row[f"{phase}_ratio"] = row[f"{phase}_ms"] / time_ms(MODEL, phase, CONTEXT, mode, ())
    return row


def alternatives() -> Iterator[Alternative]:
    """Every alternative of the machine's file, its own values first."""
    from rdu_model.machine import read_machine

    yield Alternative(AS_FILED, "")
    origins = {origin.field: origin for origin in read_machine(MACHINE).origins}
    both = {name: origins[name].alternatives[0].written for name in TOGETHER}
    yield Alternative(" and ".join(TOGETHER), ", ".join(both.values()), tuple(both.items()))
    for name, origin in origins.items():
        if name not in TOGETHER:
            for other in origin.alternatives:
                yield Alternative(name, other.written, ((name, other.written),))


@cache
def time_ms(model: str, phase: str, context: int, mode: str, settings: tuple[tuple[str, str], ...]) -> float:
    """One run with these values in place of the file's."""
    from patterns.library import workload
    from patterns.run import run_plan
    from rdu_model import load_machine, lower

    graph = workload(model, phase, context=context, members=SOCKETS)
    plan = lower(graph, load_machine(MACHINE, dict(settings)), mode=mode, members=SOCKETS)
    return run_plan(plan, spans=False).schedule.total_cycles / 1e9


def finding(rows: Sequence[Record]) -> str:
    """Which figure matters most to each phase, and by how much."""
    told = []
    for phase, _ in PHASES:
        most = max(rows, key=lambda row: abs(row[f"{phase}_ratio"] - 1))
        still = sum(abs(row[f"{phase}_ratio"] - 1) < 0.01 for row in rows[1:])
        told.append(
            f"in {phase} ({rows[0][f'{phase}_ms']:.2f} ms) {most['figure']} at {most['value']}"
            f" ({most[f'{phase}_ratio']:.2f} times as long), and {still} of {len(rows) - 1} change less than 1 %"
        )
    return f"Of other published figures for {MODEL} on {SOCKETS} x {MACHINE}, most matters: {'; '.join(told)}."


def named(rows: Sequence[Record]) -> list[Record]:
    """Rows with a name each: 'hbm_bytes_per_s 1.6 TB/s'."""
    return [row | {"alternative": f"{row['figure']} {row['value']}".rstrip()} for row in rows]


STUDY = Survey(
    question="How much depends on which of the public figures of the SN40L are right?",
    cases=lambda: alternatives(),
    record=record,
    finding=finding,
    figures=(
        Reshaped(
            Bars(
                "alternatives",
                label="alternative",
                values=tuple(f"{phase}_ratio" for phase, _ in PHASES),
                title="Times with each alternative",
                x_label="times as long as by the file's values",
            ),
            named,
        ),
    ),
    keys=2,
)
