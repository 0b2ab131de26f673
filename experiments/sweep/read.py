"""A sweep file to a Sweep: read strictly, its names looked up, every mistake with its line and column."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from experiments.sweep.fields import Known, Place, is_path, known_names, mistaken
from experiments.sweep.values import Value
from experiments.sweep.where import Filter, need_names, parse_filter, plain_name
from patterns.documents.scalars import plain_scalar
from patterns.errors import Mistake, UserError
from patterns.expression import ExpressionError
from patterns.library import names as workload_names
from patterns.load import Document, load_file, load_text, validate

if TYPE_CHECKING:
    from experiments.sweep.spec import SweepSpec
    from patterns.documents.yaml_tree import Path as DataPath

Pairs = tuple[tuple[str, Value], ...]
Columns = tuple[tuple[str, tuple[Value, ...]], ...]
SECTIONS = ("fixed", "list", "zip", "grid")
WORKLOAD = "workload"
# What every point has, and how it is written.
NEEDED = {
    "workload": "fixed, as in fixed: {workload: llama-3.1-8b}",
    "machine": "fixed or grid, as in machine: [h100_sxm, sn40l]",
}
# Of the values of a field, so many are told to be wrong.
MOST_WRONG = 5
Given = TypeVar("Given")


@dataclass(frozen=True)
class Sweep:
    """A sweep, read and checked. folder: where the files that it names lie. extras: overlap, waterfall.

    fixed, listed, zipped, grid: names as they are written, with their values. places: where each name goes.
    """

    name: str
    about: str
    folder: Path
    fixed: Pairs
    listed: tuple[Pairs, ...]
    zipped: Columns
    grid: Columns
    filters: tuple[Filter, ...]
    extras: tuple[str, ...]
    places: tuple[tuple[str, Place], ...]

    @cached_property
    def place_of(self) -> Mapping[str, Place]:
        """Where each name goes."""
        return dict(self.places)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all fields that are written, in order."""
        return tuple(name for name, _ in self.places)

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the fields that differ from point to point."""
        fixed = {name for name, _ in self.fixed}
        return tuple(name for name in self.columns if name not in fixed)


def read_sweep(file: Path | Traversable, settings: Iterable[tuple[str, str]] = ()) -> Sweep:
    """The sweep in a file. settings: (name, value) that take the place of what it says, one value for all points.

    Raises SpecError with every mistake, UserError if there is no such file.
    """
    return _sweep_in(load_file(file), Path(str(file)), tuple(settings))


def sweep_from(data: Mapping[str, Any], settings: Iterable[tuple[str, str]] = ()) -> Sweep:
    """The sweep that data says, in the form of a sweep file, called 'sweep'; paths are from the folder one is in.

    Raises SpecError with every mistake, UserError for what no file could say.
    """
    try:
        text = json.dumps(data, allow_nan=False, default=_listed)
    except (TypeError, ValueError) as error:
        raise UserError(f"a sweep is made of mappings, lists, texts and numbers: {error}") from None
    return _sweep_in(load_text(text, "sweep"), Path("sweep"), tuple(settings))


def _listed(value: object) -> object:
    """A series or a number of another library as a list or a number of Python, a path as text. Raises TypeError."""
    if isinstance(value, range):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    if callable(plain := getattr(value, "tolist", None)):
        return plain()
    raise TypeError(f"{reprlib.repr(value)} is none of them")


def _sweep_in(document: Document, file: Path, settings: Pairs) -> Sweep:
    from experiments.sweep.spec import SweepSpec

    spec = validate(SweepSpec, document)
    plain, pins = _plain(file, spec), _pins(settings)
    known = known_names(*_workloads(plain, dict(pins)))
    read = _pinned(plain, pins, known)
    mistakes: list[Mistake] = []
    places = _placed(read, known, document, mistakes)
    filters = _filters(spec, places, document, mistakes)
    mistakes += _unequal(read, document)
    document.refuse(mistakes)
    shared = {places[name].name for name, _ in (*read.fixed, *read.zipped, *read.grid)}
    rows = [shared | {places[name].name for name, _ in row} for row in read.listed or ((),)]
    for needed, how in NEEDED.items():
        if not any(needed in row for row in rows):
            raise UserError(f"{file}: no {needed} is given: write it under {how}")
        without = [number for number, row in enumerate(rows) if needed not in row]
        document.refuse([document.at(("list", number), f"a point has no {needed}") for number in without])
    return replace(read, filters=filters, places=tuple(places.items()))


def _plain(file: Path, spec: SweepSpec) -> Sweep:
    return Sweep(
        name=file.stem,
        about=spec.about,
        folder=file.parent,
        fixed=tuple(spec.fixed.items()),
        listed=tuple(tuple(row.items()) for row in spec.list),
        zipped=tuple(spec.zip.items()),
        grid=tuple(spec.grid.items()),
        filters=(),
        extras=tuple(dict.fromkeys(spec.columns)),
        places=(),
    )


def _pins(settings: Pairs) -> Pairs:
    """What is set once for all points, as a file would have it; a file that is a workload is named from here."""
    pins = ((name, _scalar(str(text))) for name, text in settings)
    return tuple(
        (name, located(str(value), Path()) if name == WORKLOAD and is_path(str(value)) else value)
        for name, value in pins
    )


def _pinned(read: Sweep, pins: Pairs, known: Known) -> Sweep:
    """The sweep with fields that are set once for all points, by whatever names it has them. Raises UserError."""
    places = [(name, known.find(name), value) for name, value in pins]
    replaced = {place for _, place, _ in places}
    if len(replaced) < len(pins):
        raise UserError("--set gives a name twice: keep one")
    for name, place, value in places:
        if wrong := mistaken(place, value):
            raise UserError(f"--set {name}: {wrong}")

    def is_replaced(name: str) -> bool:
        with suppress(UserError):
            return known.find(name) in replaced
        return False

    def kept(pairs: Iterable[tuple[str, Given]]) -> tuple[tuple[str, Given], ...]:
        return tuple(pair for pair in pairs if not is_replaced(pair[0]))

    return replace(
        read,
        fixed=(*kept(read.fixed), *pins),
        listed=tuple(kept(row) for row in read.listed),
        zipped=kept(read.zipped),
        grid=kept(read.grid),
    )


def _scalar(text: str) -> Value:
    """A text of the command line as a file would have it."""
    value = plain_scalar(text)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else text


def _written(read: Sweep) -> Iterator[tuple[str, tuple[Value, ...], DataPath]]:
    """Every name with its values, and where it is written."""
    yield from ((name, (value,), ("fixed", name)) for name, value in read.fixed)
    for number, row in enumerate(read.listed):
        yield from ((name, (value,), ("list", number, name)) for name, value in row)
    yield from ((name, values, ("zip", name)) for name, values in read.zipped)
    yield from ((name, values, ("grid", name)) for name, values in read.grid)


def _workloads(read: Sweep, pins: Mapping[str, Value]) -> tuple[set[str], set[str]]:
    """The workloads of a sweep, as they can be read from here, and the phases that they are read in."""
    found: dict[str, set[str]] = {WORKLOAD: set(), "phase": set()}
    for name, values, _ in _written(read):
        if name in found:
            found[name] |= {str(value) for value in values}
    found |= {name: {str(pins[name])} for name in found.keys() & pins.keys()}
    return {located(name, read.folder) for name in found[WORKLOAD]}, found["phase"] or {"decode"}


def located(workload: str, folder: Path) -> str:
    """A workload as it is found from anywhere: files are named from where the sweep's file lies."""
    return workload if workload in workload_names() else str((folder / workload).resolve())


def _placed(read: Sweep, known: Known, document: Document, mistakes: list[Mistake]) -> dict[str, Place]:
    """Where each name goes, once each; what is wrong with names and values is noted."""
    places: dict[str, Place] = {}
    first: dict[Place, tuple[str, DataPath]] = {}
    for name, values, path in _written(read):
        try:
            place = known.find(name)
        except UserError as error:
            mistakes.append(document.at_key(path, str(error)))
            continue
        before = first.setdefault(place, (name, path))
        if before != (name, path) and not (before[1][0] == path[0] == "list" and before[0] == name):
            mistakes.append(document.at_key(path, f"{place.shown} is given twice, also under {before[1][0]}: keep one"))
        places[name] = place
        wrong = ((number, found) for number, value in enumerate(values) if (found := mistaken(place, value)))
        for number, told in islice(wrong, MOST_WRONG):
            mistakes.append(document.at((*path, number) if (*path, number) in document.where else path, told))
    return places


def _filters(
    spec: SweepSpec, places: Mapping[str, Place], document: Document, mistakes: list[Mistake]
) -> tuple[Filter, ...]:
    """The parsed filters; a mistake is pointed at inside its text."""
    found = []
    for number, text in enumerate(spec.where):
        path: DataPath = ("where", number) if isinstance(document.value(("where",)), list) else ("where",)
        try:
            at = document.inside(path, 0, "")
            parsed = replace(parse_filter(text), place=f"{at.file}:{at.line}:{at.column}")
            need_names(parsed, {plain_name(name): None for name in places})
            found.append(parsed)
        except ExpressionError as error:
            mistakes.append(document.inside(path, error.offset, str(error)))
    return tuple(found)


def _unequal(read: Sweep, document: Document) -> Iterator[Mistake]:
    """What is zipped has as many values as the first of it."""
    for name, values in read.zipped[1:]:
        first, due = read.zipped[0][0], len(read.zipped[0][1])
        if len(values) != due:
            yield document.at(
                ("zip", name), f"{len(values)} values, and {first!r} has {due}: zip needs as many of each"
            )
