"""A recording accounted for: its steps, and what each device ran in them, how long it was busy, what it waited for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median, median_high

from experiments.profile.account import Account, account
from experiments.profile.attribution import Started, started
from experiments.profile.classes import class_of, sorts
from experiments.profile.durations import Durations, durations
from experiments.profile.host import Host, host_of
from experiments.profile.recording import Device, Recording
from experiments.profile.steps import Step, Steps, find_steps


@dataclass(frozen=True)
class Row:
    """Kernels of one class, or of one name. per_step: how many a step has, the median over steps."""

    name: str
    class_name: str
    durations: Durations
    per_step: int


@dataclass(frozen=True)
class DeviceStep:
    """A step on a device: its activities, from the start of the first to the end of the last, and busy in between."""

    name: str
    kernels: int
    start: int
    end: int
    busy_ns: int

    @property
    def span_ns(self) -> int:
        """From its first kernel to the end of its last."""
        return self.end - self.start


@dataclass(frozen=True)
class DeviceProfile:
    """A device in the window from the first kernel of the first step to the end of the last one of the last step."""

    device: Device
    steps: tuple[DeviceStep, ...]
    account: Account
    classes: tuple[Row, ...]
    kernels: tuple[Row, ...]
    outside: int
    outside_ns: int
    unattributed: int
    unattributed_ns: int

    @property
    def kernels_per_step(self) -> int:
        """The median over steps, of two the higher: a step may miss kernels, but has none too many."""
        return median_high(step.kernels for step in self.steps)

    @property
    def step_ns(self) -> float:
        """Time of a step: the median from the first kernel of one to that of the next; of a single one its span."""
        starts = [step.start for step in self.steps]
        between = [later - earlier for earlier, later in pairwise(starts)]
        return median(between) if between else self.steps[0].span_ns


@dataclass(frozen=True)
class Profile:
    """Everything that is read off a recording."""

    recording: Recording = field(repr=False)
    steps: Steps = field(repr=False)
    devices: tuple[DeviceProfile, ...]
    host: Host

    @property
    def widest(self) -> DeviceProfile:
        """The device whose steps have most kernels."""
        return max(self.devices, key=lambda one: one.kernels_per_step)


def profile(recording: Recording, step: str = "") -> Profile:
    """The account of a recording. step: a regular expression for the names of steps. Raises UserError."""
    work = started(recording)
    steps = find_steps(work, recording.ranges, step)
    of_device: dict[int, list[Started]] = defaultdict(list)
    for one in work:
        of_device[one.kernel.device].append(one)
    devices = (device_profile(device, of_device[device.number], steps) for device in recording.devices)
    return Profile(recording, steps, tuple(one for one in devices if one is not None), host_of(steps.steps))


def device_profile(device: Device, work: Sequence[Started], steps: Steps) -> DeviceProfile | None:
    """One device's part; None where no step used it."""
    on_it = [(step, [one for one in step.work if one.kernel.device == device.number]) for step in steps.steps]
    on_it = [(step, held) for step, held in on_it if held]
    if not on_it:
        return None
    own = sorted((_device_step(step, held) for step, held in on_it), key=lambda one: one.start)
    window = own[0].start, max(one.end for one in own)
    outside = [one.kernel for one in steps.outside if one.kernel.device == device.number]
    unattributed = [one.kernel for one in steps.unattributed if one.kernel.device == device.number]
    classes, kernels = _rows([held for _, held in on_it])
    return DeviceProfile(
        device=device,
        steps=tuple(own),
        account=account(work, window),
        classes=classes,
        kernels=kernels,
        outside=len(outside),
        outside_ns=sum(one.end - one.start for one in outside),
        unattributed=len(unattributed),
        unattributed_ns=sum(one.end - one.start for one in unattributed),
    )


def _device_step(step: Step, held: Sequence[Started]) -> DeviceStep:
    window = held[0].kernel.start, max(one.kernel.end for one in held)
    return DeviceStep(step.name, len(held), *window, account(held, window).busy_ns)


def _rows(steps: Sequence[Sequence[Started]]) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """Rows by class, in the order of classes, and by name, those that take longest first."""
    lengths: dict[str, list[int]] = defaultdict(list)
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for number, held in enumerate(steps):
        for one in held:
            lengths[one.kernel.name].append(one.kernel.end - one.kernel.start)
            counts[one.kernel.name][number] += 1
    kernels = [
        Row(name, class_of(name), durations(found), _typical([counts[name]], len(steps)))
        for name, found in lengths.items()
    ]
    classes = []
    for class_name in sorts():
        names = [name for name in lengths if class_of(name) == class_name]
        if names:
            found = [value for name in names for value in lengths[name]]
            classes.append(
                Row(class_name, class_name, durations(found), _typical([counts[n] for n in names], len(steps)))
            )
    by_time = sorted(kernels, key=lambda row: (-row.durations.total_ns, row.name))
    return tuple(sorted(classes, key=lambda row: -row.durations.total_ns)), tuple(by_time)


def _typical(counts: Sequence[Counter[int]], steps: int) -> int:
    """How many a step has: the median."""
    return median_high(sum(count[number] for count in counts) for number in range(steps))
