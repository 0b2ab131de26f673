"""Tables of docs/accuracy.md: how far predictions are off, as validation found it and measured/errors.yaml has it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from experiments.validation.errors import Errors, known_errors
from patterns.load import load_file

if TYPE_CHECKING:
    from experiments.validation.errors import TableLine

REASONS = "worst_errors.yaml"
# A line with a larger mean error is told apart, with what is known of it.
WORST_PERCENT = 20.0
NONE = "\u2013"
# Between words of a cell that stay in one line.
APART = "&nbsp;"
# Inside of a word that may go on in the next line.
BREAK = "&#8203;"

TABLE_HEADING = (
    "family",
    "GPU",
    "rows of",
    "fitted",
    "sample",
    "mean (90th)",
    "database",
    "mean (90th)",
    "bias there",
)
FIGURE_HEADING = ("family", "machine", "rows", "mean", "90th", "bias")
WORST_HEADING = ("family", "on", "mean", "bias", "because")


def table_rows() -> Iterator[Sequence[str]]:
    """Rows of tables that are not part of the project, a line a group: on the sample and on the database."""
    for line in known_errors().tables:
        of = f"{APART}of{APART}{line.of:,}" if line.database and line.of > line.database.rows else ""
        yield (
            f"`{line.family}`",
            f"`{line.machine}`",
            line.group.replace(" ", APART).replace("_", f"_{BREAK}"),
            "yes" if line.fitted else "no",
            f"{line.sample.rows:,}" if line.sample else NONE,
            _mean_and_90th(line.sample),
            f"{line.database.rows:,}{of}" if line.database else NONE,
            _mean_and_90th(line.database),
            f"{line.database.bias_percent:+.1f}" if line.database else NONE,
        )


def _mean_and_90th(errors: Errors | None) -> str:
    return f"{errors.mean_percent:.1f}{APART}({errors.p90_percent:.1f})" if errors else NONE


def figure_rows() -> Iterator[Sequence[str]]:
    """Published figures, a line a family and machine."""
    for line in known_errors().figures:
        off = line.errors
        percents = (f"{off.mean_percent:.1f}", f"{off.p90_percent:.1f}", f"{off.bias_percent:+.1f}")
        yield (f"`{line.family}`", f"`{line.machine}`", f"{off.rows:,}", *percents)


def taken() -> str:
    """Which rows the database's column is of, in words."""
    found = known_errors()
    of_database = [line for line in found.tables if line.database]
    rows = sum(line.database.rows for line in of_database if line.database)
    there, fitted_to = sum(line.of for line in of_database), sum(map(_seen, of_database))
    samples = sum(line.sample.rows for line in found.tables if line.sample)
    most = "all rows" if found.rows_at_most is None else f"at most {found.rows_at_most:,} rows"
    return (
        f"The database is that of {found.package}: {most} of each family and GPU, chosen by a hash of their names,"
        f" {rows:,} of {there:,}. The sample has {samples:,} rows. Of the rows taken of the database, {fitted_to:,}"
        f" ({100 * fitted_to / max(1, rows):.0f} %) are rows of the sample that constants were fitted to."
    )


def _seen(line: TableLine) -> int:
    return line.in_sample if line.fitted else 0


def worst() -> Mapping[str, Sequence[tuple[str, Errors]]]:
    """Lines that are far off by their family, each with its machine; of rows of tables both columns are lines."""
    found = known_errors()
    lines = [(line.family, line.machine, line.errors) for line in found.figures]
    lines += [(one.family, one.machine, off) for one in found.tables for off in (one.sample, one.database) if off]
    off: dict[str, list[tuple[str, Errors]]] = {}
    for family, machine, errors in sorted(lines, key=lambda line: -line[2].mean_percent):
        if errors.mean_percent > WORST_PERCENT:
            off.setdefault(family, []).append((machine, errors))
    return off


def reasons() -> Mapping[str, str]:
    """What is known of families that are far off."""
    return cast(Mapping[str, str], load_file(files("experiments.documented").joinpath(REASONS)).data)


def worst_rows() -> Iterator[Sequence[str]]:
    """A row a family that is far off somewhere, the worst first, with why. Raises KeyError for one without a reason."""
    why = reasons()
    for family, lines in worst().items():
        means, biases = ([getattr(off, name) for _, off in lines] for name in ("mean_percent", "bias_percent"))
        on = ", ".join(dict.fromkeys(f"`{machine}`" for machine, _ in lines))
        yield (f"`{family}`", on, _range(means, ".1f"), _range(biases, "+.1f"), why[family])


def worst_said() -> str:
    """What the table of worst_rows is of."""
    return f"Far off somewhere, by family, are all lines with a mean error of more than {WORST_PERCENT:.0f} %:"


def _range(values: Sequence[float], form: str) -> str:
    """'20.3 to 50.5', 'from low to high'; one value once."""
    return f"{APART}to{APART}".join(dict.fromkeys(f"{value:{form}}" for value in (min(values), max(values))))
