"""A picture and the data it shows: drawn by a file in plot/, written as PNG, SVG, PDF and CSV."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, Literal

from experiments.export import records_csv
from patterns.errors import UnknownName, UserError
from patterns.plugin import load_module, modules

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.compare import Comparison
    from experiments.floorplan import Floorplan
    from experiments.survey import Chart, Record
    from experiments.validate import Validation

PLOTS = "experiments.plot"
# What is drawn of a comparison unless other kinds are asked for.
FIRST = ("fusion", "overlap")
# Without a date in it, the same comparison gives the same bytes.
METADATA: Mapping[str, Mapping[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


# Of a figure's width and height, to which axes are put.
PLACES = 9


@dataclass(frozen=True)
class Picture:
    """A figure and its data: `rows` have the same keys, units in their names. narrow: the same for one column."""

    figure: Figure
    rows: tuple[dict[str, object], ...]
    narrow: Figure | None = None


# What a plot draws; its file says so as `OF`.
Subject = Literal["comparison", "validation", "floorplan", "data", "runs", "recording"]
# What kinds that a user asks for by name are of; the others are drawn by validations and studies.
ASKED: Mapping[Subject, str] = {
    "comparison": "comparison",
    "floorplan": "RDU section",
    "data": "columns of --data",
}


def plot_kinds(subject: Subject = "comparison") -> tuple[str, ...]:
    """Kinds of plots of a subject: the files in plot/."""
    return tuple(kind for kind in modules(PLOTS) if subject == load_module(PLOTS, kind, "plot").OF)


def check_kinds(kinds: Sequence[str]) -> None:
    """Raises UnknownName for a kind of plot that there is not, UserError for one that is of a table."""
    known = sorted((*plot_kinds(), *plot_kinds("floorplan")))
    for kind in kinds:
        if kind in plot_kinds("data"):
            raise UserError(f"{kind} is of columns of a table: `patternloom plot --data FILE --kind {kind}` draws it")
        if kind not in known:
            raise UnknownName("plot", kind, known)


def drawn(comparison: Comparison, kinds: Sequence[str] = ()) -> dict[str, bytes]:
    """File name -> content of the plots asked for (those of FIRST if none). Raises UnknownName."""
    with in_style():
        return {name: content for kind in kinds or FIRST for name, content in contents(kind, comparison)}


def drawn_validation(validation: Validation) -> dict[str, bytes]:
    """File name -> content of every plot of a validation: PNG, SVG, PDF and CSV of each."""
    with in_style():
        kinds = plot_kinds("validation")
        return {name: content for kind in kinds for name, content in contents(kind, validation)}


def drawn_floorplan(floorplan: Floorplan, kinds: Sequence[str] = ()) -> dict[str, bytes]:
    """File name -> content of the plots of a floorplan: PNG, SVG, PDF and CSV of each, and for one column."""
    with in_style():
        kinds = kinds or plot_kinds("floorplan")
        return {name: content for kind in kinds for name, content in contents(kind, floorplan)}


def drawn_records(records: Sequence[Record], figures: Sequence[Chart]) -> dict[str, bytes]:
    """File name -> content of plots of a survey's records: PNG, SVG, PDF and CSV of each."""
    with in_style():
        return {name: content for figure in figures for name, content in contents(figure, records)}


@contextmanager
def in_style() -> Iterator[None]:
    """What is drawn inside has the style of all plots."""
    import matplotlib

    with as_file(files(PLOTS).joinpath("paper.mplstyle")) as style, matplotlib.rc_context(fname=style):
        yield


def contents(
    drawer: str | Chart, subject: Comparison | Validation | Floorplan | Sequence[Record]
) -> list[tuple[str, bytes]]:
    """The files of one plot: drawn by a file in plot/, or by what a study declares."""
    kind, picture = drawn_picture(drawer, subject)
    return picture_files(kind, picture)


def drawn_picture(
    drawer: str | Chart, subject: Comparison | Validation | Floorplan | Sequence[Record]
) -> tuple[str, Picture]:
    """What a plot draws, and the stem of its files: a file in plot/, or what a study declares."""
    chart: Any = load_module(PLOTS, drawer, "plot") if isinstance(drawer, str) else drawer
    return drawer if isinstance(drawer, str) else drawer.name, chart.draw(subject)


def picture_files(kind: str, picture: Picture) -> list[tuple[str, bytes]]:
    """The files of a picture: each figure as PNG, SVG and PDF, and the data as CSV."""
    figures = {kind: picture.figure} | ({f"{kind}_one_column": picture.narrow} if picture.narrow is not None else {})
    pictures = [item for stem, figure in figures.items() for item in rendered(figure, stem)]
    return [*pictures, (f"{kind}.csv", records_csv(picture.rows).encode())]


def rendered(figure: Figure, stem: str, suffixes: Sequence[str] = tuple(METADATA)) -> list[tuple[str, bytes]]:
    """The figure as a file of each format, the same bytes every time. It is laid out once for all of them."""
    with warnings.catch_warnings():
        # A name in a script that the font lacks is drawn as boxes; the SVG and the data have it as it is.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for (
            axes
        ) in figure.axes:  # what is found once and once again differs in the last place, and names of parts by it
            x, y, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(x, PLACES), round(y, PLACES), round(width, PLACES), round(height, PLACES)))
        return [(f"{stem}.{suffix}", saved(figure, suffix)) for suffix in suffixes]


def saved(figure: Figure, suffix: str) -> bytes:
    """The figure as a file of one format."""
    file = io.BytesIO()
    figure.savefig(file, format=suffix, metadata=dict(METADATA[suffix]))
    return file.getvalue()
