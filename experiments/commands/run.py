"""patternloom run: a study, by name."""

from __future__ import annotations

from pathlib import Path

import click


@click.command
@click.argument("study")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder."
)
def command(study: str, output: Path) -> None:
    """Run STUDY (see `patternloom list studies`), or all: tables, figures and a page in a folder of its name.

    Of all studies index.html is the list, with what each found.
    """
    from experiments.output import check_writable, write_file, write_folder
    from experiments.page.index import FILE, Listed, index_page
    from experiments.study import run_study, study_named, study_names

    names = study_names() if study == "all" else (study,)
    for name in names:
        study_named(name)
        check_writable(output / name, folder=True)
    listed: list[Listed] = []
    for name in names:
        click.echo(f"running {name} ...", err=True)
        result = run_study(name, lambda row: click.echo(f"  {row}", err=True))
        written = write_folder(output / name, dict(result.files))
        click.echo(f"{name}: {result.finding}")
        click.echo("wrote " + ", ".join(map(str, written)), err=True)
        listed.append(Listed(name, study_named(name).question, result.finding))
        if study == "all":
            write_file(output / FILE, index_page(listed))  # after each, so that it tells of what is there
