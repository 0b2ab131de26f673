"""board_energy: what whole GPU boards take for large and for memory-bound matrix products, in pJ per FLOP or byte."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from experiments.validation.published import Figure, published
from experiments.validation.row import Row
from experiments.validation.tables import Tables

if TYPE_CHECKING:
    from gpu_model.machine import Machine

PART: Literal[""] = ""
PER_JOULE = 1e12


def rows(tables: Tables) -> Sequence[Row]:
    """A row a figure; those that prices were scaled by are shown beside, and are no errors of the model."""
    return [_row(figure) for figure in published("board_energy")]


def _row(figure: Figure) -> Row:
    unit = figure.text("unit")
    shape = (figure.count("m"), figure.count("n"), figure.count("k"), figure.text("dtype"))
    return Row(
        id=figure.id,
        machine=figure.text("gpu"),
        predict=partial(pj_per_flop if unit == "pJ/FLOP" else pj_per_byte, *shape),
        measured=figure.value("value"),
        unit=unit,
        source=figure.source,
        group=figure.text("source"),
        target=not figure.flag("fitted"),
        explain=partial(ends, unit, *shape),
    )


def pj_per_flop(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """Typical energy of a product that is run again and again, for each FLOP that it needs."""
    return PER_JOULE * _energy_j(m, n, k, dtype, machine)[1] / (2 * m * n * k)


def pj_per_byte(m: int, n: int, k: int, dtype: str, machine: Machine) -> float:
    """The same for each byte of its operands and its result, each counted once."""
    return PER_JOULE * _energy_j(m, n, k, dtype, machine)[1] / _num_bytes(m, n, k, dtype)


def ends(unit: str, m: int, n: int, k: int, dtype: str, machine: Machine) -> str:
    """The range that the sources of the prices leave open, in words."""
    events = 2 * m * n * k if unit == "pJ/FLOP" else _num_bytes(m, n, k, dtype)
    low, _, high = (PER_JOULE * end / events for end in _energy_j(m, n, k, dtype, machine))
    return f"the sources of its prices leave {low:.3g} to {high:.3g} {unit} open"


def _num_bytes(m: int, n: int, k: int, dtype: str) -> int:
    from patterns.dtypes import bytes_of

    return sum(bytes_of(elements, dtype) for elements in (m * k, k * n, m * n))


def _energy_j(m: int, n: int, k: int, dtype: str, machine: Machine) -> tuple[float, float, float]:
    """Low, typical and high energy of one product, with the time at which it would be replayed."""
    from experiments.validation.graphs import product
    from experiments.validation.replay import MICROSECOND_PS, kernel_us
    from gpu_model import lower
    from patterns.spent import energy_of

    plan = lower(product(m, n, k, dtype), machine, launch="graph")
    time_us = sum(kernel_us(plan, call) for call in plan.calls)
    energy = energy_of(plan, round(time_us * MICROSECOND_PS))
    assert energy is not None, f"{machine.name} has no energies"
    return energy.low_j, energy.typical_j, energy.high_j
