"""A GPU in numbers: one flat record, the unit in every name, the source of every number in machines/*.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.resources.abc import Traversable
from typing import Literal

from gpu_model.plausible import contradictions, hint, impossible
from patterns.documents.parameters import Parameters, Rules, read_parameters
from patterns.energy import EnergyPrices
from patterns.once import computed_once
from patterns.pipeline.hashed import hashed_once
from patterns.plugin import data_file, data_files
from patterns.units import exact

MACHINES = "gpu_model.machines"


@hashed_once
@dataclass(frozen=True, kw_only=True)
class Machine(EnergyPrices):
    """What the model believes about a GPU. Rates without `_per_s` are of one SM unless the name says l2.

    Matrix products. mma_*: the smallest matrix instruction; rows, columns and inner bytes are padded to it.
    mma_instruction_cycles: of one with most columns on the whole SM, measured: the dense peaks must agree with it; 0
    where it is not known. smem_cycles_per_kib: what reading its operands from shared memory costs the tensor core (0:
    not modelled). mma_issue_cycles: paid by the computing warps for the matrix instructions of a step;
    mma_wait_cycles: from their end to the first instruction that may use it. tmem_columns: of tensor memory, 128 lanes
    of 4 bytes each; 0 where there is none. warp_rows, warp_columns: the part of a tile that one warp computes where the
    instruction takes its operands from registers, which warps fill from shared memory at smem_read_bytes_per_cycle; 0
    where it reads them itself. tile_rows, tile_columns: extents that are tried for a matrix tile.
    tile_k_bytes: an operand's row in one step. mma_any_order_bytes: elements of this size and more are read in either
    order of an operand's dims, smaller ones only with the summed dim innermost: others are transposed in shared memory,
    at transpose_cycles_per_kib.

    Recurrences. dependent_op_cycles: from a vector op to one that needs its result.

    Loads. load_latency_cycles: from the end of a transfer on the load path to its arrival in shared memory;
    l2_latency_cycles: of what the L2 holds. l2_persisting_bytes: what can be kept there (0: nothing).
    cp_async_issue_cycles, tma_issue_cycles: paid by the issuing warp for each tile; the first also per KiB.
    smem_write_bytes_per_cycle: from registers into shared memory. hbm_efficiency: share of hbm_bytes_per_s that long
    streams get; applied once, in hbm_achieved_bytes_per_s. tile_load_efficiency: of that, what loads of matrix tiles
    get, whose rows lie far apart.

    Meeting. barrier_cycles: from a barrier's change to the first instruction of the role that waited for it.
    remote_arrive_cycles: from an arrival at a barrier of another CTA of the cluster until it is seen there.
    cluster_barrier_cycles: all CTAs of a cluster meeting. grid_sync_ps: from the last arrival of an SM at a barrier of
    the whole grid to the moment at which all have seen it.

    Other GPUs. network_efficiency: share of network_bytes_per_s (one direction) that long streams get.
    network_latency_ps: from a store on one GPU to its sight on another; network_peer_ps: for each further GPU
    whose flag is waited for. network_barrier_ps: all GPUs meeting. multimem_fill_ps: filling and draining a
    pipeline of sums that the switch adds up. node_gpus: that have such links to each other (0: all); node_network_*:
    the same of links to GPUs of other nodes.

    Clocks. clock_hz: the one that the datasheet's matrix peaks are of. boost_clock_hz: the one that kernels run at
    while power allows; 0 where that is clock_hz. clock_droop_share: of it, what a kernel loses to the limit of power
    that keeps all tensor cores busy from end to end; others lose in proportion.

    Launches. kernel_ramp_cycles, kernel_drain_cycles: inside a kernel before its first load and after its last store.
    product_ramp_cycles: what a kernel of matrix products has before its first load beside that.
    stream_launch_ps: of one launch, on the host. graph_launch_ps: of a whole graph, on the host; serving_step_ps: of
    what a serving engine does before each. launch_gap_ps: on the device between two kernels.

    Attention. compare_ops_per_cycle: vector ops that compare or convert. mma_port_stalls: cycles that matrix
    instructions with accumulators in registers lose for each cycle in which other warps' instructions use their ports.
    mma_sync_efficiency: share of the tensor core's rate that mma.sync reaches. mma_latency_cycles: from the end of a
    product that is needed at once to the first instruction that uses it, its issue included. turn_cycles: from one
    warpgroup's arrival at a named barrier to the next one's first instruction. tile_start_cycles: what warpgroups take
    from one tile to the next, beside loads and stores.

    Limits. smem_carveout_bytes: parts of l1_smem_bytes that can be shared memory; the rest is L1. barriers_per_cta:
    named ones. barriers_per_sm: where the occupancy rules count them, else 0. fit: whether a plan that does not fit is
    refused or only warned about. features: what its instruction set has, see plausible.FEATURES; schedules and loaders
    name those that they need. most_clusters: by the size of a cluster, how many are resident at once, one CTA an SM,
    where that is measured.
    """

    # The chip.
    name: str = ""
    clock_hz: int
    sm_count: int
    sub_partitions: int
    features: tuple[str, ...]

    # Matrix products.
    bf16_flops_per_cycle: int
    fp8_flops_per_cycle: int
    tf32_flops_per_cycle: int
    mma_rows: int
    mma_columns: int
    mma_most_columns: int
    mma_inner_bytes: int
    mma_instruction_cycles: int = 0
    smem_cycles_per_kib: int
    mma_issue_cycles: int = 0
    mma_wait_cycles: int = 0
    mma_sync_efficiency: float = 1.0
    mma_latency_cycles: int = 0
    mma_port_stalls: float = field(default=0.0, metadata={"zero": True})
    warp_rows: int = field(default=0, metadata={"zero": True})
    warp_columns: int = field(default=0, metadata={"zero": True})
    tile_rows: tuple[int, ...]
    tile_columns: tuple[int, ...]
    tile_k_bytes: int
    mma_any_order_bytes: int = 1
    transpose_cycles_per_kib: int = 0

    # Other instructions.
    vector_ops_per_cycle: int
    compare_ops_per_cycle: int = 128
    special_ops_per_cycle: int
    dependent_op_cycles: int = 0

    # Loads and stores.
    load_bytes_per_cycle: int
    store_bytes_per_cycle: int
    smem_read_bytes_per_cycle: int = 128
    smem_write_bytes_per_cycle: int = 128
    load_latency_cycles: int
    l2_latency_cycles: int = 0
    cp_async_issue_cycles: int
    cp_async_issue_cycles_per_kib: int
    tma_issue_cycles: int

    # Memory.
    l2_bytes: int
    l2_bytes_per_cycle: int
    l2_persisting_bytes: int = field(default=0, metadata={"zero": True})
    hbm_bytes: int
    hbm_bytes_per_s: int
    hbm_efficiency: float

    # Meeting.
    barrier_cycles: int = 0
    turn_cycles: int = 0
    tile_start_cycles: int = 0
    remote_arrive_cycles: int = 0
    cluster_barrier_cycles: int = 0
    grid_sync_ps: int = 0

    # Other GPUs.
    network_bytes_per_s: int
    network_efficiency: float = 1.0
    network_latency_ps: int
    network_peer_ps: int = 0
    network_barrier_ps: int = 0
    multimem_fill_ps: int = 0
    node_gpus: int = field(default=0, metadata={"zero": True})
    node_network_bytes_per_s: int = field(default=0, metadata={"zero": True})
    node_network_efficiency: float = 1.0
    node_network_latency_ps: int = 0

    # Limits.
    fit: Literal["refuse", "warn"]
    registers_per_sm: int
    most_registers_per_thread: int
    register_granularity: int
    registers_beside_accumulators: int
    smem_bytes: int
    smem_bytes_per_cta: int
    smem_reserved_bytes: int = field(metadata={"zero": True})
    smem_granularity_bytes: int
    smem_carveout_bytes: tuple[int, ...] = field(default=(), metadata={"zero": True})
    l1_smem_bytes: int = field(default=0, metadata={"zero": True})
    barrier_bytes: int
    barriers_per_cta: int = 16
    barriers_per_sm: int = field(default=0, metadata={"zero": True})
    threads_per_sm: int
    threads_per_cta: int
    ctas_per_sm: int
    tmem_columns: int = field(default=0, metadata={"zero": True})
    most_clusters: tuple[tuple[str, int], ...] = ()

    # Launches.
    kernel_ramp_cycles: int
    kernel_drain_cycles: int
    stream_launch_ps: int
    graph_launch_ps: int
    serving_step_ps: int = 0
    launch_gap_ps: int
    launch_queue_depth: int

    # Clocks under load, and what products need first.
    boost_clock_hz: int = field(default=0, metadata={"zero": True})
    clock_droop_share: float = field(default=0.0, metadata={"zero": True})
    product_ramp_cycles: int = 0
    tile_load_efficiency: float = 1.0

    @computed_once
    def flops_per_cycle(self) -> Mapping[str, int]:
        """Matrix FLOP per cycle of an SM by the dtype of the operands; others are multiplied as tf32.

        Floats of a type that it does not multiply are converted to fp16 on their way.
        """
        bf16, fp8 = self.bf16_flops_per_cycle, self.fp8_flops_per_cycle
        return {"bf16": bf16, "fp16": bf16, "fp8": fp8 if "fp8" in self.features else bf16, "int8": fp8}

    @computed_once
    def network_achieved_bytes_per_s(self) -> int:
        """What long streams get of the links to other GPUs, in one direction, rounded down."""
        return int(self.network_bytes_per_s * exact(self.network_efficiency))

    @computed_once
    def hbm_achieved_bytes_per_s(self) -> int:
        """What long streams get of the HBM, rounded down."""
        return int(self.hbm_bytes_per_s * exact(self.hbm_efficiency))


def machine_names() -> tuple[str, ...]:
    """Every machine there is, sorted."""
    return data_files(MACHINES, ".yaml")


def load_machine(name: str, overrides: Mapping[str, str] | None = None) -> Machine:
    """A machine by name, with parameters replaced by `overrides` (text with units). Raises UnknownName, SpecError."""
    return _loaded(name, tuple((overrides or {}).items()))


@lru_cache(maxsize=256)
def _loaded(name: str, overrides: tuple[tuple[str, str], ...]) -> Machine:
    """Memo of `load_machine`: a sweep asks for the same few machines at every point."""
    return replace(read_machine(name, dict(overrides)).values, name=name)


def read_machine(name: str, overrides: Mapping[str, str] | None = None) -> Parameters[Machine]:
    """A machine's numbers with where each is from. Raises UnknownName, SpecError."""
    return read_parameters(_file_of(name), Machine, overrides, RULES)


def _file_of(name: str) -> Traversable:
    return data_file(MACHINES, name, ".yaml", "GPU")


RULES = Rules(_file_of, hint, contradictions, impossible)
