"""Sentences about a recording, made from its numbers."""

from __future__ import annotations

from collections.abc import Iterator

from experiments.profile.profiled import DeviceProfile, Profile
from experiments.text.quantity import time_text
from patterns.plural import number_of

# Below this share of the time, idle time decides nothing.
LITTLE_IDLE = 0.1
INSIDE = (
    "A trace shows which kernels ran at the same time. It cannot see inside a kernel: whether one overlaps its loads"
    " with its arithmetic is not in it."
)
CLASS_TIMES = "Time of the kernels by class (us a step)"


def ns_text(amount_ns: float) -> str:
    """A time with the unit that suits; below 0 with its sign."""
    amount_ps = round(abs(amount_ns) * 1000)
    return ("-" if amount_ns < 0 else "") + (time_text(amount_ps) if amount_ps else "0")


def percent(part: float, whole: float) -> str:
    """'12.3%'; '-' of nothing."""
    return f"{100 * part / whole:.1f}%" if whole else "-"


def heading(profile: Profile) -> str:
    """What was read."""
    recording = profile.recording
    version = f", schema {recording.version}" if recording.version else ""
    events, ranges = number_of(recording.num_events, "event"), number_of(len(recording.ranges), "range")
    kernels, launches = number_of(len(recording.kernels), "kernel"), number_of(len(recording.launches), "call")
    text = (
        f"{recording.file}: {recording.format}{version}; {events}, of which {kernels} (copies included), {launches} of"
        f" the host's and {ranges}"
    )
    skipped = [f"skipped {number_of(count, 'event')}: {why}" for why, count in recording.skipped]
    return "\n".join((text, *recording.notes, *skipped))


def steps_text(profile: Profile) -> str:
    """Which steps there are, and what else could be one."""
    steps = profile.steps
    if not steps.marked:
        return f"Steps: {steps.why}, so the whole recording counts as one"
    processes = len({step.process for step in steps.steps})
    among = f" in {processes} processes" if processes > 1 else ""
    text = f"Steps: {steps.name} x {len(steps.steps):,}{among} ({steps.why})"
    others = [f"{one.name} x {one.count:,}" for one in steps.candidates if one.name != steps.name]
    more = f" and {len(others) - 5:,} more" if len(others) > 5 else ""
    return text + (f"\n  also there: {', '.join(others[:5])}{more}" if others else "")


def counts_text(device: DeviceProfile) -> str:
    """Kernels a step, and whether they are the same in all."""
    counts = [step.kernels for step in device.steps]
    if len(counts) == 1:
        return f"{number_of(counts[0], 'kernel')} in one step: nothing to compare it with"
    if min(counts) == max(counts):
        return f"{number_of(counts[0], 'kernel')} in every one of {len(counts):,} steps"
    odd = sum(count != device.kernels_per_step for count in counts)
    few_many = f"{min(counts):,} to {max(counts):,} kernels a step, median {device.kernels_per_step:,}"
    return f"{few_many}; {odd:,} of {len(counts):,} steps differ from it"


def apart_text(device: DeviceProfile) -> Iterator[str]:
    """What belongs to no step; it is never spread over them."""
    if device.unattributed:
        amount = f"{number_of(device.unattributed, 'kernel')} ({ns_text(device.unattributed_ns)})"
        yield f"unattributed: {amount} without a launch in the recording (as of those before it began), in no step"
    if device.outside:
        amount = f"{number_of(device.outside, 'kernel')} ({ns_text(device.outside_ns)})"
        yield f"outside: {amount} launched between the steps, in none of them"


def busy_text(device: DeviceProfile) -> str:
    """Busy and idle."""
    account = device.account
    text = (
        f"busy {ns_text(account.busy_ns)} ({percent(account.busy_ns, account.span_ns)} of {ns_text(account.span_ns)})"
    )
    text += f", idle {ns_text(account.idle_ns)}"
    if account.sum_ns > account.busy_ns:
        more = ns_text(account.sum_ns - account.busy_ns)
        text += f"; the durations add up to {ns_text(account.sum_ns)}, {more} more: kernels overlap"
        if account.stream_overlap_ns:
            text += f", {ns_text(account.stream_overlap_ns)} of it within a stream (programmatic dependent launch)"
    return text


def gaps_text(device: DeviceProfile) -> str:
    """Where the idle time lies."""
    account = device.account
    found = [
        f"{band.name}: {band.count:,} ({ns_text(band.total_ns)}, {percent(band.total_ns, account.idle_ns)})"
        for band in account.gaps
        if band.count
    ]
    return "gaps: " + ("; ".join(found) or "none")


def pace_text(device: DeviceProfile) -> str:
    """Whether the device waits for the host."""
    account = device.account
    waits = account.host_wait_ns
    because = f"{ns_text(waits)} of its idle time the launch it waits for had not returned"
    if account.unknown_ns:
        because += f" ({ns_text(account.unknown_ns)} are before kernels without a launch)"
    if account.idle_ns < LITTLE_IDLE * account.span_ns:
        return f"device-bound: it is idle for {percent(account.idle_ns, account.span_ns)}; for {because}"
    if waits * 2 > account.idle_ns:
        return f"host-bound: for {because}"
    return f"neither: for {because}, for the rest of {ns_text(account.idle_ns)} it was launched and did not start"


def beside_text(device: DeviceProfile) -> str:
    """What ran beside what."""
    pairs = [
        f"{one.one} and {one.other}: {ns_text(one.both_ns)} at the same time, {percent(one.both_ns, one.other_ns)} of"
        f" {one.other} ({ns_text(one.other_ns)})"
        for one in device.account.beside
    ]
    return "\n".join((*pairs, INSIDE)) if pairs else f"All work is of one sort. {INSIDE}"


def launches_text(profile: Profile) -> Iterator[str]:
    """The host's side."""
    host, steps = profile.host, len(profile.steps.steps)
    if not host.calls:
        yield "launches: none are recorded (record the CPU, too)"
        return
    for one in host.calls:
        each = f"{ns_text(one.calls.median_ns)} each (median), {ns_text(one.calls.total_ns / steps)} a step"
        yield f"{one.name}: {number_of(one.calls.count, 'call')}, {each}" + _kernels_of(
            one.kernels.min_ns, one.kernels.max_ns
        )
    if host.ahead:
        ahead = host.ahead
        yield (
            f"from a launch's return to its first kernel's start: median {ns_text(ahead.median_ns)}, from"
            f" {ns_text(ahead.min_ns)} to {ns_text(ahead.max_ns)}"
        )
    if host.graph_launches:
        yield (
            f"CUDA graphs: {number_of(host.graph_launches, 'launch', 'launches')} started"
            f" {number_of(host.in_graphs, 'kernel')}"
        )


def _kernels_of(low: int, high: int) -> str:
    if low == high == 1:
        return ""
    return f", {low:,} kernels each" if low == high else f", {low:,} to {high:,} kernels each"


def short_name(name: str, letters: int) -> str:
    """A kernel's name without what it returns and takes, cut to a length."""
    plain = name.removeprefix("void ").replace("(anonymous namespace)::", "")
    if not plain.startswith("["):
        plain = plain.partition("(")[0] if not plain.startswith("Mem") else plain
    return plain if len(plain) <= letters else plain[: letters - 3] + "..."
