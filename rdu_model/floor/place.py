"""Placement: which PCU, PMU and AGCU each unit of a section is, so that those that exchange bytes are near.

The pipeline is laid along a snake over the grid first, and then annealed: the cost is the bytes of every flow times its
way, and the ways themselves, because each is a delay. The same seed gives the same placement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from patterns.errors import DoesNotFit
from rdu_model.floor.anneal import Board, Floats, Ints, Pins
from rdu_model.floor.fabric import Fabric
from rdu_model.floor.placement import Placement
from rdu_model.floor.traffic import Traffic
from rdu_model.machine import Machine
from rdu_model.section import Section

# What the ways of all links weigh beside the bytes on them.
WAYS = 0.5
# Rows of a strip of the grid that the snake goes along.
STRIP = 4


def board_of(fabric: Fabric, machine: Machine) -> Board:
    """The grid with distances in hops: a border between tiles is as far as its delay."""
    gap = machine.crossing_cycles / machine.hop_cycles if machine.hop_cycles else 0.0
    cells = np.arange(fabric.rows * fabric.columns)
    rows, columns = np.divmod(cells, fabric.columns)
    return Board(
        rows + gap * (rows // fabric.tile_rows),
        columns + gap * (columns // fabric.tile_columns),
        (np.array(fabric.pcus), np.array(fabric.pmus)),
        fabric.columns,
        fabric.rows,
    )


def pins_of(traffic: Traffic, heavier: Mapping[int, float]) -> Pins:
    """The flows as nets. Each weighs as much as its bytes, and each link once more as much as every other.

    heavier: by how much some nets weigh more, by number.
    """
    total = sum(net.bytes_per_cycle for net in traffic.nets) or 1.0
    parts: dict[tuple[str, str], int] = {}
    for net in traffic.nets:
        parts[net.link, net.reader] = parts.get((net.link, net.reader), 0) + 1
    pins: list[tuple[int, int, float, float]] = []
    for number, net in enumerate(traffic.nets):
        weight = net.bytes_per_cycle / total + WAYS / len(parts) / parts[net.link, net.reader]
        weight *= heavier.get(number, 1.0)
        pins.append((number, net.source, weight, weight))
        ends = len(net.targets)
        # The branches of a tree share its trunk; what stands off its line has a branch for itself.
        shared = weight / ends**0.5
        in_row = weight if net.along == "row" else weight / ends if net.along == "column" else shared
        in_column = weight if net.along == "column" else weight / ends if net.along == "row" else shared
        pins += [(number, unit, in_row, in_column) for unit in net.targets]
    nets, units, in_rows, in_columns = zip(*pins, strict=True) if pins else ((), (), (), ())
    return Pins(
        np.array(nets, dtype=np.int64),
        np.array(units, dtype=np.int64),
        (np.array(in_rows, dtype=np.float64), np.array(in_columns, dtype=np.float64)),
        len(traffic.nets),
        traffic.count,
        traffic.count - sum(len(found) for found in traffic.agcus.values()),
    )


def snake_start(section: Section, traffic: Traffic, fabric: Fabric) -> Ints:
    """The pipeline along a snake: each stage's PCUs beside the PMUs that it fills. AGCU streams have cell 0 still."""
    path = _snake(fabric)
    order = (
        [cell for cell in path if fabric.kinds[cell] == "pcu"],
        [cell for cell in path if fabric.kinds[cell] == "pmu"],
    )
    along: dict[int, float] = {}
    done = 0
    for name in section.flow.leaves:
        links = [buffer.link.name for buffer in section.buffers if buffer.link.source == name]
        links += [carry.name for carry in section.flow.metapipe.carries if carry.source == name]
        pmus = [unit for link in links for unit in traffic.pmus[link]]
        pcus = traffic.pcus.get(name, ())
        room = max(len(pcus), len(pmus))
        for units in (pcus, pmus):
            along |= {unit: done + n * room / len(units) for n, unit in enumerate(units)}
        done += room
    cells = np.zeros(traffic.count, dtype=np.int64)
    for groups, places in zip((traffic.pcus, traffic.pmus), order, strict=True):
        units = sorted((unit for group in groups.values() for unit in group), key=lambda unit: (along[unit], unit))
        for unit, at in zip(units, _spaced([along[unit] / max(1, done) for unit in units], len(places)), strict=True):
            cells[unit] = places[at]
    return cells


def _snake(fabric: Fabric) -> list[int]:
    """All cells along strips of a few rows, to and fro; within a strip column by column."""
    found = []
    for strip, top in enumerate(range(0, fabric.rows, STRIP)):
        rows = range(top, min(top + STRIP, fabric.rows))
        for number in range(fabric.columns):
            column = fabric.columns - 1 - number if strip % 2 else number
            found += [fabric.cell(row, column) for row in (reversed(rows) if number % 2 else rows)]
    return found


def _spaced(wanted: Sequence[float], places: int) -> list[int]:
    """The places nearest to what is wanted (parts of the way, rising) such that no two are the same."""
    found: list[int] = []
    for number, part in enumerate(wanted):
        least = found[-1] + 1 if found else 0
        found.append(min(max(least, int(part * places)), places - len(wanted) + number))
    return found


def choose_agcus(traffic: Traffic, cells: Ints, board: Board, fabric: Fabric, machine: Machine) -> dict[int, int]:
    """The AGCU of each stream: near what it feeds, and neither too many streams nor too many bytes on one.

    Raises DoesNotFit for more streams than AGCUs serve.
    """
    streams = [unit for units in traffic.agcus.values() for unit in units]
    if len(streams) > machine.agcus * machine.agcu_streams:
        raise DoesNotFit(
            "the loads and stores of a section",
            "AGCU streams",
            len(streams),
            machine.agcus * machine.agcu_streams,
            "a machine with more agcus or agcu_streams would help",
        )
    ends: dict[int, list[tuple[int, float]]] = {unit: [] for unit in streams}
    for net in traffic.nets:
        for unit, others in ((net.source, net.targets), *((target, (net.source,)) for target in net.targets)):
            if unit in ends:
                ends[unit] += [(other, net.bytes_per_cycle) for other in others]
    pace = {unit: sum(rate for _, rate in found) for unit, found in ends.items()}
    used, carried = [0] * machine.agcus, [0.0] * machine.agcus
    # An AGCU that is to carry all of its bytes twice is as bad as one at the other end of the grid.
    ports, most, reach = np.array(fabric.agcus), machine.agcu_bytes_per_cycle, fabric.rows + fabric.columns
    found: dict[int, int] = {}
    for unit in sorted(streams, key=lambda unit: (-pace[unit], unit)):
        near = _distances(ports, [cells[other] for other, _ in ends[unit]], board)
        best = min(
            (number for number in range(machine.agcus) if used[number] < machine.agcu_streams),
            key=lambda n: (near[n] + reach * max(0.0, carried[n] + pace[unit] - most) / most, n),
        )
        used[best] += 1
        carried[best] += pace[unit]
        found[unit] = best
    return found


def _distances(ports: Ints, ends: Sequence[int], board: Board) -> Floats:
    """Mean way from each AGCU to some cells."""
    found = np.zeros(len(ports))
    for axis in (board.rows, board.columns):
        if ends:
            found += np.abs(axis[ports][:, None] - axis[np.array(ends)][None, :]).mean(axis=1)
    return found


@dataclass(frozen=True)
class Placing:
    """A section's units on their way to their cells. agcus: the AGCU of each stream, by unit."""

    cells: Ints
    agcus: Mapping[int, int]


def at_agcus(placing: Ints, traffic: Traffic, board: Board, fabric: Fabric, machine: Machine) -> Placing:
    """The same with AGCUs that are near."""
    chosen = choose_agcus(traffic, placing, board, fabric, machine)
    cells = placing.copy()
    for unit, number in chosen.items():
        cells[unit] = fabric.agcus[number]
    return Placing(cells, chosen)


def scattered(traffic: Traffic, fabric: Fabric, seed: int) -> Ints:
    """Units anywhere: what a placement is compared with."""
    random = np.random.default_rng(seed)
    cells = np.zeros(traffic.count, dtype=np.int64)
    for groups, places in ((traffic.pcus, fabric.pcus), (traffic.pmus, fabric.pmus)):
        units = [unit for group in groups.values() for unit in group]
        cells[units] = random.permutation(np.array(places))[: len(units)]
    return cells


def placement_of(traffic: Traffic, placing: Placing) -> Placement:
    """The cells by name."""
    return Placement(
        {name: tuple(int(placing.cells[unit]) for unit in units) for name, units in traffic.pcus.items()},
        {name: tuple(int(placing.cells[unit]) for unit in units) for name, units in traffic.pmus.items()},
        {name: tuple(placing.agcus[unit] for unit in units) for name, units in traffic.agcus.items()},
    )
