"""Where every tensor lies: HBM as long as it has room, DDR for those that need the least bandwidth.

A symbol is what has one address range: a weight or a state with all its copies, an input, an output, or a tensor that
one call leaves for another, which takes room only from its first to its last call. In the order of the bytes that all
their reads and writes move in one run, most first, symbols get the lowest addresses that are free while they live: in
HBM, or where it has no room in DDR. So those that move least are spilled first (SN40L paper, section V-A), and symbols
that do not live at the same time share addresses. A symbol lies in one memory as a whole: parts of every layer then
stream from HBM and from DDR at the same time, where whole layers in DDR would leave HBM idle.

What sections read again for each of their tiles is not known before they are made. They are made for the homes that
follow from what their calls have to move, and what they are found to move says where tensors lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from patterns.count import tensor_bytes
from patterns.errors import DoesNotFit
from patterns.graph import Graph
from patterns.plan import Room
from rdu_model.homes import Homes, Tier
from rdu_model.machine import Machine
from rdu_model.memory import Transfer

Use = Literal["weights", "states", "inputs", "outputs", "between calls"]
PASSING: Use = "between calls"
_USES: Mapping[str, Use] = {"weight": "weights", "state": "states", "input": "inputs", "output": "outputs"}

# Of what is spilled, so many names are told.
TOLD = 6


@dataclass(frozen=True)
class Symbol:
    """Tensors with one address range. moved_bytes: of all reads and writes in one run. first, last: calls, by number,
    between which it lives."""

    names: tuple[str, ...]
    use: Use
    num_bytes: int
    moved_bytes: int
    first: int
    last: int

    def meets(self, other: Symbol) -> bool:
        """Whether both live at the same time."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class Home:
    """A symbol's address in a memory."""

    symbol: Symbol
    tier: Tier
    address: int

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + self.symbol.num_bytes


def tiers(machine: Machine) -> dict[Tier, int]:
    """The memories that a machine has, in the order in which they are filled, and their bytes."""
    found: dict[Tier, int] = {"hbm": machine.hbm_bytes, "ddr": machine.ddr_bytes}
    return {tier: size for tier, size in found.items() if size}


def find_homes(graph: Graph, machine: Machine, streams: Sequence[Transfer], calls: Sequence[str]) -> tuple[Home, ...]:
    """A home for every symbol of a graph whose calls, of these blocks, move these streams. Raises DoesNotFit.

    What passes between calls and fits nowhere stands behind the end of the last memory: see `warnings_of`.
    """
    left = sorted(symbols(graph, streams, calls), key=_order)
    homes: list[Home] = []
    memories = list(tiers(machine))
    for tier in memories:
        # What has to be there at all comes first where nothing is behind.
        if tier == memories[-1]:
            left.sort(key=lambda symbol: symbol.use == PASSING)
        too_large = []
        for symbol in left:
            home = Home(symbol, tier, _lowest_address(symbol, [home for home in homes if home.tier == tier]))
            if home.end <= tiers(machine)[tier] or (tier == memories[-1] and symbol.use == PASSING):
                homes.append(home)
            else:
                too_large.append(symbol)
        left = too_large
    if left:
        raise _too_large(left[0], homes, machine)
    return tuple(homes)


def _order(symbol: Symbol) -> tuple[int, bool, int, tuple[str, ...]]:
    """Most bytes moved first; of equals weights, then the smaller."""
    return -symbol.moved_bytes, symbol.use != "weights", symbol.num_bytes, symbol.names


def _lowest_address(symbol: Symbol, homes: Iterable[Home]) -> int:
    """The lowest address of a memory from which as many bytes are free as a symbol has, all the time that it lives."""
    address = 0
    for home in sorted((home for home in homes if home.symbol.meets(symbol)), key=lambda home: home.address):
        if home.address - address >= symbol.num_bytes:
            break
        address = max(address, home.end)
    return address


def _too_large(symbol: Symbol, homes: Iterable[Home], machine: Machine) -> DoesNotFit:
    """The error for a symbol that no memory has room for, though all of them together may."""
    taken = dict.fromkeys(tiers(machine), 0)
    for home in homes:
        taken[home.tier] += home.symbol.num_bytes if home.symbol.use != PASSING else 0
    free = {tier: size - taken[tier] for tier, size in tiers(machine).items()}
    told = " and ".join(f"{amount:,} bytes of {tier.upper()}" for tier, amount in free.items())
    what = f"{' and '.join(repr(name) for name in symbol.names)} ({symbol.use}) on {machine.name}"
    help_text = f"it lies in one memory, and what moves more leaves {told}; more sockets would help"
    largest = max(free.values())
    return DoesNotFit(what, "bytes of memory per socket", symbol.num_bytes, largest, help_text, memory=True)


def symbols(graph: Graph, streams: Sequence[Transfer], calls: Sequence[str]) -> tuple[Symbol, ...]:
    """Every symbol: what a run is given and leaves lives all the time, the others while calls need them."""
    found: dict[str, list[Transfer]] = {}
    for stream in streams:
        found.setdefault(stream.storage, []).append(stream)
    blocks = _calls_of_blocks(calls)
    made = []
    for names in _together(graph, found):
        uses = [stream for name in names for stream in found.get(name, ())]
        mine = [_use(graph, name) for name in names]
        use = next((one for one in mine if one != PASSING), PASSING)
        first, last = (0, max(0, len(calls) - 1)) if use != PASSING else _life(graph, names, uses, blocks)
        size = sum(tensor_bytes(graph, name) * graph.copies(name) for name in names)
        made.append(Symbol(names, use, size, sum(stream.num_bytes for stream in uses), first, last))
    return tuple(made)


def _use(graph: Graph, name: str) -> Use:
    if name in graph.results:
        return "outputs"
    return _USES.get(graph.tensor_named[name].role, PASSING)


def _together(graph: Graph, used: Iterable[str]) -> list[tuple[str, ...]]:
    """Tensors that are in memory: those given, those left, those that calls move. A carried pair is one symbol."""
    used = set(used)
    own = [t.name for t in graph.tensors if not t.shares and (_use(graph, t.name) != PASSING or t.name in used)]
    group = {name: name for name in own}
    for block in graph.blocks:
        for inside, result in block.carried:
            if inside in group and result in group:
                old, new = group[result], group[inside]
                group = {name: new if head == old else head for name, head in group.items()}
    found: dict[str, list[str]] = {}
    for name, head in group.items():
        found.setdefault(head, []).append(name)
    return [tuple(names) for names in found.values()]


def _calls_of_blocks(calls: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The numbers of the first and the last call of each block."""
    found: dict[str, tuple[int, int]] = {}
    for number, block in enumerate(calls):
        found[block] = (found.get(block, (number, number))[0], number)
    return found


def _life(
    graph: Graph, names: tuple[str, ...], uses: Sequence[Transfer], blocks: Mapping[str, tuple[int, int]]
) -> tuple[int, int]:
    """From the first call that uses a symbol to the last; over all calls of a block that carries it, or that finds it
    there in each of several executions."""
    numbers = [stream.section for stream in uses]
    made_in = {stream.section for stream in uses if stream.written}
    for block in graph.blocks:
        if block.name not in blocks:
            continue
        start, end = blocks[block.name]
        inside = [stream for stream in uses if start <= stream.section <= end]
        carried = any(name in pair for pair in block.carried for name in names)
        found = not any(start <= number <= end for number in made_in) and any(use.calls > 1 for use in inside)
        if inside and (carried or found):
            numbers += [start, end]
    return min(numbers), max(numbers)


def as_homes(homes: Iterable[Home], machine: Machine) -> Homes:
    """Which tensors lie behind the first memory."""
    if not machine.hbm_bytes:
        return Homes()
    return Homes(frozenset(name for home in homes if home.tier == "ddr" for name in home.symbol.names))


def warnings_of(homes: Sequence[Home], machine: Machine) -> Iterator[str]:
    """What HBM has no room for, and what no memory has."""
    away = [home.symbol for home in homes if home.tier == "ddr"]
    if away and machine.hbm_bytes:
        names = [name for symbol in sorted(away, key=lambda one: -one.num_bytes) for name in symbol.names]
        told = ", ".join(names[:TOLD]) + (f" and {len(names) - TOLD} more" if len(names) > TOLD else "")
        yield f"HBM has no room for {_most(away):,} bytes of each socket, which lie in DDR: {told}"
    for tier, size in tiers(machine).items():
        mine = [home for home in homes if home.tier == tier]
        if any(home.end > size for home in mine):
            most = _most([home.symbol for home in mine if home.symbol.use == PASSING])
            room = size - _most([home.symbol for home in mine if home.symbol.use != PASSING])
            yield (
                f"calls pass {most:,} bytes of intermediates at once, and memory has room for {room:,}: only a plan "
                "that fuses them away can run"
            )


def rooms(homes: Sequence[Home], machine: Machine) -> tuple[Room, ...]:
    """What takes how much of each memory, each use at its fullest."""
    found = []
    for tier, size in tiers(machine).items():
        by_use: dict[str, list[Symbol]] = {}
        for home in homes:
            if home.tier == tier:
                by_use.setdefault(home.symbol.use, []).append(home.symbol)
        taken = max((home.end for home in homes if home.tier == tier), default=0)
        found.append(Room(tier, size, tuple((use, _most(mine)) for use, mine in by_use.items()), taken))
    return tuple(found)


def _most(living: Sequence[Symbol]) -> int:
    """Bytes of symbols when most of them live at once: that begins with one of them."""
    return max(
        (sum(other.num_bytes for other in living if other.first <= one.first <= other.last) for one in living),
        default=0,
    )
