"""What one SM has to do for a kernel, in cycles. A schedule arranges it into roles; nothing here knows how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from patterns.once import computed_once
from patterns.pipeline.hashed import changed, hashed_once, made_directly
from patterns.pipeline.script import Counts, Run


@hashed_once
@made_directly
@dataclass(frozen=True)
class Use:
    """Hold `unit` for `cycles`. A text time line shows the label's first letter."""

    unit: str
    cycles: int
    label: str
    counts: Counts = ()

    def run(self) -> Run:
        """The op of a role that waits for it."""
        return Run(self.unit, self.cycles, self.label, self.counts)

    def between(self, first: int, last: int, of: int) -> Use:
        """The part of it from `first` to `last` of `of` equal shares: cycles rounded up, counts that add up exactly."""
        counts = tuple((name, amount * last // of - amount * first // of) for name, amount in self.counts)
        return Use(self.unit, -(-self.cycles * (last - first) // of), self.label, counts)

    def at_share(self, share: Fraction) -> Use:
        """The same at a share of the unit's rate: cycles rounded up."""
        return replace(self, cycles=ceil(self.cycles / share))


@made_directly
@dataclass(frozen=True)
class Path:
    """What a load takes on each level that it passes: the SM's port, the SM's share of the L2 and of the HBM."""

    port_cycles: int
    l2_cycles: int
    hbm_cycles: int

    @property
    def cycles(self) -> int:
        """The slowest level's."""
        return max(self.port_cycles, self.l2_cycles, self.hbm_cycles)


@made_directly
@dataclass(frozen=True)
class Wave:
    """`tiles` tiles that the SM computes one after another while equally many SMs share the memory.

    load: one step's operands arriving in shared memory, as fast as the slowest level of its path. store: one tile's
    results leaving. steps: of each of these tiles, where a mask leaves them fewer than the longest; 0 where all are
    alike. held: of a tile's operands, those that arrive once, where they do so apart from the steps'.
    """

    tiles: int
    load: Use
    store: Use
    path: Path = Path(0, 0, 0)
    steps: int = 0
    held: Use | None = None

    @property
    def stored_on_loads_cycles(self) -> int:
        """What a tile's store takes of the loads' own unit; 0 where it has another."""
        return self.store.cycles if self.store.unit == self.load.unit else 0


@made_directly
@dataclass(frozen=True)
class Grid:
    """The whole kernel, for schedules that share the steps of a tile out among SMs.

    tiles: of all SMs. wave: one tile while all SMs that could have a step are at work. partial: its sums written to a
    workspace in the L2. taken, added: those of another SM read from there, and added.
    """

    tiles: int
    wave: Wave
    partial: Use
    taken: Use
    added: Use


@dataclass(frozen=True)
class Task:
    """One node of a kernel as one warp runs it, for all points of a tile's step; `ends`: once, at the tile's end.

    uses: of the warp's sub-partition. reads: tasks whose results it needs; a result has `result_bytes`. loads: whether
    it reads what the step loaded. stores: whether its result leaves. values: names of what a thread holds a value of.
    constants: registers of a thread, by the tensor that stays in them from tile to tile.
    """

    name: str
    uses: tuple[Use, ...]
    reads: tuple[str, ...] = ()
    result_bytes: int = 0
    values: tuple[str, ...] = ()
    constants: tuple[tuple[str, int], ...] = ()
    loads: bool = False
    stores: bool = False
    ends: bool = False

    @property
    def cycles(self) -> int:
        """Its uses one after another."""
        return sum(use.cycles for use in self.uses)


@made_directly
@dataclass(frozen=True)
class Work:
    """The SM with the most tiles. Each tile is, `steps` times: load a slot of `slot_bytes`, then the `step` uses;
    after its last step the `finish` uses, then one store.

    held_bytes: operands that a tile keeps from its first step to its last. latency_cycles: from the end of a load's
    transfer to its arrival. accumulators: fp32 values that stay in registers. shared_bytes: of a slot, the
    operand that most can be saved of by sharing it, and sharing_tiles: how many tiles have it in common.
    row_blocks: blocks of rows of matrix instructions in a tile, which consumers can share. members: GPUs that sum, and
    exchanged: what sending one step's payload to one of them would take (a collective's; others have it in `step`).
    grid: of a matrix product. operand_registers: 4-byte registers of a step's operands that were computed and not
    loaded, beside the accumulators. score_values: those accumulators that become operands. padding_bytes: what the
    layout adds to a slot in shared memory. transposed_bytes: of a slot, what the kernel itself writes once more, in the
    order that its matrix instructions read. tasks: of a kernel whose schedule gives its nodes to warps.
    """

    name: str
    waves: tuple[Wave, ...]
    steps: int
    slot_bytes: int
    step: tuple[Use, ...]
    finish: tuple[Use, ...]
    latency_cycles: int
    held_bytes: int = 0
    accumulators: int = 0
    shared_bytes: int = 0
    sharing_tiles: int = 1
    row_blocks: int = 1
    members: int = 1
    exchanged: Use = Use("link", 0, "send")
    grid: Grid | None = None
    operand_registers: int = 0
    padding_bytes: int = 0
    transposed_bytes: int = 0
    tasks: tuple[Task, ...] = ()
    score_values: int = 0

    @computed_once
    def tiles(self) -> int:
        """Tiles that the SM computes."""
        return sum(wave.tiles for wave in self.waves)

    @computed_once
    def step_cycles(self) -> int:
        """Cycles that one step computes, its uses one after another."""
        return sum(use.cycles for use in self.step)

    @computed_once
    def finish_cycles(self) -> int:
        """Cycles between a tile's last step and its store."""
        return sum(use.cycles for use in self.finish)

    @property
    def grid_of_product(self) -> Grid:
        """The grid of a matrix product, which has one."""
        assert self.grid is not None, f"{self.name} is no matrix product"
        return self.grid

    def steps_of(self, wave: Wave) -> int:
        """Steps of each tile of a wave."""
        return wave.steps or self.steps

    def end_cycles(self, wave: Wave) -> int:
        """Cycles from a tile's last step to the end of its store."""
        return self.finish_cycles + wave.store.cycles

    def named(self, name: str) -> Work:
        """The same work under another name."""
        return changed(self, name=name)


@hashed_once
@made_directly
@dataclass(frozen=True)
class RoleDemand:
    """Threads of one role and the registers that each of them needs."""

    role: str
    threads: int
    registers: int


@made_directly
@dataclass(frozen=True)
class CtaDemand:
    """What one CTA asks of its SM. setmaxnreg: registers move from the first role to the others at run time.

    tmem_columns: of tensor memory, allocated in powers of two of at least 32. barriers: named ones, one is
    that of __syncthreads.
    """

    roles: tuple[RoleDemand, ...]
    smem_bytes: int
    setmaxnreg: bool = False
    tmem_columns: int = 0
    barriers: int = 1

    @property
    def threads(self) -> int:
        """Threads of the CTA."""
        return sum([role.threads for role in self.roles])


@made_directly
@dataclass(frozen=True)
class Choice:
    """How a schedule is set. slots: steps that shared memory holds. loader: a file of loaders/.

    warpgroups: groups of 128 threads that compute one tile together. cluster: CTAs that share operands.
    dma_warps: warps that load, where a schedule has several. splits: parts of a tile's steps, where a schedule adds
    them up itself; 0 for as many as keep all SMs at work. layout: of operands in shared memory, see smem_layout.
    ctas: that are on an SM at once, see resident.
    """

    slots: int = 1
    loader: str = "tma"
    warpgroups: int = 1
    cluster: int = 1
    dma_warps: int = 1
    splits: int = 0
    layout: str = "swizzled"
    ctas: int = 1
