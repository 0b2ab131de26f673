"""What must fit before anything runs: sockets, and weights, states, inputs and outputs in the memories of each."""

from __future__ import annotations

from patterns.count import exchanged_bytes, parameter_bytes, state_capacity_bytes
from patterns.errors import DoesNotFit, UserError
from patterns.graph import Graph
from patterns.plural import number_of
from rdu_model.machine import Machine, machine_names, usable_pcus
from rdu_model.pipe import Load, Metapipe, Stage, placed


def check_family(machine: object) -> None:
    """Raises UserError for a machine of another family, such as a GPU."""
    if not isinstance(machine, Machine):
        name = getattr(machine, "name", "") or type(machine).__name__
        raise UserError(f"{name} is no RDU: rdu_model compiles for {', '.join(machine_names())}")


def check_sockets(machine: Machine, members: int) -> None:
    """Raises UserError for a number of sockets that the machine cannot have."""
    if members < 1:
        raise UserError(f"{members} sockets: at least 1 is needed")
    if members > machine.sockets:
        raise DoesNotFit(
            f"a tensor-parallel group of {members}",
            "sockets",
            members,
            machine.sockets,
            f"{machine.name} links up to {number_of(machine.sockets, 'socket')}",
        )


def check_memory(graph: Graph, machine: Machine, members: int) -> None:
    """Raises DoesNotFit if a socket's weights, states, inputs and outputs exceed its HBM and DDR together."""
    weights, states, exchanged = parameter_bytes(graph), state_capacity_bytes(graph), exchanged_bytes(graph)
    needed = weights + states + exchanged
    available = machine.hbm_bytes + machine.ddr_bytes
    if needed <= available:
        return
    least = -(-needed * members // available)
    would_do = f"{least} sockets would do by size" if least <= machine.sockets else f"{least} sockets would be needed"
    raise DoesNotFit(
        f"graph {graph.name!r} on {members} x {machine.name}",
        f"bytes of {'HBM and DDR' if machine.hbm_bytes else 'DDR'} per socket",
        needed,
        available,
        f"weights {weights:,}, states {states:,}, inputs and outputs {exchanged:,}; {would_do}",
        memory=True,
    )


def check_stages(metapipe: Metapipe, machine: Machine) -> None:
    """Raises DoesNotFit for a stage that asks for more PCUs than there are to have in a section."""
    available = usable_pcus(machine)
    for found in placed(metapipe.body):
        if isinstance(found.leaf, Stage) and found.leaf.pcus > available:
            raise DoesNotFit(
                f"stage {found.name!r} of metapipe {metapipe.name!r} on {machine.name}",
                "PCUs",
                found.leaf.pcus,
                available,
                f"pcus={available:,} is the most; fewer, or 0 to have them allocated, would help",
            )


def check_streams(metapipe: Metapipe, machine: Machine) -> None:
    """Raises DoesNotFit for a written load that asks for more row-parallel streams than there are AGCUs."""
    for found in placed(metapipe.body):
        if isinstance(found.leaf, Load) and found.leaf.row_par > machine.agcus:
            raise DoesNotFit(
                f"{found.name!r} of metapipe {metapipe.name!r} on {machine.name}",
                "AGCUs, one for each row-parallel stream",
                found.leaf.row_par,
                machine.agcus,
                f"row_par={machine.agcus} is the most",
            )
