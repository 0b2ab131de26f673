"""A kernel description run on arrays: its callbacks, block after block, stage after stage, in float64."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING

from gpu_model.authoring.description import (
    WARPGROUP_WARPS,
    ConsumerArgs,
    KernelDescription,
    LoadArgs,
    LoadAsync,
    MmaAB,
    StoreGlobal,
    StoreShared,
    TileOp,
    TileRef,
)

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


@dataclass
class _Cta:
    """Shared memory, accumulators and tensors while a block runs."""

    kernel: KernelDescription
    tensors: dict[str, Array]
    shared: dict[TileRef, Array] = field(default_factory=dict)
    accumulators: dict[int, Array] = field(default_factory=dict)


def run_kernel(kernel: KernelDescription, arrays: Mapping[str, Array]) -> Array:
    """What the kernel stores, from its operands by the names that the callbacks use.

    Where tiles reach over an operand's end they are filled with zeros, as the TMA does.
    """
    import numpy as np

    products = [op for group in range(kernel.consumers) for op in kernel.compute_of(group) if isinstance(op, MmaAB)]
    source = {op.into: op.tensor for op in kernel.first_load if isinstance(op, LoadAsync)}
    a, b = arrays[source[products[0].a]], arrays[source[products[0].b]]
    result = next(op.tensor for op in kernel.finish_of(0) if isinstance(op, StoreGlobal))
    tensors = {name: array.astype(np.float64) for name, array in arrays.items()}
    tensors[result] = np.zeros((a.shape[0], b.shape[1]))
    block_rows, block_columns = sum(kernel.tile(op.a).rows for op in products), kernel.accumulator.columns
    for row in range(-(-a.shape[0] // block_rows)):
        for column in range(-(-b.shape[1] // block_columns)):
            _run_block(_Cta(kernel, tensors), row, column, -(-a.shape[1] // kernel.tile(products[0].a).columns))
    return tensors[result]


def _run_block(cta: _Cta, row: int, column: int, iterations: int) -> None:
    import numpy as np

    kernel, groups = cta.kernel, range(cta.kernel.consumers)
    shape = (WARPGROUP_WARPS * kernel.accumulator.rows, kernel.accumulator.columns)
    cta.accumulators = {group: np.zeros(shape) for group in groups}
    for iteration in range(iterations):
        for op in kernel.load(LoadArgs(row, column, iteration)):
            applied(op, cta, 0)
        for group in groups:
            for op in kernel.compute(ConsumerArgs(group, row, column)):
                applied(op, cta, group)
    for group in groups:
        for op in kernel.finish(ConsumerArgs(group, row, column)):
            applied(op, cta, group)


@singledispatch
def applied(op: TileOp, cta: _Cta, group: int) -> None:
    """Do one tile operation. Those that only order others do nothing here."""


@applied.register
def _(op: LoadAsync, cta: _Cta, group: int) -> None:
    import numpy as np

    tile, source = cta.kernel.tile(op.into), cta.tensors[op.tensor]
    top, left = op.at[0] * tile.rows, op.at[1] * tile.columns
    there = source[top : top + tile.rows, left : left + tile.columns]
    filled = np.zeros((tile.rows, tile.columns))
    filled[: there.shape[0], : there.shape[1]] = there
    cta.shared[op.into] = filled


@applied.register
def _(op: MmaAB, cta: _Cta, group: int) -> None:
    cta.accumulators[group] += cta.shared[op.a] @ cta.shared[op.b]


@applied.register
def _(op: StoreShared, cta: _Cta, group: int) -> None:
    cta.shared[op.into] = cta.accumulators[group].copy()


@applied.register
def _(op: StoreGlobal, cta: _Cta, group: int) -> None:
    tile, target = cta.kernel.tile(op.source), cta.tensors[op.tensor]
    top, left = op.at[0] * tile.rows, op.at[1] * tile.columns
    room = target[top : top + tile.rows, left : left + tile.columns]
    room[...] = cta.shared[op.source][: room.shape[0], : room.shape[1]]
