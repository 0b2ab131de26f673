"""The GPU model: from a Graph to a Plan of kernels on Hopper-like SMs. Names are imported when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpu_model.launch import launch_names
    from gpu_model.lowering import check_room, lower
    from gpu_model.machine import Machine, load_machine, machine_names
    from gpu_model.policy import policy_names
    from gpu_model.rounding import rounded_results
    from gpu_model.schedule import schedule_names

__all__ = [
    "Machine",
    "check_room",
    "launch_names",
    "load_machine",
    "lower",
    "machine_names",
    "policy_names",
    "rounded_results",
    "schedule_names",
]

_HOME = {
    "Machine": "machine",
    "check_room": "lowering",
    "launch_names": "launch",
    "load_machine": "machine",
    "lower": "lowering",
    "machine_names": "machine",
    "policy_names": "policy",
    "schedule_names": "schedule",
    "rounded_results": "rounding",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
