"""A store's rows on stdout or in a file, in the form that is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.export import records_csv
from experiments.frames import Records, to_parquet
from experiments.output import write_file
from experiments.sweep.export import records_json, records_of, shown_reasons, shown_table
from patterns.errors import UnknownName, UserError

if TYPE_CHECKING:
    from experiments.sweep.store import Store

MOST_SHOWN = 200
Encode = Callable[[Records], bytes]
FORMS: Mapping[str, Encode] = {
    "csv": lambda records: records_csv([dict(record) for record in records]).encode(),
    "json": lambda records: records_json([dict(record) for record in records]).encode(),
    "parquet": to_parquet,
}


def need_place(form: str) -> None:
    """Raises UserError where stdout is a terminal and the form is no text; before anything is run for it."""
    if form == "parquet" and sys.stdout.isatty():
        raise UserError("Parquet is no text: send it to a file, as in --format parquet > rows.parquet")


def print_results(store: Store, name: str, form: str) -> None:
    """The rows of a sweep; of very many, a table has the first. Raises UserError."""
    need_place(form)
    written = store.sweep(name)
    records = records_of(store, written)
    if form in FORMS:
        click.echo(FORMS[form](records), nl=False)
    elif form == "table" and records:
        from experiments.text.page import Code, show_page

        reasons = shown_reasons(written, records)
        table = shown_table(written, records[:MOST_SHOWN])
        show_page([written.about, table, Code(reasons) if reasons else ""])
        if len(records) > MOST_SHOWN:
            click.echo(f"the first {MOST_SHOWN} of {len(records):,} rows; --format csv has all", err=True)


def export_results(store: Store, name: str, file: Path) -> None:
    """The rows of a sweep into a file, in the form that its name ends with. Raises UnknownName, UserError."""
    form = file.suffix.removeprefix(".")
    if form not in FORMS:
        raise UnknownName("end of a file of rows", file.suffix, (f".{known}" for known in FORMS))
    write_file(file, FORMS[form](records_of(store, store.sweep(name))))
