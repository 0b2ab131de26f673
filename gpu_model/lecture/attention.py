"""The attention runs of a lecture on warp specialisation (CMU 15-779, lecture 6) on machine `lecture_sm`.

32 blocks of 64 queries x 128 keys, head dim 128, on one SM: one warpgroup computes all, or two compute 16 each. Loads
are hidden: they take no time. A block is two products, 512 exponentials' cycles and 256 of other instructions; other
generations have other products. Runs have the ids of the lecture's table of figures; what they take is not here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpu_model.machine import load_machine
from gpu_model.schedule import schedule_named
from gpu_model.work import Choice, Use, Wave, Work
from patterns.once import computed_once
from patterns.pipeline.program import Program
from patterns.pipeline.script import Finish, Loop, Op, Run, Start
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline

MACHINE = "lecture_sm"
TENSOR_CORE, SPECIAL, VECTOR = "tc", "special", "vector"
POLYNOMIAL = "polynomial"
BLOCKS = 32
# 64 x 128 scores, 16 exponentials a cycle; then 4 instructions for each score, 128 a cycle.
EXP_CYCLES, VECTOR_CYCLES = 512, 256
# Of one product: 2 x 64 x 128 x 128 FLOP at 2,048, 4,096 and 8,192 a cycle.
PRODUCT_CYCLES = {"A100": 1024, "H100": 512, "B200": 256}
WARPGROUPS = {"serial": 1, "pingpong": 2, "intra_warpgroup": 1, "both": 2}


@dataclass(frozen=True)
class AttentionRun:
    """One run: a schedule, its warpgroups, and what one of them takes for a block: a product, exponentials and other
    instructions. Simulated when first asked.

    polynomial_cycles: of the vector units, for exponentials that they compute while the special ones compute others.
    """

    id: str
    schedule: str
    warpgroups: int
    product_cycles: int
    exp_cycles: int = EXP_CYCLES
    vector_cycles: int = VECTOR_CYCLES
    polynomial_cycles: int = 0

    @property
    def work(self) -> Work:
        """One tile with 64 rows for each warpgroup; its operands are in place."""
        parts = self.warpgroups
        nothing = Use("load", 0, "load")
        product = Use(TENSOR_CORE, self.product_cycles * parts, "mma")
        exp, rest = Use(SPECIAL, self.exp_cycles * parts, "exp"), Use(VECTOR, self.vector_cycles * parts, "vector")
        return Work(
            name=self.id,
            waves=(Wave(1, nothing, nothing),),
            steps=BLOCKS // parts,
            slot_bytes=0,
            step=(product, exp, rest, product),
            finish=(),
            latency_cycles=0,
            row_blocks=parts,
        )

    @computed_once
    def program(self) -> Program:
        """Its roles: warpgroups without a producer."""
        choice = Choice(slots=2, warpgroups=self.warpgroups)
        program = schedule_named(self.schedule).program(self.work, choice, load_machine(MACHINE))
        if not self.polynomial_cycles:
            return program
        roles = (replace(role, script=self._with_polynomial(role.script)) for role in program.roles)
        return replace(program, roles=tuple(roles))

    def _with_polynomial(self, script: tuple[Op, ...]) -> tuple[Op, ...]:
        """A role's script where every run of exponentials has a polynomial beside it."""
        ops: list[Op] = []
        for op in script:
            if isinstance(op, Loop):
                ops.append(replace(op, body=self._with_polynomial(op.body)))
            elif isinstance(op, Run) and op.unit == SPECIAL:
                beside = Start(VECTOR, self.polynomial_cycles, handle=POLYNOMIAL, label=POLYNOMIAL)
                ops += (beside, op, Finish(POLYNOMIAL))
            else:
                ops.append(op)
        return tuple(ops)

    @computed_once
    def timeline(self) -> Timeline:
        """What the SM does, with every span."""
        return simulate(self.program)

    @property
    def total_cycles(self) -> int:
        """From the first product to the end of the last."""
        return self.timeline.total_cycles

    @property
    def tensor_core_percent(self) -> float:
        """Share of all cycles in which the tensor core computes."""
        return 100 * self.timeline.busy_cycles[TENSOR_CORE] / self.total_cycles

    @property
    def special_percent(self) -> float:
        """Share of all cycles in which exponentials are computed."""
        return 100 * self.timeline.busy_cycles[SPECIAL] / self.total_cycles

    @property
    def vector_percent(self) -> float:
        """Share of all cycles in which other instructions compute."""
        return 100 * self.timeline.busy_cycles[VECTOR] / self.total_cycles


def attention_runs() -> tuple[AttentionRun, ...]:
    """Every attention run of the lecture, in the order of its table of figures."""
    return tuple(_runs())


def attention_run(run_id: str) -> AttentionRun:
    """The run with this id."""
    return {run.id: run for run in _runs()}[run_id]


def _runs() -> Iterator[AttentionRun]:
    for generation, cycles in PRODUCT_CYCLES.items():
        for schedule, warpgroups in WARPGROUPS.items():
            yield AttentionRun(f"attention_{generation}_{schedule}", f"attention_{schedule}", warpgroups, cycles)
