"""The answer to `patternloom occupancy`: as text, and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from experiments.text.page import Part
from experiments.text.table import Column, Table
from patterns.plural import number_of

if TYPE_CHECKING:
    from experiments.occupancy import Answer, Waves
    from gpu_model.occupancy.hiding import Hidden
    from gpu_model.occupancy.limits import Occupancy
    from gpu_model.occupancy.register_plan import RegisterPlan
    from gpu_model.occupancy.tile_cta import TileCta

KIB = 1024


def occupancy_parts(found: Answer) -> list[Part]:
    """What a CTA is, the limits, the result, and where there are some the tile, registers by warpgroup and waves."""
    return [
        tile_text(found.cta) if found.cta else "",
        limits_table(found),
        result_text(found),
        plan_text(found.plan) if found.plan else "",
        waves_text(found.waves) if found.waves else "",
        *(hidden_parts(found.hidden) if found.hidden else ()),
    ]


def limits_table(found: Answer) -> Table:
    """Every resource: what a CTA takes, what an SM has, and how many CTAs that makes; those that limit starred."""
    columns = (
        Column("limit", right=False),
        Column("a CTA takes", right=False),
        Column("an SM has", right=False),
        Column("CTAs"),
    )
    least = found.occupancy.ctas_per_sm
    takes = {name: (taken, has) for name, taken, has in taken_of(found)}
    rows = tuple(
        (f"{'* ' if ctas == least else ''}{name}", *takes[name], f"{ctas}") for name, ctas in found.occupancy.limits
    )
    return Table(columns, rows)


def taken_of(found: Answer) -> list[tuple[str, str, str]]:
    """(limit, what a CTA takes, what an SM has) in words, allocation rounded up as the hardware does."""
    from gpu_model.occupancy.limits import allocated_registers, allocated_smem, allocated_tmem

    machine, kernel = found.machine, found.occupancy.kernel
    of_cta = allocated_registers(machine, kernel.registers) * kernel.warps
    smem_bytes = allocated_smem(machine, kernel.smem_bytes)
    return [
        ("threads", f"{kernel.threads:,} in {number_of(kernel.warps, 'warp')}", f"{machine.threads_per_sm:,}"),
        ("registers", f"{of_cta:,}: {kernel.registers} a thread", f"{machine.registers_per_sm:,}"),
        ("CTAs", "1", f"{machine.ctas_per_sm}"),
        ("shared memory", f"{smem_bytes:,} B: {kernel.smem_bytes:,} of its own", f"{machine.smem_bytes:,} B"),
        ("barriers", f"{kernel.barriers}", f"{machine.barriers_per_sm}"),
        ("tensor memory", f"{allocated_tmem(kernel.tmem_columns)} columns", f"{machine.tmem_columns}"),
    ]


def result_text(found: Answer) -> str:
    """CTAs and warps of an SM, and what is left as L1."""
    from gpu_model.occupancy.limits import WARP

    occupancy, machine = found.occupancy, found.machine
    most = machine.threads_per_sm // WARP
    limits = _listed(tuple(name for name, ctas in occupancy.limits if ctas == occupancy.ctas_per_sm))
    lines = [
        f"{number_of(occupancy.ctas_per_sm, 'CTA')} on an SM of {machine.name}, {occupancy.warps_per_sm} of {most} "
        f"warps ({occupancy.warps_per_sm / most:.0%}), {scheduler_text(occupancy, machine.sub_partitions)}: "
        f"limited by {limits}"
    ]
    if occupancy.l1_bytes:
        lines.append(
            f"Shared memory is configured as {occupancy.carveout_bytes // KIB} KiB, which leaves "
            f"{occupancy.l1_bytes // KIB} KiB of L1"
        )
    return "\n".join(lines)


def scheduler_text(occupancy: Occupancy, sub_partitions: int) -> str:
    """Warps of each of an SM's schedulers, each of which issues one instruction a cycle."""
    return f"{occupancy.warps_per_sm / sub_partitions:g} for each of {number_of(sub_partitions, 'scheduler')}"


def tile_text(cta: TileCta) -> str:
    """A tile: its ring, its accumulators, and what padding to the MMA's shape loses."""
    from gpu_model.occupancy.limits import WARPGROUP

    tile, choice = cta.tile, cta.choice
    computing = choice.warpgroups * WARPGROUP
    lines = [
        f"tile {tile.rows} x {tile.columns}, steps of {tile.inner} {tile.dtype}, {cta.schedule} with "
        f"{number_of(choice.warpgroups, 'computing warpgroup')}",
        f"  a stage has {tile.slot_bytes:,} bytes: {number_of(choice.slots, 'stage')} of at most {cta.most_slots:,} "
        "that fit",
    ]
    lines += [loading_text(cta), layout_text(cta)]
    if cta.demand.tmem_columns:
        lines.append(f"  accumulators in {cta.demand.tmem_columns} columns of tensor memory")
    else:
        each = -(-tile.rows * tile.columns // computing)
        lines.append(f"  {number_of(each, 'accumulator')} in each of {computing} threads")
    lines += [
        f"  {role.role}: {role.threads} threads that need {role.registers} registers" for role in cta.demand.roles
    ]
    lost = f", {cta.padding:.1%} of it padding to the instruction's shape" if cta.padding else ""
    lines.append(
        f"  a step is {cta.mma.flops:,} FLOP in {number_of(cta.mma.cycles, 'cycle')} of the tensor cores{lost}"
    )
    return "\n".join(lines)


def loading_text(cta: TileCta) -> str:
    """What loads a stage, with how many instructions, and the levels that its bytes pass."""
    from gpu_model.loader import loader_named

    passed = _listed(loader_named(cta.choice.loader).THROUGH)
    return (
        f"  {cta.choice.loader} loads a stage with {number_of(cta.instructions, 'instruction')}, through {passed}: "
        f"{cta.instructions / cta.issue_slots:.1%} of a step's {cta.issue_slots:,} issue slots"
    )


def _listed(names: tuple[str, ...]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


def layout_text(cta: TileCta) -> str:
    """How operands lie in shared memory, and what reading them costs."""
    ways = f"{cta.conflicts}-way bank conflicts" if cta.conflicts > 1 else "no bank conflicts"
    return f"  operands are {cta.choice.layout} in shared memory: rows of {cta.tile.row_bytes} bytes, {ways}"


def plan_text(plan: RegisterPlan) -> str:
    """Registers by warpgroup against the pool."""
    asked = " + ".join(map(str, plan.warpgroups))
    return (
        f"Registers with setmaxnreg: {asked} a thread, {plan.needed:,} of the CTA's pool of {plan.pool:,} "
        f"({number_of(len(plan.warpgroups), 'warpgroup')} launched with {plan.launched})"
    )


def waves_text(waves: Waves) -> str:
    """Waves and how full they are."""
    counts = f"{number_of(waves.tiles, 'tile')} in {number_of(waves.count, 'wave')}"
    return f"{counts}: {waves.share:.2%} of their places have a tile"


def hidden_parts(hidden: tuple[Hidden, ...]) -> list[Part]:
    """What resident CTAs hide: from one to as many as fit."""
    columns = (
        Column("CTAs on an SM"),
        Column("tensor cores busy"),
        Column("load path busy"),
        Column("a CTA is stalled"),
    )
    rows = tuple(
        (str(h.ctas), f"{h.matrix_share:.1%}", f"{h.load_share:.1%}", f"{h.stalled_share:.1%}") for h in hidden
    )
    return ["What resident CTAs hide of each other's waiting, operands in the L2:", Table(columns, rows)]


def occupancy_json(found: Answer) -> str:
    """The same as JSON."""
    return json.dumps(occupancy_record(found), indent=2, allow_nan=False) + "\n"


def occupancy_record(found: Answer) -> dict[str, object]:
    """The answer as JSON data: bytes and counts as numbers."""
    occupancy, kernel = found.occupancy, found.occupancy.kernel
    record: dict[str, object] = {
        "machine": found.machine.name,
        "threads": kernel.threads,
        "registers": kernel.registers,
        "smem_bytes": kernel.smem_bytes,
        "ctas_per_sm": occupancy.ctas_per_sm,
        "warps_per_sm": occupancy.warps_per_sm,
        "limit": occupancy.limit,
        "limits": dict(occupancy.limits),
        "carveout_bytes": occupancy.carveout_bytes,
        "l1_bytes": occupancy.l1_bytes,
    }
    if found.plan:
        plan = found.plan
        record["plan"] = {
            "warpgroups": list(plan.warpgroups),
            "launched": plan.launched,
            "pool": plan.pool,
            "needed": plan.needed,
        }
    if found.cta:
        record["tile"] = tile_record(found.cta)
    if found.waves:
        record["waves"] = {"tiles": found.waves.tiles, "count": found.waves.count, "share": found.waves.share}
    record["hidden"] = [asdict(each) for each in found.hidden]
    return record


def tile_record(cta: TileCta) -> dict[str, object]:
    """A tile as JSON data."""
    return {
        "rows": cta.tile.rows,
        "columns": cta.tile.columns,
        "inner": cta.tile.inner,
        "dtype": cta.tile.dtype,
        "schedule": cta.schedule,
        "stage_bytes": cta.tile.slot_bytes,
        "stages": cta.choice.slots,
        "most_stages": cta.most_slots,
        "warpgroups": cta.choice.warpgroups,
        "roles": {role.role: {"threads": role.threads, "registers": role.registers} for role in cta.demand.roles},
        "padding": cta.padding,
        "loader": cta.choice.loader,
        "load_instructions": cta.instructions,
        "issue_slots": cta.issue_slots,
        "layout": cta.choice.layout,
        "conflict_ways": cta.conflicts,
    }
