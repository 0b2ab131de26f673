"""A graph in a serving engine, whose host schedules the batch and picks tokens before it replays the next step."""

from __future__ import annotations

from dataclasses import replace

from gpu_model.launches import graph
from gpu_model.machine import Machine
from patterns.plan import LaunchCost

NEEDS: tuple[str, ...] = ()
inside = graph.inside


def cost(machine: Machine) -> LaunchCost:
    """As of a graph; before its launch the host works on the step by itself."""
    alone = graph.cost(machine)
    return replace(alone, mode="serving", once_ps=alone.once_ps + machine.serving_step_ps)
