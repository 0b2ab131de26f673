"""Clusters of CTAs: an operand loaded once for all, slots that every CTA must free, and how many clusters fit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model import Machine, load_machine, lower
from gpu_model.schedule import schedule_named
from gpu_model.tiles.cluster import cluster_ctas, in_cluster
from gpu_model.work import Choice, Path, Use, Wave, Work
from patterns.errors import DoesNotFit, UserError
from patterns.library import workload
from patterns.pipeline.simulate import simulate
from patterns.pipeline.timeline import Timeline, real_spans
from tests.gpu.random_work import prediction_errors

H100 = load_machine("h100_sxm")
B200 = load_machine("b200")
LECTURE = load_machine("lecture_sm")
CLUSTERED = schedule_named("clustered")
SLOT, SHARED = 49_152, 32_768


def work_of(path: Path, tiles: int = 2, steps: int = 16) -> Work:
    """The lecture's tile, 128 x 256 in steps of 64: of 48 KiB, B's 32 KiB are common to the tiles of a column."""
    load = Use("load", path.cycles, "load", (("l2_bytes", SLOT),))
    return Work(
        name="tile",
        waves=(Wave(tiles, load, Use("store", 1024, "store"), path),),
        steps=steps,
        slot_bytes=SLOT,
        step=(Use("tc", 1024, "mma"),),
        finish=(Use("vector", 256, "convert"),),
        latency_cycles=700,
        accumulators=128 * 256,
        shared_bytes=SHARED,
        sharing_tiles=8,
    )


def run(work: Work, cluster: int, remote: int = 0) -> Timeline:
    machine = replace(LECTURE, remote_arrive_cycles=remote)
    return simulate(CLUSTERED.program(in_cluster(work, cluster), Choice(4, cluster=cluster), machine))


@pytest.mark.parametrize(("cluster", "read"), [(2, SLOT - SHARED // 2), (4, SLOT - SHARED * 3 // 4)])
def test_the_l2_is_read_once_for_a_cluster_and_every_port_takes_the_whole_slot(cluster: int, read: int) -> None:
    work = work_of(Path(768, 1000, 0))
    shared = in_cluster(work, cluster)
    assert shared.slot_bytes == SLOT
    assert dict(shared.waves[0].load.counts)["l2_bytes"] == read
    timeline = run(work, cluster)
    loads = work.tiles * work.steps
    assert dict(timeline.counters)["l2_bytes"] == pytest.approx(cluster * loads * read, rel=1e-4)
    for cta in range(cluster):
        assert timeline.busy_cycles[f"load{cta}"] == loads * max(768, -(-1000 * read // SLOT))


def test_each_ctas_cycles_are_those_of_a_cta_alone_where_meeting_costs_nothing() -> None:
    work = work_of(Path(768, 0, 0))
    alone = simulate(schedule_named("warp_specialized").program(work, Choice(4), LECTURE))
    assert {run(work, cluster).total_cycles for cluster in (2, 4)} == {alone.total_cycles}


def test_a_cluster_is_faster_where_the_l2_is_what_limits() -> None:
    # Alone a step takes the L2 1536 cycles, in a cluster of two 1024, as long as its products.
    work = work_of(Path(768, 1536, 0))
    alone = simulate(schedule_named("warp_specialized").program(work, Choice(4), LECTURE)).total_cycles
    assert run(work, 2).total_cycles < 0.75 * alone


def test_a_slow_cta_holds_up_the_others() -> None:
    """A part is loaded into all rings: it waits for the slot that is freed last."""
    work = work_of(Path(768, 0, 0))
    program = CLUSTERED.program(work, Choice(2, cluster=2), LECTURE)
    slow = CLUSTERED.program(replace(work, step=(Use("tc", 2048, "mma"),)), Choice(2, cluster=2), LECTURE)
    consumers = [index for index, role in enumerate(program.roles) if role.name == "consumer1"]
    roles = tuple(slow.roles[n] if n in consumers else role for n, role in enumerate(program.roles))
    even, held_up = (last_product(simulate(p)) for p in (program, replace(program, roles=roles)))
    assert held_up > 1.4 * even


def last_product(timeline: Timeline) -> int:
    """When the first CTA's tensor core is through."""
    return max(span.end for span in real_spans(timeline, 0, timeline.total_cycles) if span.unit == "tc0")


def test_arrivals_from_other_ctas_come_later() -> None:
    # With one slot in each ring the way of an arrival is part of every step.
    work = work_of(Path(768, 0, 0), tiles=1, steps=10)
    near, far = (
        simulate(CLUSTERED.program(work, Choice(1, cluster=2), replace(LECTURE, remote_arrive_cycles=remote)))
        for remote in (0, 181)
    )
    assert far.total_cycles - near.total_cycles == 9 * 181


def test_tiles_without_a_common_operand_go_their_own_ways() -> None:
    work = replace(work_of(Path(768, 0, 0)), sharing_tiles=1)
    assert in_cluster(work, 2) == work
    program = CLUSTERED.program(work, Choice(4, cluster=2), LECTURE)
    assert [channel.name for channel in program.channels] == ["ring0", "ring1"]


@pytest.mark.parametrize(
    ("machine", "size", "ctas"),
    [(H100, 1, 132), (H100, 2, 132), (H100, 4, 132), (H100, 8, 120), (H100, 16, 112), (B200, 2, 148), (B200, 4, 132)],
)
def test_residency(machine: Machine, size: int, ctas: int) -> None:
    # Measured: 15 clusters of 8 on an H100, 33 of 4 on a B200; else as many as there are SMs for.
    assert cluster_ctas(machine, size) == ctas


def test_a_cluster_that_is_larger_than_the_machine_is_refused() -> None:
    with pytest.raises(DoesNotFit, match="a cluster of 2 CTAs does not fit: needs 2 SMs that lie together, there is 1"):
        cluster_ctas(replace(load_machine("h100_sxm"), sm_count=1), 2)


def test_sms_that_no_cluster_reaches_cost_time() -> None:
    """148 tiles: one wave in pairs, but two where clusters of 4 reach only 132 SMs."""
    graph = workload("gemm", overrides={"m": str(148 * 128), "n": "256", "k": "4096"})
    options = {"tile_m": 128, "tile_n": 256}
    pairs, fours = (
        lower(graph, B200, schedule="clustered", options={**options, "cluster": size}).calls[0] for size in (2, 4)
    )
    assert simulate(fours.program).total_cycles > 1.5 * simulate(pairs.program).total_cycles


def test_a_kernel_of_clusters_reads_the_l2_less() -> None:
    graph = workload("gemm", overrides={"m": "4096", "n": "4096", "k": "4096"})
    options = {"tile_m": 128, "tile_n": 256}
    alone = lower(graph, H100, schedule="warp_specialized", options=options).calls[0]
    traffic = [dict(alone.traffic)["l2"]]
    for size in (2, 4):
        call = lower(graph, H100, schedule="clustered", options={**options, "cluster": size}).calls[0]
        assert f"clusters of {size}" in call.schedule
        traffic.append(dict(call.traffic)["l2"])
        assert dict(call.traffic)["hbm"] == dict(alone.traffic)["hbm"]
    stored = 2 * 4096 * 4096
    # Of A's 128 and B's 256 rows of a step, B is common: 2/3 of the bytes are read half or a quarter as often.
    loads = [amount - stored for amount in traffic]
    assert loads[1] == pytest.approx(loads[0] * 2 / 3, rel=1e-3)
    assert loads[2] == pytest.approx(loads[0] / 2, rel=1e-3)


def test_a_pair_on_blackwell_holds_and_reads_half_of_the_common_operand() -> None:
    work = in_cluster(work_of(Path(768, 900, 0)), 2, split=True)
    assert work.slot_bytes == SLOT - SHARED // 2
    assert work.waves[0].path == Path(512, 600, 0)
    graph = workload("gemm", overrides={"m": "8192", "n": "8192", "k": "8192"})
    options = {"tile_m": 128, "tile_n": 256}
    alone, pair = (lower(graph, B200, schedule=name, options=options).calls[0] for name in ("tcgen05", "tcgen05_pair"))
    slots = [next(c.slots for c in call.program.channels if c.name.startswith("ring")) for call in (alone, pair)]
    assert slots[1] > slots[0]
    assert dict(pair.traffic)["l2"] < 0.75 * dict(alone.traffic)["l2"]
    roles = [role.name for role in pair.program.roles]
    assert roles == ["load0", "epilogue0", "load1", "epilogue1", "mma"]


def test_both_tensor_cores_of_a_pair_follow_one_thread() -> None:
    pair = schedule_named("tcgen05_pair")
    work = in_cluster(work_of(Path(400, 0, 0)), 2, split=True)
    timeline = simulate(pair.program(work, Choice(4, cluster=2), B200))
    assert timeline.busy_cycles["tc0"] == timeline.busy_cycles["tc1"] == work.tiles * work.steps * 1024


def test_predictions_are_near_the_simulation() -> None:
    for name, machine, median, most in (("clustered", H100, 0.02, 0.1), ("tcgen05_pair", B200, 0.01, 0.05)):
        errors = prediction_errors(schedule_named(name), machine, 150)
        assert errors[len(errors) // 2] < median
        assert errors[len(errors) * 9 // 10] < most


def test_refusals() -> None:
    graph = workload("gemm")
    with pytest.raises(UserError, match="schedule clustered needs clusters, tma"):
        lower(graph, load_machine("a100_sxm"), schedule="clustered")
    with pytest.raises(UserError, match="schedule clustered has cluster 2 or 4, not 3"):
        lower(graph, H100, schedule="clustered", options={"cluster": 3})


def test_loads_and_stores_still_share_the_hbm_once_a_cluster_reads_less_of_the_l2() -> None:
    # Scores of 2,048 x 2,048 with 32 heads: 268 MB are stored, and the L2 no longer holds the loads up.
    graph = workload("llama-3.1-8b", phase="prefill", context=2048)
    h100 = load_machine("h100_pcie")
    call = next(call for call in lower(graph, h100, policy="pattern").calls if call.name == "decoder.scores")
    seconds = simulate(call.program, spans=False).total_cycles / call.clock_hz
    assert dict(call.traffic)["hbm"] / seconds < h100.hbm_bytes_per_s
