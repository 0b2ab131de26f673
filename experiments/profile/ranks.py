"""Recordings of the ranks of one run: each is read and let go of, checked to be of that run, and set side by side.

Times of different files are never subtracted from each other: their clocks need not be the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.profile.parted import Parted, parted
from experiments.profile.profiled import DeviceProfile, Profile, profile
from experiments.profile.read import read_recording, reader_of
from experiments.profile.record import profile_record, profile_rows
from experiments.profile.recording import of_letters
from experiments.profile.show import profile_parts
from experiments.profile.told import apart_text, heading, steps_text
from patterns.errors import UserError

if TYPE_CHECKING:
    from experiments.text.page import Part

SHOWN_MISSING = 8
# More ranks have no column and no colour each.
MANY = 8


@dataclass(frozen=True)
class Rank:
    """A file, accounted for; its kernels are not kept. number, world: which process of how many, where it says so.

    mark: of all its kernels, so that a copy is known. parts, record, rows: what is told of it alone.
    """

    file: str
    number: int | None
    world: int | None
    format: str
    step_name: str
    steps_told: str
    heading: str
    devices: tuple[DeviceProfile, ...]
    mark: int = field(repr=False)
    parts: tuple[Part, ...] = field(repr=False)
    record: dict[str, Any] = field(repr=False)
    rows: list[dict[str, object]] = field(repr=False)


@dataclass(frozen=True)
class Seat:
    """A device of a rank, and its time in parts. label: told apart from all others."""

    label: str
    rank: Rank
    device: DeviceProfile
    times: Parted

    @property
    def num_steps(self) -> int:
        """By which times of the window are divided."""
        return len(self.device.steps)

    @property
    def step_ns(self) -> float:
        """The median, from first kernel to first kernel."""
        return self.device.step_ns

    @property
    def compute_ns(self) -> float:
        """Of a step."""
        return self.times.compute_ns / self.num_steps

    @property
    def communication_ns(self) -> float:
        """Of a step."""
        return self.times.communication_ns / self.num_steps

    def part_ns(self, part: str) -> float:
        """Of a step; parts are those of PARTS."""
        return self.times.of_part[part] / self.num_steps


@dataclass(frozen=True)
class Ranks:
    """Files of one run, in order of their ranks where all of them say which they are of."""

    ranks: tuple[Rank, ...]
    seats: tuple[Seat, ...]


def read_ranks(files: Sequence[Path], step: str, top: int, tell: Callable[[str], None]) -> Ranks:
    """Read files one after the other; only the account of each is kept. tell: is called with what is read.

    Raises UserErrors as soon as one does not belong to those before it.
    """
    _check_different(files)
    for file in files:
        reader_of(file)
    found: list[Rank] = []
    for place, file in enumerate(files):
        tell(f"reading {file} ({place + 1} of {len(files)})")
        rank = _read(file, step, top)
        for other in found:
            _check_together(other, rank, asked=bool(step))
        found.append(rank)
    return ranks_of(found)


def _read(file: Path, step: str, top: int) -> Rank:
    recording = read_recording(file)
    try:
        return rank_of(profile(recording, step), top)
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def rank_of(found: Profile, top: int) -> Rank:
    """What is kept of a profile."""
    recording = found.recording
    return Rank(
        file=recording.file,
        number=recording.rank,
        world=recording.world,
        format=recording.format,
        step_name=found.steps.name,
        steps_told=steps_text(found),
        heading=heading(found),
        devices=found.devices,
        mark=hash(recording.kernels),
        parts=tuple(profile_parts(found, top)),
        record=profile_record(found),
        rows=profile_rows(found),
    )


def ranks_of(found: Sequence[Rank]) -> Ranks:
    """Ranks with a label each."""
    numbers = [one.number for one in found if one.number is not None]
    if len(numbers) == len(found):
        ranks = sorted(found, key=lambda one: one.number or 0)
        names = [f"rank {one.number}" for one in ranks]
    else:
        ranks = list(found)
        names = [of_letters(Path(one.file).name) for one in ranks]
        if len(set(names)) < len(names):
            names = [of_letters(one.file) for one in ranks]
    seats = (
        Seat(f"{name}, GPU {device.device.number}" if rank.devices[1:] else name, rank, device, parted(device))
        for name, rank in zip(names, ranks, strict=True)
        for device in rank.devices
    )
    return Ranks(tuple(ranks), tuple(seats))


def notes_of(ranks: Ranks) -> list[str]:
    """What a reader should know before numbers of these files are compared."""
    notes = []
    worlds = {one.world for one in ranks.ranks}
    numbers = {one.number for one in ranks.ranks}
    world = next(iter(worlds)) if len(worlds) == 1 else None
    missing = list(islice((number for number in range(world or 0) if number not in numbers), SHOWN_MISSING + 1))
    if None not in numbers and missing:
        named = ", ".join(map(str, missing[:SHOWN_MISSING])) + (", ..." if missing[SHOWN_MISSING:] else "")
        notes.append(f"The run had {world:,} ranks; not among the files: {named}")
    steps = {one.label: one.num_steps for one in ranks.seats}
    if len(set(steps.values())) > 1:
        told = ", ".join(f"{count:,} in {label}" for label, count in steps.items())
        notes.append(f"Not as many steps in all: {told}; figures are of one step, of those that each file has")
    devices = Counter(one.device.device.name for one in ranks.seats)
    named_all = all(not name.startswith("GPU ") for name in devices)
    if named_all and len(devices) > 1:
        notes.append("Not all GPUs are alike: " + ", ".join(f"{count:,} x {name}" for name, count in devices.items()))
    for rank in ranks.ranks:
        notes += [f"{rank.file}: {line}" for line in rank.heading.split("\n")[1:]]
    for seat in ranks.seats:
        notes += [f"{seat.label}: {line}" for line in apart_text(seat.device)]
    return notes


def _check_different(files: Sequence[Path]) -> None:
    """Refuse a file that was named twice before any is read."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        try:
            about = file.stat()
        except OSError:
            continue  # looking into it says what is wrong with it
        before = seen.get((about.st_dev, about.st_ino))
        seen[about.st_dev, about.st_ino] = file
        if before is not None:
            same = "twice" if before == file else f"the same file as {before}"
            raise UserError(f"{file}: {same}; give the file of each rank once")


def _check_together(one: Rank, other: Rank, asked: bool) -> None:
    """Refuse files that cannot be of one run. asked: whether --step chose the steps."""
    if one.format != other.format:
        raise UserError(
            f"{other.file}: of {other.format}, but {one.file} is of {one.format}, and they do not measure alike; give"
            " files of one tool"
        )
    if one.mark == other.mark:
        raise UserError(f"{other.file}: holds the same recording as {one.file}; give the file of each rank once")
    if one.number is not None and one.number == other.number:
        raise UserError(
            f"{other.file}: of rank {other.number}, as {one.file} is; give one file of each rank, and runs one by one"
        )
    if one.step_name != other.step_name and not asked:
        raise UserError(
            f"{other.file}: its steps are {other.step_name!r}, but those of {one.file} are {one.step_name!r}; --step"
            " REGEX chooses the same in all"
        )
