"""The two sides of a comparison. Both machine models have the same functions; this file says how to call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, cast

from patterns.errors import UnknownName, UserError

if TYPE_CHECKING:
    from experiments.request import Request
    from patterns.graph import Graph
    from patterns.numbers.rounding import RoundedResults
    from patterns.plan import Plan

Family = Literal["gpu", "rdu"]
MODELS: Mapping[Family, str] = {"gpu": "gpu_model", "rdu": "rdu_model"}
MODE_WORDS: Mapping[Family, str] = {"gpu": "policy", "rdu": "mode"}
# What of a family's `lower` takes time, and what only a reader of its plans has a use for.
TELLS: Mapping[Family, tuple[str, ...]] = {"gpu": ("reasons",), "rdu": ()}
# What a request says to an RDU besides its mode.
RDU_CHOICES = ("orchestration", "placement", "collectives", "seed")
# The pair of the headline: operator by operator on one side, all layers in one call on the other.
HEADLINE: Mapping[Family, str] = {"gpu": "operator", "rdu": "looped"}


@dataclass(frozen=True)
class Side:
    """One machine of a comparison: its family, its name, how many of them, in which modes, and what else is asked."""

    family: Family
    machine: str
    members: int
    modes: tuple[str, ...]
    keywords: tuple[tuple[str, object], ...]


def sides(request: Request) -> tuple[Side, Side]:
    """The GPU's and the RDU's side of a request. Raises UnknownName for a mode that does not exist."""
    return (
        Side("gpu", request.gpu, request.gpus, chosen("gpu", request.policies), keywords("gpu", request)),
        Side("rdu", request.rdu, request.sockets, chosen("rdu", request.modes), keywords("rdu", request)),
    )


def side_on(request: Request, families: Sequence[Family], machine: str, mode: str, members: int) -> Side:
    """A machine of one of the families, in one mode ('': the model's choice). Raises UnknownName, UserError.

    machine: `gpu.NAME` or `rdu.NAME` where both families have the name.
    """
    found = families_of(machine, families)
    if not found:
        what = families[0].upper() if len(families) == 1 else "machine"
        raise UnknownName(what, machine, {name for family in families for name in machine_names(family)})
    if len(found) > 1:
        raise UserError(f"{machine!r} is a machine of both families: say {in_each(machine)}")
    modes = chosen(found[0], (mode,)) if mode else ("",)
    return Side(found[0], machine.rpartition(".")[2], members, modes, keywords(found[0], request))


def families_of(machine: str, families: Iterable[Family] = tuple(MODELS)) -> tuple[Family, ...]:
    """The families that have a machine: one of `gpu.NAME` and of `rdu.NAME`, none of a name that nobody knows."""
    place, _, name = machine.rpartition(".")
    return tuple(family for family in families if place in ("", family) and name in machine_names(family))


def in_each(machine: str) -> str:
    """'gpu.unit or rdu.unit': how a name that both families have is told apart."""
    return " or ".join(f"{family}.{machine}" for family in MODELS)


def keywords(family: Family, request: Request) -> tuple[tuple[str, object], ...]:
    """What else a request says to a family's `lower`."""
    if family == "rdu":
        return tuple((name, getattr(request, name)) for name in RDU_CHOICES)
    return (("schedule", request.schedule), ("launch", request.launch), ("options", dict(request.options)))


def chosen(family: Family, asked: tuple[str, ...]) -> tuple[str, ...]:
    """The modes asked for, or all there are. Raises UnknownName."""
    known = mode_names(family)
    for name in asked:
        if name not in known:
            raise UnknownName(f"{family.upper()} {MODE_WORDS[family]}", name, known)
    return asked or known


def machine_names(family: Family) -> tuple[str, ...]:
    """Machines of a family."""
    return cast(tuple[str, ...], import_module(MODELS[family]).machine_names())


def mode_names(family: Family) -> tuple[str, ...]:
    """Fusion policies of the GPU, modes of the RDU, from the least fused to the most."""
    return cast(tuple[str, ...], getattr(import_module(MODELS[family]), f"{MODE_WORDS[family]}_names")())


def load_machine(family: Family, name: str, overrides: Mapping[str, str]) -> Any:
    """A machine by name, with parameters replaced. Raises UnknownName, SpecError."""
    return import_module(MODELS[family]).load_machine(name, overrides)


def rounding_of(family: Family) -> RoundedResults:
    """Which results of a call a family's machines round to their types."""
    return cast("RoundedResults", import_module(MODELS[family]).rounded_results)


def check_room(side: Side, graph: Graph, machine: object, mode: str) -> None:
    """Raises DoesNotFit where `lower` would for want of memory or of members, much sooner than that."""
    import_module(MODELS[side.family]).check_room(graph, machine, **_how(side, mode))


def lower(side: Side, graph: Graph, machine: object, mode: str, *, told: bool = True) -> Plan:
    """The graph on this side's machine in one mode ('': the model's default). Raises DoesNotFit, other UserErrors.

    told: whether somebody reads the plan; else it lacks words that take time to find.
    """
    how = _how(side, mode) | ({} if told else dict.fromkeys(TELLS[side.family], False))
    return cast("Plan", import_module(MODELS[side.family]).lower(graph, machine, **how))


def _how(side: Side, mode: str) -> dict[str, object]:
    """What a family's `lower` is asked."""
    return {"members": side.members, **dict(side.keywords)} | ({MODE_WORDS[side.family]: mode} if mode else {})
