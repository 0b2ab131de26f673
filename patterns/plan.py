"""How a machine runs a graph: calls in order, each a Program. Both machines lower to this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from patterns.energy import EnergyPrices, Event
from patterns.graph import Graph
from patterns.pipeline.hashed import made_directly
from patterns.pipeline.program import Program

Resource = Literal["matrix_flops", "vector_ops", "special_ops", "hbm_bytes", "l2_bytes", "ddr_bytes", "network_bytes"]
Level = Literal["hbm", "l2", "onchip", "ddr", "network"]


@made_directly
@dataclass(frozen=True)
class Tile:
    """A loop over a dim in steps of `extent` points; the last step takes what is left."""

    dim: str
    extent: int


@dataclass(frozen=True)
class Tiling:
    """How a call cuts its iteration space. The Program and the numpy execution are both built from it.

    `loops`: outermost first; dims not named are whole. A dim that a node of the call reduces or contracts may be a
    loop only if it is innermost of all loops over free dims, and only if no node of the call reads the reduced
    result together with that dim again.
    `splits`: (dim, parts) of reduced dims whose partial results a later call combines (split-K, split-KV).
    `nests`: in each step of the loops, all nodes run in order; those of a nest run in loops of their own (a pipeline
    inside a pipeline). A reduced dim of a nest's loop is complete when the nest ends.
    `online`: steps, within each part, over the reduced dim whose result is read together with it again: what was added
    up so far is rescaled in each step (an online softmax).
    A call that only has nests puts the parts of each together itself.
    """

    loops: tuple[Tile, ...] = ()
    splits: tuple[tuple[str, int], ...] = ()
    nests: tuple[Nest, ...] = ()
    online: tuple[Tile, ...] = ()


@dataclass(frozen=True)
class Nest:
    """Consecutive `nodes` of a call that share loops inside the call's own; `tiling` may hold nests again."""

    nodes: tuple[str, ...]
    tiling: Tiling


@dataclass(frozen=True)
class Call:
    """One kernel launch, or one execution of an RDU section.

    name: unique in the plan. block: the graph's block its nodes are of ('' if of several).
    nodes: names, in the order of execution. combines: the call whose partial results this one finishes ('' else;
    its nodes are then ()).
    program: simulated once; cycles of `clock_hz`. count: how often the call is launched for one run of the graph.
    iterations: executions of its block inside one launch (a looped section: all layers).
    work: (resource, amount) of one launch over the whole machine, as issued (padding and re-reads included).
    traffic: (memory level, bytes) of one launch over the whole machine.
    events: (event, amount) of one launch over the whole machine that cost energy beside those of work and traffic.
    reach: (resource, share) of the achievable rates that the call's own instructions allow, where less than all.
    reason: why these nodes are one call, for people. schedule_reason: why they have this schedule.
    """

    name: str
    block: str
    nodes: tuple[str, ...]
    tiling: Tiling
    program: Program = field(repr=False)
    clock_hz: int
    count: int = 1
    iterations: int = 1
    combines: str = ""
    collective: bool = False
    work: tuple[tuple[Resource, int], ...] = ()
    traffic: tuple[tuple[Level, int], ...] = ()
    schedule: str = ""
    reason: str = ""
    schedule_reason: str = ""
    reach: tuple[tuple[Resource, float], ...] = ()
    events: tuple[tuple[Event, int], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class LaunchCost:
    """What starting calls costs, in picoseconds.

    once_ps: on the host before the first call of a run (a graph replay). host_ps: on the host for each call.
    device_ps: on the device before each call, while it is otherwise idle (gap between kernels, argument load).
    queue_depth: launches that the host may be ahead.
    prologue_ps: on the device before each call, on a lane of its own: it passes while the call before runs.
    together: all calls are parts of one launch.
    """

    mode: str
    once_ps: int
    host_ps: int
    device_ps: int
    queue_depth: int
    prologue_ps: int = 0
    together: bool = False


@dataclass(frozen=True)
class Rates:
    """Work per second of the whole machine(s): `peak` as the datasheet says, `achievable` as measured or fitted."""

    peak: tuple[tuple[Resource, float], ...]
    achievable: tuple[tuple[Resource, float], ...]

    @cached_property
    def peak_by_resource(self) -> Mapping[str, float]:
        """Datasheet rate by resource."""
        return dict(self.peak)

    @cached_property
    def achievable_by_resource(self) -> Mapping[str, float]:
        """Achievable rate by resource."""
        return dict(self.achievable)

    @property
    def off_chip(self) -> Resource:
        """What a graph's off-chip bytes are of: HBM, or DDR on a machine that has no HBM."""
        return "hbm_bytes" if "hbm_bytes" in self.peak_by_resource else "ddr_bytes"


@dataclass(frozen=True)
class Refusal:
    """Why two groups of nodes did not become one call, or a group was cut."""

    nodes: tuple[str, ...]
    reason: str


@dataclass(frozen=True)
class Room:
    """What lies in a memory of one machine: (what, bytes). taken_bytes: the addresses up to the last that is used."""

    level: Level
    num_bytes: int
    held: tuple[tuple[str, int], ...]
    taken_bytes: int


@dataclass(frozen=True)
class Moved:
    """Bytes of one tensor in one memory for one reason, of one machine in one run. calls: that move them."""

    tensor: str
    level: Level
    reason: str
    num_bytes: int
    calls: int


@dataclass(frozen=True)
class Plan:
    """A graph on a machine. Consecutive calls with the same block and count repeat together, in order.

    kept_bytes: of what the graph reads, what the chip has kept from the run before.
    spilled_bytes: of what a run must move at least, what lies in DDR because HBM has no room for it.
    prices: what the machine's file says of energy; None where it says nothing.
    rooms: of memories whose use is planned. moved: off-chip bytes by tensor and reason; together they are the traffic.
    """

    machine: str
    family: Literal["gpu", "rdu"]
    mode: str
    members: int
    graph: Graph = field(repr=False)
    calls: tuple[Call, ...] = field(repr=False)
    launch: LaunchCost
    rates: Rates = field(repr=False)
    refusals: tuple[Refusal, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    kept_bytes: int = 0
    spilled_bytes: int = 0
    rooms: tuple[Room, ...] = ()
    moved: tuple[Moved, ...] = field(default=(), repr=False)
    prices: EnergyPrices | None = field(default=None, repr=False)

    @cached_property
    def call_named(self) -> Mapping[str, Call]:
        """Call by name."""
        return {call.name: call for call in self.calls}
