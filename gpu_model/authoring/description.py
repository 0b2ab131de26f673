"""A matrix product's kernel as its author writes it: layouts, a pipeline, and callbacks that are tile operations.

In the manner of ThunderKittens (a template library for CUDA): the author says which tiles a stage of the ring holds,
how many stages and warps there are, and what the producer, a consumer and the end of a block do. Barriers, positions in
the ring and persistence are the template's. kernel_program makes a Program and a Plan of it, kernel_numpy runs it.

    def load(args: LoadArgs) -> tuple[TileOp, ...]:
        rows = (LoadAsync(TileRef("a", i), "a", (2 * args.block_row + i, args.iteration)) for i in range(2))
        return (Expect(49_152), *rows, LoadAsync(TileRef("b"), "b", (args.iteration, args.block_column)))

    def compute(args: ConsumerArgs) -> tuple[TileOp, ...]:
        return (MmaAB(TileRef("a", args.group), TileRef("b")), MmaAsyncWait(), ArriveFinished())

    def finish(args: ConsumerArgs) -> tuple[TileOp, ...]:
        mine, at = TileRef("c", args.group), (2 * args.block_row + args.group, args.block_column)
        return (StoreShared(mine), SyncWarpgroup(), StoreGlobal(mine, "c", at))

    kernel = KernelDescription(
        name="matmul",
        input_block=(TileArray("a", SharedTile(64, 64), 2), TileArray("b", SharedTile(64, 256))),
        finish_block=(TileArray("c", SharedTile(64, 256), 2),),
        accumulator=RegisterTile(16, 256),
        load=load, compute=compute, finish=finish,
    )
    plan = kernel_plan(kernel, workload("gemm"), load_machine("h100_sxm"))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from patterns.dtypes import bytes_of
from patterns.once import computed_once

WARP_THREADS = 32
WARPGROUP_WARPS = 4


@dataclass(frozen=True)
class SharedTile:
    """A tile in shared memory."""

    rows: int
    columns: int
    dtype: str = "bf16"

    @property
    def num_bytes(self) -> int:
        """Its bytes."""
        return bytes_of(self.rows * self.columns, self.dtype)


@dataclass(frozen=True)
class RegisterTile:
    """A tile in the registers of one warp; the four warps of a warpgroup have four of them, one below the other."""

    rows: int
    columns: int
    dtype: str = "fp32"

    @property
    def registers_per_thread(self) -> int:
        """32-bit registers of each thread that it takes, rounded up."""
        return -(-bytes_of(self.rows * self.columns, self.dtype) // (4 * WARP_THREADS))


@dataclass(frozen=True)
class TileArray:
    """`count` equal tiles of a block in shared memory, under one name."""

    name: str
    tile: SharedTile
    count: int = 1

    @property
    def num_bytes(self) -> int:
        """Bytes of all."""
        return self.count * self.tile.num_bytes


@dataclass(frozen=True)
class TileRef:
    """One tile of an array."""

    array: str
    index: int = 0


@dataclass(frozen=True)
class Expect:
    """The barrier of this stage is full when so many bytes have arrived."""

    num_bytes: int


@dataclass(frozen=True)
class LoadAsync:
    """One TMA load: the tile at `at` (row, column, in tiles) of a tensor, into a tile of the input block."""

    into: TileRef
    tensor: str
    at: tuple[int, int]


@dataclass(frozen=True)
class MmaAB:
    """Start accum += a b on the tensor core, for the accumulator of this warpgroup."""

    a: TileRef
    b: TileRef


@dataclass(frozen=True)
class MmaAsyncWait:
    """Wait for the products that were started."""


@dataclass(frozen=True)
class ArriveFinished:
    """This warpgroup needs the stage no more."""


@dataclass(frozen=True)
class StoreShared:
    """The accumulator, converted, into a tile of the finish block."""

    into: TileRef


@dataclass(frozen=True)
class SyncWarpgroup:
    """Wait for the other warps of the warpgroup."""


@dataclass(frozen=True)
class StoreGlobal:
    """A tile of the finish block to `at` (row, column, in tiles) of a tensor."""

    source: TileRef
    tensor: str
    at: tuple[int, int]


TileOp = Expect | LoadAsync | MmaAB | MmaAsyncWait | ArriveFinished | StoreShared | SyncWarpgroup | StoreGlobal


@dataclass(frozen=True)
class LoadArgs:
    """What the producer's callback is told: which block of the result, and which step of it."""

    block_row: int
    block_column: int
    iteration: int


@dataclass(frozen=True)
class ConsumerArgs:
    """What a consumer's callbacks are told: which warpgroup it is, and which block of the result it computes."""

    group: int
    block_row: int
    block_column: int


@dataclass(frozen=True)
class KernelDescription:
    """Tiles, pipeline and callbacks of a persistent, warp-specialised kernel: one producer warpgroup and its consumers.

    input_block: what one stage of the ring holds. finish_block: where results are put in order before they leave.
    accumulator: of one consumer warp. *_arrivals: that make a stage full, and that make it empty again.
    *_registers: of each thread, set with setmaxnreg when the roles part.
    """

    name: str
    input_block: tuple[TileArray, ...]
    finish_block: tuple[TileArray, ...]
    accumulator: RegisterTile
    load: Callable[[LoadArgs], tuple[TileOp, ...]]
    compute: Callable[[ConsumerArgs], tuple[TileOp, ...]]
    finish: Callable[[ConsumerArgs], tuple[TileOp, ...]]
    consumer_warps: int = 8
    pipe_stages: int = 4
    producer_arrivals: int = 1
    consumer_arrivals: int = 2
    producer_registers: int = 40
    consumer_registers: int = 232

    @property
    def consumers(self) -> int:
        """Consumer warpgroups."""
        return self.consumer_warps // WARPGROUP_WARPS

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage of the ring."""
        return sum(array.num_bytes for array in self.input_block)

    @property
    def finish_bytes(self) -> int:
        """Bytes of the finish block."""
        return sum(array.num_bytes for array in self.finish_block)

    @computed_once
    def first_load(self) -> tuple[TileOp, ...]:
        """The producer's operations for a stage; only coordinates differ from one to the next."""
        return self.load(LoadArgs(0, 0, 0))

    def compute_of(self, group: int) -> tuple[TileOp, ...]:
        """A consumer's operations for a stage."""
        return self.compute(ConsumerArgs(group, 0, 0))

    def finish_of(self, group: int) -> tuple[TileOp, ...]:
        """A consumer's operations for the end of a block."""
        return self.finish(ConsumerArgs(group, 0, 0))

    def tile(self, ref: TileRef) -> SharedTile:
        """The tile that is meant. Raises KeyError."""
        return {array.name: array.tile for array in (*self.input_block, *self.finish_block)}[ref.array]
