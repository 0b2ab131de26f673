"""What work costs on a machine, in cycles: exact rationals, rounded up once for each op."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gpu_model.loader import loader_named
from gpu_model.machine import Machine
from gpu_model.work import Path
from patterns.dtypes import bytes_of, elements_in
from patterns.pipeline.hashed import made_directly
from patterns.pipeline.script import Counts

KIB = 1024


@made_directly
@dataclass(frozen=True)
class Mma:
    """A matrix product as the tensor core runs it: cycles of one SM, and FLOPs with the padding to its shape.

    row_blocks: blocks of the instruction's rows, which different warpgroups can compute. instructions: matrix
    instructions; operand_bytes: what they, or the warps that feed them, read of shared memory.
    """

    cycles: int
    flops: int
    row_blocks: int = 1
    instructions: int = field(default=0, compare=False)
    operand_bytes: int = field(default=0, compare=False)


@lru_cache(maxsize=8192)
def mma(machine: Machine, rows: int, columns: int, inner: int, dtype: str, count: int = 1, conflicts: int = 1) -> Mma:
    """`count` products of [rows, inner] by [inner, columns].

    conflicts: cycles in which shared memory gives what it could give in one (see smem_layout).

    The longer side may be the instruction's rows: the transposed product is the same work. The better one is taken.
    """
    ways = (
        _mma(machine, rows, columns, inner, dtype, count, conflicts),
        _mma(machine, columns, rows, inner, dtype, count, conflicts),
    )
    return min(ways, key=lambda way: (way.cycles, way.flops))


def _mma(machine: Machine, rows: int, columns: int, inner: int, dtype: str, count: int, conflicts: int) -> Mma:
    k = max(1, elements_in(machine.mma_inner_bytes, dtype))
    depth, blocks = -(-inner // k), -(-rows // machine.mma_rows)
    padded = -(-columns // machine.mma_columns) * machine.mma_columns
    wide, rest = divmod(padded, machine.mma_most_columns)
    per_block = _instruction_cycles(machine, machine.mma_most_columns, k, dtype, conflicts) * wide
    if rest:
        per_block += _instruction_cycles(machine, rest, k, dtype, conflicts)
    flops = 2 * blocks * machine.mma_rows * padded * depth * k
    computing = per_block * (blocks * depth)
    by_warps = _warp_reading_bytes(machine, blocks * machine.mma_rows, padded, bytes_of(depth * k, dtype))
    reading = Fraction(by_warps, machine.smem_read_bytes_per_cycle) * conflicts
    wide += bool(rest)
    operands = by_warps or bytes_of((machine.mma_rows * wide + padded) * k, dtype) * blocks * depth
    cycles, instructions = ceil(max(computing, reading) * count), wide * blocks * depth
    return Mma(cycles, flops * count, blocks * count, instructions * count, operands * count)


def _warp_reading_bytes(machine: Machine, rows: int, columns: int, inner_bytes: int) -> int:
    """Where operands of an instruction come from registers: every warp reads those of its part of the tile."""
    if not machine.warp_rows or not machine.warp_columns:
        return 0
    high, wide = min(rows, machine.warp_rows), min(columns, machine.warp_columns)
    warps = -(-rows // high) * -(-columns // wide)
    return warps * (high + wide) * inner_bytes


def _instruction_cycles(machine: Machine, columns: int, inner: int, dtype: str, conflicts: int) -> Fraction:
    """One instruction: its FLOPs at the tensor core's rate, or its operands out of shared memory."""
    rate = machine.flops_per_cycle.get(dtype, machine.tf32_flops_per_cycle)
    computing = 2 * machine.mma_rows * columns * inner
    reading = bytes_of((machine.mma_rows + columns) * inner, dtype) * machine.smem_cycles_per_kib * conflicts
    return Fraction(computing, rate) if computing * KIB >= reading * rate else Fraction(reading, KIB)


def vector_cycles(machine: Machine, ops: int, compares: int = 0, in_a_row: int = 0) -> int:
    """Vector ops of one SM, some of which compare or convert; some `in_a_row` need the result of the one before."""
    fast = machine.vector_ops_per_cycle
    slow = min(fast, machine.compare_ops_per_cycle)
    return max(-(-(ops - compares) // fast) - -compares // slow, in_a_row * machine.dependent_op_cycles)


def special_cycles(machine: Machine, ops: int) -> int:
    """Ops of the special function units of one SM."""
    return -(-ops // machine.special_ops_per_cycle)


def issue_cycles(machine: Machine, loader: str, num_bytes: int) -> int:
    """What the issuing warp pays for loading a slot."""
    return loader_named(loader).issue_cycles(machine, num_bytes)


def staging_cycles(machine: Machine, num_bytes: int) -> int:
    """Writing so many bytes from registers to shared memory, rounded up."""
    return -(-num_bytes // machine.smem_write_bytes_per_cycle)


def transpose_cycles(machine: Machine, num_bytes: int) -> int:
    """Reading so many bytes from shared memory and writing them back in another order, rounded up."""
    return -(-num_bytes * machine.transpose_cycles_per_kib // KIB)


@made_directly
@dataclass(frozen=True)
class Transfer:
    """What one SM moves at once: `num_bytes / count` over its port and through the L2.

    Of all bytes that the kernel moves this way, `of_all`, the HBM moves `of_hbm`: this transfer's part is as large.
    """

    num_bytes: int
    count: int
    of_hbm: int
    of_all: int

    @property
    def hbm_bytes(self) -> int:
        """Its bytes over the HBM, rounded down."""
        return self.num_bytes * self.of_hbm // (self.count * self.of_all) if self.of_all else 0

    @property
    def counts(self) -> Counts:
        """What it counts: its bytes over the HBM, and through the L2."""
        return ("hbm_bytes", self.hbm_bytes), ("l2_bytes", self.num_bytes // self.count)


def arrival_cycles(machine: Machine, hbm_bytes: int) -> int:
    """From the end of a load's transfer to its arrival: of what the L2 has, sooner."""
    return machine.load_latency_cycles if hbm_bytes else machine.l2_latency_cycles or machine.load_latency_cycles


def hbm_cycles(machine: Machine, transfer: Transfer, active_sms: int) -> int:
    """Cycles at the SM's share of the HBM, `active_sms` doing the same, rounded up."""
    if not transfer.of_all:
        return 0
    amount = transfer.num_bytes * transfer.of_hbm * active_sms * machine.clock_hz
    return -(-amount // (transfer.count * transfer.of_all * machine.hbm_achieved_bytes_per_s))


def path_of(machine: Machine, transfer: Transfer, active_sms: int, port_bytes_per_cycle: int) -> Path:
    """Cycles on each level that a transfer passes, rounded up: the SM's port, its shares of L2 and HBM."""
    port = -(-transfer.num_bytes // (transfer.count * port_bytes_per_cycle))
    l2 = -(-transfer.num_bytes * active_sms // (transfer.count * machine.l2_bytes_per_cycle))
    return Path(port, l2, hbm_cycles(machine, transfer, active_sms))


def path_cycles(machine: Machine, transfer: Transfer, active_sms: int, port_bytes_per_cycle: int) -> int:
    """Cycles of the slowest level that a transfer passes."""
    return path_of(machine, transfer, active_sms, port_bytes_per_cycle).cycles


def network_cycles(machine: Machine, num_bytes: int, active_sms: int) -> int:
    """Cycles to send bytes to the other GPUs, `active_sms` doing the same, rounded up."""
    return -(-num_bytes * active_sms * machine.clock_hz // machine.network_achieved_bytes_per_s)
