"""What a lecture on programming specialised hardware (Stanford CS149, fall 2025, lecture 11) prints of chips.

As retold in public course notes.
"""

from __future__ import annotations

from typing import Any

from experiments.claim import Claim, Found, Verdict

TITLE = "programming specialised hardware"
GPU, RDU = "h100_sxm", "sn40l"
# The lecture's kernel: one producer warpgroup and two that compute, tiles of A and B in four stages, two of C.
WARPGROUP = 128
PRODUCER_REGISTERS, CONSUMER_REGISTERS, CONSUMERS = 40, 232, 2
STAGES, ELEMENT_BYTES = 4, 2
STAGE_ELEMENTS = CONSUMERS * 64 * 64 + 64 * 256
RESULT_ELEMENTS = CONSUMERS * 64 * 256
TILE_BYTES, COPY_BYTES = 48 * 1024, 16


def gpu() -> Any:
    """The GPU."""
    from gpu_model import load_machine

    return load_machine(GPU)


def rdu() -> Any:
    """The RDU."""
    from rdu_model import load_machine

    return load_machine(RDU)


def sram() -> Found:
    """On-chip SRAM of a socket."""
    machine = rdu()
    found = machine.pmus * machine.pmu_bytes
    when = f"in MiB: {machine.pmus:,} PMUs of {machine.pmu_bytes // 1024} KiB, {found / 1e6:.0f} million bytes"
    return Found(f"{found / 2**20:.0f} MB", when, found / 2**20)


def five_times() -> Found:
    """SRAM of both chips, by what is counted of the GPU's."""
    machine, other = gpu(), rdu()
    socket = other.pmus * other.pmu_bytes
    l1 = machine.sm_count * machine.l1_smem_bytes
    registers = machine.sm_count * machine.registers_per_sm * 4
    counted = {
        "L2": machine.l2_bytes,
        "L2 and L1": machine.l2_bytes + l1,
        "registers too": machine.l2_bytes + l1 + registers,
    }
    ratios = {what: socket / num_bytes for what, num_bytes in counted.items()}
    told = ", ".join(f"{what} ({counted[what] / 1e6:.0f} MB) {ratio:.1f}x" for what, ratio in ratios.items())
    spans: Verdict = "where" if min(ratios.values()) <= 5 <= max(ratios.values()) else "no"
    return Found(
        f"{min(ratios.values()):.1f}x to {max(ratios.values()):.1f}x", f"by what is counted: {told}", None, spans
    )


def peak() -> Found:
    """The peak from units, shape and clock."""
    machine = rdu()
    macs = machine.pcus * machine.pcu_lanes * machine.pcu_stages
    once = 2 * macs * machine.clock_hz / 1e12
    clock_ghz = 638e12 / (2 * macs) / 1e9
    when = (
        f"with {machine.packed_macs} multiply-adds in each unit of {machine.pcu_lanes} x {machine.pcu_stages} at"
        f" {machine.clock_hz / 1e9:.1f} GHz; one in each is {once:.0f} TFLOP/s, or asks for {clock_ghz:.2f} GHz, more"
        " than the 2 GHz that are published as its limit"
    )
    found = once * machine.packed_macs
    return Found(f"{found:.0f} TFLOP/s", when, found, "where" if abs(found / 638 - 1) < 0.01 else "no")


def registers() -> Found:
    """Registers of the lecture's kernel."""
    machine = gpu()
    found = WARPGROUP * (PRODUCER_REGISTERS + CONSUMERS * CONSUMER_REGISTERS)
    even = machine.registers_per_sm // (WARPGROUP * (1 + CONSUMERS))
    when = f"of {machine.registers_per_sm:,}; shared evenly each thread has {even}, fewer than the {CONSUMER_REGISTERS}"
    return Found(f"{found:,}", when, found, "holds" if found <= machine.registers_per_sm else "no")


def shared_memory() -> Found:
    """Shared memory of the lecture's kernel."""
    machine = gpu()
    ring = STAGES * STAGE_ELEMENTS * ELEMENT_BYTES
    whole, most = ring + RESULT_ELEMENTS * ELEMENT_BYTES, machine.smem_bytes_per_cta
    if ring > most:
        return Found(f"{ring / 1024:.0f} KiB", f"a CTA may have {most / 1024:.0f} KiB", None, "no")
    alone = f"with tiles of C of their own {whole / 1024:.0f} KiB" + (
        ", too many: they lie where inputs were" if whole > most else ""
    )
    when = f"of {most / 1024:.0f} KiB; {alone}"
    return Found(f"{ring / 1024:.0f} KiB", when, None, "where" if whole > most else "holds")


def thousands() -> Found:
    """Instructions that a tile's loads take with and without TMA."""
    from gpu_model.loader import loader_named

    machine = gpu()
    copies, warps = TILE_BYTES // COPY_BYTES, loader_named("cp_async").instructions(machine, TILE_BYTES)
    tma = loader_named("tma").instructions(machine, TILE_BYTES)
    when = (
        f"copies of {COPY_BYTES} bytes by single threads for a tile of {TILE_BYTES // 1024} KiB; they are {warps} warp"
    )
    return Found(
        f"{copies:,} or {warps}",
        f"{when} instructions, and {tma} an operand with TMA",
        copies,
        "where" if copies > 1000 else "no",
    )


def dram_energy() -> Found:
    """Picojoules of 64 bits from off-chip memories."""
    of_hbm, of_ddr = (
        [1e12 * 8 * joules for joules in price] for price in (gpu().hbm_joules_per_byte, rdu().ddr_joules_per_byte)
    )
    least, typical, most = of_hbm
    when = (
        f"for DDR ({of_ddr[0]:,.0f} to {of_ddr[-1]:,.0f} pJ); from the HBM of these machines {typical:,.0f} pJ, in a"
        f" range of {least:,.0f} to {most:,.0f}"
    )
    verdict: Verdict = "holds" if least <= 1200 <= most else "where" if of_ddr[0] <= 1200.5 <= of_ddr[-1] else "no"
    return Found(f"{typical:,.0f} pJ", when, typical, verdict)


def patterns_of_softmax() -> Found:
    """Kernels of a softmax of three patterns."""
    from experiments.point import Point, run_point

    pattern, library = (run_point(Point("softmax", GPU, mode)).report.calls for mode in ("pattern", "library"))
    fused = run_point(Point("softmax", RDU, "fused")).report.calls
    when = f"one for each pattern; fused it is {library} there, and {fused} on the RDU (study softmax_as_patterns)"
    return Found(f"{pattern}", when, pattern, "where" if library < pattern else "holds")


def unequal_stages() -> Found:
    """What double buffers absorb of unequal stages."""
    from rdu_model.closed_forms import chain, metapipe

    steps = 1000
    slow, varying = ((12,) * steps, (8,) * steps), ((12, 4) * (steps // 2), (8,) * steps)
    always = metapipe((12, 8), steps) / steps
    two, three = (chain(varying, (slots,)) / steps for slots in (2, 3))
    same = chain(slow, (3,)) / steps
    when = (
        f"when times vary between steps: 12 and 4 cycles in turn beside 8 go at {two:.1f} with two slots and"
        f" {three:.1f} with three; a stage that always takes 12 sets {same:.1f}, with any buffer (study"
        " unbalanced_stages)"
    )
    return Found(f"{three:.1f} or {always:.1f} cycles a step", when, None, "where" if three < always else "no")


CLAIMS = (
    Claim("SRAM of an SN40L", "520 MB", sram, 520, 0),
    Claim("as many times the SRAM of an H100", "5x", five_times, 5),
    Claim("its peak, from 1,040 PCUs of 16 x 8", "638 TFLOPS", peak, 638),
    Claim("registers of a producer with 40 and consumers with 232 fit an SM", "fit", registers),
    Claim("four stages of tiles fit its shared memory", "fit", shared_memory),
    Claim("instructions that TMA does away with", "1000's", thousands),
    Claim("a softmax of map, reduce and zip is three kernels on a GPU", "3", patterns_of_softmax, 3),
    Claim("metapipelines handle stages of unequal times", "handled", unequal_stages),
    Claim("energy of 64 bits from off-chip memory", "1200 pJ", dram_energy, 1200, 0),
)
