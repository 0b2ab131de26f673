"""A section: a metapipe on the units of the fabric, before it becomes a Program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from patterns.energy import Event
from patterns.pipeline.bounds import counters_of
from patterns.pipeline.program import Program
from patterns.plan import Tiling
from rdu_model.buffers import Buffer, Group
from rdu_model.energy import section_events
from rdu_model.floor.placement import Placed
from rdu_model.floor.wires import Wire
from rdu_model.flow import Flow
from rdu_model.homes import Homes
from rdu_model.machine import Machine

if TYPE_CHECKING:
    from rdu_model.memory import Move


# The way of a link that costs nothing.
NO_WIRE = Wire()


@dataclass(frozen=True)
class Section:
    """A metapipe that fits: its flow, its stages on PCUs, its buffers in PMUs.

    lacking_pmus: more of them would let some stages work as fast as their PCUs can. homes: where its tensors lie.
    wires: by name of a link, what the way of its tiles costs; a link that is not there costs nothing.
    placed: its place on the grid, where it was placed and routed; its wires are then those of its routes.
    """

    flow: Flow
    groups: Mapping[str, Group]
    buffers: tuple[Buffer, ...]
    carried_pmus: int
    lacking_pmus: int
    machine: Machine
    members: int
    homes: Homes = field(default_factory=Homes)
    wires: Mapping[str, Wire] = field(default_factory=dict)
    placed: Placed | None = None

    @property
    def name(self) -> str:
        """Name of its metapipe, and of its call."""
        return self.flow.metapipe.name

    @cached_property
    def buffers_of(self) -> Mapping[str, tuple[Buffer, ...]]:
        """Of each leaf the buffers that it fills or reads."""
        found: dict[str, list[Buffer]] = {name: [] for name in self.flow.leaves}
        for buffer in self.buffers:
            for name in dict.fromkeys((buffer.link.source, *buffer.link.readers)):
                found[name].append(buffer)
        return {name: tuple(some) for name, some in found.items()}

    @cached_property
    def pmus(self) -> int:
        """PMUs of all buffers."""
        return sum(buffer.pmus for buffer in self.buffers) + self.carried_pmus

    @cached_property
    def pcus(self) -> int:
        """PCUs of all stages."""
        return sum(group.pcus for group in self.groups.values())

    @cached_property
    def estimated(self) -> Section:
        """The section with wires by formula."""
        # What is worked out of a section imports this file.
        from rdu_model.floor.estimate import estimate

        return replace(self, wires=estimate(self).wires)

    @cached_property
    def program(self) -> Program:
        """Its Program, in cycles of its machine's clock."""
        from rdu_model.emit import emit

        return emit(self)

    @cached_property
    def counters(self) -> Mapping[str, int]:
        """What all ops of its Program count."""
        return dict(counters_of(self.program))

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """What its loads and stores move in one call."""
        from rdu_model.memory import moves_of

        return tuple(moves_of(self))

    @cached_property
    def tiling(self) -> Tiling:
        """How it cuts what it computes."""
        from rdu_model.tiles.tiling import tiling_of

        return tiling_of(self.flow.metapipe.body)

    @cached_property
    def events(self) -> tuple[tuple[Event, int], ...]:
        """What of one call costs energy beside its ops and its bytes."""
        return section_events(self.flow.asked.values(), self.counters.get("matrix_flops", 0))

    def wire(self, link: str) -> Wire:
        """The way of a link's tiles."""
        return self.wires.get(link) or NO_WIRE
