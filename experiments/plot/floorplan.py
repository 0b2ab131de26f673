"""Where a section lies on the grid: units coloured by stage beside the load of the mesh, for one and two columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.charting.palette import AMBER, ASH, BLUE, BROWN, CYAN, GREY, ORANGE, PURPLE, RED, SAND
from experiments.charting.sheet import ONE_COLUMN, TWO_COLUMNS
from experiments.floorplan import Floorplan, Unit, records
from experiments.picture import Picture
from patterns.plural import number_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

    from rdu_model.floor.fabric import Edge

    Color = tuple[float, float, float]

OF = "floorplan"
# petroff10 without its greys, which stand for the stages without a colour.
COLORS = (BLUE, AMBER, RED, PURPLE, BROWN, ORANGE, SAND, CYAN)
OTHERS, FREE, INK = ASH, "#ececec", "#222222"
HALF = 0.44
# Of a buffer's colour, how much is white.
TINT = 0.55
WIDE_INCHES, NARROW_INCHES = TWO_COLUMNS, ONE_COLUMN
# Between tiles, in cells; AGCUs stand in it.
GAP = 2.6
LABELS = 8
LABEL_LETTERS, TITLE_LETTERS = 17, 32
# Of the colours of loads the lightest are left out: they would not show on white.
LIGHTEST = 40
LEGEND_INCHES, BAR_INCHES = 0.135, 0.45
LEGEND_STYLE: Mapping[str, Any] = {
    "fontsize": 6,
    "title_fontsize": 6,
    "alignment": "left",
    "handlelength": 1.2,
    "columnspacing": 1.0,
    "labelspacing": 0.35,
}


def draw(floorplan: Floorplan) -> Picture:
    """Two panels beside one another; below one another in the picture for one column."""
    return Picture(_figure(floorplan, across=True), records(floorplan), _figure(floorplan, across=False))


def _figure(floorplan: Floorplan, *, across: bool) -> Figure:
    """The units with their legend, and the mesh with its colour bar, side by side or one below the other."""
    from matplotlib.figure import Figure

    x0, x1, y0, y1 = _limits(floorplan)
    width = WIDE_INCHES if across else NARROW_INCHES
    colors = colors_of(floorplan)
    entries = legend(floorplan, colors)
    columns = 3 if across else 2
    panel = (width / 2 if across else width) * (y1 - y0) / (x1 - x0)
    below = LEGEND_INCHES * (1 + -(-len(entries) // columns))
    heights = [panel + 0.2, below] if across else [panel + 0.2, below, panel + 0.2, BAR_INCHES]
    figure = Figure(figsize=(width, sum(heights) + (0.25 if across else 0.5)), layout="constrained")
    figure.suptitle(title(floorplan, across=across), fontsize=8 if across else 7, x=0.01, ha="left")
    shape = (2, 2) if across else (4, 1)
    axes = figure.subplots(*shape, height_ratios=heights, squeeze=False)
    units, key, mesh, bar = (axes[0, 0], axes[1, 0], axes[0, 1], axes[1, 1]) if across else axes[:, 0]
    draw_units(units, floorplan, colors)
    draw_mesh(figure, mesh, bar, floorplan)
    key.set_axis_off()
    told = key.legend(
        handles=entries, title="stage: PCUs + PMUs", loc="upper left", ncols=columns, **LEGEND_STYLE, borderaxespad=0
    )
    # Panels have their sizes from the grid: what is written in them does not make them smaller.
    for artist in (told, *units.texts, *mesh.texts):
        artist.set_in_layout(False)
    return figure


def title(floorplan: Floorplan, *, across: bool) -> str:
    """The section, and what it takes."""
    section = floorplan.section
    names = short(floorplan.graph, TITLE_LETTERS), short(section.name, TITLE_LETTERS)
    what = f"{names[0]} on {section.machine.name}, {floorplan.mode}"
    size = f"{section.pcus:,} PCUs and {section.pmus:,} PMUs for {number_of(len(section.groups), 'stage')}"
    return f"{what}: section {names[1]}, {size}" if across else f"{what}\nsection {names[1]}\n{size}"


def short(name: str, most: int = LABEL_LETTERS) -> str:
    """A name, or its beginning and its end where it is too long for its place."""
    end = most // 3
    return name if len(name) <= most else f"{name[: most - end - 1]}…{name[-end:]}"


def colors_of(floorplan: Floorplan) -> Mapping[str, str]:
    """A colour for each of the stages with most units."""
    return dict(zip((name for name, *_ in floorplan.by_size), COLORS, strict=False))


def at(floorplan: Floorplan, cell: int) -> tuple[float, float]:
    """Where the middle of a cell is drawn: tiles are apart."""
    fabric = floorplan.fabric
    row, column = fabric.row_column(cell)
    return column + GAP * (column // fabric.tile_columns), row + GAP * (row // fabric.tile_rows)


def _limits(floorplan: Floorplan) -> tuple[float, float, float, float]:
    x, y = at(floorplan, len(floorplan.fabric.kinds) - 1)
    return -2.2, x + 2.2, -1.8, y + 1.0


def prepare(axes: Axes, floorplan: Floorplan, heading: str) -> None:
    """The tiles' borders and names; no ticks."""
    from matplotlib.patches import Rectangle

    fabric = floorplan.fabric
    x0, x1, y0, y1 = _limits(floorplan)
    axes.set(xlim=(x0, x1), ylim=(y1, y0), aspect="equal", title=heading)
    axes.set_axis_off()
    for top in range(0, fabric.rows, fabric.tile_rows):
        for left in range(0, fabric.columns, fabric.tile_columns):
            cell = fabric.cell(top, left)
            x, y = at(floorplan, cell)
            box = (x - 0.75, y - 0.75), fabric.tile_columns + 0.5, fabric.tile_rows + 0.5
            axes.add_patch(Rectangle(*box, fill=False, edgecolor=GREY, linewidth=0.6))
            name = f"tile {fabric.tile_of(cell)}"
            halo = {"facecolor": "white", "edgecolor": "none", "pad": 0.0}
            axes.text(x - 0.7, y - 1.0, name, fontsize=5.5, color=GREY, va="bottom", bbox=halo)


def draw_units(axes: Axes, floorplan: Floorplan, colors: Mapping[str, str]) -> None:
    """Squares are PCUs, discs PMUs in the tint of their stage; triangles at the edges AGCUs."""
    prepare(axes, floorplan, "Stage that each unit works for")
    add_units(axes, floorplan, colors)
    add_agcus(axes, floorplan)
    add_labels(axes, floorplan, colors)


def add_units(axes: Axes, floorplan: Floorplan, colors: Mapping[str, str]) -> None:
    """Every unit in the colour of its stage, or without colours as a pale background."""
    from matplotlib.path import Path

    shapes = {"pcu": Path.unit_rectangle().transformed(scaled(2 * HALF, -HALF)), "pmu": Path.circle(radius=HALF)}
    for kind, shape in shapes.items():
        units = [unit for unit in floorplan.units if unit.kind == kind]
        add_shapes(axes, shape, [at(floorplan, unit.cell) for unit in units], [fill(unit, colors) for unit in units])


def scaled(factor: float, moved: float) -> Affine2D:
    """A shape made larger, then moved along both axes."""
    from matplotlib.transforms import Affine2D

    return Affine2D().scale(factor).translate(moved, moved)


def add_shapes(axes: Axes, shape: Path, places: list[tuple[float, float]], colors: list[Color]) -> None:
    """One shape in many places: a file then holds its outline once."""
    from matplotlib.collections import PathCollection
    from matplotlib.transforms import AffineDeltaTransform

    shapes = PathCollection([shape], offsets=places, offset_transform=axes.transData, facecolors=colors, linewidths=0)
    shapes.set_transform(AffineDeltaTransform(axes.transData))  # type: ignore[arg-type]
    axes.add_collection(shapes)


def fill(unit: Unit, colors: Mapping[str, str]) -> Color:
    """The colour of a unit: that of its stage, lighter for a PMU."""
    from matplotlib.colors import to_rgb

    if not unit.stage or not colors:
        return to_rgb(FREE)
    white = TINT if unit.kind == "pmu" else 0.0
    red, green, blue = to_rgb(colors.get(unit.stage, OTHERS))
    return red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white


def add_agcus(axes: Axes, floorplan: Floorplan) -> None:
    """A triangle at the edge for each AGCU, dark where it streams; one for all that stand at the same place."""
    fabric = floorplan.fabric
    streams: dict[int, bool] = {}
    for number, cell in enumerate(fabric.agcus):
        streams[cell] = streams.get(cell, False) or number in floorplan.streams
    for cell, streaming in streams.items():
        x, y = at(floorplan, cell)
        right = fabric.row_column(cell)[1] % fabric.tile_columns > 0
        axes.plot(
            *([x + 1.25 if right else x - 1.25], [y]),
            marker="<" if right else ">",
            markersize=3.2,
            markeredgewidth=0.5,
            color=INK,
            markerfacecolor=INK if streaming else "white",
            linestyle="none",
        )


def add_labels(axes: Axes, floorplan: Floorplan, colors: Mapping[str, str]) -> None:
    """The names of the largest stages where most of their units are, unless one would cover another."""
    taken: list[tuple[float, float, float]] = []
    for name, *_ in floorplan.by_size[:LABELS]:
        x, y = middle(floorplan, [unit.cell for unit in floorplan.units if unit.stage == name])
        half = 0.5 * len(short(name)) + 0.5
        if any(abs(y - other_y) < 2 and abs(x - other_x) < half + other for other_x, other_y, other in taken):
            continue
        taken.append((x, y, half))
        box = {
            "boxstyle": "round,pad=0.15",
            "facecolor": "white",
            "edgecolor": colors.get(name, OTHERS),
            "linewidth": 0.8,
        }
        axes.text(x, y, short(name), fontsize=5.5, ha="center", va="center", color=INK, bbox=box)


def middle(floorplan: Floorplan, cells: list[int]) -> tuple[float, float]:
    """The cell nearest to the middle of those in the tile with most of them: a label there stands on its stage."""
    tiles = Counter(map(floorplan.fabric.tile_of, cells))
    most = min(tiles, key=lambda tile: (-tiles[tile], tile))
    places = [at(floorplan, cell) for cell in cells if floorplan.fabric.tile_of(cell) == most]
    x, y = (sum(values) / len(places) for values in zip(*places, strict=True))
    return min(places, key=lambda place: ((place[0] - x) ** 2 + (place[1] - y) ** 2, place))


def draw_mesh(figure: Figure, axes: Axes, bar: Axes, floorplan: Floorplan) -> None:
    """A line for each pair of neighbours with flows: the wider and darker, the more the busier direction carries."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection
    from matplotlib.colors import ListedColormap, Normalize

    prepare(axes, floorplan, "Load of the mesh between them")
    add_units(axes, floorplan, {})
    pairs: dict[Edge, float] = {}
    for (one, other), load in floorplan.routes.load.items():
        pair = min(one, other), max(one, other)
        pairs[pair] = max(pairs.get(pair, 0.0), 100 * load / floorplan.routes.capacity)
    # The busiest lie on top.
    ordered = sorted(pairs.items(), key=lambda item: (item[1], item[0]))
    most = ordered[-1][1] if ordered else 1.0
    lines = LineCollection(
        [[at(floorplan, one), at(floorplan, other)] for (one, other), _ in ordered],
        array=[share for _, share in ordered],
        cmap=ListedColormap(colormaps["viridis_r"].resampled(256)(range(LIGHTEST, 256))),
        norm=Normalize(0, most),
        linewidths=[0.3 + 1.9 * share / most for _, share in ordered],
        capstyle="round",
    )
    axes.add_collection(lines)
    bar.set_axis_off()
    inside = bar.inset_axes((0.1, 1 - 0.1, 0.8, 0.1))
    scale = figure.colorbar(lines, cax=inside, orientation="horizontal")
    waits = "; above 100 flows wait" if most > 100 else ""
    scale.set_label(f"load of a link, % of its {floorplan.routes.capacity:,} B/cycle{waits}", fontsize=6)
    inside.tick_params(labelsize=6, length=2)


def legend(floorplan: Floorplan, colors: Mapping[str, str]) -> list[Artist]:
    """What colours and shapes mean."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    found: list[Artist] = []
    rest = [(pcus, pmus) for name, pcus, pmus in floorplan.by_size if name not in colors]
    for name, pcus, pmus in floorplan.by_size[: len(colors)]:
        found.append(Patch(color=colors[name], label=f"{short(name)}: {pcus} + {pmus}"))
    if rest:
        pcus, pmus = (sum(numbers) for numbers in zip(*rest, strict=True))
        found.append(Patch(color=OTHERS, label=f"{len(rest)} others: {pcus} + {pmus}"))
    found.append(Patch(color=FREE, label="free"))
    for marker, label in (("s", "PCU"), ("o", "PMU, in the tint of its stage"), (">", "AGCU that streams")):
        found.append(Line2D([], [], marker=marker, linestyle="none", color=INK, markersize=4, label=label))
    return found
