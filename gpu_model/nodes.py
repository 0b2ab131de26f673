"""What links a GPU has to those that it sums with: of one node, or, if they are of several, those between nodes."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from gpu_model.machine import Machine

IN_SWITCH = "multimem"


@lru_cache(maxsize=256)
def joined(machine: Machine, members: int) -> Machine:
    """The machine as one of `members` GPUs has it.

    Of more GPUs than a node has, some wait for links between nodes in every round, and all for them: a ring is as slow
    as its slowest link. All others are taken to be no faster, and a node's switch adds up nothing of other nodes.
    """
    if not machine.node_gpus or members <= machine.node_gpus:
        return machine
    return replace(
        machine,
        network_bytes_per_s=machine.node_network_bytes_per_s,
        network_efficiency=machine.node_network_efficiency,
        network_latency_ps=machine.node_network_latency_ps,
        network_barrier_ps=max(machine.network_barrier_ps, 2 * machine.node_network_latency_ps),
        features=tuple(feature for feature in machine.features if feature != IN_SWITCH),
    )
