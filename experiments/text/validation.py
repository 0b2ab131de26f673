"""A validation as text: the errors of every family and of its groups, the rows that are farthest off, and what is shown
beside without an error being counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.quantity import digits
from experiments.text.table import Column, Table
from experiments.validation.accuracy import Accuracy, accuracy_of, targets, worst
from experiments.validation.tables import EXTRA
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.validate import FamilyResult, Validation
    from experiments.validation.row import Compared

WORST_ROWS = 10


def validation_parts(validation: Validation) -> list[Part]:
    """The table of all families, then the worst rows of each, then what is missing."""
    with_rows = [found for found in validation.families if found.compared]
    parts: list[Part] = [f"Errors of {models(with_rows)}, in percent of what was measured (bias: above 0 is too much)"]
    if with_rows:
        parts.append(accuracy_table(with_rows))
    for found in with_rows:
        if targets(found.compared):
            parts += [f"{found.name}: the rows that are farthest off", *worst_rows(found)]
        parts += shown_beside(found)
        parts += explained(found)
    return [*parts, *notes(validation)]


def models(families: Sequence[FamilyResult]) -> str:
    """Which models the rows are of."""
    sides = {compared.row.side for found in families for compared in found.compared}
    return "both models" if len(sides) > 1 else "the RDU model" if sides == {"rdu"} else "the GPU model"


def accuracy_table(families: Sequence[FamilyResult]) -> Table:
    """A line a family, and below it one for each machine and group where there are several."""
    columns = (
        Column("family", right=False),
        Column("rows"),
        Column("mean\n%"),
        Column("median\n%"),
        Column("90th\n%"),
        Column("bias\n%"),
    )
    rows: list[tuple[str, ...]] = []
    for found in families:
        rows += [accuracy_row(name, accuracy) for name, accuracy in lines(found)]
    return Table(columns, tuple(rows))


def lines(found: FamilyResult) -> Iterator[tuple[str, Accuracy]]:
    """(name, accuracy): of the family, then of its parts."""
    if found.accuracy:
        yield found.name, found.accuracy
    parts: dict[tuple[str, str], list[Compared]] = {}
    for compared in targets(found.compared):
        parts.setdefault((compared.row.machine, compared.row.group), []).append(compared)
    for (machine, group), rows in parts.items() if len(parts) > 1 else ():
        accuracy = accuracy_of(rows)
        if accuracy:
            yield f"  {machine} {group}".rstrip(), accuracy


def accuracy_row(name: str, accuracy: Accuracy) -> tuple[str, ...]:
    """The cells of one line."""
    values = (accuracy.mape_percent, accuracy.median_percent, accuracy.p90_percent)
    return (name, f"{accuracy.rows:,}", *(f"{value:.1f}" for value in values), signed(accuracy.bias_percent))


def worst_rows(found: FamilyResult) -> list[Part]:
    """The rows that are farthest off, and where they are from; of ranges also the rows inside."""
    rows = [one for one in worst(found.compared, WORST_ROWS) if one.error_percent or one.row.to is not None]
    if not rows:
        return ["None: every prediction is equal to what was measured."]
    return [rows_table(rows, "error %"), sources(rows)]


def shown_beside(found: FamilyResult) -> list[Part]:
    """The rows that no error is counted of, and where they are from; nothing if there are none."""
    rows = [compared for compared in found.compared if not compared.row.target]
    if not rows:
        return []
    return [f"{found.name}: beside, not counted as errors", rows_table(rows, "off by %"), sources(rows)]


def explained(found: FamilyResult) -> list[Part]:
    """What is behind the differences, of rows that say so."""
    return [f"{one.row.id}: {one.explanation}" for one in found.compared if one.explanation and one.error_percent]


def rows_table(rows: Sequence[Compared], heading: str) -> Table:
    """Rows with what was predicted and what was measured. heading: of the last column, by how much that differs."""
    columns = (
        Column("row", right=False),
        Column("predicted"),
        Column("measured"),
        Column("unit", right=False),
        Column(heading),
    )
    return Table(columns, tuple(map(row_cells, rows)))


def row_cells(compared: Compared) -> tuple[str, ...]:
    """The cells of one row."""
    row = compared.row
    measured = digits(row.measured) if row.to is None else f"{row.measured:g} to {row.to:g}"
    return (row.id, digits(compared.predicted), measured, row.unit, signed(compared.error_percent))


def sources(rows: Sequence[Compared]) -> str:
    """Where rows are from, each source once."""
    return f"Source: {'; '.join(dict.fromkeys(compared.row.source for compared in rows))}"


def signed(percent: float) -> str:
    """'-5.2', '+0.0'."""
    # What is rounded to nothing has no sign of its own.
    return f"{round(percent, 1) + 0.0:+.1f}"


def notes(validation: Validation) -> Iterator[str]:
    """Samples, rows that the model refuses, families without rows, and where more would be found."""
    for found in validation.families:
        seen = len(found.compared) + len(found.refused)
        if seen < found.there:
            yield f"{found.name}: {seen:,} of {found.there:,} rows, the same every time; --all takes all."
        if found.refused:
            reasons = Counter(refused.reason.partition(";")[0] for refused in found.refused)
            (reason, count), *_ = reasons.most_common(1)
            refused = number_of(len(found.refused), "row")
            yield f"{found.name}: {refused} not predicted; {count:,} of them: {reason}"
        if found.left_out:
            rows = number_of(sum(found.left_out.values()), "row")
            parts = ", ".join(f"{what} ({count:,})" for what, count in found.left_out.items())
            yield f"{found.name}: {rows} of the tables left out, which the model does not have: {parts}."
    empty = [found.name for found in validation.families if not found.there]
    if empty:
        yield f"No rows of: {', '.join(empty)}."
    if validation.foreign:
        yield f"Rows of GPUs that are no machines here are left out: {', '.join(validation.foreign)}."
    if validation.tables:
        yield f"Measured tables: {validation.tables}."
    elif empty:
        yield f"Only the project's own figures: {EXTRA} brings NVIDIA's aiconfigurator database, or name a folder."
