"""The CTA that computes one tile of a matrix product: what it asks of an SM, and how deep its ring can be."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_model.choice.able_schedules import check_fixed, loader_of
from gpu_model.choice.applies import served
from gpu_model.fit import misfit, most_slots, resident
from gpu_model.loader import loader_named
from gpu_model.machine import Machine
from gpu_model.occupancy.limits import WARPGROUP, Occupancy, occupancy
from gpu_model.occupancy.register_plan import (
    MOST_SETMAXNREG,
    SETMAXNREG_STEP,
    RegisterPlan,
    even_registers,
    register_plan,
    set_registers,
)
from gpu_model.options import Options
from gpu_model.price import Mma, mma
from gpu_model.schedule import Schedule, check_schedule, schedule_named, slots_known
from gpu_model.smem_layout import USUAL as USUAL_LAYOUT
from gpu_model.smem_layout import conflict_ways, padding_bytes
from gpu_model.work import Choice, CtaDemand, Work
from patterns.dtypes import bytes_of
from patterns.errors import DoesNotFit, UserError

# What is taken where no schedule is named: the first whose feature the machine has.
USUAL = (
    ("tcgen05", "tcgen05"),
    ("tma", "warp_specialized"),
    ("cp_async", "multistage"),
    ("mma_sync", "register_double_buffer"),
)

NOTHING_FIXED = Options()


@dataclass(frozen=True)
class Tile:
    """A CTA's output tile of [rows, columns], `inner` of K in a step."""

    rows: int
    columns: int
    inner: int
    dtype: str = "bf16"

    @property
    def slot_bytes(self) -> int:
        """One step's operands."""
        return sum(self.operand_bytes)

    @property
    def operand_bytes(self) -> tuple[int, int]:
        """Each operand of one step, which is loaded by itself."""
        return self.rows * self.row_bytes, self.columns * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """A row of an operand in one step."""
        return bytes_of(self.inner, self.dtype)


@dataclass(frozen=True)
class TileCta:
    """How a tile's CTA sits on an SM. mma: one step as the tensor core runs it, padding included.

    conflicts: cycles in which shared memory gives what it could give in one. instructions: warp instructions that load
    a stage. issue_slots: that the schedulers have while the tensor cores work on one, an instruction a cycle each.
    """

    tile: Tile
    schedule: str
    choice: Choice
    demand: CtaDemand
    occupancy: Occupancy
    most_slots: int
    mma: Mma
    plan: RegisterPlan | None
    conflicts: int
    instructions: int
    issue_slots: int

    @property
    def padding(self) -> float:
        """Of the multiply-adds issued, the share that is padding to the instruction's shape."""
        return 1 - 2 * self.tile.rows * self.tile.columns * self.tile.inner / self.mma.flops


def tile_cta(machine: Machine, tile: Tile, schedule: str | None = None, options: Options = NOTHING_FIXED) -> TileCta:
    """The CTA of a tile: with the deepest ring that fits and the fewest warpgroups that hold it, if not given.

    options: slots, warpgroups, loader and layout. Raises UserError, UnknownName, and DoesNotFit with what would fit.
    """
    _check(tile, options)
    name = schedule or next(usual for feature, usual in USUAL if feature in machine.features)
    check_schedule(name, machine)
    if "mm" not in schedule_named(name).SERVES:
        raise UserError(f"a tile is of a matrix product; schedule {name} runs {served(name)}")
    check_fixed(name, options)
    found = schedule_named(name)
    layout = options.layout or USUAL_LAYOUT
    loader = loader_of(options, name, machine)
    work = _work(tile, layout, machine)
    most = most_slots(work, machine)
    choice = Choice(options.slots or _deepest(found, most), loader, layout=layout)
    counts = (options.warpgroups,) if options.warpgroups else found.WARPGROUPS
    choice, demand = _fitting(work, found, choice, counts, machine)
    held, plan = _resident(machine, demand)
    conflicts = conflict_ways(layout, tile.row_bytes)
    step = mma(machine, tile.rows, tile.columns, tile.inner, tile.dtype, conflicts=conflicts)
    instructions = sum(loader_named(loader).instructions(machine, operand) for operand in tile.operand_bytes)
    slots = machine.sub_partitions * step.cycles
    return TileCta(tile, name, choice, demand, held, most, step, plan, conflicts, instructions, slots)


def tile_demand(
    machine: Machine, tile: Tile, schedule: str, slots: int, warpgroups: int
) -> tuple[CtaDemand, DoesNotFit | None]:
    """What a tile's CTA asks of an SM, and why it does not fit (None: it does). Raises UserError."""
    _check(tile, Options(slots, warpgroups=warpgroups))
    check_schedule(schedule, machine)
    work = _work(tile, USUAL_LAYOUT, machine)
    choice = Choice(slots, loader_of(NOTHING_FIXED, schedule, machine), warpgroups)
    demand = schedule_named(schedule).demand(work, choice, machine)
    return demand, misfit("the tile", demand, work, choice, machine)


def _work(tile: Tile, layout: str, machine: Machine) -> Work:
    padding = padding_bytes(layout, tile.slot_bytes, tile.row_bytes)
    accumulators = tile.rows * tile.columns
    work = Work("the tile", (), 1, tile.slot_bytes, (), (), 0, accumulators=accumulators, padding_bytes=padding)
    return replace(work, row_blocks=mma(machine, tile.rows, tile.columns, tile.inner, tile.dtype).row_blocks)


def _deepest(schedule: Schedule, most: int) -> int:
    """A ring as deep as there is room for; one or two slots where a schedule has no use for more."""
    known = slots_known(schedule)
    return max((slots for slots in known if slots <= most), default=1) if known else most


def _resident(machine: Machine, demand: CtaDemand) -> tuple[Occupancy, RegisterPlan | None]:
    """CTAs of an SM; where registers move, launched with as many as that leaves each, and the plan of them."""
    held = resident(demand, machine)
    if not demand.setmaxnreg:
        return held, None
    plan = greatest_plan(machine, demand, held.ctas_per_sm)
    launched = min(plan.launched, machine.most_registers_per_thread)
    return occupancy(machine, replace(held.kernel, registers=launched)), plan


def _check(tile: Tile, options: Options) -> None:
    extents = (("rows", tile.rows), ("columns", tile.columns), ("K", tile.inner))
    for name, value in (*extents, ("stages", options.slots), ("warpgroups", options.warpgroups)):
        if value is not None and value < 1:
            raise UserError(f"{name} must be at least 1, is {value}")


def _fitting(
    work: Work, schedule: Schedule, choice: Choice, counts: tuple[int, ...], machine: Machine
) -> tuple[Choice, CtaDemand]:
    """The choice with the first number of warpgroups that fits. Raises DoesNotFit, of the last, where none does."""
    why = None
    for warpgroups in counts:
        choice = replace(choice, warpgroups=warpgroups)
        demand = schedule.demand(work, choice, machine)
        why = misfit("the tile", demand, work, choice, machine)
        if why is None:
            return choice, demand
    assert why is not None
    raise why


def greatest_plan(machine: Machine, demand: CtaDemand, ctas: int = 1) -> RegisterPlan:
    """Registers by warpgroup where `ctas` CTAs share an SM: the last role gets what the others leave of the pool."""
    *others, last = demand.roles
    first = [set_registers(role.registers) for role in others for _ in range(role.threads // WARPGROUP)]
    count = last.threads // WARPGROUP
    launched = even_registers(machine, (len(first) + count) * ctas)
    left = launched * (len(first) + count) - sum(first)
    each = min(MOST_SETMAXNREG, left // count // SETMAXNREG_STEP * SETMAXNREG_STEP)
    return register_plan(machine, (*first, *[each] * count), launched)
