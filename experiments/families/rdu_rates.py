"""rdu_rates: what decode on RDUs reaches, as claimed: tokens of a user in a second, and the part of the peak rate.

Claims without their conditions stand beside; of those with a range the model has to be inside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from patterns.report import Report
    from rdu_model.machine import Machine

PART: Literal[""] = ""
MACHINE = "sn40l"
PERCENT = 100
# Hot Chips 2024: 25.6 TB/s of 16 sockets.
RACK_BYTES_PER_S = 1.6e12


def rows(tables: Tables) -> Sequence[Row]:
    """A row a claim."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(METRICS[figure.text("metric")], figure),
            measured=figure.low,
            to=figure.high,
            unit=UNITS[figure.text("metric")],
            source=figure.source,
            group=figure.text("metric"),
            target=figure.flag("target"),
            explain=partial(words, figure) if figure.text("metric") == "roofline" else None,
        )
        for figure in published("rdu_rates")
    ]


def tokens_per_s(figure: Figure, machine: Machine) -> float:
    """Tokens that one user gets in a second, one step after another."""
    return 1 / step(figure, machine).time_s


def roofline_percent(figure: Figure, machine: Machine) -> float:
    """The time that a step's own bytes take at the peak rate, of the step's time."""
    report = step(figure, machine)
    return PERCENT * report.bound_s / report.time_s


def words(figure: Figure, machine: Machine) -> str:
    """Of which peak the part is."""
    streams = PERCENT * float(machine.hbm_efficiency)
    of_rack = roofline_percent(figure, machine) * machine.hbm_bytes_per_s / RACK_BYTES_PER_S
    return (
        f"of a peak of {machine.hbm_bytes_per_s / 1e12:g} TB/s. Streams get {streams:.1f} % of that, so that no step"
        f" can be above; of {RACK_BYTES_PER_S / 1e12:g} TB/s, which the vendor gave for a socket of a rack, it would be"
        f" {of_rack:.0f} %."
    )


def step(figure: Figure, machine: Machine) -> Report:
    """One decode step. Raises UserErrors."""
    from experiments.validation.rdu_llama import Phase, executed
    from patterns.run import run_plan
    from patterns.summarize import summarize

    phase = Phase(figure.text("model"), "decode", 1, figure.count("context"), figure.count("sockets"))
    # A report needs the spans that times alone do without.
    return summarize(run_plan(executed(phase, figure.text("mode"), "hardware", machine).plan))


UNITS: Mapping[str, str] = {"tokens": "tokens/s", "roofline": "% of peak"}
METRICS: Mapping[str, Callable[[Figure, Machine], float]] = {"tokens": tokens_per_s, "roofline": roofline_percent}
