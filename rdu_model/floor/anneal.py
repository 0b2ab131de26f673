"""Simulated annealing of units on the grid, hundreds of swaps at a time in numpy.

Each step pairs all cells of a kind at one random distance, prices every swap as if the others stayed, and makes a
random part of those that Metropolis' rule accepts. A net pulls each of its pins to the middle of its other pins.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Of the swaps that may be made in a step, the part that is: pairs that move at once are priced as if they did not.
PART = 0.4
# Steps of one cooling; the heat it starts with, in mean prices of a swap, and the part of it that is left at the end.
STEPS = 3000
HEAT = 1.0
COOLED = 0.003


@dataclass(frozen=True)
class Pins:
    """net, unit: of each pin. weights: with which its net pulls it to its row, and to its column.

    nets, units: how many there are. movable: so many units, the first ones, have a cell for themselves and
    may change it.
    """

    net: Ints
    unit: Ints
    weights: tuple[Floats, Floats]
    nets: int
    units: int
    movable: int

    @cached_property
    def others(self) -> tuple[Floats, ...]:
        """Weights of the other pins of each pin's net."""
        return tuple(np.bincount(self.net, weight, self.nets)[self.net] - weight for weight in self.weights)

    def off(self, axis: int, place: Floats, then: Floats | None = None) -> Floats:
        """How far each pin is from the middle of the other pins of its net, weighted; or how much farther it is then.

        axis: 0 for rows, 1 for columns. place: of each pin along it.
        """
        weight = self.weights[axis]
        drawn = weight * place
        middle = (np.bincount(self.net, drawn, self.nets)[self.net] - drawn) / self.others[axis]
        now = np.abs(place - middle)
        return weight * (now if then is None else np.abs(then - middle) - now)


@dataclass(frozen=True)
class Board:
    """rows, columns: where each cell is; a border between tiles is a gap. kinds: the cells of each kind of unit, in
    order. across, down: cells of the grid.
    """

    rows: Floats
    columns: Floats
    kinds: tuple[Ints, ...]
    across: int
    down: int


def anneal(pins: Pins, board: Board, cells: Ints, seed: int, steps: int = STEPS, heat: float = HEAT) -> Ints:
    """Cells of all units after a cooling from `heat`; a unit stays on cells of its kind. cells: where they start."""
    random = np.random.default_rng(seed)
    cells = cells.copy()
    # A unit that there is not stands for none: an empty cell.
    holder = np.full(board.across * board.down, pins.units)
    holder[cells[: pins.movable]] = np.arange(pins.movable)
    scale = 0.0
    for step in range(steps):
        reach = max(1, round(max(board.across, board.down) * (1 - step / steps) ** 2))
        one, other = _pairs(board, random, reach)
        if not len(one):
            continue
        added = _prices(pins, board, cells, holder, one, other)
        scale = scale or float(np.abs(added).mean())
        warmth = scale * heat * COOLED ** (step / steps)
        taken = (added < -warmth * np.log(random.random(len(added)))) & (random.random(len(added)) < PART)
        here, there = one[taken], other[taken]
        holder[here], holder[there] = holder[there], holder[here]
        for moved in (here, there):
            held = holder[moved]
            cells[held[held < pins.units]] = moved[held < pins.units]
    return cells


def length(pins: Pins, board: Board, cells: Ints) -> float:
    """The weighted distance of all pins from the middle of the others of their nets."""
    return sum(float(pins.off(n, axis[cells[pins.unit]]).sum()) for n, axis in enumerate((board.rows, board.columns)))


def _pairs(board: Board, random: np.random.Generator, reach: int) -> tuple[Ints, Ints]:
    """Disjoint pairs of cells of a kind, all of a kind at the same distance of at most `reach` rows and columns."""
    ones, others = [], []
    for kind in board.kinds:
        along, down = int(random.integers(-reach, reach + 1)), int(random.integers(0, reach + 1))
        stride = max(1, abs((down * board.across + along) * len(kind) // (board.across * board.down)))
        index = np.arange(max(0, len(kind) - stride))
        first = index[(index + random.integers(0, 2 * stride)) // stride % 2 == 0]
        ones.append(kind[first])
        others.append(kind[first + stride])
    return np.concatenate(ones), np.concatenate(others)


def _prices(pins: Pins, board: Board, cells: Ints, holder: Ints, one: Ints, other: Ints) -> Floats:
    """What each swap of two cells' units adds to the weighted length of all nets."""
    target = np.append(cells, 0)
    target[holder[one]], target[holder[other]] = other, one
    now, then = cells[pins.unit], target[pins.unit]
    added = pins.off(0, board.rows[now], board.rows[then]) + pins.off(1, board.columns[now], board.columns[then])
    of_unit = np.append(np.bincount(pins.unit, added, pins.units), 0.0)
    return np.asarray(of_unit[holder[one]] + of_unit[holder[other]])
