"""A metapipe in one line: on numpy arrays, or in time on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from patterns.errors import UserError
from patterns.numbers.execute import execute
from patterns.pipeline.program import Program
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline
from patterns.plan import Call, LaunchCost, Plan, Rates
from rdu_model.compilation import compile_metapipe
from rdu_model.emit import emit
from rdu_model.language.written import check_written
from rdu_model.machine import Machine
from rdu_model.pipe import SOCKETS, Metapipe
from rdu_model.tiles.tiling import tiling_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def execute_metapipe(
    metapipe: Metapipe, arrays: Mapping[str, NDArray[Any]], precision: str = "float64"
) -> dict[str, NDArray[Any]]:
    """What a metapipe makes of arrays, tile by tile in its own order, by region: outputs, and states as they are then.

    It needs no machine. With all_reduces there is a leading axis of members. Raises UserError for wrong arrays.
    """
    check_written(metapipe)
    members = metapipe.graph.sizes.get(SOCKETS, 1)
    call = Call(
        metapipe.name,
        metapipe.block,
        metapipe.nodes,
        tiling_of(metapipe.body),
        Program(metapipe.name, (), (), ()),
        clock_hz=1,
        count=metapipe.of_block.count // metapipe.iterations,
        iterations=metapipe.iterations,
    )
    launch, rates = LaunchCost("numpy", 0, 0, 0, queue_depth=1), Rates((), ())
    return execute(
        Plan("numpy", "rdu", "metapipe", members, metapipe.graph, (call,), launch, rates), arrays, precision=precision
    )


def simulate_metapipe(metapipe: Metapipe, machine: Machine, *, spans: bool = True) -> Timeline:
    """When everything in a metapipe happens on a machine, in one section. Raises DoesNotFit, UserError, Deadlock."""
    sections = compile_metapipe(metapipe, machine).sections
    if len(sections) > 1:
        raise UserError(f"metapipe {metapipe.name!r} is {len(sections)} sections on {machine.name}: lower_metapipe")
    return simulate(emit(sections[0].section), spans=spans)
