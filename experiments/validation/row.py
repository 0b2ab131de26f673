"""One measurement beside what the model says: before it is predicted, and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from experiments.sides import Family

# From a machine to what it is predicted to need or reach, in the row's unit. A partial of a function at the top level
# of a module, so that another process can be asked. The machine is a GPU or an RDU, as the row says.
Prediction = Callable[[Any], float]
# From a machine to words about a prediction, in the same way.
Explanation = Callable[[Any], str]


@dataclass(frozen=True)
class Row:
    """A measured value, and how the model predicts it.

    machine: its name, of the GPUs or the RDUs by `side`. to: the upper end where a range was published, from `measured`
    on; every prediction inside is right. target: False for what is shown beside and no error is counted of.
    group: rows that belong together inside a family (a dtype, a part of a model), '' for none.
    settings: parameters of the machine that the measurement's conditions fix, as text with units. family: the name of
    the file that the row is of, which files need not say (see family.rows_of). explain: what is behind a difference.
    """

    id: str
    machine: str
    predict: Prediction
    measured: float
    unit: str
    source: str
    group: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    family: str = ""
    side: Family = "gpu"
    to: float | None = None
    target: bool = True
    explain: Explanation | None = None


@dataclass(frozen=True)
class Compared:
    """A row that was predicted. explanation: '' if the row has none."""

    row: Row
    predicted: float
    explanation: str = ""

    @property
    def nearest(self) -> float:
        """The measured value; of a range, the one that is nearest to the prediction."""
        low, high = self.row.measured, self.row.to
        return low if high is None else min(max(self.predicted, low), high)

    @property
    def error_percent(self) -> float:
        """How far the prediction is off, of the measured value; above 0 where it is too large, 0 inside a range."""
        return 100 * (self.predicted / self.nearest - 1)


@dataclass(frozen=True)
class Refused:
    """A row that the model does not predict, and why."""

    row: Row
    reason: str


Outcome = Compared | Refused
