"""All operators of a run as one call: a megakernel's nodes, tiling, Program, and what it moves and computes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpu_model.call import tiling_of
from gpu_model.energy import Events, combine_events, kernel_events
from gpu_model.joining.legal import Group
from gpu_model.laid_out import LaidOut
from gpu_model.machine import Machine
from gpu_model.megakernel.paged import Body, program
from gpu_model.megakernel.tasks import Operator, Task, operators_of, page_misfit, page_slots, task_of
from gpu_model.tiles.cuts import Amounts
from patterns.count import storage_of
from patterns.energy import Event
from patterns.graph import Block, Graph
from patterns.plan import Call, Level, Nest, Resource, Tiling

NAME = "megakernel"


@dataclass(frozen=True)
class Part:
    """A block and its kernels, laid out, in an order in which they can run."""

    block: Block
    groups: tuple[Group, ...]
    laid_out: tuple[LaidOut, ...]


def one_call(graph: Graph, parts: Sequence[Part], machine: Machine) -> Call:
    """The whole run. Raises DoesNotFit where shared memory does not hold three pages, unless the machine only warns."""
    misfit = page_misfit(machine)
    if misfit is not None and machine.fit == "refuse":
        raise misfit
    machine = _clocked(parts, machine)
    made = {storage_of(graph, node.writes) for _, node in graph.nodes()}
    bodies = tuple(_body(graph, part, made, machine) for part in parts)
    amounts, loaded, hbm, stored, sent = _sums(bodies)
    work: tuple[tuple[Resource, int], ...] = (
        ("matrix_flops", amounts.matrix_flops),
        ("vector_ops", amounts.vector_ops),
        ("special_ops", amounts.special_ops),
        ("hbm_bytes", hbm),
        ("l2_bytes", loaded),
        ("network_bytes", sent),
    )
    traffic: tuple[tuple[Level, int], ...] = (("hbm", hbm), ("l2", loaded + stored), ("network", sent))
    tasks = sum(len(body.tasks) * body.count for body in bodies)
    return Call(
        name=NAME,
        block="",
        nodes=tuple(name for body in bodies for task in body.tasks for name in task.operator.nodes),
        tiling=Tiling(nests=tuple(nest for part in parts for nest in _nests(part))),
        program=program(NAME, bodies, machine),
        clock_hz=machine.clock_hz,
        work=work,
        traffic=traffic,
        schedule=f"tasks in pages ({page_slots(machine)} for weights)",
        reason=f"{tasks:,} operators that wait for counters, not for the ends of kernels",
        events=_events(parts, machine),
    )


def _events(parts: Sequence[Part], machine: Machine) -> Events:
    """What costs energy beside ops and bytes: as in the kernels that its operators would be."""
    events: Counter[Event] = Counter()
    for part in parts:
        for laid_out in part.laid_out:
            chosen, combine = laid_out.chosen, laid_out.combine
            amounts = sum((priced.total for priced in chosen.cuts), Amounts())
            once = dict(kernel_events(chosen, amounts, chosen.total, machine))
            once = Counter(once) + Counter(dict(combine_events(combine, machine)) if combine else {})
            events.update({name: amount * part.block.count for name, amount in once.items()})
    return tuple(events.items())


def _clocked(parts: Sequence[Part], machine: Machine) -> Machine:
    """The machine at one clock: that of the kernels which would take most of the time."""
    cycles: Counter[int] = Counter()
    for part in parts:
        for laid_out in part.laid_out:
            cycles[laid_out.chosen.machine.clock_hz] += laid_out.chosen.predicted_cycles * part.block.count
    return replace(machine, clock_hz=max(cycles, key=lambda clock_hz: (cycles[clock_hz], clock_hz)))


def _body(graph: Graph, part: Part, made: set[str], machine: Machine) -> Body:
    operators = [op for laid_out in part.laid_out for op in operators_of(graph, laid_out, made, machine)]
    tasks = tuple(task_of(operator, machine) for operator in operators)
    return Body(part.block.name, part.block.count, tasks, tuple(_after(graph, part.block, operators)))


def _after(graph: Graph, block: Block, operators: Sequence[Operator]) -> Iterator[int]:
    """For each operator, the place after the last one of this execution that makes what it reads."""
    nodes = {node.name: node for node in block.nodes}
    makers: dict[str, int] = {}
    for number, operator in enumerate(operators):
        if operator.nodes:
            own = [nodes[name] for name in operator.nodes]
            read = {storage_of(graph, name) for node in own for name in node.reads}
            yield max((makers[name] + 1 for name in read if name in makers), default=0)
            makers.update((storage_of(graph, node.writes), number) for node in own)
        else:
            # It puts the parts of the one before together, and makes what that one would have made.
            yield number
            makers.update((name, number) for name, maker in list(makers.items()) if maker == number - 1)


def _nests(part: Part) -> Iterator[Nest]:
    """The loops of each kernel, with its parts, which are put together in the same call."""
    for group, laid_out in zip(part.groups, part.laid_out, strict=True):
        for priced in laid_out.chosen.cuts:
            yield Nest(tuple(node.name for node in priced.cut.space.nodes), tiling_of([priced.cut], group.online))


def _sums(bodies: Sequence[Body]) -> tuple[Amounts, int, int, int, int]:
    """Amounts; bytes through the ports of SMs, of the HBM, stored, and sent to other GPUs."""
    amounts, loaded, hbm, stored, sent = Amounts(), 0, 0, 0, 0
    for body in bodies:
        for task in body.tasks:
            operator, streams = task.operator, [s for s in (task.pages, task.inputs) if s]
            amounts += operator.amounts.times(body.count)
            loaded += sum(stream.loaded for stream in streams) * body.count
            hbm += _hbm_bytes(task) * body.count
            stored += operator.stored_bytes * body.count
            sent += operator.sent_bytes * body.count
    return amounts, loaded, hbm, stored, sent


def _hbm_bytes(task: Task) -> int:
    given = min(task.operator.given.from_hbm, task.inputs.loaded if task.inputs else 0)
    return task.operator.weights.from_hbm + given + task.operator.written_bytes
