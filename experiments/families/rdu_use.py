"""rdu_use: how much of an RDU a fused decoder layer uses, beside the published 85 % of HBM and 90 % of PCUs and PMUs.

The figures are shown beside: the model is fitted to rates, not to what occupies units. Each says what it is made of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from experiments.validation.rdu_llama import Phase
    from patterns.plan import Call
    from patterns.report import CallRun
    from rdu_model.machine import Machine
    from rdu_model.section import Section

PART: Literal[""] = ""
MACHINE = "sn40l"
PERCENT = 100


def rows(tables: Tables) -> Sequence[Row]:
    """A row a resource, a model and a mode."""
    return [
        Row(
            id=figure.id,
            machine=MACHINE,
            side="rdu",
            predict=partial(SHARES[figure.text("resource")], figure),
            measured=figure.value("percent"),
            unit="%",
            source=figure.source,
            group=figure.text("resource"),
            target=False,
            explain=partial(WORDS[figure.text("resource")], figure),
        )
        for figure in published("rdu_use")
    ]


def hbm_percent(figure: Figure, machine: Machine) -> float:
    """Bytes of a decoder call from and to HBM in its time, of the peak rate."""
    call, run = _decoder(figure, machine)
    return PERCENT * dict(call.traffic)["hbm"] / (run.duration_ps / 1e12) / machine.hbm_bytes_per_s


def hbm_words(figure: Figure, machine: Machine) -> str:
    """What HBM gives to streams at most, and for how long it gives nothing."""
    _, run = _decoder(figure, machine)
    idle = PERCENT * (1 - run.timeline.busy_cycles["hbm"] / run.timeline.total_cycles)
    return (
        f"streams get at most {PERCENT * float(machine.hbm_efficiency):.1f} % of the peak (hbm_efficiency, fitted to"
        f" decode rates), and HBM is idle for {idle:.1f} % of the call, while the first tiles go through the stages."
    )


def pcus_percent(figure: Figure, machine: Machine) -> float:
    """PCUs that work on stages."""
    return PERCENT * _section(figure, machine).pcus / machine.pcus


def pcus_words(figure: Figure, machine: Machine) -> str:
    """What limits them."""
    share = PERCENT * float(machine.usable_share)
    return f"stages get whole PCUs up to {share:.0f} % of all (usable_share, which is the published figure itself)."


def pmus_percent(figure: Figure, machine: Machine) -> float:
    """PMUs that hold a buffer."""
    return PERCENT * _section(figure, machine).pmus / machine.pmus


def pmus_words(figure: Figure, machine: Machine) -> str:
    """What is in them, and what more could be."""
    section = _section(figure, machine)
    spare = int(machine.pmus * machine.usable_share) - section.pmus
    return (
        f"{section.pmus} PMUs hold {len(section.buffers)} buffers, each with as many PMUs as its bytes and its paces"
        f" need; {spare} more could be used. A compiler that spreads buffers for their banks or keeps more weights"
        " ahead would fill them."
    )


def _decoder(figure: Figure, machine: Machine) -> tuple[Call, CallRun]:
    """The longest call of a step, which is the decoder's."""
    from experiments.validation.rdu_llama import executed

    execution = executed(_phase(figure), figure.text("mode"), "hardware", machine)
    pairs = zip(execution.plan.calls, execution.calls, strict=True)
    return max(pairs, key=lambda pair: pair[0].count * pair[1].duration_ps)


def _section(figure: Figure, machine: Machine) -> Section:
    from rdu_model import Choices, compile_graph

    phase = _phase(figure)
    compiled = compile_graph(phase.graph, machine, Choices(figure.text("mode")), phase.sockets)
    name = _decoder(figure, machine)[0].name
    return next(one.section for one in compiled.sections if one.section.name == name)


def _phase(figure: Figure) -> Phase:
    from experiments.validation.rdu_llama import Phase

    return Phase(figure.text("model"), "decode", 1, figure.count("context"), figure.count("sockets"))


SHARES: Mapping[str, Callable[[Figure, Machine], float]] = {
    "hbm": hbm_percent,
    "pcus": pcus_percent,
    "pmus": pmus_percent,
}
WORDS: Mapping[str, Callable[[Figure, Machine], str]] = {"hbm": hbm_words, "pcus": pcus_words, "pmus": pmus_words}
