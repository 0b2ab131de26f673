"""A recording beside the model: what each fusion policy of the GPU would launch, and the RDU."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from experiments.profile.call_classes import Counts, counts_of, times_of
from experiments.profile.classes import sorts
from experiments.profile.profiled import DeviceProfile, Profile

if TYPE_CHECKING:
    from experiments.compare import Comparison, Outcome
    from experiments.request import Request
    from patterns.graph import Graph

# Of the kernels that a step starts this share is in CUDA graphs: then the model launches graphs, too.
MOSTLY = 0.5


@dataclass(frozen=True)
class Predicted:
    """One mode of the model. counts, times_ps: by class, of one run of the graph. exposed_ps: launching that shows."""

    machine: str
    family: str
    mode: str
    calls: int
    time_ps: int
    exposed_ps: int
    counts: Counts
    times_ps: Counts


@dataclass(frozen=True)
class Difference:
    """A class of which the recording and a policy have not as many kernels a step."""

    name: str
    recorded: int
    predicted: int


@dataclass(frozen=True)
class Against:
    """A device of a recording, and every mode of the model beside it, GPU first. notes: how the model was asked.

    predicted is of the comparison's outcomes, in their order.
    """

    device: DeviceProfile
    comparison: Comparison = field(repr=False)
    predicted: tuple[Predicted, ...]
    notes: tuple[str, ...]

    @property
    def request(self) -> Request:
        """What the model was asked."""
        return self.comparison.request

    @property
    def policies(self) -> tuple[Predicted, ...]:
        """The GPU's."""
        return tuple(one for one in self.predicted if one.family == "gpu")

    @property
    def closest(self) -> Predicted:
        """The policy whose counts differ least, class by class; of equal ones that of the nearest time."""
        recorded = recorded_counts(self.device)
        step_ps = self.device.step_ns * 1000
        return min(self.policies, key=lambda one: (distance(recorded, one), abs(one.time_ps - step_ps)))


def recorded_counts(device: DeviceProfile) -> dict[str, int]:
    """Kernels of each class that a step has; the model knows no copies between host and device."""
    of_class = sorts()
    return {row.name: row.per_step for row in device.classes if of_class[row.name] != "copy"}


def differences(recorded: Mapping[str, int], predicted: Predicted) -> tuple[Difference, ...]:
    """Classes that differ, those most that differ most."""
    counts = dict(predicted.counts)
    found = (Difference(name, recorded.get(name, 0), counts.get(name, 0)) for name in sorts())
    unlike = (one for one in found if one.recorded != one.predicted)
    return tuple(sorted(unlike, key=lambda one: -abs(one.recorded - one.predicted)))


def distance(recorded: Mapping[str, int], predicted: Predicted) -> int:
    """How many kernels a step differ, class by class."""
    return sum(abs(one.recorded - one.predicted) for one in differences(recorded, predicted))


def against(profile: Profile, request: Request, fixed: Sequence[str], graph: Graph | None = None) -> Against:
    """The model's answer for a recording. fixed: fields of the request that were asked for; what is not follows the
    recording: its GPU, and whether it replays graphs. graph: see compare. Raises UserErrors.
    """
    from experiments.compare import compare

    device = profile.widest
    notes = []
    if "gpu" not in fixed:
        request = replace(request, gpu=machine_of(device.device.name, request.gpu))
        notes.append(f"{request.gpu} stands for {device.device.name!r}; --gpu chooses")
    graphed = profile.host.in_graphs > MOSTLY * sum(len(step.work) for step in profile.steps.steps)
    if "launch" not in fixed and graphed:
        request = replace(request, launch="graph")
        notes.append("launch graph (most kernels of the recording are of CUDA graphs)")
    if len(profile.devices) > 1 and "gpus" not in fixed:
        notes.append(f"one GPU beside GPU {device.device.number} of {len(profile.devices)}; --gpus says how many share")
    comparison = compare(request, graph)
    predicted = tuple(predicted_of(outcome) for outcome in comparison.outcomes)
    return Against(device, comparison, predicted, tuple(notes))


def predicted_of(outcome: Outcome) -> Predicted:
    """One mode's counts and times."""
    report, plan = outcome.report, outcome.execution.plan
    return Predicted(
        machine=report.machine,
        family=report.family,
        mode=report.mode,
        calls=report.calls,
        time_ps=report.time_ps,
        exposed_ps=report.launching.exposed_ps,
        counts=counts_of(plan),
        times_ps=times_of(outcome.execution),
    )


def machine_of(device: str, default: str) -> str:
    """The machine of the model with all words of its name in a device's, else the only one, or the default one, with
    the first: 'h100_sxm' of 'NVIDIA H100 80GB HBM3', 'h100_pcie' of 'NVIDIA H100 PCIe'.
    """
    from experiments.sides import machine_names

    words = re.findall(r"[a-z]+\d*|\d+", device.lower())
    first = [name for name in machine_names("gpu") if name.partition("_")[0] in words]
    whole = [name for name in first if set(name.split("_")) <= set(words)]
    if len(whole) == 1:
        return whole[0]
    return first[0] if len(first) == 1 else default
