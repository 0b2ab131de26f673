"""An operator of a megakernel as tasks, and what one SM does for it.

The weights that an SM loads come in pages, spread evenly over all SMs, and do not wait for the operators before;
everything that an operator before has made does. Tiles are computed as in a kernel: the busiest SM decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from gpu_model.asked import Asked
from gpu_model.exchange import Phase, phases_of, sent_bytes
from gpu_model.laid_out import LaidOut
from gpu_model.machine import Machine
from gpu_model.price import Transfer, hbm_cycles, path_cycles
from gpu_model.tiles.access import Access
from gpu_model.tiles.cuts import Amounts, Cut
from gpu_model.traffic import hbm_reads, stays_in_l2
from gpu_model.work import Use, Work
from patterns.count import tensor_bytes
from patterns.errors import DoesNotFit
from patterns.graph import Graph

# As in a published megakernel of Llama 3.2 1B: 13 pages of 16 KiB (Hazy Research, Look Ma, No Bubbles!).
PAGE_BYTES = 16 * 1024
# Pages of a CTA that are for what operators before have made; assumed: one is read while the other is filled.
INPUT_PAGES = 2


@dataclass(frozen=True)
class Flow:
    """Bytes of all SMs. loaded: through their ports. from_hbm: of these. once: if each were loaded one time only."""

    loaded: int = 0
    from_hbm: int = 0
    once: int = 0

    def __add__(self, other: Flow) -> Flow:
        return Flow(self.loaded + other.loaded, self.from_hbm + other.from_hbm, self.once + other.once)

    def shared(self, share: Fraction) -> Flow:
        """The same where SMs load only a share of it, since neighbours hand each other what they have in common."""
        return replace(self, loaded=max(ceil(self.loaded * share), self.from_hbm)) if share < 1 else self


@dataclass(frozen=True)
class Stream:
    """`pieces` transfers of one SM, each on its port and at its share of L2 and HBM. loaded: bytes of all SMs."""

    pieces: int
    load: Use
    latency_cycles: int
    loaded: int


@dataclass(frozen=True)
class Operator:
    """One of the plan's operators, whole. weights: what may come at any time; given: what operators before make.

    work: of the busiest SM, in cycles of clock_hz.
    """

    name: str
    nodes: tuple[str, ...]
    work: Work
    tiles: int
    weights: Flow
    given: Flow
    stored_bytes: int
    written_bytes: int
    clock_hz: int
    amounts: Amounts
    phases: tuple[Phase, ...] = ()
    sent_bytes: int = 0


@dataclass(frozen=True)
class Task:
    """What one SM does for an operator.

    pages: what may come at any time. inputs: what operators before have made; held: all of it stays until the end.
    steps: computing, each on a page and, unless they are held, on a piece of the inputs. ends: times that results
    leave, equally many steps apart; each is `finish`, then `store` to the L2, and later `written` to the HBM.
    """

    operator: Operator
    pages: Stream | None
    inputs: Stream | None
    held: bool
    steps: int
    ends: int
    step: tuple[Use, ...]
    finish: tuple[Use, ...]
    store: Use
    written: Use


def operators_of(graph: Graph, laid_out: LaidOut, made: Collection[str], machine: Machine) -> Iterator[Operator]:
    """A laid-out group, and what puts its parts together if it has some. made: tensors that operators make."""
    chosen, asked, combine = laid_out.chosen, laid_out.asked, laid_out.combine
    cuts = [priced.cut for priced in chosen.cuts]
    amounts = sum((priced.total for priced in chosen.cuts), Amounts())
    shared = Fraction(chosen.total.loaded, sum(cut.tile_bytes * cut.tiles for cut in cuts) or 1)
    weights, given = (flow.shared(shared) for flow in _read(graph, cuts, asked, made, machine))
    nodes = tuple(node.name for cut in cuts for node in cut.space.nodes)
    yield Operator(
        name=asked.what,
        nodes=nodes,
        work=chosen.work,
        tiles=chosen.tiles,
        weights=weights,
        given=given,
        stored_bytes=chosen.total.stored,
        written_bytes=chosen.total.hbm_written,
        clock_hz=chosen.machine.clock_hz,
        amounts=amounts,
        phases=phases_of(chosen.schedule, asked.members, machine),
        sent_bytes=sent_bytes(chosen.schedule, amounts.network_bytes, asked.members, machine),
    )
    if combine is not None:
        yield Operator(
            name=f"{asked.what}.combine",
            nodes=(),
            work=combine.work,
            tiles=combine.tiles,
            weights=Flow(),
            given=Flow(combine.total.loaded, 0, combine.total.loaded),
            stored_bytes=combine.total.stored,
            written_bytes=combine.total.hbm_written,
            clock_hz=combine.machine.clock_hz,
            amounts=combine.amounts,
        )


def _read(
    graph: Graph, cuts: Sequence[Cut], asked: Asked, made: Collection[str], machine: Machine
) -> tuple[Flow, Flow]:
    """What is read of weights and inputs of the run, and of what operators make.

    What another operator has just made comes from the L2 if half of it holds that.
    """
    reads = hbm_reads(cuts, asked.cold, machine)
    flows = {True: Flow(), False: Flow()}
    for name, num_bytes in asked.once.items():
        loaded = sum(access.num_bytes(cut.sizes) * cut.loads_of(access) for cut, access in _accesses(cuts, name))
        new = name in made and graph.tensor_named[name].role == "intermediate"
        stays = new and stays_in_l2(tensor_bytes(graph, name), machine)
        flows[name in made] += Flow(loaded, 0 if stays else reads[name], num_bytes)
    return flows[False], flows[True]


def _accesses(cuts: Iterable[Cut], name: str) -> Iterator[tuple[Cut, Access]]:
    return ((cut, access) for cut in cuts for access in cut.space.reads if access.tensor == name)


def task_of(operator: Operator, machine: Machine) -> Task:
    """What the SM with most to do does."""
    work, sms = operator.work, machine.sm_count
    tiled = min(operator.tiles, sms)
    page_count = -(-operator.weights.loaded // PAGE_BYTES)
    given, pieces, held = _given(operator.given, tiled)
    least = max(1, -(-page_count // sms), 0 if held else pieces)
    ends = min(work.tiles, least)
    steps = -(-least // ends) * ends
    # What was made just now is in the L2; a state comes from the HBM.
    latency = machine.load_latency_cycles if given.from_hbm else machine.l2_latency_cycles
    pages = _stream(operator.weights, min(sms, page_count), steps, work.latency_cycles, machine)
    inputs = _stream(given, tiled, pieces if held else steps, latency, machine)
    # One kernel has one clock.
    scale = Fraction(machine.clock_hz, operator.clock_hz)
    stored = Transfer(-(-operator.stored_bytes // tiled), ends, 0, 1)
    written = Transfer(-(-operator.written_bytes // sms), ends, 1, 1)
    return Task(
        operator,
        pages,
        inputs,
        held,
        steps,
        ends,
        step=_spread(work.step, work.tiles * work.steps * scale, steps),
        finish=_spread(work.finish, work.tiles * scale, ends),
        store=Use("store", path_cycles(machine, stored, tiled, machine.store_bytes_per_cycle), "store"),
        written=Use("load", hbm_cycles(machine, written, sms), "write back", (("hbm_bytes", written.hbm_bytes),)),
    )


def _given(given: Flow, sms: int) -> tuple[Flow, int, bool]:
    """What is loaded of it, in how many pages for one SM, and whether they stay until the operator's end.

    If all of it fits the pages for inputs, an SM loads it once, however many of its tiles read it.
    """
    of_sm = min(-(-given.loaded // sms), given.once)
    pieces = -(-of_sm // PAGE_BYTES)
    if pieces > INPUT_PAGES:
        return given, -(-given.loaded // (sms * PAGE_BYTES)), False
    return Flow(of_sm * sms, min(given.from_hbm, of_sm * sms), given.once), pieces, True


def _stream(flow: Flow, sms: int, pieces: int, latency_cycles: int, machine: Machine) -> Stream | None:
    """`sms` SMs load a flow, each its part in `pieces`."""
    if not flow.loaded:
        return None
    piece = Transfer(-(-flow.loaded // sms), pieces, flow.from_hbm, flow.loaded)
    counts = (("hbm_bytes", piece.hbm_bytes), ("l2_bytes", piece.num_bytes // pieces))
    cycles = path_cycles(machine, piece, sms, machine.load_bytes_per_cycle)
    return Stream(pieces, Use("load", cycles, "load", counts), latency_cycles, flow.loaded)


def _spread(uses: Iterable[Use], times: Fraction, steps: int) -> tuple[Use, ...]:
    """Uses that come `times` times, in equal parts over `steps`: cycles rounded up."""
    return tuple(
        Use(
            use.unit,
            ceil(use.cycles * times / steps),
            use.label,
            tuple((name, int(amount * times / steps)) for name, amount in use.counts),
        )
        for use in uses
    )


def page_slots(machine: Machine) -> int:
    """Pages of a CTA for weights: all that its shared memory holds beside those for inputs, at least one."""
    return max(1, machine.smem_bytes_per_cta // (PAGE_BYTES + machine.barrier_bytes) - INPUT_PAGES)


def page_misfit(machine: Machine) -> DoesNotFit | None:
    """Why shared memory does not hold the pages, None if it does."""
    needed = (INPUT_PAGES + page_slots(machine)) * (PAGE_BYTES + machine.barrier_bytes)
    if needed <= machine.smem_bytes_per_cta:
        return None
    help_text = "kernels of their own, as in policy library, can be smaller"
    return DoesNotFit("a megakernel", "bytes of shared memory", needed, machine.smem_bytes_per_cta, help_text)
