"""What a lecture on warp specialisation (CMU 15-779, lecture 6, as retold in public course notes) prints of attention.

The schedules run on the lecture's SM and on the model of an H100, beside what FlashAttention-3's paper measured.
"""

from __future__ import annotations

from functools import partial

from experiments.claim import Claim, Found

TITLE = "warp specialisation"
GPU = "h100_sxm"
# Of FlashAttention-3's figures: batch, tokens, heads, head dim.
LONG, ABLATION = (2, 8192, 16, 128), (4, 8448, 16, 128)


def of_run(run_id: str) -> Found:
    """The share of the time in which the tensor core computes, and the special units beside it."""
    from gpu_model.lecture.attention import attention_run

    run = attention_run(run_id)
    when = f"loads, barriers and issue slots cost nothing there; the special units are busy {run.special_percent:.0f} %"
    return Found(f"{run.tensor_core_percent:.1f} %", when, run.tensor_core_percent)


def exp_of_gemm(machine: str, dtype: str = "bf16") -> Found:
    """Time of exp over that of a block's two products."""
    from gpu_model import load_machine
    from gpu_model.lecture.estimates import exp_to_gemm_ratio

    gpu = load_machine(machine)
    flops = gpu.flops_per_cycle[dtype]
    found = exp_to_gemm_ratio(64, 128, 128, gpu) * flops / gpu.bf16_flops_per_cycle
    when = f"{gpu.special_ops_per_cycle} exp beside {flops:,} FLOP of {dtype} a cycle of an SM; head dim 128"
    return Found(f"{found:.2f}", when, found)


def estimate(generation: str) -> Found:
    """The estimate on paper of the overlap inside a warpgroup, beside its run."""
    from gpu_model.lecture.attention import EXP_CYCLES, PRODUCT_CYCLES, VECTOR_CYCLES, attention_run
    from gpu_model.lecture.estimates import intra_warpgroup_percent

    found = intra_warpgroup_percent(PRODUCT_CYCLES[generation], EXP_CYCLES + VECTOR_CYCLES)
    run = attention_run(f"attention_{generation}_intra_warpgroup").tensor_core_percent
    return Found(f"{found:.0f} %", f"its run has {run:.1f} %: the first block has nothing to overlap with", found)


def measured(table: str, figure_id: str) -> float:
    """TFLOP/s that FlashAttention-3's paper reports."""
    from experiments.validation.published import published

    return next(figure for figure in published(table) if figure.id == figure_id).value("tflops_per_s")


def tflops(schedule: str, sizes: tuple[int, int, int, int], dtype: str = "fp16", gpu: str = GPU) -> float:
    """TFLOP/s of attention forward in the model of a GPU, an H100 at the paper's clock."""
    from experiments.validation.flash_attention import FIXED_CLOCK, attention_tflops
    from gpu_model import load_machine

    clock = dict(FIXED_CLOCK) if gpu == GPU else {}
    return attention_tflops(*sizes, False, dtype, schedule, load_machine(gpu, clock))


def of_peak(tflops_per_s: float, dtype: str = "fp16", gpu: str = GPU) -> float:
    """Percent of the tensor cores' dense peak."""
    from gpu_model import load_machine

    machine = load_machine(gpu)
    flops = machine.fp8_flops_per_cycle if dtype == "fp8" else machine.bf16_flops_per_cycle
    return 100 * tflops_per_s * 1e12 / (flops * machine.sm_count * machine.clock_hz)


def both_of_peak() -> Found:
    """FlashAttention-3 at the sizes of its ablation."""
    found, paper = tflops("attention_both", ABLATION), measured("attention_ablation", "fa3-table2-full-tflops")
    off = 100 * abs(found / paper - 1)
    when = f"measured {paper:.0f} TFLOP/s, in the model of an H100 {found:.0f}: within {off:.1f} %"
    return Found(f"{of_peak(found):.0f} %", when, of_peak(found), "holds" if off < 2 else "no")


def each_overlap() -> Found:
    """What each overlap brings to the whole kernel, measured and in the model."""
    whole, turns, inside = (tflops(f"attention_{name}", ABLATION) for name in ("both", "pingpong", "intra_warpgroup"))
    ids = ("full", "no-intra-overlap", "no-warpspec")
    paper = [measured("attention_ablation", f"fa3-table2-{name}-tflops") for name in ids]
    gains = [100 * (paper[0] / less - 1) for less in paper[1:]]
    text = f"{100 * (whole / turns - 1):.0f} and {100 * (whole / inside - 1):.0f} % in the model"
    when = (
        f"measured: {gains[0]:.0f} % for the overlap inside a warpgroup, {gains[1]:.0f} % for warp specialisation; the"
        " model has less for both: its warpgroups overlap by themselves where neither is asked for"
    )
    return Found(text, when, None, "where" if all(10 <= gain <= 20 for gain in gains) else "no")


def flash_attention_2() -> Found:
    """FlashAttention-2 on an H100."""
    found = tflops("flash_attention_2", LONG)
    paper = measured("flash_attention", "fa3fig5-fa2-fp16-fwd-hd128-nc-s8192")
    when = (
        f"{found:.0f} TFLOP/s in the model for head dim 128, 8,192 tokens; the paper's figure has {paper:.0f},"
        f" {of_peak(paper):.0f} %"
    )
    share = of_peak(found)
    return Found(f"{share:.0f} %", when, share, "holds" if abs(share - 35) < 3 else "no")


def on_a100() -> Found:
    """FlashAttention-2 on an A100."""
    found = tflops("flash_attention_2", LONG, gpu="a100_sxm")
    share = of_peak(found, gpu="a100_sxm")
    when = f"{found:.0f} TFLOP/s in the model for head dim 128, 8,192 tokens, without a mask"
    return Found(f"{share:.0f} %", when, share, "holds" if 50 <= share <= 73 else "no")


def fp8_of_peak() -> Found:
    """FlashAttention-3 in fp8 at its best sizes."""
    found, other = (tflops("attention_both", sizes, "fp8") for sizes in ((1, 16896, 8, 256), (1, 16896, 16, 128)))
    paper = measured("flash_attention", "fa3fig7-fa3-fp8-fwd-hd256-nc-s16896")
    when = (
        f"head dim 256: {found:,.0f} TFLOP/s in the model, {paper:,.0f} in the paper's figure"
        f" ({of_peak(paper, 'fp8'):.0f} %); head dim 128, whose exp weighs twice as much:"
        f" {of_peak(other, 'fp8'):.0f} % in the model"
    )
    return Found(f"{of_peak(found, 'fp8'):.0f} %", when, of_peak(found, "fp8"), "where")


def other_parameters() -> Found:
    """Rankings of schedules with each parameter halved and doubled."""
    from experiments.studies.schedule_ranking import STUDY, changes_by_turns

    pairs = changes_by_turns(tuple(STUDY.rows()))
    turned = "; ".join(f"{change} turns {' and '.join(turns)}" for change, turns in pairs if turns)
    kept = sum(not turns for _, turns in pairs)
    return Found(f"{kept} of {len(pairs)} changes", turned or "all of them", None, "where" if turned else "holds")


CLAIMS = (
    Claim("attention, H100: exp beside a block's two products", "0.50", partial(exp_of_gemm, GPU), 0.5, 2),
    Claim("attention, H100, one part after another", "57.1 %", partial(of_run, "attention_H100_serial"), 57.1),
    Claim("attention, H100, two warpgroups in turn", "98.5 %", partial(of_run, "attention_H100_pingpong"), 98.5),
    Claim("attention, H100, inside a warpgroup", "79.0 %", partial(of_run, "attention_H100_intra_warpgroup"), 79.0),
    Claim("attention, H100, both overlaps", "99.2 %", partial(of_run, "attention_H100_both"), 99.2),
    Claim("attention, H100, inside a warpgroup: estimate", "80 %", partial(estimate, "H100"), 80, 0),
    Claim("FlashAttention-3 in fp16, of an H100's peak", "67 %", both_of_peak),
    Claim("each of its overlaps brings", "10 to 20 %", each_overlap),
    Claim("FlashAttention-2 in fp16, of an H100's peak", "about 35 %", flash_attention_2),
    Claim("FlashAttention-2 in fp16, of an A100's peak", "50 to 73 %", on_a100),
    Claim("attention, A100: exp beside a block's two products", "0.25", partial(exp_of_gemm, "a100_sxm"), 0.25, 2),
    Claim("attention, B200: exp beside a block's two products", "1.0", partial(exp_of_gemm, "b200"), 1.0),
    Claim("attention, H100 in fp8: exp beside the products", "about 1.0", partial(exp_of_gemm, GPU, "fp8"), 1.0),
    Claim("attention, B200, inside a warpgroup", "49.6 %", partial(of_run, "attention_B200_intra_warpgroup"), 49.6),
    Claim("attention, B200, inside a warpgroup: estimate", "50 %", partial(estimate, "B200"), 50, 0),
    Claim("attention, B200, both overlaps; special units full", "96 %", partial(of_run, "attention_B200_both"), 96, 0),
    Claim("FlashAttention-3 in fp8, of an H100's peak", "61 %", fp8_of_peak),
    Claim("the better schedule stays better if parameters change", "always", other_parameters),
)
