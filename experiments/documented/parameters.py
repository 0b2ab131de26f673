"""Parameters of machine files: what each says, its unit and range as its name gives them, and whether it must be there.

Texts are data files beside this one; a parameter without a text, or a text of none, is a mistake that tests find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from importlib import import_module
from importlib.resources import files
from typing import Any, cast

from experiments.documented.said import Said
from experiments.sides import MODELS, Family
from patterns.documents.parameter_values import limits_of
from patterns.documents.parameters import OWN_NAME
from patterns.energy import EnergyPrices
from patterns.load import load_file
from patterns.units import dimension_of


def parameters(family: Family) -> tuple[Said, ...]:
    """The parameters of a family's machines, in the order of its dataclass; prices of energy are apart."""
    machine = import_module(MODELS[family]).Machine
    prices = {field.name for field in fields(EnergyPrices)}
    own = [field for field in fields(machine) if field.name not in prices and field.name != OWN_NAME]
    return _said(own, f"{family}_parameters")


def prices() -> tuple[Said, ...]:
    """What files of both families say of energy."""
    return _said(fields(EnergyPrices), "energy_parameters")


def _said(own: Any, file: str) -> tuple[Said, ...]:
    texts = texts_of(file)
    return tuple(Said(field.name, texts[field.name], _unit(field), _range(field), _default(field)) for field in own)


def texts_of(file: str) -> Mapping[str, str]:
    """The texts of a data file by parameter."""
    return cast(Mapping[str, str], load_file(files("experiments.documented").joinpath(f"{file}.yaml")).data)


def _unit(field: Field[Any]) -> str:
    """As files write it, by an example; '-' for a plain number or word."""
    dimension = dimension_of(field.name)
    return f"as in `{dimension.example}`" if dimension.name else "-"


def _range(field: Field[Any]) -> str:
    """The limits that the loader holds a field to, or its words."""
    kind = str(field.type)
    if "Literal" in kind:
        return kind[kind.index("[") + 1 : kind.rindex("]")].replace('"', "`").replace("'", "`")
    if "str" in kind and "int" not in kind:
        return "words"
    several = "each " if "tuple" in kind or "Range" in kind else ""
    return f"{several}{limits_of(field)}"


def _default(field: Field[Any]) -> str:
    if field.default is MISSING:
        return "required"
    return "none" if field.default in (None, ()) else f"`{field.default}`"
