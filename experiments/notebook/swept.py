"""The rows of a sweep, for scripts and notebooks: a table, a data frame, labelled arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.sweep.row import OK

if TYPE_CHECKING:
    import pandas
    import xarray

    from experiments.sweep.read import Sweep
    from experiments.sweep.store import Written
    from experiments.sweep.workers import Workers

MOST_SHOWN = 50


@dataclass(frozen=True)
class Swept:
    """What a sweep came to: a record a point, in the order of its points, all with the same keys.

    varied: the fields that differ from point to point. A point that is not ok has None for its numbers, and says why.
    """

    name: str
    summary: str
    varied: tuple[str, ...]
    records: tuple[dict[str, Any], ...] = field(repr=False)
    written: Written = field(repr=False)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def failed(self) -> tuple[dict[str, Any], ...]:
        """The records of points that are infeasible or failed: `message` says why, `nearest` what would do."""
        return tuple(record for record in self.records if record["status"] != OK)

    def to_dataframe(self) -> pandas.DataFrame:
        """A row a point; `attrs["units"]` has the units. Raises UserError without the extra `analysis`."""
        from experiments.frames import to_dataframe

        return to_dataframe(self.records)

    def to_xarray(self, *dims: str) -> xarray.Dataset:
        """Arrays over `dims`, the fields that vary if none are named; NaN where no point is.

        Raises UserError where the dims do not tell all points apart, or without the extra `analysis`.
        """
        from experiments.frames import to_xarray

        return to_xarray(self.records, dims or self.varied)

    def _repr_html_(self) -> str:
        from experiments.page.parts import parts_markup
        from experiments.sweep.export import shown_reasons, shown_table

        more = len(self.records) - MOST_SHOWN
        rest = f"and {more:,} more rows: to_dataframe() has all" if more > 0 else ""
        table = shown_table(self.written, self.records[:MOST_SHOWN])
        why = shown_reasons(self.written, self.records)
        return str(parts_markup([self.written.about, table, rest, why, self.summary]))


def sweep_of(
    source: str | Path | Mapping[str, Any],
    settings: Iterable[tuple[str, str]],
    store: str | Path | None,
    workers: Workers,
    retry: bool,
) -> Swept:
    """Run what a store lacks of a sweep, from an example, a file or data. Raises UserErrors; nothing is printed."""
    from experiments.sweep.export import records_of
    from experiments.sweep.progress import silent
    from experiments.sweep.run import run_sweep, summary_text
    from experiments.sweep.store import opened

    sweep = _read(source, settings)
    with opened(None if store is None else str(store)) as kept:
        summary = run_sweep(sweep, kept, workers, silent, retry=retry)
        written = kept.sweep(sweep.name)
        return Swept(sweep.name, summary_text(summary), sweep.varied, records_of(kept, written), written)


def _read(source: str | Path | Mapping[str, Any], settings: Iterable[tuple[str, str]]) -> Sweep:
    from experiments.sweep.examples import sweep_file
    from experiments.sweep.read import read_sweep, sweep_from

    if isinstance(source, Mapping):
        return sweep_from(source, settings)
    return read_sweep(sweep_file(str(source)), settings)
