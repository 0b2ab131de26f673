"""The JSON Schema (2020-12) of a graph file, for editors: made from the models that the loader itself uses."""

from __future__ import annotations

import inspect
from functools import reduce
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import Discriminator, create_model

from patterns.kind import kind_named, kind_names
from patterns.spec import NodeSpec, graph_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "patternloom graph"
_SAID = ("title", "default")


def graph_schema() -> dict[str, Any]:
    """The schema: every kind with its fields, its functions and what its file says about it."""
    members = [_node_of(name) for name in kind_names()]
    schema = graph_of(Annotated[reduce(or_, members), Discriminator("kind")]).model_json_schema()
    found: dict[str, Any] = _plain(schema)
    # Keys that start with x- are a place for anchors; the loader leaves them out.
    found["patternProperties"] = {"^x-": {}}
    found["oneOf"] = [{"required": ["nodes"]}, {"required": ["blocks"]}]
    return {"$schema": DIALECT, "title": TITLE, **found}


def _node_of(kind: str) -> type[NodeSpec]:
    """A kind's model that says which kind and which functions it has, as a loader finds out by itself."""
    found = kind_named(kind)
    fields: dict[str, Any] = {"kind": (Literal[kind], ...)}
    if found.FUNCTIONS:
        fields["fn"] = (Literal[tuple(found.FUNCTIONS)], ...)
    return create_model(f"{kind}_node", __base__=found.Spec, __doc__=_about(kind), **fields)


def _about(kind: str) -> str:
    """The docstring of a kind's file."""
    return inspect.getdoc(inspect.getmodule(kind_named(kind).Spec)) or ""


def _plain(schema: Any) -> Any:
    """A schema as the loader reads files: nothing is null, and other keys than names are none.

    Without the titles and defaults that say again what the names of the fields say.
    """
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _plain(part) for key, part in schema.items() if key not in _SAID or (isinstance(part, dict) and part)}
    present = [part for part in found.get("anyOf", ()) if part != {"type": "null"}]
    if present:
        del found["anyOf"]
        found = {**found, **(present[0] if len(present) == 1 else {"anyOf": present})}
    if "patternProperties" in found:
        found["additionalProperties"] = False
    return _by_tag(found) if "discriminator" in found else found


def _by_tag(union: dict[str, Any]) -> dict[str, Any]:
    """A union told apart by a field, so that editors offer all its values and then what that member has."""
    tag, members = union["discriminator"]["propertyName"], union["discriminator"]["mapping"]
    rules = [
        {"if": {"properties": {tag: {"const": name}}, "required": [tag]}, "then": {"$ref": member}}
        for name, member in members.items()
    ]
    told = {"description": NodeSpec.model_fields[tag].description, "enum": list(members)}
    return {"type": "object", "properties": {tag: told}, "required": [tag], "allOf": rules}
