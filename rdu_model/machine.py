"""An RDU in numbers: the grid of compute and memory units, the memories behind it, the links, and what a call costs.

One frozen flat record of a machine's file; units are in the names. Everything derived from it is a function here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from importlib.resources.abc import Traversable
from typing import Literal

from patterns.documents.parameters import Parameters, Rules, read_parameters
from patterns.energy import EnergyPrices
from patterns.pipeline.hashed import hashed_once
from patterns.plugin import data_file, data_files
from patterns.units import cycles_of_ps, exact
from rdu_model.plausible import contradictions, hint, impossible

PACKAGE = "rdu_model.machines"


@hashed_once
@dataclass(frozen=True)
class Machine(EnergyPrices):
    """One socket.

    A PCU is `pcu_lanes` wide and `pcu_stages` deep; as a systolic array each functional unit does `packed_macs`
    multiply-adds a cycle, as a SIMD pipeline each lane passes one element through all stages, and through the tail
    (transcendental functions) at no extra cost.
    usable_share: of the PCUs, what placement and routing can use.
    The units are spread over `tiles` grids of `tile_rows` x `tile_columns`, PCUs and PMUs in turn, `tiles_across` of
    them side by side. Each unit has a switch; neighbours share `mesh_links` links each way of `mesh_bytes_per_cycle`,
    and each of these carries `mesh_flows` routes. hop_cycles: from a switch to the next; crossing_cycles: more, from a
    tile to the next. `agcus` stand at the tiles' left and right edges; each serves `agcu_streams` streams.
    pmu_banks: of one PMU. A bank is read or written in a cycle.
    pmu_bytes_per_cycle: of one PMU, for reads, and the same again for writes.
    hbm_efficiency: share of hbm_bytes_per_s that long streams get; ddr_efficiency the same of DDR. A machine without
    HBM (hbm_bytes 0) streams from DDR.
    agcu_bytes_per_cycle: one row-parallel stream between off-chip memory and PMUs.
    link_bytes_per_s: of a socket to all others of its group and node together. link_latency_ps: from one socket to
    another. node_sockets: that have such links to each other; node_link_*: the same to sockets of other nodes.
    all_reduce: how sockets sum, `direct` to each other or in a `ring` (see collective).
    prefetch_bytes: at most so much of the PMUs holds weights and states that are read ahead of their stage.
    A call costs a program load, an argument load and the execute command, given by the host (software) or by the
    AGCUs (hardware).
    """

    clock_hz: int
    pcus: int
    pcu_lanes: int
    pcu_stages: int
    packed_macs: int
    usable_share: float
    step_cycles: int
    pmus: int
    pmu_bytes: int
    pmu_bytes_per_cycle: int
    pmu_banks: int
    tiles: int
    tiles_across: int
    tile_rows: int
    tile_columns: int
    hop_cycles: int
    crossing_cycles: int
    mesh_links: int
    mesh_bytes_per_cycle: int
    mesh_flows: int
    hbm_bytes: int = field(metadata={"zero": True})
    hbm_bytes_per_s: int = field(metadata={"zero": True})
    hbm_efficiency: float
    hbm_latency_cycles: int
    ddr_bytes: int
    ddr_bytes_per_s: int
    ddr_efficiency: float
    ddr_latency_cycles: int
    agcus: int
    agcu_streams: int
    agcu_bytes_per_cycle: int
    sockets: int
    link_bytes_per_s: int
    link_latency_ps: int
    node_sockets: int
    node_link_bytes_per_s: int
    node_link_latency_ps: int
    all_reduce: Literal["direct", "ring"]
    prefetch_bytes: int = field(metadata={"zero": True})
    hardware_program_load_ps: int
    hardware_argument_load_ps: int
    hardware_execute_ps: int
    software_program_load_ps: int
    software_argument_load_ps: int
    software_execute_ps: int
    name: str = ""

    @property
    def peak_flops_per_s(self) -> int:
        """What all PCUs do as systolic arrays, a multiply-add being 2; SN40L's data sheet rounds it to 638 TFLOP/s."""
        return 2 * self.pcus * macs_per_pcu(self) * self.clock_hz


@dataclass(frozen=True)
class Pace:
    """A rate per cycle as an exact fraction: what prices bytes in cycles, rounded up once."""

    amount: int
    cycles: int

    def cycles_for(self, amount: int) -> int:
        """Cycles that `amount` takes."""
        return -(-amount * self.cycles // self.amount)


def machine_names() -> tuple[str, ...]:
    """Every machine there is a file for."""
    return data_files(PACKAGE, ".yaml")


def read_machine(name: str, overrides: Mapping[str, str] | None = None) -> Parameters[Machine]:
    """A machine's numbers with the source of each. Raises UnknownName, SpecError."""
    return read_parameters(_file_of(name), Machine, overrides, RULES)


def load_machine(name: str, overrides: Mapping[str, str] | None = None) -> Machine:
    """The machine `name`, with values replaced by `overrides` (text with a unit). Raises UnknownName, SpecError."""
    return replace(read_machine(name, overrides).values, name=name)


@lru_cache(maxsize=64)
def usable_pcus(machine: Machine) -> int:
    """PCUs that stages may have."""
    return max(1, int(exact(machine.usable_share) * machine.pcus))


def grid_rows(machine: Machine) -> int:
    """Rows of the grid of all tiles."""
    return machine.tiles // machine.tiles_across * machine.tile_rows


def grid_columns(machine: Machine) -> int:
    """Columns of the grid of all tiles."""
    return machine.tiles_across * machine.tile_columns


def macs_per_pcu(machine: Machine) -> int:
    """Multiply-adds of one PCU in a cycle."""
    return machine.pcu_lanes * machine.pcu_stages * machine.packed_macs


@lru_cache(maxsize=64)
def hbm_pace(machine: Machine) -> Pace:
    """Bytes that streams get from HBM, together."""
    return _pace(machine.hbm_bytes_per_s * exact(machine.hbm_efficiency), machine.clock_hz)


@lru_cache(maxsize=64)
def ddr_pace(machine: Machine) -> Pace:
    """Bytes that streams get from DDR, together."""
    return _pace(machine.ddr_bytes_per_s * exact(machine.ddr_efficiency), machine.clock_hz)


def link_pace(machine: Machine) -> Pace:
    """Bytes that a socket sends to others of its node."""
    return _pace(Fraction(machine.link_bytes_per_s), machine.clock_hz)


def node_link_pace(machine: Machine) -> Pace:
    """Bytes that a socket sends to other nodes."""
    return _pace(Fraction(machine.node_link_bytes_per_s), machine.clock_hz)


def cycles_of_link(machine: Machine) -> int:
    """Latency of a link inside a node in cycles, rounded up."""
    return cycles_of_ps(machine.link_latency_ps, machine.clock_hz)


def cycles_of_node_link(machine: Machine) -> int:
    """Latency of a link between nodes in cycles, rounded up."""
    return cycles_of_ps(machine.node_link_latency_ps, machine.clock_hz)


def _pace(per_s: Fraction, clock_hz: int) -> Pace:
    per_cycle = per_s / clock_hz
    return Pace(per_cycle.numerator, per_cycle.denominator)


def _file_of(name: str) -> Traversable:
    return data_file(PACKAGE, name, ".yaml", "RDU")


RULES = Rules(_file_of, hint, contradictions, impossible)
