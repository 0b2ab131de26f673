"""The RDU model: graphs as sections of a PCU/PMU grid, each a metapipeline. Same names as in gpu_model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rdu_model.compilation import Choices, compile_graph, compile_metapipe
    from rdu_model.language.perform import execute_metapipe, simulate_metapipe
    from rdu_model.language.source import write_metapipe
    from rdu_model.lowering import check_room, lower, lower_metapipe
    from rdu_model.machine import Machine, load_machine, machine_names
    from rdu_model.metapipe import Metapipeline
    from rdu_model.orchestrate import mode_names
    from rdu_model.rounding import rounded_results

__all__ = [
    "Choices",
    "Machine",
    "Metapipeline",
    "check_room",
    "compile_graph",
    "compile_metapipe",
    "execute_metapipe",
    "load_machine",
    "lower",
    "lower_metapipe",
    "machine_names",
    "mode_names",
    "rounded_results",
    "simulate_metapipe",
    "write_metapipe",
]

_HOME = {
    "Choices": "compilation",
    "check_room": "lowering",
    "compile_graph": "compilation",
    "compile_metapipe": "compilation",
    "execute_metapipe": "language.perform",
    "Machine": "machine",
    "Metapipeline": "metapipe",
    "load_machine": "machine",
    "lower": "lowering",
    "lower_metapipe": "lowering",
    "machine_names": "machine",
    "mode_names": "orchestrate",
    "simulate_metapipe": "language.perform",
    "rounded_results": "rounding",
    "write_metapipe": "language.source",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
