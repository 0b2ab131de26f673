"""How a kernel sits on an SM: what `patternloom occupancy` asks, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_model import Machine, load_machine
from gpu_model.occupancy.hiding import Hidden, hidden
from gpu_model.occupancy.limits import WARPGROUP, Kernel, Occupancy, occupancy, waves
from gpu_model.occupancy.register_plan import SETMAXNREG_STEP, RegisterPlan, register_plan
from gpu_model.occupancy.tile_cta import Tile, TileCta, tile_cta
from gpu_model.options import Options
from patterns.errors import UserError
from patterns.units import dimension_of, parse_quantity


@dataclass(frozen=True)
class Question:
    """A kernel on a GPU as the command line gives it: by its threads, by a register plan, or by a tile."""

    gpu: str
    threads: int | None = None
    registers: int | None = None
    smem: str = "0 B"
    barriers: int = 1
    tmem_columns: int = 0
    plan: str | None = None
    tile: str | None = None
    dtype: str = "bf16"
    schedule: str | None = None
    stages: int | None = None
    warpgroups: int | None = None
    layout: str = "swizzled"
    loader: str | None = None
    problem: str | None = None


# What is asked of a kernel given by its threads or a plan only, and of one given by its tile only.
OF_KERNEL = ("registers", "smem", "barriers", "tmem_columns")
OF_TILE = ("dtype", "schedule", "stages", "warpgroups", "layout", "loader", "problem")


@dataclass(frozen=True)
class Waves:
    """Tiles of a product, in how many waves CTAs compute them, and the share of the waves' places that have one."""

    tiles: int
    count: int
    share: float


@dataclass(frozen=True)
class Answer:
    """A kernel on an SM. cta: how its tile makes it. plan: registers by warpgroup, where they move.

    hidden: what CTAs hide of each other's waiting, where several may be resident.
    """

    machine: Machine
    occupancy: Occupancy
    cta: TileCta | None = None
    plan: RegisterPlan | None = None
    waves: Waves | None = None
    hidden: tuple[Hidden, ...] = ()


def answer(question: Question) -> Answer:
    """The answer. Raises UserError, UnknownName, and DoesNotFit where not one CTA fits."""
    machine = load_machine(question.gpu)
    ways = [name for name in ("threads", "plan", "tile") if getattr(question, name) is not None]
    if len(ways) != 1:
        given = " and ".join(f"--{way}" for way in ways) or "none"
        raise UserError(f"a kernel is given by one of --threads, --plan and --tile; given: {given}")
    _need_of(question, ways[0])
    return _ANSWERS[ways[0]](question, machine)


def _need_of(question: Question, way: str) -> None:
    """Raises UserError for options that say nothing of a kernel that is given this way."""
    others, instead = (OF_KERNEL, "--threads or --plan") if way == "tile" else (OF_TILE, "--tile")
    given = [name for name in others if getattr(question, name) != getattr(Question, name)]
    if given:
        names = " and ".join(f"--{name.replace('_', '-')}" for name in given)
        raise UserError(f"{names} would say nothing of a kernel given by --{way}: give it by {instead}")


def _by_threads(question: Question, machine: Machine) -> Answer:
    if question.registers is None:
        raise UserError("--threads needs --registers, those of each thread")
    return Answer(machine, occupancy(machine, _kernel(question, question.threads or 0, question.registers)))


def _by_plan(question: Question, machine: Machine) -> Answer:
    if "setmaxnreg" not in machine.features:
        raise UserError(f"{machine.name} has no setmaxnreg: all threads of a kernel have as many registers")
    plan = register_plan(machine, _numbers("--plan", question.plan or "", ","), question.registers)
    if question.registers is None:
        plan = replace(plan, launched=_fewest_registers(plan))
    threads = WARPGROUP * len(plan.warpgroups)
    return Answer(machine, occupancy(machine, _kernel(question, threads, plan.launched)), plan=plan)


def _fewest_registers(plan: RegisterPlan) -> int:
    """Registers at launch that are just enough for the plan, in its steps."""
    each = SETMAXNREG_STEP * len(plan.warpgroups)
    return -(-sum(plan.warpgroups) // each) * SETMAXNREG_STEP


def _by_tile(question: Question, machine: Machine) -> Answer:
    rows, columns, inner = _extents("--tile", question.tile or "", "128x256x64")
    tile = Tile(rows, columns, inner, question.dtype)
    options = Options(question.stages, question.loader, question.warpgroups, layout=question.layout)
    cta = tile_cta(machine, tile, question.schedule, options)
    counted = None
    if question.problem:
        m, n = _extents("--problem", question.problem, "4096x4096")
        tiles = -(-m // rows) * -(-n // columns)
        counted = Waves(tiles, *waves(machine, tiles, cta.occupancy.ctas_per_sm))
    return Answer(machine, cta.occupancy, cta, cta.plan, counted, hidden(machine, cta))


_ANSWERS = {"threads": _by_threads, "plan": _by_plan, "tile": _by_tile}


def _kernel(question: Question, threads: int, registers: int) -> Kernel:
    smem_bytes = parse_quantity(question.smem, dimension_of("smem_bytes"))
    if not isinstance(smem_bytes, int):
        raise UserError(f"--smem {question.smem} is not a whole number of bytes")
    return replace(
        Kernel(threads, registers),
        smem_bytes=smem_bytes,
        barriers=question.barriers,
        tmem_columns=question.tmem_columns,
    )


def _extents(option: str, text: str, example: str) -> tuple[int, ...]:
    """'MxN' as numbers, as many as the example has."""
    found = _numbers(option, text, "x")
    if len(found) != example.count("x") + 1:
        raise UserError(f"{option} {text!r} is not written as {example}")
    return found


def _numbers(option: str, text: str, between: str) -> tuple[int, ...]:
    """Whole numbers of at least 1 out of a text."""
    parts = [part.strip() for part in text.split(between)]
    for part in parts:
        if not (part.isascii() and part.isdigit() and int(part)):
            raise UserError(f"{option} {text!r}: {part!r} is not a whole number greater than 0")
    return tuple(int(part) for part in parts)
