"""What an attention kernel asks of an SM: its steps as a tuned kernel runs them, and the tiles of the busiest SM.

Of the ops that the graph names, a kernel runs fewer: what is affine folds into the multiply-add of the exponential,
the division by a row's sum waits until the last step, a mask is applied where it cuts through a block, and blocks that
it hides are left out. Besides, it converts the probabilities to the type of the product that reads them, and rescales
what it has summed up (FlashAttention-2, arXiv 2307.08691, section 3.1).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from gpu_model.attention.between import Between, between
from gpu_model.attention.busiest import busiest
from gpu_model.choice.alike import alike
from gpu_model.machine import Machine
from gpu_model.price import Transfer, mma
from gpu_model.products.product import Product
from gpu_model.tiles.assign import Sharing, Transfers, uses, waves
from gpu_model.tiles.cuts import Amounts, Cut, Priced
from gpu_model.traffic import Moved
from gpu_model.work import Use, Wave, Work
from patterns.axes import points
from patterns.count import node_demand, node_dims, storage_of
from patterns.counting.needed import function_of
from patterns.dtypes import bytes_of
from patterns.graph import Node
from patterns.kind import has
from patterns.once import computed_once
from patterns.pipeline.hashed import changed

# Keys of a block that tuned kernels are compiled for, whatever the context is, and the head dim up to which they are as
# many; fewer for wider heads (FlashAttention-3: 80 to 192).
SHORT_BLOCK, SHORT_BLOCK_DIM = 128, 128
REGISTER_BYTES = 4


@dataclass(frozen=True)
class Online:
    """A cut of a kernel with products around a reduce: extents of its tile, rows padded to the matrix instruction."""

    cut: Cut
    machine: Machine

    @property
    def first(self) -> Product:
        """The product that makes scores."""
        return self.cut.space.products[0]

    @property
    def last(self) -> Product:
        """The product that uses what is made of them."""
        return self.cut.space.products[-1]

    @computed_once
    def block_rows(self) -> int:
        """Rows of a block: those of the matrix instruction, or as many of its columns as hold a few rows.

        Where sums are in tensor memory and rows are few (a decode step), the products are transposed: keys and head dim
        are the instruction's rows. In registers they would be spread over threads that need their greatest score.
        """
        machine, rows = self.machine, self._points(self.last.rows)
        if 2 * rows > machine.mma_rows or not machine.tmem_columns:
            return machine.mma_rows
        return -(-rows // machine.mma_columns) * machine.mma_columns

    @computed_once
    def row_blocks(self) -> int:
        """Blocks of rows, which different warpgroups can compute."""
        return self._points(self.last.batch) * -(-self._points(self.last.rows) // self.block_rows)

    @computed_once
    def rows(self) -> int:
        """Rows of a tile with the padding."""
        return self.row_blocks * self.block_rows

    @computed_once
    def columns(self) -> int:
        """Columns of the scores in one step. A context that is shorter than a block is padded to one."""
        columns, wide = self._points(self.last.inner), self._points(self.last.columns)
        block = SHORT_BLOCK * SHORT_BLOCK_DIM // max(SHORT_BLOCK_DIM, wide)
        return columns if self.cut.steps else max(block, columns)

    @computed_once
    def scores(self) -> int:
        """Elements between the two products in one step."""
        return self.rows * self.columns

    @computed_once
    def results(self) -> int:
        """Elements that a tile sums up."""
        return self.rows * self._points(self.last.columns)

    @property
    def nodes(self) -> Between:
        """What the nodes between and after the products are for."""
        return between(self.cut.space)

    def _points(self, dims: Iterable[str]) -> int:
        return points(dims, self.cut.sizes)

    def product(self, product: Product, columns: int, inner: int) -> Amounts:
        """One matrix product of a step."""
        issued = mma(self.machine, self.rows, columns, inner, product.dtype)
        return Amounts(issued.cycles, issued.flops)

    def step(self) -> tuple[Amounts, Amounts]:
        """One step: scores and softmax, then values."""
        amounts = Amounts()
        for node in self.nodes.softmax:
            amounts += self._softmax(node)
        # The probabilities become operands; what is summed up so far is multiplied by how far the maximum rose.
        amounts += Amounts(vector_ops=self.scores + self.results, compare_ops=self.scores)
        amounts += self._permuted() + self._converted()
        scores = self.product(self.first, self.columns, self._points(self.first.inner))
        values = self.product(self.last, self._points(self.last.columns), self.columns)
        return scores + amounts, values

    def _permuted(self) -> Amounts:
        """Small probabilities become operands in another order: two byte permutes for eight of them.

        Each makes a register of four, at the rate of conversions (FlashAttention-3, arXiv 2407.08608, section 3.3).
        """
        ops = self.scores // 4 if bytes_of(1, self.last.dtype) < self.machine.mma_any_order_bytes else 0
        return Amounts(vector_ops=ops, compare_ops=ops)

    def _converted(self) -> Amounts:
        """Operands of another type than the products', or with scales: quantised keys and values."""
        space = self.cut.space
        nodes = (node for node in space.nodes if has(node, "contracts") or node.name in space.converted)
        ops = sum(node_demand(space.graph, node, self.cut.sizes).vector_ops for node in nodes)
        return Amounts(vector_ops=ops, compare_ops=ops)

    def finish(self) -> Amounts:
        """The end of a tile: the division that waited, masks where they cut, what follows, and a conversion."""
        amounts = Amounts(vector_ops=self.results, compare_ops=self.results)
        for node in self.cut.space.nodes:
            made = function_of(node)
            if made is not None and node.name in self.nodes.waiting:
                amounts += Amounts(vector_ops=self.results, special_ops=self.rows * made.special_ops)
            elif node.name in self.nodes.ending:
                demand = node_demand(self.cut.space.graph, node, self.cut.sizes)
                amounts += Amounts(vector_ops=demand.vector_ops, special_ops=demand.special_ops)
            if made is not None and made.keeps and node.name in self.nodes.rows:
                cut_blocks = -(-self.cut.sizes[self.nodes.rows[node.name]] // self.columns)
                amounts += Amounts(vector_ops=made.vector_ops * self.scores * cut_blocks)
        return amounts

    def _softmax(self, node: Node) -> Amounts:
        """Ops of one node for all scores of a step."""
        space = self.cut.space
        demand = node_demand(space.graph, node, self.cut.sizes)
        elements = points(node_dims(space.graph, node), self.cut.sizes)
        made = function_of(node)
        vector, special = (self.scores * ops // elements for ops in (demand.vector_ops, demand.special_ops))
        if made is not None and (made.affine or (made.keeps and node.name in self.nodes.rows)):
            vector = 0
        extreme = node.name in self.nodes.extremes
        return Amounts(vector_ops=vector, special_ops=special, compare_ops=vector if extreme else 0)


def price_online(cut: Cut, machine: Machine) -> Priced:
    """What the tiles of an attention kernel's cut ask of an SM's units."""
    return Priced(cut, (tile := _of_tile(cut, machine)).step, tile.finish)


@dataclass(frozen=True)
class _Tile:
    """What a tile asks in each step and at its end, and what it holds meanwhile."""

    step: tuple[Amounts, Amounts]
    finish: Amounts
    scores: int
    results: int
    row_blocks: int
    operand_registers: int


def _of_tile(cut: Cut, machine: Machine) -> _Tile:
    """What a tile of a cut asks and holds, in however many parts its steps are."""
    whole = alike(cut)
    return _of_alike(whole if whole is not cut else changed(cut, parts=1, kept=()), machine)


@lru_cache(maxsize=1024)
def _of_alike(cut: Cut, machine: Machine) -> _Tile:
    """Memo of tiles, for all that are alike (see `alike`)."""
    online = Online(cut, machine)
    registers = -(-bytes_of(online.scores, online.last.dtype) // REGISTER_BYTES)
    return _Tile(online.step(), online.finish(), online.scores, online.results, online.row_blocks, registers)


def transposed_bytes(cut: Cut, machine: Machine) -> int:
    """Bytes of a step's operands of which matrix instructions read the summed dim only where it is innermost.

    With tensor memory, instructions read either order.
    """
    space, found = cut.space, set[str]()
    small = (product for product in space.products if bytes_of(1, product.dtype) < machine.mma_any_order_bytes)
    for product in () if machine.tmem_columns else small:
        node = next(node for node in space.nodes if node.name == product.node)
        operands = (space.graph.tensor_named[name] for name in node.reads[:2])
        found |= {storage_of(space.graph, one.name) for one in operands if one.dims[-1] not in product.inner}
    return sum(access.num_bytes(cut.sizes) for access in space.reads if access.tensor in found)


def work_of_online(name: str, priced: Priced, total: Moved, machine: Machine) -> Work:
    """The busiest SM of an attention kernel: the longest tiles are given out first."""
    cut = priced.cut
    tile = _of_tile(cut, machine)
    transfers = Transfers(
        Transfer(cut.step_bytes, 1, total.hbm_read, total.loaded),
        Transfer(cut.out_bytes, 1, total.hbm_written, total.stored),
        -(-cut.all_steps // cut.tiles),
    )
    given = _masked_waves(cut, transfers, machine) if cut.kept else waves(cut.tiles, transfers, machine)
    sharing = Sharing(min(cut.tiles, machine.sm_count))
    return Work(
        name=name,
        waves=tuple(_with_held(wave, cut) for wave in given),
        steps=cut.steps_per_tile,
        slot_bytes=cut.step_bytes,
        held_bytes=cut.held_bytes,
        step=tuple([use for amounts in priced.step for use in uses(amounts, machine, sharing)]),
        finish=uses(priced.finish, machine, sharing),
        latency_cycles=machine.load_latency_cycles,
        accumulators=tile.scores + tile.results,
        operand_registers=tile.operand_registers,
        row_blocks=tile.row_blocks,
        score_values=tile.scores,
        transposed_bytes=transposed_bytes(cut, machine),
    )


def _masked_waves(cut: Cut, transfers: Transfers, machine: Machine) -> tuple[Wave, ...]:
    """The busiest SM's tiles, longest first, each as long as its mask leaves it."""
    wave = waves(min(cut.tiles, machine.sm_count), transfers, machine)[0]
    return _given(wave, busiest(cut.kept, machine.sm_count))


def _given(wave: Wave, tiles: Iterable[tuple[int, int]]) -> tuple[Wave, ...]:
    return tuple(changed(wave, tiles=count, steps=steps) for count, steps in tiles)


def in_grid_order(work: Work, cut: Cut, machine: Machine) -> Work:
    """The work where tiles are given out by their rows, and so those that a causal mask leaves longest last."""
    if not cut.kept:
        return work
    return replace(work, waves=_given(work.waves[0], busiest(cut.kept[::-1], machine.sm_count)))


def _with_held(wave: Wave, cut: Cut) -> Wave:
    """The wave with what a tile holds as a load of its own, as fast as those of steps."""
    load = wave.load
    counts = tuple((name, amount * cut.held_bytes // cut.step_bytes) for name, amount in load.counts)
    cycles = -(-load.cycles * cut.held_bytes // cut.step_bytes)
    return changed(wave, held=Use(load.unit, cycles, "queries", counts))
