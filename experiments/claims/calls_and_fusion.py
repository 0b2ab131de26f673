"""What a lecture on programming specialised hardware (Stanford CS149, fall 2025, lecture 11) prints of a Llama's calls.

As retold in public course notes. A token is a decode step at batch 1.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from experiments.claim import Claim, Found, Verdict
from experiments.point import Point, off_chip_bytes, run_point

if TYPE_CHECKING:
    from experiments.compare import Outcome
    from patterns.report import Report

TITLE = "programming specialised hardware"
MODEL = "llama-3.1-8b"
CONTEXT, PROMPT = 4096, 2048
GPU, RDU = "h100_sxm", "sn40l"
SOCKETS = 8


@cache
def outcome(machine: str, mode: str, phase: str = "decode", context: int = 0, members: int = 1) -> Outcome:
    """The model on a machine; GPUs launch from a stream."""
    return run_point(Point(MODEL, machine, mode, phase=phase, context=context or CONTEXT, members=members))


def report(machine: str, mode: str, members: int = 1) -> Report:
    """A decode step."""
    return outcome(machine, mode, members=members).report


def calls(mode: str) -> int:
    """Calls of a token: of a GPU's policy or an RDU's mode."""
    return report(RDU if mode in ("unfused", "fused", "looped") else GPU, mode).calls


def about_800() -> Found:
    """Kernels of a token by policy."""
    operator, library, pattern = (calls(mode) for mode in ("operator", "library", "pattern"))
    when = f"operator by operator; a kernel for each pattern makes {pattern:,}, tuned libraries {library:,}"
    near: Verdict = "where" if round(operator, -2) == 800 else "no"
    return Found(f"{operator:,}", when, operator, near)


def about_ten() -> Found:
    """Kernels of a layer."""
    tuned, operator = (report(GPU, mode).calls_per_layer or 0 for mode in ("library", "operator"))
    when = (
        f"as tuned libraries fuse; {operator} operator by operator, and {tuned} a layer are {calls('library')} a token"
    )
    return Found(f"{tuned}", f"{when}, not 800: the lecture's two figures are of different fusions", tuned)


def three_calls() -> Found:
    """Calls of a token on the RDU."""
    fused, looped, unfused = (calls(mode) for mode in ("fused", "looped", "unfused"))
    when = f"with all layers in one call; a call for each layer makes {fused}, one for each pattern {unfused:,}"
    return Found(f"{looped}", when, looped, "where" if looped == 3 else "no")


def one_a_layer() -> Found:
    """Calls of a layer on the RDU."""
    found = report(RDU, "fused").calls_per_layer or 0
    prompt = outcome(RDU, "fused", "prefill", PROMPT // 2).report.calls_per_layer or 0
    verdict: Verdict = "holds" if found == prompt == 1 else "where" if found == 1 else "no"
    return Found(
        f"{found}", f"in decoding; of a prompt of {PROMPT // 2:,} tokens a layer is cut into {prompt}", 1, verdict
    )


def hundred_times() -> Found:
    """How many times fewer calls."""
    looped = calls("looped")
    tuned, operator = (calls(mode) / looped for mode in ("library", "operator"))
    when = f"against tuned libraries; against operators one by one, which the lecture's 800 are, {operator:.0f} times"
    near: Verdict = "where" if 90 <= tuned <= 110 else "no"
    return Found(f"{tuned:.0f}x or {operator:.0f}x", when, tuned, near)


def gigabytes() -> Found:
    """Off-chip bytes that fusion does away with."""
    from patterns.count import compulsory

    def beyond(phase: str) -> float:
        run = outcome(RDU, "unfused", phase, PROMPT)
        needed = compulsory(run.execution.plan.graph).total_bytes
        return (off_chip_bytes(run.report) - needed) / 1e9

    token, prompt = beyond("decode"), beyond("prefill")
    when = f"of a prompt of {PROMPT:,} tokens; of a token at batch 1 {token:.2f} GB (study intermediates)"
    return Found(f"{prompt:,.0f} GB and {token:.2f} GB", when, prompt, "where" if token < 1 < prompt else "holds")


def no_launch_overhead() -> Found:
    """What launching takes of a token."""
    shares = {}
    for mode in ("looped", "fused"):
        run = outcome(RDU, mode)
        launch = run.execution.plan.launch
        shares[mode] = 100 * run.report.calls * (launch.host_ps + launch.device_ps) / run.report.time_ps
    when = f"with all layers in one call; with a call for each {shares['fused']:.1f} %"
    verdict: Verdict = "where" if shares["looped"] < 1 else "no"
    return Found(f"{shares['looped']:.1f} % of the time", when, shares["looped"], verdict)


def always_faster() -> Found:
    """Whether fewer calls make the RDU faster."""
    ratios = {n: report(GPU, "library", n).time_s / report(RDU, "looped", n).time_s for n in (1, SOCKETS)}
    when = (
        f"one socket against one GPU; {SOCKETS} of each {ratios[SOCKETS]:.2f} times (study batch_and_context_crossover)"
    )
    verdict: Verdict = "holds" if min(ratios.values()) < 1 else "no"
    return Found(f"{ratios[1]:.2f} times as fast", when, ratios[1], verdict)


def hbm_limits() -> Found:
    """What bounds a token, and how much of the time the HBM is busy."""
    looped, tuned = report(RDU, "looped"), report(GPU, "library")
    both = [100 * run.bound_s / run.time_s for run in (looped, tuned)]
    bound: Verdict = "holds" if {looped.bound, tuned.bound} == {"hbm_bytes"} else "no"
    when = f"of the time at its peak rate, looped; a GPU with tuned kernels {both[1]:.0f} % of the time"
    return Found(f"{both[0]:.0f} %", when, both[0], bound)


def gpu_in_one_kernel() -> Found:
    """How near a GPU's persistent kernel comes to its bound."""
    one, operator = report(GPU, "megakernel"), report(GPU, "operator")
    looped = report(RDU, "looped")
    ratio, before, other = (run.time_s / run.bound_s for run in (one, operator, looped))
    when = (
        f"from {before:.2f} times with {operator.calls:,} kernels; the {RDU} comes to {other:.2f} times its own bound"
    )
    verdict: Verdict = "holds" if ratio < before else "no"
    return Found(f"{ratio:.2f} times its bound", f"{when} (study can_the_gpu_close_the_gap)", ratio, verdict)


def sums_without_hbm() -> Found:
    """HBM bytes of sums over sockets, as stages and as calls of their own."""
    overlapped, apart = (
        run_point(Point(MODEL, machine, mode, context=CONTEXT, members=SOCKETS, collectives=how)).execution.plan
        for machine, mode, how in ((RDU, "fused", "overlapped"), (RDU, "fused", "separate"))
    )
    summed = sum(dict(call.traffic).get("hbm", 0) * call.count for call in apart.calls if call.collective)
    alone = [call for call in overlapped.calls if call.collective]
    when = f"as stages of the pipeline; as calls of their own {summed * SOCKETS / 1e6:.0f} MB on {SOCKETS} sockets"
    return Found(f"{len(alone)} calls, 0 B", when, 0.0, "where" if not alone and summed else "no")


CLAIMS = (
    Claim("kernel calls of a token of Llama 3.1 8B on a GPU", "about 800", about_800, 800),
    Claim("kernels of a decoder layer on a GPU", "about 10", about_ten, 10, 0),
    Claim("kernel calls of a token on an RDU", "3", three_calls, 3),
    Claim("calls of a decoder layer on an RDU", "1", one_a_layer, 1),
    Claim("how many times fewer calls", "100x", hundred_times, 100),
    Claim("fusion does away with off-chip intermediates", "GBs", gigabytes),
    Claim("one call has no launch overheads", "zero", no_launch_overhead),
    Claim("fewer calls do not make an RDU faster as such", "not always", always_faster),
    Claim("HBM bandwidth limits inference; overlap keeps it busy", "always busy", hbm_limits),
    Claim("a GPU closes the gap with persistent kernels", "in principle", gpu_in_one_kernel),
    Claim("all-reduces take no HBM bandwidth", "none", sums_without_hbm),
)
