"""What a sweep file may say: the pydantic model of it, strict, and the JSON Schema that editors check it by."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from experiments.sweep.values import SERIES, value_of, values_of
from patterns.graph_file.schema import DIALECT, model_schema
from patterns.graph_file.spec import Strict

TITLE = "patternloom sweep"
VERSION = 1

_SCALAR = {"type": ["number", "string"]}
_SERIES = {
    "type": "object",
    "properties": {
        name: {
            "type": "array",
            "items": _SCALAR,
            "minItems": min(map(len, forms)),
            "maxItems": max(map(len, forms)),
            "description": " or ".join(f"[{', '.join(form)}]" for form in forms),
        }
        for name, (forms, _) in SERIES.items()
    },
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
}
One = Annotated[Any, PlainValidator(value_of), WithJsonSchema(_SCALAR)]
Several = Annotated[
    Any,
    PlainValidator(values_of),
    WithJsonSchema({"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR, "minItems": 1}, _SERIES]}),
]
Fixed = dict[str, One]
Varied = dict[str, Several]
Rows = list[Fixed]
Filters = Annotated[Any, PlainValidator(lambda value: _filters(value)), WithJsonSchema({"type": ["string", "array"]})]
Extras = list[Literal["overlap", "waterfall"]]


def _none() -> list[Any]:
    return []


def _filters(value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str) for one in found):
        raise ValueError("text such as 'batch * context <= 1048576', or a list of such, is due")
    return tuple(found)


class SweepSpec(Strict):
    """A sweep: every combination of what is listed, what is zipped and what is in the grid, that passes the filter."""

    version: Literal[1] = 1
    """The version of this format."""

    about: str = ""
    """What the sweep is to find out, in a line."""

    fixed: Fixed = Field(default_factory=dict)
    """Fields that all points share: workload, machine, mode, batch, context, members, launch, graph.EXTENT,
    gpu.PARAMETER, rdu.PARAMETER, option.NAME ...."""

    list: Rows = Field(default_factory=_none)
    """Points written out, each a mapping of its fields; the outermost loop."""

    zip: Varied = Field(default_factory=dict)
    """Fields whose values move together: the first of all, the second of all, and so on."""

    grid: Varied = Field(default_factory=dict)
    """Fields of which every combination is run, the last one fastest. Values: one, a list, or one of {range: [first,
    last, step]}, {linspace: [first, last, count]}, {logspace: [first, last, count]}, {pow2: [first, last]}."""

    where: Filters = ()
    """Only points of which this holds, as in `batch * context <= 1048576 and machine != "b200"`; a list: all of it."""

    columns: Extras = Field(default_factory=_none)
    """What else is told of each point: overlap, waterfall (seconds by part). It makes a point several times slower."""


def sweep_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a sweep file."""
    found = model_schema(SweepSpec)
    found["patternProperties"] = {"^x-": {}}
    return {"$schema": DIALECT, "title": TITLE, **found}
