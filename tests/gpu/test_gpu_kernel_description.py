"""A kernel written as tiles and callbacks: the matrix product of a lecture on tile languages, as ThunderKittens has it.

CMU 15-779's lecture on dataflow architectures and their languages: two 64 x 64 tiles of A and one of 64 x 256 of B in
each of 4 stages, 8 consumer warps, 1 and 2 arrivals, 40 and 232 registers.
"""

from __future__ import annotations

import textwrap
from dataclasses import replace

import numpy as np
import pytest

from gpu_model import load_machine, lower
from gpu_model.authoring import description
from gpu_model.authoring.description import (
    ArriveFinished,
    ConsumerArgs,
    Expect,
    KernelDescription,
    LoadArgs,
    LoadAsync,
    MmaAB,
    MmaAsyncWait,
    RegisterTile,
    SharedTile,
    StoreGlobal,
    StoreShared,
    SyncWarpgroup,
    TileArray,
    TileOp,
    TileRef,
)
from gpu_model.authoring.on_arrays import run_kernel
from gpu_model.authoring.program import kernel_demand, kernel_plan, safe_stages
from patterns.errors import DoesNotFit, UserError
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.pipeline.listing import listing
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import real_spans

LECTURE = load_machine("lecture_sm")
H100 = load_machine("h100_sxm")
EPILOGUE_X8 = {"vector_ops_per_cycle": "16 ops/cycle", "store_bytes_per_cycle": "8 B/cycle"}


def load(args: LoadArgs) -> tuple[TileOp, ...]:
    """A tile of A for each consumer warpgroup, and one of B for both."""
    rows = (LoadAsync(TileRef("a", i), "a", (2 * args.block_row + i, args.iteration)) for i in range(2))
    return (Expect(49_152), *rows, LoadAsync(TileRef("b"), "b", (args.iteration, args.block_column)))


def compute(args: ConsumerArgs) -> tuple[TileOp, ...]:
    return (MmaAB(TileRef("a", args.group), TileRef("b")), MmaAsyncWait(), ArriveFinished())


def finish(args: ConsumerArgs) -> tuple[TileOp, ...]:
    mine, at = TileRef("c", args.group), (2 * args.block_row + args.group, args.block_column)
    return (StoreShared(mine), SyncWarpgroup(), StoreGlobal(mine, "c", at))


MATMUL = KernelDescription(
    name="matmul",
    input_block=(TileArray("a", SharedTile(64, 64), 2), TileArray("b", SharedTile(64, 256))),
    finish_block=(TileArray("c", SharedTile(64, 256), 2),),
    accumulator=RegisterTile(16, 256),
    load=load,
    compute=compute,
    finish=finish,
    consumer_warps=8,
    pipe_stages=4,
    producer_arrivals=1,
    consumer_arrivals=2,
    producer_registers=40,
    consumer_registers=232,
)


def gemm(m: int, k: int, n: int = 256) -> Graph:
    return workload("gemm", overrides={"m": str(m), "n": str(n), "k": str(k)})


def total(kernel: KernelDescription, graph: Graph, **set_to: str) -> int:
    machine = load_machine("lecture_sm", set_to)
    return simulate(kernel_plan(kernel, graph, machine).calls[0].program, spans=False).total_cycles


def cooperative(graph: Graph, slots: int = 4, **set_to: str) -> int:
    machine = load_machine("lecture_sm", set_to)
    plan = lower(graph, machine, schedule="cooperative", options={"slots": slots})
    return simulate(plan.calls[0].program, spans=False).total_cycles


def test_what_its_constants_come_to() -> None:
    assert MATMUL.stage_bytes == 48 * 1024
    assert MATMUL.accumulator.registers_per_thread == 128
    assert MATMUL.consumers == 2
    # 40 and 232 are all the registers that three warpgroups begin with: 3 x 168.
    assert kernel_plan(MATMUL, gemm(1024, 512), H100).warnings == ()
    assert kernel_demand(MATMUL, H100).threads == 384
    # 192 and 64 KB are more than there is: the finish block reaches into the last stage.
    assert MATMUL.pipe_stages * MATMUL.stage_bytes + MATMUL.finish_bytes > H100.smem_bytes_per_cta
    assert safe_stages(MATMUL, H100) == safe_stages(MATMUL, LECTURE) == 3


@pytest.mark.parametrize(
    ("m", "k", "set_to", "cycles"),
    [
        (128, 4096, {}, 68166),
        (1024, 256, {}, 43462),
        (1024, 512, {}, 76230),
        (1024, 1024, {}, 141766),
        (1024, 1024, EPILOGUE_X8, 206278),
    ],
)
def test_on_the_lectures_sm_it_takes_the_cycles_of_cooperative(
    m: int, k: int, set_to: dict[str, str], cycles: int
) -> None:
    assert total(MATMUL, gemm(m, k), **set_to) == cycles == cooperative(gemm(m, k), **set_to)


def loads_beside_the_finish(kernel: KernelDescription, **set_to: str) -> list[int]:
    """Of every finish but the last: stages that the producer starts for the next block before that finish is done."""
    machine = load_machine("lecture_sm", set_to)
    timeline = simulate(kernel_plan(kernel, gemm(1024, 512), machine).calls[0].program)
    spans = list(real_spans(timeline, 0, timeline.total_cycles))
    loads = sorted(span.ready for span in spans if span.unit == "load" and span.label == "load b")
    stored = sorted(span.end for span in spans if span.unit == "store")
    steps, consumers = 8, kernel.consumers
    ends = [stored[consumers * block + consumers - 1] for block in range(7)]
    return [sum(ready < end for ready in loads) - steps * (block + 1) for block, end in enumerate(ends)]


@pytest.mark.parametrize("set_to", [{}, EPILOGUE_X8])
def test_the_producer_fills_only_stages_outside_the_finish_block_until_the_finish_is_done(
    set_to: dict[str, str],
) -> None:
    assert loads_beside_the_finish(MATMUL, **set_to) == [3] * 7
    # A finish block as large as two stages and a half leaves one; a small one leaves the ring whole.
    large = replace(MATMUL, finish_block=(*MATMUL.finish_block, TileArray("d", SharedTile(64, 256), 2)))
    assert safe_stages(large, LECTURE) == 2
    assert loads_beside_the_finish(large, **set_to) == [2] * 7
    small = replace(MATMUL, pipe_stages=3)
    assert safe_stages(small, LECTURE) == 3
    assert loads_beside_the_finish(small, **set_to) == [3] * 7


def test_where_loads_are_slow_the_overlaid_stage_is_missed() -> None:
    # 3,000 cycles of latency: the fourth stage of every block starts only after the finish of 9,216 cycles.
    slow = {"load_latency_cycles": "3000 cycles", **EPILOGUE_X8}
    graph = gemm(1024, 512)
    assert total(MATMUL, graph, **slow) > cooperative(graph, 4, **slow)
    assert total(replace(MATMUL, pipe_stages=3), graph, **slow) == cooperative(graph, 3, **slow)


def test_it_reads_as_its_author_wrote_it() -> None:
    text = listing(kernel_plan(MATMUL, gemm(1024, 512), LECTURE).calls[0].program)
    for line in (
        "channel  ring  4 slots",
        "start load a on load, 128 cycles and 700 of latency",
        "start load b on load, 512 cycles and 700 of latency",
        "await finished, 2 arrivals",
        "start mma as mma on tc, 512 cycles",
    ):
        assert line in text, text


@pytest.mark.parametrize(("m", "k", "n"), [(128, 64, 256), (256, 192, 512), (130, 100, 300)])
def test_it_computes_the_product(m: int, k: int, n: int) -> None:
    graph = gemm(m, k, n)
    arrays = random_arrays(graph, 4, 1)
    product = evaluate(graph, arrays, 1)["c"]
    np.testing.assert_allclose(run_kernel(MATMUL, arrays), product, rtol=1e-9, atol=1e-9)
    plan = kernel_plan(MATMUL, graph, H100)
    np.testing.assert_allclose(execute(plan, arrays)["c"], product, rtol=1e-9, atol=1e-9)


def test_one_warpgroup_and_other_tiles() -> None:
    def one_load(args: LoadArgs) -> tuple[TileOp, ...]:
        a = LoadAsync(TileRef("a"), "a", (args.block_row, args.iteration))
        return (Expect(3 * 8192), a, LoadAsync(TileRef("b"), "b", (args.iteration, args.block_column)))

    def one_finish(args: ConsumerArgs) -> tuple[TileOp, ...]:
        return (StoreShared(TileRef("c")), StoreGlobal(TileRef("c"), "c", (args.block_row, args.block_column)))

    kernel = replace(
        MATMUL,
        input_block=(TileArray("a", SharedTile(64, 64)), TileArray("b", SharedTile(64, 128))),
        finish_block=(TileArray("c", SharedTile(64, 128)),),
        accumulator=RegisterTile(16, 128),
        load=one_load,
        finish=one_finish,
        consumer_warps=4,
        consumer_arrivals=1,
        producer_registers=24,
    )
    # 16 + 8 KB a stage; 256 cycles a step; 10 + 384 + 700 before the first, 64 + 256 after the last.
    assert safe_stages(kernel, LECTURE) == 4
    assert total(kernel, gemm(64, 4096, 128)) == 10 + 384 + 700 + 64 * 384 - 384 + 256 + 64 + 256
    a, b = np.random.default_rng(1).normal(size=(2, 64, 64))
    np.testing.assert_allclose(run_kernel(kernel, {"a": a, "b": b}), a @ b)


def test_four_consumers_run_though_no_schedule_has_as_many() -> None:
    def four_loads(args: LoadArgs) -> tuple[TileOp, ...]:
        a = tuple(LoadAsync(TileRef("a", g), "a", (4 * args.block_row + g, args.iteration)) for g in range(4))
        return (Expect(5 * 8192), *a, LoadAsync(TileRef("b"), "b", (args.iteration, args.block_column)))

    def four_finishes(args: ConsumerArgs) -> tuple[TileOp, ...]:
        mine, at = TileRef("c", args.group), (4 * args.block_row + args.group, args.block_column)
        return (StoreShared(mine), SyncWarpgroup(), StoreGlobal(mine, "c", at))

    kernel = replace(
        MATMUL,
        input_block=(TileArray("a", SharedTile(64, 64), 4), TileArray("b", SharedTile(64, 64))),
        finish_block=(TileArray("c", SharedTile(64, 64), 4),),
        accumulator=RegisterTile(16, 64),
        load=four_loads,
        finish=four_finishes,
        consumer_warps=16,
        consumer_arrivals=4,
        producer_registers=24,
        consumer_registers=112,
    )
    (call,) = kernel_plan(kernel, gemm(256, 512, 64), H100).calls
    assert [role.name for role in call.program.roles][1:] == [f"consumer{g}" for g in range(4)]


def without_wait(args: LoadArgs) -> tuple[TileOp, ...]:
    return load(args)[1:]


def once(args: ConsumerArgs) -> tuple[TileOp, ...]:
    return compute(args) if args.group == 0 else compute(args)[:-1]


def half(args: LoadArgs) -> tuple[TileOp, ...]:
    return (Expect(49_152), *load(args)[2:])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"load": without_wait}, "expects 0 bytes a stage and loads 49,152; its barrier would never be full"),
        ({"load": half}, r"loads a\[0\] 0 times a stage; once is right"),
        ({"compute": once}, "consumer arrivals are said to be 2 a stage, its callbacks make 1: it would hang"),
        ({"consumer_arrivals": 1}, "consumer arrivals are said to be 1 a stage, its callbacks make 2: it would hang"),
        ({"consumer_warps": 6}, "6 consumer warps are not whole warpgroups of 4"),
        ({"consumer_registers": 234}, "setmaxnreg takes multiples of 8"),
        ({"accumulator": RegisterTile(16, 128)}, "64x64 by 64x256 into 64x128, which do not go together"),
    ],
)
def test_what_would_hang_or_compute_something_else_is_refused(changed: dict[str, object], message: str) -> None:
    kernel = replace(MATMUL, **changed)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=message):
        kernel_plan(kernel, gemm(128, 64), H100)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(DoesNotFit, match="needs 160 registers per thread, there is 152; 128 are accumulators"):
        kernel_plan(replace(MATMUL, consumer_registers=152), gemm(128, 64), H100)
    with pytest.raises(DoesNotFit, match="consumer of kernel matmul does not fit: needs 240 registers per thread"):
        kernel_plan(replace(MATMUL, consumer_registers=240), gemm(128, 64), H100)
    with pytest.raises(DoesNotFit, match="bytes of shared memory"):
        kernel_plan(replace(MATMUL, pipe_stages=5), gemm(128, 64), H100)
    with pytest.raises(UserError, match="needs tma, wgmma, setmaxnreg, which a100_sxm lacks"):
        kernel_plan(MATMUL, gemm(128, 64), load_machine("a100_sxm"))
    with pytest.raises(UserError, match="is one matrix product, and softmax has the nodes e, s, y"):
        kernel_plan(MATMUL, workload("softmax"), H100)


def test_the_example_of_the_docstring_is_this_kernel() -> None:
    lines = (description.__doc__ or "").splitlines()
    example = textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line))
    names = {**vars(description), "kernel_plan": kernel_plan, "workload": workload, "load_machine": load_machine}
    exec(example, names)
    assert names["plan"].calls[0].program == kernel_plan(MATMUL, workload("gemm"), H100).calls[0].program
