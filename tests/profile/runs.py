"""Runs made up from a list of kernels: a host that launches, a device that runs one after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from experiments.profile.recording import Activity, Kernel, Launch, Range

# A kernel: its name and how many ns it takes.
Work = tuple[str, int]
PROCESS, THREAD, STREAM = 4711, 4712, 7
BASE_NS = 1_760_000_000_000_000_123


@dataclass
class Run:
    """A host and a device, and what was recorded of them so far."""

    host_ns: int = 2_500
    gap_ns: int = 900
    latency_ns: int = 2_000
    device: int = 0
    process: int = PROCESS
    now: int = BASE_NS
    free: int = 0
    kernels: list[Kernel] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)

    def launch(self, work: Sequence[Work], name: str = "cudaLaunchKernel", graph: bool = False) -> None:
        """One call of the host's; the device runs all of its work after what it has already."""
        number = len(self.launches) + 1
        self.launches.append(Launch(name, self.process, THREAD, self.now, self.now + self.host_ns, number))
        self.now += self.host_ns
        for kernel, length in work:
            start = max(self.free + self.gap_ns, self.now + self.latency_ns)
            self.free = start + length
            row = (self.device, STREAM, start, self.free, self.process, number, graph)
            self.kernels.append(Kernel(kernel, activity_of(kernel), *row))

    def step(self, name: str, work: Sequence[Work], graph: bool = False, synchronise: bool = True) -> None:
        """A marked range with launches, one a kernel or one of a CUDA graph; then the host waits for the device."""
        start = self.now
        if graph:
            self.launch(work, "cudaGraphLaunch", graph=True)
        else:
            for one in work:
                self.launch([one])
        if synchronise:
            self.now = max(self.now, self.free)
        self.ranges.append(Range(name, self.process, THREAD, start, self.now))
        self.now += 1_000

    @property
    def rows(self) -> tuple[list[Kernel], list[Launch], list[Range]]:
        """Everything, as the writers take it."""
        return self.kernels, self.launches, self.ranges


def activity_of(name: str) -> Activity:
    """Told by the name."""
    lower = name.lower()
    return "copy" if "memcpy" in lower else "set" if "memset" in lower else "kernel"


GEMM = "nvjet_tst_128x64_64x12_2x1_v_bz_TNT"
NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)"
ROPE = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)"
CACHE = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>(__nv_bfloat16 const*)"
ATTENTION = "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64>>(Flash_fwd_params)"
COMBINE = "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64>>(Flash_fwd_params)"
ACTIVATION = "void vllm::act_and_mul_kernel<c10::BFloat16, silu_kernel>(c10::BFloat16*)"
GATHER = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)"
ARGMAX = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>>>"


def tuned_token(layers: int) -> list[Work]:
    """Kernels of a token of a Llama as a tuned server launches them: 11 a layer, and 4 around the layers."""
    layer = [(NORM, 1_400), (GEMM, 20_700), (ROPE, 700), (CACHE, 700), (ATTENTION, 6_900), (COMBINE, 800)]
    layer += [(GEMM, 14_300), (NORM, 1_400), (GEMM, 88_300), (ACTIVATION, 800), (GEMM, 45_200)]
    return [(GATHER, 1_400), *layer * layers, (NORM, 1_300), (GEMM, 390_000), (ARGMAX, 1_200)]
