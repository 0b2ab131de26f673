"""Tiles and schedule of a kernel: candidates from a list, the one that is predicted to be fastest is taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product as every

from gpu_model.assign import work_of
from gpu_model.cuts import Cut, Priced, price_cut
from gpu_model.fit import misfit, most_slots
from gpu_model.machine import Machine
from gpu_model.schedule import Schedule, schedule_named
from gpu_model.space import Space, cut, steps_of, whole_reads
from gpu_model.traffic import Moved, moved
from gpu_model.work import Choice, Work
from patterns.dtypes import dtype_bytes
from patterns.errors import DoesNotFit, UnknownName, UserError
from patterns.kind import has
from patterns.plan import Tile

# Extents that are tried beside the machine's for matrix tiles: steps of an online kernel, points of others' tiles.
ONLINE_STEPS = (64, 128, 256)
POINTS = (128, 512, 2048, 8192, 32768)
# Warpgroups that may share one tile: more than two would each have less than one instruction's rows of most tiles.
MOST_WARPGROUPS = 2
STREAMING = "streaming"
# Predictions that differ by less say nothing of which is faster.
CLOSE = 1.01


@dataclass(frozen=True)
class Options:
    """What a user fixes of a schedule; None for what the model chooses."""

    slots: int | None = None
    loader: str | None = None
    warpgroups: int | None = None
    tile_m: int | None = None
    tile_n: int | None = None
    tile_k: int | None = None
    splits: int | None = None


@dataclass(frozen=True)
class Targets:
    """Points of a tile that are aimed at: rows, columns and inner of a product, or of all dims together."""

    rows: int = 0
    columns: int = 0
    inner: int = 0
    points: int = 0


SMALLEST = Targets(rows=1, columns=1, inner=1, points=1)
OPTION_NAMES = ("slots", "stages", "loader", "warpgroups", "tile_m", "tile_n", "tile_k", "splits")


def options_of(given: Mapping[str, int | str]) -> Options:
    """Options as given, numbers also as text. Raises UnknownName, UserError. `stages` is another name of `slots`."""
    values: dict[str, int | str] = {}
    for name, value in given.items():
        if name not in OPTION_NAMES:
            raise UnknownName("option", name, OPTION_NAMES)
        values["slots" if name == "stages" else name] = str(value) if name == "loader" else _positive(name, value)
    return Options(**values)  # type: ignore[arg-type]


def _positive(name: str, value: int | str) -> int:
    text = str(value).strip()
    if not text.isascii() or not text.isdigit() or int(text) == 0:
        raise UserError(f"option {name} must be a whole number greater than 0, is {value!r}")
    return int(text)


@dataclass(frozen=True)
class Chosen:
    """A kernel as it will run: its tiles, its schedule, and what it is predicted to take."""

    cuts: tuple[Priced, ...]
    total: Moved
    work: Work
    schedule: str
    choice: Choice
    predicted_cycles: int
    misfit: DoesNotFit | None = None

    @property
    def tiles(self) -> int:
        """Tiles of all spaces: CTAs of a kernel that is not persistent."""
        return sum(priced.cut.tiles for priced in self.cuts)


@dataclass(frozen=True)
class Asked:
    """A kernel to be laid out. for_products: schedules to try for a matrix product. online: reduced dims in parts."""

    what: str
    spaces: tuple[Space, ...]
    for_products: tuple[str, ...]
    options: Options
    members: int = 1
    online: bool = False

    @cached_property
    def once(self) -> Mapping[str, int]:
        """Bytes of every tensor that is read, once."""
        return whole_reads(self.spaces)

    @cached_property
    def schedules(self) -> tuple[tuple[str, Schedule], ...]:
        """Schedules to try, by name."""
        names = self.for_products if self.is_product else (STREAMING,)
        return tuple((name, schedule_named(name)) for name in names)

    @cached_property
    def is_product(self) -> bool:
        """Whether every space is one matrix product: what GEMM schedules are for."""
        return not self.online and all(len(space.products) == 1 and _lone(space) for space in self.spaces)


def _lone(space: Space) -> bool:
    """Whether nothing but the product computes."""
    return all(has(node, "contracts") or has(node, "moves") for node in space.nodes)


def choose(asked: Asked, machine: Machine, parts: int = 1) -> Chosen:
    """The best candidate. Raises DoesNotFit where none fits and the machine refuses such plans.

    Predictions are good to about a percent: of those that close to the fastest, the one that spreads over most SMs is
    taken, then the fastest, then the one with most slots and fewest warpgroups.
    """
    candidates = _candidates(asked, _targets(asked, machine), machine, parts)
    fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse" and asked.options == Options():
        candidates += _candidates(asked, (SMALLEST,), machine, parts)
        fitting = [c for c in candidates if c.misfit is None]
    if not fitting and machine.fit == "refuse":
        raise _whole_misfit(asked, machine) or _nearest_misfit(candidates)
    least = min(c.predicted_cycles for c in fitting or candidates)
    close = (c for c in fitting or candidates if c.predicted_cycles <= least * CLOSE)
    return min(close, key=lambda c: _preference(c, machine))


def _preference(chosen: Chosen, machine: Machine) -> tuple[int, int, int, int]:
    active = min(chosen.tiles, machine.sm_count)
    return (-active, chosen.predicted_cycles, -chosen.choice.slots, chosen.choice.warpgroups)


def _whole_misfit(asked: Asked, machine: Machine) -> DoesNotFit | None:
    """Why no tile of a kernel can fit: the dims that every tile has whole; None if it is not for them."""
    space = max(asked.spaces, key=lambda space: space.least_bytes())
    needed = space.least_bytes() + machine.barrier_bytes
    if not space.whole_dims or needed <= machine.smem_bytes_per_cta:
        return None
    whole = ", ".join(f"{dim} (now {space.sizes[dim]:,})" for dim in space.whole_dims)
    help_text = f"every tile has {whole} whole, so smaller extents would help"
    return DoesNotFit(asked.what, "bytes of shared memory", needed, machine.smem_bytes_per_cta, help_text)


def _nearest_misfit(candidates: list[Chosen]) -> DoesNotFit:
    """Of candidates that all do not fit, the reason of the one that needs least beyond what there is."""
    reasons = [c.misfit for c in candidates if c.misfit is not None]
    return min(reasons, key=lambda why: why.needed / max(1, why.available))


def _candidates(asked: Asked, targets: Iterable[Targets], machine: Machine, parts: int) -> list[Chosen]:
    return [chosen for cuts in _cuttings(asked, targets, machine, parts) for chosen in _scheduled(asked, cuts, machine)]


def _cuttings(asked: Asked, aims: Iterable[Targets], machine: Machine, parts: int) -> Iterator[tuple[Priced, ...]]:
    """Different ways to cut all spaces, the same targets for each."""
    seen = set()
    by_rows = asked.online or asked.is_product
    for targets in aims:
        cuts = tuple(_cut(space, targets, parts, machine, by_rows) for space in asked.spaces)
        key = tuple((c.loops, c.steps) for c in cuts)
        if key not in seen:
            seen.add(key)
            yield tuple(price_cut(c, machine) for c in cuts)


def _targets(asked: Asked, machine: Machine) -> Iterable[Targets]:
    options = asked.options
    rows = (options.tile_m,) if options.tile_m else machine.tile_rows
    if asked.online:
        inner = (options.tile_k,) if options.tile_k else ONLINE_STEPS
        return (Targets(r, 0, k) for r, k in every(rows, inner))
    if asked.is_product:
        columns = (options.tile_n,) if options.tile_n else machine.tile_columns
        return (Targets(r, c, options.tile_k or 0) for r, c in every(rows, columns))
    return (Targets(points=p) for p in POINTS)


def _cut(space: Space, targets: Targets, parts: int, machine: Machine, by_rows: bool) -> Cut:
    if not by_rows:
        loops = cut((*space.free, *space.stepped), space.sizes, max(1, targets.points // space.whole_points))
        return Cut(
            space,
            tuple(loop for loop in loops if loop.dim in space.free),
            tuple(loop for loop in loops if loop.dim in space.stepped),
        )
    first, last = space.products[0], space.products[-1]
    # Of an online kernel, whichever side of the first product is not reduced later is its rows.
    sides = (*first.rows, *first.columns) if first is not last else first.rows
    rows = tuple(dim for dim in space.free if dim in sides)
    columns = tuple(dim for dim in space.free if dim in last.columns and dim not in rows)
    others = tuple(dim for dim in space.free if dim not in rows and dim not in columns)
    inner = targets.inner or machine.tile_k_bytes // dtype_bytes(first.dtype)
    loops = (
        *(Tile(dim, 1) for dim in others if space.sizes[dim] > 1),
        *cut(rows, space.sizes, targets.rows),
        *(cut(columns, space.sizes, targets.columns) if targets.columns else ()),
    )
    steps = cut(space.stepped, space.sizes, inner)
    # One dim can be shared out; steps over two would be parts of neither.
    return Cut(space, loops, steps, min(parts, steps_of(steps[0], space.sizes)) if len(steps) == 1 else 1)


def _scheduled(asked: Asked, cuts: tuple[Priced, ...], machine: Machine) -> Iterator[Chosen]:
    """Every schedule of these tiles with every number of slots."""
    total = moved([priced.cut for priced in cuts], asked.once, machine)
    work = work_of(asked.what, cuts, total, machine, asked.members)
    for name, schedule in asked.schedules:
        for choice in _choices(asked, work, name, schedule, machine):
            choice, why = _least_warpgroups(asked, work, schedule, choice, machine)
            yield Chosen(cuts, total, work, name, choice, schedule.predict(work, choice, machine), why)


def _choices(asked: Asked, work: Work, name: str, schedule: Schedule, machine: Machine) -> Iterator[Choice]:
    """Slot counts to try; what the user fixed for matrix products is not varied, and may not fit."""
    options = asked.options if asked.is_product else Options()
    loader = options.loader or schedule.LOADERS[0]
    if loader not in schedule.LOADERS:
        raise UnknownName(f"loader of {name}", loader, schedule.LOADERS)
    counts = schedule.slot_counts(min(most_slots(work, machine), work.tiles * work.steps)) or (1,)
    return (Choice(slots, loader, options.warpgroups or 1) for slots in ((options.slots,) if options.slots else counts))


def _least_warpgroups(
    asked: Asked, work: Work, schedule: Schedule, choice: Choice, machine: Machine
) -> tuple[Choice, DoesNotFit | None]:
    """The choice with as few warpgroups as hold the tile; with why it does not fit if none do."""
    why = misfit(asked.what, schedule.demand(work, choice, machine), work, choice, machine)
    if why is None or asked.options.warpgroups or choice.warpgroups == MOST_WARPGROUPS:
        return choice, why
    return _least_warpgroups(asked, work, schedule, replace(choice, warpgroups=choice.warpgroups + 1), machine)
