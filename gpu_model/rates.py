"""What the whole GPU does in a second, by resource: the datasheet's rate, and what was measured of it."""

from __future__ import annotations

from gpu_model.machine import Machine
from gpu_model.product import product_of
from patterns.graph import Graph
from patterns.kind import has
from patterns.plan import Rates, Resource
from patterns.units import per_second


def rates(graph: Graph, machine: Machine) -> Rates:
    """Rates for a graph: of matrix work that of the fastest type it multiplies, so that no call exceeds a peak."""
    shared: tuple[tuple[Resource, float], ...] = (
        ("matrix_flops", _per_second(_matrix_rate(graph, machine) * machine.sm_count, machine)),
        ("vector_ops", _per_second(machine.vector_ops_per_cycle * machine.sm_count, machine)),
        ("special_ops", _per_second(machine.special_ops_per_cycle * machine.sm_count, machine)),
    )
    ports = max(machine.load_bytes_per_cycle * machine.sm_count, machine.l2_bytes_per_cycle)
    peak: tuple[tuple[Resource, float], ...] = (
        ("network_bytes", float(machine.network_bytes_per_s)),
        ("hbm_bytes", float(machine.hbm_bytes_per_s)),
        ("l2_bytes", _per_second(ports, machine)),
    )
    achievable: tuple[tuple[Resource, float], ...] = (
        ("network_bytes", float(machine.network_achieved_bytes_per_s)),
        ("hbm_bytes", float(machine.hbm_achieved_bytes_per_s)),
        ("l2_bytes", _per_second(machine.l2_bytes_per_cycle, machine)),
    )
    return Rates(shared + peak, shared + achievable)


def _matrix_rate(graph: Graph, machine: Machine) -> int:
    products = [product_of(graph, node) for _, node in graph.nodes() if has(node, "contracts")]
    found = (machine.flops_per_cycle.get(product.dtype, machine.tf32_flops_per_cycle) for product in products)
    return max(found, default=machine.bf16_flops_per_cycle)


def _per_second(per_cycle: int, machine: Machine) -> float:
    return float(per_second(per_cycle, machine.clock_hz))
