"""The JSON Schema (2020-12) of a graph file, for editors: made from the models that the loader itself uses."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, create_model

from patterns.graph_file.spec import (
    AgainSpec,
    BlockSpec,
    GraphSpec,
    JoinSpec,
    NodeSpec,
    Strict,
    TensorSpec,
    UseSpec,
    graph_of,
)
from patterns.kind import kind_named, kind_names

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
    _tell(found, GraphSpec)
    for model in (TensorSpec, BlockSpec, UseSpec, JoinSpec, AgainSpec):
        _tell(found["$defs"][model.__name__], model)
    for name in kind_names():
        node = found["$defs"][f"{name}_node"]
        _tell(node, kind_named(name).Spec)
        _tell_arguments(node, kind_named(name).FUNCTIONS)
    return {"$schema": DIALECT, "title": TITLE, **found}


def model_schema(model: type[Strict]) -> dict[str, Any]:
    """The schema of any file that a model is of, with what is said of its fields."""
    found: dict[str, Any] = _plain(model.model_json_schema())
    _tell(found, model)
    return found


def _tell(schema: dict[str, Any], model: type[BaseModel]) -> None:
    """Add what is said of a model's fields. Pydantic would read it whenever a graph is loaded, which takes time."""
    for field, text in _texts(model).items():
        if field in schema["properties"]:
            schema["properties"][field]["description"] = text


def _tell_arguments(schema: dict[str, Any], functions: Mapping[str, tuple[str, ...]]) -> None:
    """Add to fields of which nothing else is said which functions take them; the kind's text says what for."""
    for field, said in schema["properties"].items():
        takers = [fn for fn, fields in functions.items() if field in fields]
        if takers and "description" not in said:
            said["description"] = f"Taken by fn {', '.join(takers)}."


def _texts(model: type[BaseModel]) -> dict[str, str]:
    """The texts below the fields of a model and of those that it extends."""
    found: dict[str, str] = {}
    for owner in reversed(model.__mro__):
        if issubclass(owner, Strict):
            found |= _texts_in(owner)
    return found


def _texts_in(owner: type) -> dict[str, str]:
    try:
        (tree,) = ast.parse(inspect.getsource(owner)).body
    except OSError:
        return {}  # a model that is made of others, not written
    assert isinstance(tree, ast.ClassDef)
    pairs = pairwise(tree.body)
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


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
    told = {"description": _texts(NodeSpec)[tag], "enum": list(members)}
    return {"type": "object", "properties": {tag: told}, "required": [tag], "allOf": rules}
