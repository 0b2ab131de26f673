"""A profile as JSON data and as rows of a CSV. Times are ns."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from experiments.profile.durations import Durations
from experiments.profile.profiled import DeviceProfile, Profile, Row


def profile_record(profile: Profile) -> dict[str, Any]:
    """Everything that the page tells, and every kernel's name."""
    recording, steps = profile.recording, profile.steps
    return {
        "file": recording.file,
        "format": recording.format,
        "schema_version": recording.version,
        "events": recording.num_events,
        "skipped": dict(recording.skipped),
        "notes": list(recording.notes),
        "steps": {
            "name": steps.name,
            "marked": steps.marked,
            "why": steps.why,
            "count": len(steps.steps),
            "candidates": [asdict(one) for one in steps.candidates],
        },
        "devices": [device_record(device) for device in profile.devices],
        "host": {
            "launch_ns": profile.host.total_ns,
            "calls": [asdict(one) for one in profile.host.calls],
            "ahead": asdict(profile.host.ahead) if profile.host.ahead else None,
            "graph_launches": profile.host.graph_launches,
            "kernels_in_graphs": profile.host.in_graphs,
        },
    }


def device_record(device: DeviceProfile) -> dict[str, Any]:
    """One device."""
    counts = [step.kernels for step in device.steps]
    return {
        **asdict(device.device),
        "kernels_per_step": {"min": min(counts), "median": device.kernels_per_step, "max": max(counts)},
        "constant": min(counts) == max(counts),
        "step_ns": device.step_ns,
        "steps": [asdict(step) | {"span_ns": step.span_ns} for step in device.steps],
        "account": asdict(device.account) | {"idle_ns": device.account.idle_ns},
        "outside": {"kernels": device.outside, "total_ns": device.outside_ns},
        "unattributed": {"kernels": device.unattributed, "total_ns": device.unattributed_ns},
        "classes": table_rows(device, device.classes),
        "kernels": table_rows(device, device.kernels),
    }


def profile_rows(profile: Profile) -> list[dict[str, object]]:
    """Classes and kernels of every device as rows of one table."""
    return [
        {"device": device.device.number, "what": what, **row}
        for device in profile.devices
        for what, rows in (("class", device.classes), ("kernel", device.kernels))
        for row in table_rows(device, rows)
    ]


def table_rows(device: DeviceProfile, rows: tuple[Row, ...]) -> list[dict[str, object]]:
    """Rows in the columns of Nsight Systems, then the class and how many a step has."""
    whole = sum(row.durations.total_ns for row in device.classes)
    return [
        {
            **columns(row.durations, whole),
            "name": row.name,
            "class": row.class_name,
            "per_step": row.per_step,
        }
        for row in rows
    ]


def columns(one: Durations, whole: int) -> dict[str, object]:
    """The figures in their order."""
    return {
        "time_percent": 100 * one.total_ns / whole if whole else 0.0,
        "total_ns": one.total_ns,
        "instances": one.count,
        "avg_ns": one.mean_ns,
        "med_ns": one.median_ns,
        "min_ns": one.min_ns,
        "max_ns": one.max_ns,
        "stddev_ns": one.spread_ns,
    }
