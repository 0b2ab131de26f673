"""Which HBM bandwidth, SRAM or L2 would change which machine is faster: swept, and the turning point bisected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from math import sqrt

from experiments.plot.lines import Lines
from experiments.point import Point, run_point
from experiments.survey import Record, Survey

MODEL, GPU, RDU = "llama-3.1-8b", "h100_sxm", "sn40l"
# How near the two ends are when the search for a turning point ends.
CLOSE = 1.05


@dataclass(frozen=True)
class Step:
    """A step of the model on as many GPUs as sockets: tuned kernels in a graph against layers in one call or each."""

    phase: str
    batch: int
    context: int
    members: int

    @property
    def name(self) -> str:
        """'decode, batch 1, 8 of each', 'prompt of 1,024, 8 of each'."""
        what = f"decode, batch {self.batch}" if self.phase == "decode" else f"prompt of {self.context:,}"
        return f"{what}, {self.members} of each"

    @property
    def gpu(self) -> Point:
        """The GPU's side."""
        return Point(MODEL, GPU, "library", self.phase, self.batch, self.context, self.members, "graph")

    @property
    def rdu(self) -> Point:
        """The RDU's side."""
        mode = "looped" if self.phase == "decode" else "fused"
        return Point(MODEL, RDU, mode, self.phase, self.batch, self.context, self.members)


ONE, EIGHT = Step("decode", 1, 4096, 1), Step("decode", 1, 4096, 8)
FULL, PROMPT = Step("decode", 16, 4096, 8), Step("prefill", 1, 1024, 8)
# A parameter, whose it is, what a reader calls it, how many times its own value it is, and where it is asked.
SWEEPS = (
    ("hbm_bytes_per_s", RDU, "HBM of the RDU", (0.5, 1.0, 2.0, 3.0), (ONE, EIGHT, FULL, PROMPT)),
    ("pmu_bytes", RDU, "SRAM of the RDU", (0.125, 1.0, 8.0), (EIGHT, PROMPT)),
    ("l2_bytes", GPU, "L2 of the GPU", (0.125, 1.0, 8.0), (EIGHT, PROMPT)),
)


@dataclass(frozen=True)
class Swept:
    """A step with a parameter of one machine at so many times its own value. all_times: of the whole sweep."""

    step: Step
    parameter: str
    machine: str
    what: str
    times_own: float
    all_times: tuple[float, ...]


def cases() -> Iterator[Swept]:
    """Every sweep, step and value."""
    for parameter, machine, what, all_times, steps in SWEEPS:
        for step in steps:
            yield from (Swept(step, parameter, machine, what, times, all_times) for times in all_times)


def record(case: Swept) -> Record:
    """Both times at this value, and at how many times its own value they would be equal (None: nowhere swept)."""
    gpu_s, rdu_s = both_s(case)
    return {
        "memory": case.what,
        "step": case.step.name,
        "times_own": case.times_own,
        "value": value_text(case.parameter, own_value(case) * case.times_own),
        "gpu_ms": 1e3 * gpu_s,
        "rdu_ms": 1e3 * rdu_s,
        "speed_ratio": gpu_s / rdu_s,
        "turns_at_times_own": turning(replace(case, times_own=1.0)),
    }


def both_s(case: Swept) -> tuple[float, float]:
    """Seconds on the GPU and on the RDU."""
    setting = ((case.parameter, setting_text(case.parameter, own_value(case) * case.times_own)),)
    points = (case.step.gpu, case.step.rdu)
    gpu, rdu = (replace(one, settings=setting) if one.machine == case.machine else one for one in points)
    return time_s(gpu), time_s(rdu)


@cache
def time_s(point: Point) -> float:
    """Of one run."""
    return run_point(point).report.time_s


@cache
def turning(case: Swept) -> float | None:
    """At how many times the parameter's own value both machines are as fast, by bisection; None if nowhere swept.

    Steps beside 1 are taken between the first two values of the sweep on either side of the turning point.
    """

    def ahead(times: float) -> bool:
        gpu_s, rdu_s = both_s(replace(case, times_own=times))
        return rdu_s < gpu_s

    for low, high in pairwise(case.all_times):
        if ahead(low) != ahead(high):
            first = ahead(low)
            while high / low > CLOSE:
                middle = sqrt(low * high)
                low, high = (middle, high) if ahead(middle) == first else (low, middle)
            return sqrt(low * high)
    return None


def own_value(case: Swept) -> float:
    """The parameter in the machine's file."""
    from experiments.sides import load_machine

    family = "gpu" if case.machine == GPU else "rdu"
    return float(getattr(load_machine(family, case.machine, {}), case.parameter))  # type: ignore[arg-type]


def setting_text(parameter: str, value: float) -> str:
    """As a setting is written."""
    return f"{round(value)} {'B/s' if parameter.endswith('per_s') else 'B'}"


def value_text(parameter: str, value: float) -> str:
    """As a reader sees it; of SRAM, all of the socket's."""
    from experiments.sides import load_machine
    from experiments.text.quantity import scaled

    whole = value * load_machine("rdu", RDU, {}).pmus if parameter == "pmu_bytes" else value
    return scaled(float(f"{whole:.3g}"), "B/s" if parameter.endswith("per_s") else "B")


def finding(rows: Sequence[Record]) -> str:
    """At which value of which memory both are as fast, and which memories never change a winner."""
    by_memory: dict[str, list[str]] = {row["memory"]: [] for row in rows}
    for row in rows:
        if row["times_own"] == 1 and row["turns_at_times_own"] is not None:
            times = row["turns_at_times_own"]
            found = f"{scale_text(row['value'], times)} ({times:.2f} times its own) in {row['step']}"
            by_memory[row["memory"]].append(found)
    told = [f"{memory} at {' and at '.join(at)}" for memory, at in by_memory.items() if at]
    equal = f"{MODEL} is as fast on {RDU} as on {GPU} with {'; '.join(told)}." if told else ""
    never = " and ".join(f"no {memory}" for memory, at in by_memory.items() if not at)
    return f"{equal} {never[:1].upper() + never[1:]} that was tried changes a winner.".strip() if never else equal


def details(rows: Sequence[Record]) -> str:
    """By memory: at which value both are as fast, and in which steps no value that was tried changes the winner."""
    told = []
    for memory in dict.fromkeys(row["memory"] for row in rows):
        steps = list(dict.fromkeys(row["step"] for row in rows if row["memory"] == memory))
        by_step = {step: [row for row in rows if (row["memory"], row["step"]) == (memory, step)] for step in steps}
        turns = [f"at {turning_text(own)} in {step}" for step, own in by_step.items() if turns_at(own)]
        stays = [f"{step} ({staying_text(own)})" for step, own in by_step.items() if not turns_at(own)]
        low, high = (by_step[steps[0]][place]["value"] for place in (0, -1))
        told += [f"With another {memory} both are as fast {' and '.join(turns)}"] if turns else []
        told += [f"no {memory} from {low} to {high} changes the winner of {'; '.join(stays)}"] if stays else []
    where = f"{MODEL} on {RDU} against {GPU}, decoding after {ONE.context:,} tokens, one memory changed at a time"
    return f"{where}. {'. '.join(map(capital, told))}."


def capital(text: str) -> str:
    """With a capital letter first."""
    return text[:1].upper() + text[1:]


def turns_at(own: Sequence[Record]) -> float | None:
    """Where a step turns, as many times the machine's own value."""
    found: float | None = own[0]["turns_at_times_own"]
    return found


def turning_text(own: Sequence[Record]) -> str:
    """'3.20 TB/s (1.78 times its own; now h100_sxm is 1.64 times as fast)'."""
    now, turn = at_own(own), turns_at(own) or 1.0
    return f"{scale_text(now['value'], turn)} ({turn:.2f} times its own; now {lead_text(now['speed_ratio'])})"


def staying_text(own: Sequence[Record]) -> str:
    """'h100_sxm is 1.10 to 1.83 times as fast'."""
    ratios = [max(row["speed_ratio"], 1 / row["speed_ratio"]) for row in own]
    winner = RDU if at_own(own)["speed_ratio"] > 1 else GPU
    return f"{winner} is {min(ratios):.2f} to {max(ratios):.2f} times as fast"


def lead_text(ratio: float) -> str:
    """'h100_sxm is 1.64 times as fast'."""
    return f"{RDU if ratio > 1 else GPU} is {max(ratio, 1 / ratio):.2f} times as fast"


def at_own(own: Sequence[Record]) -> Record:
    """The row of the machine's own value."""
    return next(row for row in own if row["times_own"] == 1)


def scale_text(value: str, times: float) -> str:
    """A printed quantity, so many times as great."""
    number, unit = value.split(" ", 1)
    return f"{float(number.replace(',', '')) * times:.2f} {unit}"


STUDY = Survey(
    question="Which HBM bandwidth, SRAM or L2 would change which machine is faster?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Lines(
            "winner_by_memory",
            x="times_own",
            y="speed_ratio",
            by="step",
            panel="memory",
            title="How many times as fast the RDU is (above 1: faster), by a memory as many times its own",
            x_label="times its own",
            y_label="times as fast as the GPU",
            x_log=True,
        ),
    ),
    keys=3,
)
