"""What a script or a notebook asks of a verb, checked: whatever is of the wrong type has one message that says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from operator import index
from pathlib import Path
from typing import Any, TypeVar

from experiments.request import Request
from experiments.sides import RDU_CHOICES
from patterns.errors import UserError, did_you_mean
from patterns.graph import Graph
from patterns.library import MEMBERS_EXTENT, PHASES

Made = TypeVar("Made")
# What `load` is asked besides extents, and how a machine's model is asked by `lower`.
OF_A_GRAPH = ("phase", "batch", "context")
OF_A_PLAN = ("launch", "schedule", "options", "orchestration", "placement", "collectives", "seed")
MOST_LETTERS = 60


def shown(value: object) -> str:
    """A value in a message, short."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + '...'}"


def text(name: str, value: object) -> str:
    """A text. Raises UserError."""
    if not isinstance(value, str):
        raise UserError(f"{name}: a text is due, found {shown(value)}")
    return value


def path(name: str, value: object) -> Path:
    """A path. Raises UserError."""
    if not isinstance(value, str | Path):
        raise UserError(f"{name}: a path is due, found {shown(value)}")
    return Path(value)


def number(name: str, value: object) -> int:
    """A whole number, of whatever library. Raises UserError."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UserError(f"{name}: a whole number is due, found {shown(value)}")
    return index(value)


def number_or_none(name: str, value: object) -> int | None:
    """A whole number, or None for what is left open. Raises UserError."""
    return None if value is None else number(name, value)


def texts(name: str, value: object) -> tuple[str, ...]:
    """Several texts; one alone is one of them. Raises UserError."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise UserError(f"{name}: a list of texts is due, found {shown(value)}")
    return tuple(text(name, one) for one in value)


def pairs(name: str, value: object) -> tuple[tuple[str, str], ...]:
    """A mapping as pairs of texts. Raises UserError."""
    if not isinstance(value, Mapping):
        raise UserError(f'{name}: a mapping is due, as in {{"NAME": 3}}, found {shown(value)}')
    return tuple((text(f"a name in {name}", key), str(one)) for key, one in value.items())


# How a field of a Request is read, by its declared type.
READERS: Mapping[str, Callable[[str, object], object]] = {
    "str": text,
    "int": number,
    "int | None": number_or_none,
    "tuple[str, ...]": texts,
    "tuple[tuple[str, str], ...]": pairs,
}
FIELDS = {field.name: str(field.type) for field in fields(Request) if field.name != "workload"}


def workload_name(value: object) -> str:
    """The name or the path of a workload. Raises UserError."""
    if not isinstance(value, str | Path):
        raise UserError(f"a workload is a name, a path or a Graph; found {shown(value)}")
    return str(value)


def values_of(asked: Mapping[str, object]) -> dict[str, Any]:
    """Fields of a Request, each of its type. Raises UserError."""
    return {name: READERS[FIELDS[name]](name, value) for name, value in asked.items()}


def extents_of(given: object, others: Mapping[str, object]) -> dict[str, str]:
    """Extents from a mapping and from keywords, None for those that stay as they are. Raises UserError."""
    named = dict(pairs("extents", {} if given is None else given))
    if twice := sorted(named.keys() & others.keys()):
        raise UserError(f"{twice[0]} is given as a keyword and in extents: keep one")
    for name, value in others.items():
        plain = isinstance(value, int | float | str | None) or hasattr(value, "__index__")
        if isinstance(value, bool) or not plain:
            raise UserError(f"{name}: a whole number or an expression is due, found {shown(value)}")
    return named | {name: str(value) for name, value in others.items() if value is not None}


def request_of(workload: object, asked: Mapping[str, object]) -> Request:
    """A question from keywords: fields of a Request, and other names as settings. workload: a Graph answers for itself.

    Raises UserErrors.
    """
    plain = {name: value for name, value in asked.items() if name in FIELDS}
    others = {name: value for name, value in asked.items() if name not in FIELDS and value is not None}
    values = values_of(plain)
    settings = values.get("settings", ())
    if twice := sorted(others.keys() & dict(settings).keys()):
        raise UserError(f"{twice[0]} is given as a keyword and in settings: keep one")
    graph = workload if isinstance(workload, Graph) else None
    if others:
        need_known(others, graph.sizes if graph else extents_by_name(workload_name(workload), values), FIELDS)
    values["settings"] = (*settings, *((name, str(value)) for name, value in others.items()))
    if graph:
        return _request_of_graph(graph, values)
    return Request(workload_name(workload), **values)


def extents_by_name(workload: str, values: Mapping[str, Any]) -> Mapping[str, int]:
    """What a workload's graph can be asked. Raises UserErrors."""
    from patterns.library import workload as read

    return read(workload, values.get("phase", "decode")).sizes


def need_known(asked: Iterable[str], extents: Iterable[str], keywords: Iterable[str]) -> None:
    """Raises UserError for a keyword that is no extent but nearly another keyword."""
    for name in asked:
        close = " (did you mean 'mode'?)" if name in ("policy", "policies", "modes") and "mode" in keywords else ""
        if name not in extents and (close := close or did_you_mean(name, (*extents, *keywords))):
            raise UserError(f"unknown keyword {name!r}{close}; the graph has: {', '.join(extents)}")


def _request_of_graph(graph: Graph, values: dict[str, Any]) -> Request:
    """A question about a graph that is made: it has its extents. Raises UserError for those that are asked for."""
    need_unasked(graph, [name for name in OF_A_GRAPH if name in values])
    need_unasked(graph, [name for name, _ in values["settings"] if name.removeprefix("graph.") in graph.sizes])
    members = members_of(graph)
    for name in ("gpus", "sockets"):
        if values.setdefault(name, members) != members:
            raise UserError(
                f"{name} is {values[name]}, and the graph is of one of {members}: load(..., members={values[name]})"
            )
    return Request(graph.name, **values)


def members_of(graph: Graph) -> int:
    """How many share a graph."""
    return graph.sizes.get(MEMBERS_EXTENT, 1)


def need_unasked(graph: Graph, names: Iterable[str]) -> None:
    """Raises UserError where a graph that is made is asked for other extents."""
    if found := ", ".join(names):
        raise UserError(
            f"{found}: the Graph {graph.name!r} is made already; give that to load(...), and its Graph here"
        )


def split_choices(asked: Mapping[str, object]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a machine's model is asked, and what the graph is."""
    choices = {name: value for name, value in asked.items() if name in OF_A_PLAN}
    return values_of(choices), {name: value for name, value in asked.items() if name not in OF_A_PLAN}


def need_of_family(asked: Iterable[str], family: str, machine: str) -> None:
    """Raises UserError for what only machines of the other family are asked."""
    others = [name for name in asked if (name in RDU_CHOICES) != (family == "rdu")]
    if others:
        other = "GPU" if family == "rdu" else "RDU"
        raise UserError(f"{', '.join(others)}: asked of {other}s only, and {machine} is not one")


def need(verb: str, kind: type[Made], value: object, how: str) -> Made:
    """A value of the type that a verb is of. Raises UserError that says what makes one."""
    if not isinstance(value, kind):
        due = f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
        raise UserError(f"{verb} takes {due}: {how}; found {shown(value)}")
    return value


def phase_of(value: object) -> Any:
    """A phase's name. Raises UserError."""
    from patterns.errors import UnknownName

    if text("phase", value) not in PHASES:
        raise UnknownName("phase", str(value), PHASES)
    return value
