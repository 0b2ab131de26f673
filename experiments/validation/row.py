"""One measurement beside what the model says: before it is predicted, and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpu_model.machine import Machine

# From a machine to what it is predicted to need or reach, in the row's unit. A partial of a function at the top level
# of a module, so that another process can be asked.
Prediction = Callable[["Machine"], float]


@dataclass(frozen=True)
class Row:
    """A measured value, and how the model predicts it.

    group: rows that belong together inside a family (a dtype, a part of a model), '' for none. gpu: the machine.
    settings: parameters of the machine that the measurement's conditions fix, as text with units. family: the name of
    the file that the row is of, which files need not say (see family.rows_of).
    """

    id: str
    gpu: str
    predict: Prediction
    measured: float
    unit: str
    source: str
    group: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    family: str = ""


@dataclass(frozen=True)
class Compared:
    """A row that was predicted."""

    row: Row
    predicted: float

    @property
    def error_percent(self) -> float:
        """How far the prediction is off, of the measured value; above 0 where it is too large."""
        return 100 * (self.predicted / self.row.measured - 1)


@dataclass(frozen=True)
class Refused:
    """A row that the model does not predict, and why."""

    row: Row
    reason: str


Outcome = Compared | Refused
