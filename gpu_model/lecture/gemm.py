"""The GEMM runs of a lecture on warp specialisation (CMU 15-779, lecture 6), lowered to machine `lecture_sm`.

One CTA on one SM computes a 128 x 256 tile of C with K = 4096 in 64 steps, or 8 such tiles one after another. Runs have
the ids of the lecture's table of figures; what they are expected to take is not here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpu_model.lowering import lower
from gpu_model.machine import load_machine
from patterns.library import workload
from patterns.once import computed_once
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.plan import Plan

MACHINE = "lecture_sm"
TENSOR_CORE = "tc"
TILE_ROWS, TILE_COLUMNS = 128, 256
Settings = tuple[tuple[str, str], ...]

STAGES = range(1, 7)
LATENCIES = (300, 700, 1500, 3000)
ISSUES = (0, 50, 100, 200, 400, 800, 1500)
PERSISTENT_TILES = 8
PERSISTENT_K = (256, 512, 1024, 2048, 4096)
SLOTS: Settings = (("slots", "4"),)
HALF_BANDWIDTH: Settings = (("load_bytes_per_cycle", "32 B/cycle"), ("store_bytes_per_cycle", "32 B/cycle"))
# Both parts of the epilogue at an eighth of their rates.
EPILOGUE_X8: Settings = (("vector_ops_per_cycle", "16 ops/cycle"), ("store_bytes_per_cycle", "8 B/cycle"))


@dataclass(frozen=True)
class LectureRun:
    """One run: a GEMM of `tiles` tiles of 128 x `columns` and inner extent `k`, its schedule with options, and machine
    parameters changed.

    It is lowered and simulated when a figure is first asked for.
    """

    id: str
    schedule: str
    options: Settings = ()
    set_to: Settings = ()
    tiles: int = 1
    k: int = 4096
    columns: int = TILE_COLUMNS

    @computed_once
    def plan(self) -> Plan:
        """The run's only kernel, on the lecture's SM."""
        extents = {"m": TILE_ROWS * self.tiles, "n": self.columns, "k": self.k}
        graph = workload("gemm", overrides={name: str(extent) for name, extent in extents.items()})
        machine = load_machine(MACHINE, dict(self.set_to))
        return lower(graph, machine, schedule=self.schedule, options=dict(self.options))

    @computed_once
    def timeline(self) -> Timeline:
        """What the SM does, with every span."""
        return simulate(self.plan.calls[0].program)

    @property
    def total_cycles(self) -> int:
        """From the first instruction to the end of the last store."""
        return self.timeline.total_cycles

    @property
    def tensor_core_busy_cycles(self) -> int:
        """Cycles in which the tensor core computes."""
        return self.timeline.busy_cycles[TENSOR_CORE]

    @property
    def tensor_core_percent(self) -> float:
        """Share of all cycles in which the tensor core computes."""
        return 100 * self.tensor_core_busy_cycles / self.total_cycles


def lecture_runs() -> tuple[LectureRun, ...]:
    """Every GEMM run of the lecture, and those of the cooperative schedule, in the order of its table of figures."""
    return (*_loading(), *_issue_costs(), *_bandwidth(), *_persistent(), *_cooperative())


def lecture_run(run_id: str) -> LectureRun:
    """The run with this id."""
    return _by_id()[run_id]


def _by_id() -> Mapping[str, LectureRun]:
    return {run.id: run for run in lecture_runs()}


def _loading() -> Iterator[LectureRun]:
    """From synchronous loads to a specialised producer; stages against latency."""
    yield LectureRun("sync_load", "synchronous")
    yield LectureRun("register_double_buffer", "register_double_buffer")
    for stages in STAGES:
        yield LectureRun(f"multistage_{stages}_stages", "multistage", _slots(stages))
    for latency in LATENCIES:
        set_to = (("load_latency_cycles", f"{latency} cycles"),)
        for stages in STAGES:
            yield LectureRun(f"multistage_{stages}_stages_latency_{latency}", "multistage", _slots(stages), set_to)
    yield LectureRun("warp_specialized_tma_4_slots", "warp_specialized", SLOTS)


def _issue_costs() -> Iterator[LectureRun]:
    """What issuing cp.async costs, paid by the computing warps or by a producer."""
    for issue in ISSUES:
        set_to = (("cp_async_issue_cycles", f"{issue} cycles"),)
        with_cp_async = (*SLOTS, ("loader", "cp_async"))
        yield LectureRun(f"multistage_4_stages_issue_{issue}", "multistage", SLOTS, set_to)
        specialized = f"warp_specialized_cp_async_4_slots_issue_{issue}"
        yield LectureRun(specialized, "warp_specialized", with_cp_async, set_to)


def _bandwidth() -> Iterator[LectureRun]:
    """At half the bandwidth no schedule hides the loads."""
    yield LectureRun("half_bandwidth_multistage_4_stages", "multistage", SLOTS, HALF_BANDWIDTH)
    yield LectureRun("half_bandwidth_warp_specialized_4_slots", "warp_specialized", SLOTS, HALF_BANDWIDTH)


def _persistent() -> Iterator[LectureRun]:
    """Eight tiles one after another: one consumer against two that take turns."""
    every = [(f"k{k}", k, ()) for k in PERSISTENT_K] + [("k1024_epilogue_x8", 1024, EPILOGUE_X8)]
    for name, k, set_to in every:
        for schedule, consumers in (("warp_specialized", "one_consumer"), ("pingpong", "pingpong")):
            run_id = f"persistent_{PERSISTENT_TILES}_tiles_{name}_{consumers}"
            yield LectureRun(run_id, schedule, SLOTS, set_to, PERSISTENT_TILES, k)


def _cooperative() -> Iterator[LectureRun]:
    """Two consumers on the same tile."""
    yield LectureRun("cooperative_1_tile_k4096", "cooperative", SLOTS)
    for k in (256, 512, 1024):
        yield LectureRun(f"cooperative_8_tiles_k{k}", "cooperative", SLOTS, (), PERSISTENT_TILES, k)
    heavy = f"cooperative_{PERSISTENT_TILES}_tiles_k1024_epilogue_x8"
    yield LectureRun(heavy, "cooperative", SLOTS, EPILOGUE_X8, PERSISTENT_TILES, 1024)


def _slots(count: int) -> Settings:
    return (("slots", str(count)),)
