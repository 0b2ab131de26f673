"""Tables of the documentation that are made from the code: a page has `{{ table NAME }}` in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from experiments.documented import columns, errors, fields, parameters
from experiments.documented.said import Said
from patterns.errors import UnknownName

PLACE = re.compile(r"^\{\{ table (\w+) \}\}$", re.MULTILINE)
Cells = Iterable[Sequence[str]]
CLAIM_COLUMNS = ("claim", "printed", "found", "verdict", "when")


def filled(page: str) -> str:
    """A page with every table in its place. Raises UnknownName for one that there is not."""
    return PLACE.sub(lambda found: table(found[1]), page)


def table(name: str) -> str:
    """A table by its name. Raises UnknownName."""
    if name not in TABLES:
        raise UnknownName("table", name, TABLES)
    return TABLES[name]()


def markdown(heading: Sequence[str], rows: Cells) -> str:
    """A table; what would end a cell is escaped."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") or " "


def _fields(said: Iterable[Said]) -> str:
    rows = ((f"`{one.name}`", one.text, one.values, one.default) for one in said)
    return markdown(("field", "what it says", "values", ""), rows)


def _parameters(said: Iterable[Said]) -> str:
    rows = ((f"`{one.name}`", one.text, one.unit, one.values, one.default) for one in said)
    return markdown(("parameter", "what it says", "unit", "range", "if left out"), rows)


def _columns(said: Iterable[Said]) -> str:
    rows = ((f"`{one.name}`", one.text, one.unit, one.values) for one in said)
    return markdown(("column", "what it means", "unit", "range"), rows)


def _nodes() -> str:
    """A section a kind: what its file says, and its fields beside those that all nodes have."""
    shared = {"kind", "reads", "writes"}
    told = []
    for part in fields.node_parts():
        own = [one for one in fields.part_fields(part) if one.name not in shared]
        told += [f"### {part.removesuffix('_node')}", f"```text\n{fields.about_part(part)}\n```"]
        told += [_fields(own)] if own else []
    return "\n\n".join(told)


def _parts() -> str:
    told = (f"### {words[0].upper()}{words[1:]}\n\n{_fields(fields.part_fields(part))}" for part, words in _PARTS)
    return "\n\n".join(told)


_PARTS = tuple(fields.PARTS.items())


def _bands() -> str:
    """What validation found, as the file has it: the widest bands first."""
    from experiments.validation.bands import ANY, known_bands

    bands = sorted(known_bands(), key=lambda band: band.low_percent - band.high_percent)
    rows = (
        (
            "all of them" if band.machine == ANY else f"`{band.machine}`",
            band.part.replace("_", " "),
            f"{band.rows:,}",
            f"{band.low_percent:+.1f} %",
            f"{band.high_percent:+.1f} %",
            ", ".join(band.families),
        )
        for band in bands
    )
    return markdown(("machine", "part of the time", "rows", "10th percentile", "90th", "families"), rows)


def _claims() -> str:
    """Every claim of the lectures beside what is computed now, as the study of them has it."""
    from experiments.study import study_named
    from experiments.survey import Survey

    study = study_named("what_the_lectures_say")
    assert isinstance(study, Survey)
    rows = list(study.rows())
    told = []
    for lecture in dict.fromkeys(row["lecture"] for row in rows):
        cells = ([row[name] for name in CLAIM_COLUMNS] for row in rows if row["lecture"] == lecture)
        told += [f"## {lecture[0].upper()}{lecture[1:]}", markdown(CLAIM_COLUMNS, cells)]
    return "\n\n".join(told)


def _commands() -> str:
    """The commands, each for the extension that prints its options."""
    from patterns.plugin import modules

    told = (
        f".. click:: experiments.commands.{name}:command\n   :prog: patternloom {name}\n   :nested: full\n"
        for name in modules("experiments.commands")
    )
    return "\n".join(("```{eval-rst}", *told, "```"))


def _studies() -> str:
    from experiments.study import study_named, study_names

    return markdown(("study", "question"), ((f"`{name}`", study_named(name).question) for name in study_names()))


TABLES: Mapping[str, Callable[[], str]] = {
    "graph_fields": lambda: _fields(fields.graph_fields()),
    "graph_parts": _parts,
    "graph_nodes": _nodes,
    "sweep_fields": lambda: _fields(fields.sweep_fields()),
    "gpu_parameters": lambda: _parameters(parameters.parameters("gpu")),
    "rdu_parameters": lambda: _parameters(parameters.parameters("rdu")),
    "energy_parameters": lambda: _parameters(parameters.prices()),
    "report_columns": lambda: _columns(columns.report_columns()),
    "sweep_columns": lambda: _columns(columns.sweep_columns()),
    "optional_sweep_columns": lambda: _columns(columns.optional_sweep_columns()),
    "profile_columns": lambda: _columns(columns.profile_columns()),
    "bands": _bands,
    "errors_of_tables": lambda: f"{errors.taken()}\n\n{markdown(errors.TABLE_HEADING, errors.table_rows())}",
    "errors_of_figures": lambda: markdown(errors.FIGURE_HEADING, errors.figure_rows()),
    "worst_errors": lambda: f"{errors.worst_said()}\n\n{markdown(errors.WORST_HEADING, errors.worst_rows())}",
    "claims": _claims,
    "commands": _commands,
    "studies": _studies,
}
