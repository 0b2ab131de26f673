"""patternloom results: the rows of a store."""

from __future__ import annotations

from pathlib import Path

import click

FORMATS = ("table", "csv", "json", "parquet")


@click.command
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--sweep", "name", metavar="NAME", help="Of which sweep.  [default: the only one]")
@click.option("--format", "form", type=click.Choice(FORMATS), default="table", show_default=True, help="On stdout.")
@click.option("-o", "--output", "file", type=click.Path(path_type=Path), help="Write .csv, .json or .parquet here.")
def command(store: Path, name: str | None, form: str, file: Path | None) -> None:
    """Show or export the rows that `patternloom sweep -o STORE` has kept, in the order of the sweep's points."""
    from experiments.sweep.results import export_results, print_results
    from experiments.sweep.store import only_sweep, opened

    with opened(str(store), write=False) as kept:
        sweep = name or only_sweep(kept)
        if file is None:
            print_results(kept, sweep, form)
        else:
            export_results(kept, sweep, file)
            click.echo(f"wrote {file}", err=True)
