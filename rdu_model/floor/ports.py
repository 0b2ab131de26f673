"""Ports and routes: what a section asks of the AGCUs and of the mesh, besides PCUs and PMUs.

Every load, store and exchange with other sockets is a stream of an AGCU; a row-parallel load is several. A buffer's
tiles come from the PCUs of its writer and go to those of its readers: from and to each of its PMUs there is a flow,
over about as many links as the side of the square that the units of both take.
"""

from __future__ import annotations

from math import isqrt

from rdu_model.buffers import Buffer
from rdu_model.machine import Machine, grid_columns, grid_rows
from rdu_model.pipe import Load, Store
from rdu_model.section import Section
from rdu_model.shortage import ROUTES, STREAMS, Shortage


def lacking_ports(section: Section) -> Shortage | None:
    """What a section that has its PCUs and PMUs still lacks."""
    machine = section.machine
    return _short(STREAMS, streams(section), machine.agcus * machine.agcu_streams) or _short(
        ROUTES, flow_hops(section), mesh_room(machine)
    )


def streams(section: Section) -> dict[str, int]:
    """AGCU streams by the node that needs them: to read, to store what it makes, to exchange it."""
    flow, found = section.flow, dict[str, int]()
    for name, place in flow.leaves.items():
        if isinstance(place.leaf, Load):
            reader = flow.streams[name][0][0]
            found[reader] = found.get(reader, 0) + max(1, place.leaf.row_par)
        elif isinstance(place.leaf, Store):
            source = place.leaf.source
            found[source] = found.get(source, 0) + 1
        elif flow.asked[name].unit_class == "network" and section.members > 1:
            found[name] = found.get(name, 0) + 1
    for carry in flow.metapipe.carries:
        found[carry.source] = found.get(carry.source, 0) + carry.stored
    return found


def flow_hops(section: Section) -> dict[str, int]:
    """Links that the flows of each buffer take, all together, by the node that writes or first reads it."""
    found: dict[str, int] = {}
    for buffer in section.buffers:
        link = buffer.link
        leaf = section.flow.leaves[link.source].leaf
        node = section.flow.streams[link.source][0][0] if isinstance(leaf, Load) else link.source
        found[node] = found.get(node, 0) + _hops(section, buffer)
    return found


def _hops(section: Section, buffer: Buffer) -> int:
    ends = (buffer.link.source, *buffer.link.readers)
    pcus = [section.groups[end].pcus if end in section.groups else 0 for end in ends]
    return buffer.pmus * sum(isqrt(buffer.pmus + near) for near in pcus)


def mesh_room(machine: Machine) -> int:
    """Flows that all links of the mesh carry, each link in each direction counted."""
    rows, columns = grid_rows(machine), grid_columns(machine)
    pairs = rows * (columns - 1) + columns * (rows - 1)
    return 2 * pairs * machine.mesh_links * machine.mesh_flows


def _short(resource: str, asked: dict[str, int], available: int) -> Shortage | None:
    needed = sum(asked.values())
    if needed <= available:
        return None
    greatest = max(asked, key=lambda name: asked[name])
    return Shortage(resource, needed, available, greatest, asked[greatest])
