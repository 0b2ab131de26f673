"""A kernel that is to be laid out, and a kernel as it will run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpu_model.machine import Machine
from gpu_model.options import Options
from gpu_model.schedule import AUTO, Job, schedule_named
from gpu_model.smem_layout import USUAL
from gpu_model.tiles.cuts import Priced
from gpu_model.tiles.space import Space, whole_reads
from gpu_model.traffic import Moved
from gpu_model.work import Choice, Work
from patterns.errors import DoesNotFit
from patterns.kind import has
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once, made_directly


@hashed_once
@made_directly
@dataclass(frozen=True)
class Chosen:
    """A kernel as it will run: its tiles, its schedule, and what it is predicted to take.

    machine: at the kernel's own clock and with its own ramp. predicted_cycles: of the clock that was asked about, so
    that kernels of different clocks compare. reason: why this schedule, '' where nothing else was tried.
    """

    cuts: tuple[Priced, ...]
    total: Moved
    work: Work
    schedule: str
    choice: Choice
    predicted_cycles: int
    machine: Machine
    misfit: DoesNotFit | None = None
    reason: str = ""

    @property
    def tiles(self) -> int:
        """Tiles of all spaces: CTAs of a kernel that is not persistent."""
        return sum(priced.cut.tiles for priced in self.cuts)


@hashed_once
@dataclass(frozen=True)
class Ask:
    """What is asked of all kernels alike: where they run, and how they are launched.

    gap_cycles: on the device between two kernels. host_cycles: of the host for each of them. kept: tensors
    that the L2 keeps. reasons: see Asked.
    """

    machine: Machine
    schedule: str = AUTO
    options: Options = field(default_factory=Options)
    gap_cycles: int = 0
    host_cycles: int = 0
    kept: frozenset[str] = frozenset()
    reasons: bool = True


@dataclass(frozen=True)
class Asked:
    """A kernel to be laid out. schedule: the one that was asked for, or 'auto'. online: reduced dims in parts.

    reasons: whether it is to be told what every schedule takes, and not only which is taken.
    """

    what: str
    spaces: tuple[Space, ...]
    schedule: str
    options: Options
    members: int = 1
    online: bool = False
    kept: frozenset[str] = frozenset()
    reasons: bool = True

    @computed_once
    def once(self) -> Mapping[str, int]:
        """Bytes of every tensor that is read, once."""
        return whole_reads(self.spaces)

    @computed_once
    def cold(self) -> Mapping[str, int]:
        """The same, and none of what the L2 keeps: what comes from the HBM at least."""
        return {name: 0 if name in self.kept else num_bytes for name, num_bytes in self.once.items()}

    @computed_once
    def job(self) -> Job:
        """Which sort of kernel it is."""
        if self.online:
            return "online"
        if self.members > 1 and all(_exchanges(space) for space in self.spaces):
            return "collective"
        return "mm" if self.is_product else "stream"

    @computed_once
    def is_named(self) -> bool:
        """Whether the user named a schedule that is for such kernels; all others are left to `auto`."""
        return self.schedule != AUTO and self.job in schedule_named(self.schedule).SERVES

    @computed_once
    def fixed(self) -> Options:
        """What the user fixed for this kernel: options are for matrix products, or for what a named schedule serves."""
        return self.options if self.is_product or self.is_named else Options()

    @computed_once
    def layout(self) -> str:
        """How operands of products lie in shared memory."""
        return self.fixed.layout or USUAL

    @computed_once
    def is_product(self) -> bool:
        """Whether every space is matrix products alike, with what ends their tiles: what GEMM schedules are for."""
        return not self.online and all(space.is_product for space in self.spaces)

    @computed_once
    def only_reduces(self) -> bool:
        """Whether every space is a reduction whose steps may be shared out, without a matrix product."""
        return all(len(space.stepped) == 1 and not space.products for space in self.spaces)


def _exchanges(space: Space) -> bool:
    """Whether it does nothing but sum over GPUs."""
    return all(has(node, "communicates") or has(node, "moves") for node in space.nodes)
