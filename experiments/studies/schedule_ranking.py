"""Whether a better schedule stays better: every assumed parameter of the lecture's SM halved and doubled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from experiments.charting.reshape import Where
from experiments.plot.heat_map import HeatMap
from experiments.survey import Record, Survey

if TYPE_CHECKING:
    from gpu_model.lecture.attention import AttentionRun
    from gpu_model.lecture.gemm import LectureRun

TILE, PERSISTENT, ATTENTION = "one tile, K = 4096", "8 tiles, K = 512", "attention"
# By contest: what stands in it, and the schedule of each.
WAYS = {
    TILE: {
        "synchronous": "synchronous",
        "register double buffer": "register_double_buffer",
        "multistage": "multistage",
        "warp-specialized": "warp_specialized",
        "cooperative": "cooperative",
    },
    PERSISTENT: {"one consumer": "warp_specialized", "cooperative": "cooperative", "ping-pong": "pingpong"},
    ATTENTION: {
        "serial": "serial",
        "ping-pong": "pingpong",
        "inside a warpgroup": "intra_warpgroup",
        "both overlaps": "both",
    },
}
SLOTS = 4
# What the lecture assumes: by name the fields of the machine that change together, and their unit.
GEMM_PARAMETERS = {
    "tensor core rate": (("bf16_flops_per_cycle",), "FLOP/cycle"),
    "load rate": (("load_bytes_per_cycle", "l2_bytes_per_cycle"), "B/cycle"),
    "load latency": (("load_latency_cycles",), "cycles"),
    "issue of cp.async": (("cp_async_issue_cycles",), "cycles"),
    "issue of TMA": (("tma_issue_cycles",), "cycles"),
    "staging rate": (("smem_write_bytes_per_cycle",), "B/cycle"),
    "conversion rate": (("vector_ops_per_cycle",), "ops/cycle"),
    "store rate": (("store_bytes_per_cycle",), "B/cycle"),
    "slots": ((), ""),
}
# Of attention: the cycles of its parts.
ATTENTION_PARAMETERS = ("product", "exp", "rest of softmax")
AS_ASSUMED = "as assumed"
# Shares that differ by less are alike: nothing turns there.
ALIKE_POINTS = 0.05


@dataclass(frozen=True)
class Change:
    """A schedule in a contest in which one parameter is so many times what the lecture assumes."""

    contest: str
    way: str
    parameter: str = AS_ASSUMED
    factor: float = 1.0


def cases() -> Iterator[Change]:
    """Every contest as assumed, then with every parameter halved and doubled; every schedule in it."""
    for contest, ways in WAYS.items():
        parameters = ATTENTION_PARAMETERS if contest == ATTENTION else GEMM_PARAMETERS
        changes = [(AS_ASSUMED, 1.0), *((parameter, factor) for parameter in parameters for factor in (0.5, 2.0))]
        yield from (Change(contest, way, *change) for change in changes for way in ways)


def record(change: Change) -> Record:
    """The share of the time in which the tensor core computes."""
    run = attention_of(change) if change.contest == ATTENTION else gemm_of(change)
    return {
        "contest": change.contest,
        "parameter": change.parameter,
        "factor": change.factor,
        "change": _named(change),
        "schedule": change.way,
        "total_cycles": run.total_cycles,
        "tensor_core_percent": run.tensor_core_percent,
    }


def _named(change: Change) -> str:
    """'load rate / 2'."""
    return change.parameter + {0.5: " / 2", 2.0: " x 2"}.get(change.factor, "")


def gemm_of(change: Change) -> LectureRun:
    """A GEMM with the parameter changed."""
    from gpu_model.lecture.gemm import MACHINE, PERSISTENT_TILES, LectureRun
    from gpu_model.machine import load_machine

    fields, unit = GEMM_PARAMETERS.get(change.parameter, ((), ""))
    machine = load_machine(MACHINE)
    set_to = tuple((field, f"{int(getattr(machine, field) * change.factor)} {unit}") for field in fields)
    schedule = WAYS[change.contest][change.way]
    ring = schedule not in ("synchronous", "register_double_buffer")
    slots = int(SLOTS * change.factor) if change.parameter == "slots" else SLOTS
    tiles, k = (PERSISTENT_TILES, 512) if change.contest == PERSISTENT else (1, 4096)
    return LectureRun(change.way, schedule, (("slots", str(slots)),) if ring else (), set_to, tiles, k)


def attention_of(change: Change) -> AttentionRun:
    """Attention with the parameter changed."""
    from dataclasses import replace

    from gpu_model.lecture.attention import attention_run

    run = attention_run(f"attention_H100_{WAYS[ATTENTION][change.way]}")
    of = {parameter: change.factor if parameter == change.parameter else 1.0 for parameter in ATTENTION_PARAMETERS}
    return replace(
        run,
        product_cycles=int(run.product_cycles * of["product"]),
        exp_cycles=int(run.exp_cycles * of["exp"]),
        vector_cycles=int(run.vector_cycles * of["rest of softmax"]),
    )


def finding(rows: Sequence[Record]) -> str:
    """In how many changes the ranking holds, and what turns it where it does not."""
    changes = changes_by_turns(rows)
    turned = [f"{change} turns {' and '.join(turns)}" for change, turns in changes if turns]
    told = f"; {'; '.join(turned)}" if turned else ""
    return (
        f"Of {len(changes)} changes, each assumption halved or doubled, {len(changes) - len(turned)} leave the ranking"
        f" of schedules as it is{told}."
    )


def details(rows: Sequence[Record]) -> str:
    """In how many changes each ranking holds, and which parameter turns which pair."""
    told = []
    for contest in dict.fromkeys(row["contest"] for row in rows):
        of_it = [row for row in rows if row["contest"] == contest]
        assumed, pairs = _shares(of_it)[AS_ASSUMED], changes_by_turns(of_it)
        named = [f"; {change} turns {' and '.join(turns)}" for change, turns in pairs if turns]
        told.append(
            f"{contest} ({' < '.join(sorted(assumed, key=assumed.__getitem__))}):"
            f" {len(pairs) - len(named)} of {len(pairs)} changes leave it as it is{''.join(named)}"
        )
    return f"Schedules by how busy they keep the tensor core: {'. '.join(told)}."


def changes_by_turns(rows: Sequence[Record]) -> list[tuple[str, list[str]]]:
    """Every change of every contest, with the pairs of schedules that it turns."""
    found = []
    for contest in dict.fromkeys(row["contest"] for row in rows):
        shares = _shares([row for row in rows if row["contest"] == contest])
        assumed = shares.pop(AS_ASSUMED)
        found += [(change, _turned(assumed, share)) for change, share in shares.items()]
    return found


def _shares(rows: Sequence[Record]) -> dict[str, dict[str, float]]:
    """Of one contest, by change, the share of each schedule."""
    shares: dict[str, dict[str, float]] = {}
    for row in rows:
        shares.setdefault(row["change"], {})[row["schedule"]] = row["tensor_core_percent"]
    return shares


def _turned(before: Mapping[str, float], after: Mapping[str, float]) -> list[str]:
    """Pairs of schedules of which the other is better now, both times by more than a hair."""
    turned = []
    for one, other in combinations(before, 2):
        better, worse = (one, other) if before[one] > before[other] else (other, one)
        if before[better] - before[worse] > ALIKE_POINTS and after[worse] - after[better] > ALIKE_POINTS:
            turned.append(f"{worse} above {better} ({after[worse]:.1f} and {after[better]:.1f} %)")
    return turned


STUDY = Survey(
    question="Does the ranking of schedules hold if what the lecture assumes of its SM is off by a factor of two?",
    cases=cases,
    record=record,
    finding=finding,
    details=details,
    figures=(
        *(
            Where(
                HeatMap(
                    f"ranking_{place}",
                    x="schedule",
                    y="change",
                    value="tensor_core_percent",
                    title=f"Tensor core busy [%]: {contest}",
                ),
                (("contest", contest),),
            )
            for place, contest in enumerate(WAYS, start=1)
        ),
    ),
    keys=5,
)
