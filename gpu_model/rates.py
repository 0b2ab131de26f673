"""What the whole GPU does in a second, by resource: the datasheet's rate, and what was measured of it."""

from __future__ import annotations

from functools import lru_cache

from gpu_model.kernel_machine import least_clock_hz
from gpu_model.machine import Machine
from gpu_model.products.product import product_of
from gpu_model.schedule import polynomial_ops
from patterns.graph import Graph
from patterns.kind import has
from patterns.plan import Rates, Resource
from patterns.units import per_second


@lru_cache(maxsize=256)
def rates(graph: Graph, machine: Machine) -> Rates:
    """Rates for a graph: of matrix work that of the fastest type it multiplies, so that no call exceeds a peak.

    Datasheets give matrix peaks at clock_hz, the others at the boost clock. Achievable is matrix work at the clock that
    power allows where all tensor cores are at work. Special functions are of both units that can compute them.
    """
    matrix = _matrix_rate(graph, machine) * machine.sm_count
    clock_hz = max(machine.clock_hz, machine.boost_clock_hz)
    shared: tuple[tuple[Resource, float], ...] = (
        ("vector_ops", _per_second(machine.vector_ops_per_cycle * machine.sm_count, clock_hz)),
        ("special_ops", _per_second(_special_rate(machine) * machine.sm_count, clock_hz)),
    )
    ports = max(machine.load_bytes_per_cycle * machine.sm_count, machine.l2_bytes_per_cycle)
    peak: tuple[tuple[Resource, float], ...] = (
        ("matrix_flops", _per_second(matrix, machine.clock_hz)),
        ("network_bytes", float(machine.network_bytes_per_s)),
        ("hbm_bytes", float(machine.hbm_bytes_per_s)),
        ("l2_bytes", _per_second(ports, clock_hz)),
    )
    achievable: tuple[tuple[Resource, float], ...] = (
        ("matrix_flops", _per_second(matrix, min(machine.clock_hz, least_clock_hz(machine)))),
        ("network_bytes", float(machine.network_achieved_bytes_per_s)),
        ("hbm_bytes", float(machine.hbm_achieved_bytes_per_s)),
        ("l2_bytes", _per_second(machine.l2_bytes_per_cycle, clock_hz)),
    )
    return Rates(shared + peak, shared + achievable)


def _matrix_rate(graph: Graph, machine: Machine) -> int:
    products = [product_of(graph, node) for _, node in graph.nodes() if has(node, "contracts")]
    found = (machine.flops_per_cycle.get(product.dtype, machine.tf32_flops_per_cycle) for product in products)
    return max(found, default=machine.bf16_flops_per_cycle)


def _special_rate(machine: Machine) -> int:
    """A cycle of one SM, rounded up: those of the special units, and those that its vector units could compute."""
    ops = polynomial_ops(machine)
    return machine.special_ops_per_cycle + (-(-machine.vector_ops_per_cycle // ops) if ops else 0)


def _per_second(per_cycle: int, clock_hz: int) -> float:
    return float(per_second(per_cycle, clock_hz))
