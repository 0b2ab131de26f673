"""The time of a device in parts that add up to it: what ran alone, what ran at once, and idle. All times are ns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.profile.classes import sorts
from experiments.profile.profiled import DeviceProfile

# Parts in the order in which they are told, and in words.
PARTS: Mapping[str, str] = {
    "compute": "compute",
    "both": "compute and communication at once",
    "communication": "communication alone",
    "copy": "copies alone",
    "idle": "idle",
}


@dataclass(frozen=True)
class Parted:
    """A device's window. of_part: every part of PARTS; they add up to span_ns. compute_ns, communication_ns: with what
    ran at once.
    """

    span_ns: int
    of_part: Mapping[str, int]

    @property
    def compute_ns(self) -> int:
        """A kernel that computes was at work."""
        return self.of_part["compute"] + self.of_part["both"]

    @property
    def communication_ns(self) -> int:
        """A kernel that communicates was at work."""
        return self.of_part["communication"] + self.of_part["both"]


def parted(device: DeviceProfile) -> Parted:
    """The parts of a device's window."""
    account = device.account
    worked = {pair.one: pair.one_ns for pair in account.beside} | {pair.other: pair.other_ns for pair in account.beside}
    if not worked:
        worked = {sorts()[device.classes[0].name]: account.busy_ns}
    compute, communication = worked.get("compute", 0), worked.get("communication", 0)
    pairs = {(pair.one, pair.other): pair.both_ns for pair in account.beside}
    both = pairs.get(("compute", "communication"), 0)
    parts = {
        "compute": compute - both,
        "both": both,
        "communication": communication - both,
        "copy": account.busy_ns - (compute + communication - both),
        "idle": account.idle_ns,
    }
    return Parted(account.span_ns, parts)
