"""Switching between expert models: from DDR to HBM on an RDU, over host links on GPUs; what a request then takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import ceil
from typing import Any

from experiments.charting.reshape import Reshaped
from experiments.plot.bars import Bars
from experiments.request import Request
from experiments.survey import Record, Survey
from patterns.plural import number_of

EXPERT = "llama-2-7b"
LARGER = "llama-3.1-8b"
# Of a chat: SN40L paper (arXiv:2405.07518v2), section VI-C; the length of its prompts is not published.
NEW_TOKENS, PROMPT = 20, 512
# Of a PCIe link one way, per GPU (SN40L paper, section VI-C), and the main memory of a DGX of eight.
LINK_GB_PER_S = {"a100_sxm": 32, "h100_sxm": 64}
HOST_BYTES = 2 * 10**12
# What an answer is made of: the prompt at once, then token by token.
PHASES = ("prefill", "decode")
# Experts of a composition in the paper's footprint, and GPU nodes that would hold them all in HBM.
EXPERTS, NODES = 850, 19
# Experts in the HBM of a DGX, from the same section.
DGX_EXPERTS = 50

# SN40L paper, Table V: how many times longer 8 GPUs take than 8 sockets.
PUBLISHED_SWITCH = {"a100_sxm": 31, "h100_sxm": 15}
PUBLISHED_RUN = {"a100_sxm": 2.0, "h100_sxm": 1.5}
PUBLISHED_REQUEST = {("a100_sxm", 1): 4.8, ("h100_sxm", 1): 2.8, ("a100_sxm", 8): 6.6, ("h100_sxm", 8): 3.7}
# SN40L paper, section VI-C: experts that one node holds, and that fit a DGX before it runs out of memory.
PUBLISHED_EXPERTS = {"sn40l": EXPERTS, "a100_sxm": 150, "h100_sxm": 150}
# Hot Chips 2024, slide 3: Llama 3.1 8B on 16 sockets, at 1600 GB/s.
PUBLISHED_SWITCH_MS = {("sn40l", 16, LARGER): 10.0}
HOT_CHIPS = (("ddr_bytes_per_s", "100 GB/s"), ("ddr_efficiency", "1.0"))


@dataclass(frozen=True)
class System:
    """`members` machines in a mode ('' where only switching is asked). links: to a host, 0 for DDR beside each machine.

    settings: of the machine, replaced.
    """

    machine: str
    mode: str
    members: int
    model: str = EXPERT
    links: int = 0
    settings: tuple[tuple[str, str], ...] = ()


SYSTEMS = (
    System("sn40l", "fused", 8),
    System("sn40l", "looped", 8),
    System("a100_sxm", "library", 8, links=1),
    System("h100_sxm", "library", 8, links=1),
    System("a100_sxm", "library", 8, links=8),
    System("h100_sxm", "library", 8, links=8),
    System("sn40l", "", 16, LARGER),
    System("sn40l", "", 16, LARGER, settings=HOT_CHIPS),
    System("sn40l", "", 8, LARGER),
    System("a100_sxm", "", 8, LARGER, links=1),
    System("h100_sxm", "", 8, LARGER, links=1),
)


def record(system: System) -> Record:
    """Switching, room and requests of a system; times as many times those of the first of its model, which has DDR."""
    machine, published = load(system), system.links == 1 and system.model == EXPERT
    expert = weight_bytes(system.model)
    times = times_ms(system)
    first = times_ms(next(one for one in SYSTEMS if one.model == system.model))
    ratios = {name: took / first[name] if took else None for name, took in times.items()}  # type: ignore[operator]
    held = HOST_BYTES if system.links else system.members * machine.ddr_bytes
    named = system.machine
    return {
        "machine": named,
        "mode": system.mode or "-",
        "members": system.members,
        "model": system.model,
        "links": number_of(system.links, "link") if system.links else "DDR",
        "gb_per_s": bytes_per_s(system, machine) / 1e9,
        "switch_ms": times["switch"],
        "published_switch_ms": PUBLISHED_SWITCH_MS.get((named, system.members, system.model)),
        "experts_in_hbm": (system.members * machine.hbm_bytes - weight_bytes(EXPERT)) // expert,
        "experts_behind": held // expert,
        "published_experts": PUBLISHED_EXPERTS[named] if system.model == EXPERT else None,
        "run_ms": times["run"],
        "request_1_ms": times["request_1"],
        "request_8_ms": times["request_8"],
        "switch_ratio": ratios["switch"],
        "published_switch_ratio": PUBLISHED_SWITCH.get(named) if published else None,
        "run_ratio": ratios["run"],
        "published_run_ratio": PUBLISHED_RUN.get(named) if published else None,
        "request_1_ratio": ratios["request_1"],
        "published_request_1_ratio": PUBLISHED_REQUEST.get((named, 1)) if published else None,
        "request_8_ratio": ratios["request_8"],
        "published_request_8_ratio": PUBLISHED_REQUEST.get((named, 8)) if published else None,
    }


def times_ms(system: System) -> dict[str, float | None]:
    """Of a switch, of an answer to one prompt, of a request of 1 and of 8; None where only switching is asked."""
    switch_ms = 1e3 * weight_bytes(system.model) / bytes_per_s(system, load(system))
    run = {batch: run_ms(system, batch) if system.mode else None for batch in (1, 8)}
    requests = {f"request_{batch}": request_ms(run, switch_ms, batch) for batch in (1, 8)}
    return {"switch": switch_ms, "run": run[1], **requests}


def load(system: System) -> Any:
    """Its machine."""
    from experiments.sides import load_machine

    family = "gpu" if system.machine in LINK_GB_PER_S else "rdu"
    return load_machine(family, system.machine, dict(system.settings))  # type: ignore[arg-type]


def bytes_per_s(system: System, machine: Any) -> float:
    """At which weights come to HBM: what streams get of the DDR of all sockets, or of the links to the host."""
    if system.links:
        return system.links * LINK_GB_PER_S[system.machine] * 1e9
    return float(system.members * machine.ddr_bytes_per_s * machine.ddr_efficiency)


@cache
def weight_bytes(model: str) -> int:
    """Bytes of a model's weights."""
    from patterns.count import parameter_bytes
    from patterns.library import workload

    return parameter_bytes(workload(model))


def run_ms(system: System, batch: int) -> float:
    """A model's answer to a batch of prompts that are all there: the prompt, then the other tokens one by one."""
    one = Request(EXPERT, batch=batch, context=PROMPT, launch="serving")
    prompt, token = (
        step_ms(replace(one, phase=phase), system.machine, system.mode, system.members) for phase in PHASES
    )
    return prompt + (NEW_TOKENS - 1) * token


@cache
def step_ms(asked: Request, machine: str, mode: str, members: int) -> float:
    """One step of an expert, GPUs started by a serving engine."""
    from experiments.compare import read_graph, run_side
    from experiments.settings import Settings
    from experiments.sides import side_on

    side = side_on(asked, ("gpu", "rdu"), machine, mode, members)
    (outcome,) = run_side(read_graph(asked, members, Settings()), side, Settings())
    return 1e3 * outcome.report.time_s


def request_ms(run: Mapping[int, float | None], switch_ms: float, batch: int) -> float | None:
    """A router's answer to the whole batch, then for each prompt the copy of its expert and the expert's answer.

    The router is a model like the experts and answers as long; it is in HBM, and no expert is.
    """
    router, expert = run[batch], run[1]
    return None if router is None or expert is None else router + batch * (switch_ms + expert)


def implied_run_ms(machine: str, rows: Sequence[Record]) -> float:
    """What an expert's answer must take on 8 sockets for the published ratios to agree with each other.

    With t for all answers of a request, s and S for the switches of both sides, e and r for the published ratios of
    answers and of requests: e t + B S = r (t + B s) for a batch of B. Eight prompts have seven answers more than one.
    """
    switch = {row["machine"]: row["switch_ms"] for row in rows if row["model"] == EXPERT and row["links"] != "8 links"}
    answers: dict[int, float] = {}
    for batch in (1, 8):
        ratio = PUBLISHED_REQUEST[machine, batch]
        slower: float = switch[machine] - ratio * switch["sn40l"]
        answers[batch] = batch * slower / (ratio - PUBLISHED_RUN[machine])
    return (answers[8] - answers[1]) / 7


def finding(rows: Sequence[Record]) -> str:
    """How long a copy takes on the RDU, how many times as long on GPUs, and how many experts there are room for."""
    rdu, gpus = rows[0], rows[2:4]
    ratios = " and ".join(
        f"{row['machine']} {row['switch_ratio']:.1f} ({row['published_switch_ratio']} published)" for row in gpus
    )
    return (
        f"{rdu['members']} sockets copy a {EXPERT} from DDR to HBM in {rdu['switch_ms']:.1f} ms at"
        f" {rdu['gb_per_s']:,.0f} GB/s; GPUs take so many times as long over one link: {ratios}. DDR holds"
        f" {rdu['experts_behind']:,} experts ({rdu['published_experts']} published)."
    )


def details(rows: Sequence[Record]) -> str:
    """Whole requests beside what is published, and what of it cannot be computed here."""
    fused, looped, a100, h100 = rows[:4]
    ratios = "; ".join(
        f"{row['machine']} {row['request_1_ratio']:.1f} times as long at batch 1 ({row['published_request_1_ratio']}),"
        f" {row['request_8_ratio']:.1f} at batch 8 ({row['published_request_8_ratio']})"
        for row in (a100, h100)
    )
    implied = " and ".join(f"{implied_run_ms(row['machine'], rows):.0f} ms" for row in (a100, h100))
    nodes = ceil(EXPERTS / a100["experts_in_hbm"])
    return (
        f"A whole request takes, in brackets as published: {ratios}. {nodes} DGX ({NODES}) would have {EXPERTS} experts"
        f" in HBM. What an answer takes is not published: the published ratios agree with each other if it was"
        f" {implied} on 8 sockets, here {fused['run_ms']:.0f} ms fused and {looped['run_ms']:.0f} ms looped."
    )


def parts(rows: Sequence[Record]) -> list[Record]:
    """What a request is made of, a row a system and batch. The published time is as many times the first system's."""
    known = [row for row in rows if row["request_1_ms"] is not None]
    return [
        {
            "system": f"{row['members']} {row['machine']} {row['mode']} {row['links']}".rstrip(),
            "batch": f"batch {batch}",
            "router_and_experts_ms": row[f"request_{batch}_ms"] - batch * row["switch_ms"],
            "switching_ms": batch * row["switch_ms"],
            "as_published_ms": times and times * known[0][f"request_{batch}_ms"],
        }
        for batch in (1, 8)
        for row in known
        for times in (row[f"published_request_{batch}_ratio"],)
    ]


STUDY = Survey(
    question="What does it cost to switch between models that HBM does not hold together?",
    cases=lambda: SYSTEMS,
    record=record,
    finding=finding,
    details=details,
    figures=(
        Reshaped(
            Bars(
                "model_switching",
                "system",
                ("router_and_experts_ms", "switching_ms"),
                panel="batch",
                stacked=True,
                title="A request to a composition of experts",
                x_label="ms a request",
                marks="as_published_ms",
            ),
            parts,
        ),
    ),
    keys=5,
    files_only=(
        "published_switch_ms",
        "request_1_ms",
        "request_8_ms",
        "run_ratio",
        "published_run_ratio",
    ),
)
