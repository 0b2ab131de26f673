"""Which patterns of a block run in one call: a row a mode, a box a call, drawn over the patterns in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from experiments.charting.columns import shown
from experiments.charting.palette import AMBER, ASH, BLUE, BROWN, CYAN, PURPLE, RED
from experiments.charting.sheet import beside
from patterns.kind import Trait, has
from patterns.plural import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.compare import Comparison, Outcome
    from patterns.graph import Block, Node

BOX_HEIGHT = 0.7
GAP_INCHES = 0.012
CHARACTERS_AN_INCH = 14
NAME_LETTERS = 20
# For names that lie beside each other, or the gap around those that stand.
LYING_INCHES = 0.3
# What a call is coloured by: the first of these traits that one of its patterns has.
STYLES: Mapping[Trait, tuple[str, str, str]] = {
    "contracts": ("matrix products", RED, "////"),
    "communicates": ("network", CYAN, "xxxx"),
    "reduces": ("reductions", PURPLE, "----"),
    "carries": ("recurrences", BROWN, "||||"),
    "elementwise": ("elementwise", AMBER, "\\\\\\\\"),
    "indexes": ("lookups and updates", BLUE, "...."),
    "moves": ("moves only", ASH, ""),
}


@dataclass(frozen=True)
class Group:
    """A call of one mode: the places of its patterns in the block, and how often it runs for one execution of it."""

    run: str
    call: str
    trait: Trait
    places: tuple[int, ...]
    iterations: int


@dataclass(frozen=True)
class Row:
    """The calls of one mode, and how many they are, in words."""

    run: str
    calls: tuple[Group, ...]
    told: str


@dataclass(frozen=True)
class Groups:
    """The block that is executed most, its patterns, and what each mode makes of it."""

    block: str
    executions: int
    nodes: tuple[str, ...]
    rows: tuple[Row, ...]


def groups_of(comparison: Comparison, names: Sequence[str]) -> Groups | None:
    """The calls of each outcome, which have these names; None where no block has patterns."""
    blocks = [block for block in comparison.graph.blocks if block.nodes]
    if not blocks:
        return None
    block = max(blocks, key=lambda block: (block.count, len(block.nodes)))
    found = [
        (name, outcome, _groups(name, outcome, block)) for name, outcome in zip(names, comparison.outcomes, strict=True)
    ]
    rows = tuple(Row(name, calls, _count_text(outcome, calls, block)) for name, outcome, calls in found)
    return Groups(block.name, block.count, tuple(node.name for node in block.nodes), rows)


def _groups(run: str, outcome: Outcome, block: Block) -> tuple[Group, ...]:
    """The calls of one outcome that have patterns of a block, as the graph of its own members has it."""
    own = next((one for one in outcome.execution.plan.graph.blocks if one.name == block.name), block)
    place = {node.name: number for number, node in enumerate(block.nodes)}
    node_named = {node.name: node for node in own.nodes}
    found = []
    for call in outcome.execution.plan.calls:
        held = [name for name in call.nodes if name in place]
        if held:
            trait = _trait([node_named[name] for name in held if name in node_named])
            places = tuple(sorted(place[name] for name in held))
            found.append(Group(run, call.name, trait, places, call.iterations))
    return tuple(sorted(found, key=lambda group: group.places))


def _trait(nodes: Sequence[Node]) -> Trait:
    return next((trait for trait in STYLES if any(has(node, trait) for node in nodes)), "moves")


def group_title(groups: Groups) -> str:
    """What the boxes are of."""
    of = f"one of {groups.executions} executions of {groups.block}" if groups.executions > 1 else groups.block
    return f"Which patterns run together: {of} in the order of its {number_of(len(groups.nodes), 'pattern')}"


def draw_groups(axes: Axes, groups: Groups, inches: float, heights: Sequence[float]) -> None:
    """A box for the patterns of a call that follow each other, joined by a line to its others."""
    from matplotlib.patches import Rectangle

    gap = GAP_INCHES * len(groups.nodes) / inches
    for row, height in zip(groups.rows, heights, strict=True):
        for call in row.calls:
            _, color, hatch = STYLES[call.trait]
            if call.places[-1] - call.places[0] + 1 > len(call.places):
                axes.plot([call.places[0], call.places[-1]], [height, height], color=color, linewidth=1.5, zorder=1)
            for first, last in runs(call.places):
                corner, width = (first - 0.5 + gap, height - BOX_HEIGHT / 2), last - first + 1 - 2 * gap
                how: dict[str, Any] = {
                    "facecolor": color,
                    "hatch": hatch,
                    "edgecolor": "white",
                    "linewidth": 0.0,
                    "zorder": 2,
                }
                axes.add_patch(Rectangle(corner, width, BOX_HEIGHT, **how))
        beside(axes, row.told, (len(groups.nodes) - 0.4, height), fontsize=6.5)
    if lying(groups, inches):
        axes.set_xticks(range(len(groups.nodes)), groups.nodes, fontsize=6.5)
    else:
        _standing_names(axes, groups, inches)
    axes.tick_params(axis="both", length=0)
    axes.set_xlim(-0.6, len(groups.nodes) - 0.4)
    for side in ("bottom", "left"):
        axes.spines[side].set_visible(False)


def names_inches(groups: Groups, inches: float) -> float:
    """What the names of the nodes need below the boxes."""
    longest = min(max(map(len, groups.nodes)), NAME_LETTERS)
    return LYING_INCHES if lying(groups, inches) else LYING_INCHES + longest / CHARACTERS_AN_INCH / 1.6


def lying(groups: Groups, inches: float) -> bool:
    """Whether the names of the nodes have room beside each other."""
    return max(map(len, groups.nodes)) + 1 <= inches / len(groups.nodes) * CHARACTERS_AN_INCH


def _standing_names(axes: Axes, groups: Groups, inches: float) -> None:
    """Names from the foot upwards, as many as there is room for."""
    every = max(1, -(-len(groups.nodes) // max(1, int(inches * CHARACTERS_AN_INCH / 1.6))))
    ticks = range(0, len(groups.nodes), every)
    axes.set_xticks(ticks, [shown(groups.nodes[place], NAME_LETTERS) for place in ticks], rotation=90, fontsize=6)


def _count_text(outcome: Outcome, groups: Sequence[Group], block: Block) -> str:
    """'25 calls', '1 call for 32': for one execution of the block as the report counts, those that combine included."""
    counted = {count.block: count.per_execution for count in outcome.report.calls_by_block}
    iterations = max((group.iterations for group in groups), default=1)
    together = f" for {iterations}" if iterations > 1 and block.count > 1 else ""
    return f"{number_of(counted.get(block.name, 1), 'call')}{together}"


def runs(places: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of those that follow each other."""
    found = []
    for _, same in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]):
        members = [place for _, place in same]
        found.append((members[0], members[-1]))
    return found
