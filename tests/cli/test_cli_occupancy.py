"""`patternloom occupancy`: a kernel by threads, by a register plan, by a tile; what cannot be is told."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from experiments.cli import cli


def said(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["occupancy", *arguments], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["occupancy", *arguments])
    assert result.exit_code == 2, result.output
    return " ".join(result.output.split())


def record(*arguments: str) -> dict[str, object]:
    found = json.loads(said(*arguments, "--json"))
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("registers", "ctas", "warps"), [(41, 10, 40), (43, 10, 40), (48, 10, 40), (49, 9, 36)])
def test_a_kernel_by_threads_and_registers(registers: int, ctas: int, warps: int) -> None:
    found = record("--threads", "128", "--registers", str(registers))
    assert (found["ctas_per_sm"], found["warps_per_sm"], found["limit"]) == (ctas, warps, "registers")


def test_every_limit_is_listed_and_the_one_that_limits_is_starred() -> None:
    text = said("--threads", "128", "--registers", "32", "--smem", "48 KiB")
    assert "* shared memory  50,176 B: 49,152 of its own  233,472 B     4" in text
    assert "registers        4,096: 32 a thread           65,536       16" in text
    assert "4 CTAs on an SM of h100_sxm, 16 of 64 warps (25%), 4 for each of 4 schedulers: limited by" in text
    assert "configured as 196 KiB, which leaves 60 KiB of L1" in text


def test_a_tile_has_the_deepest_ring_that_fits() -> None:
    found = record("--tile", "128x256x64", "--problem", "4096x4096")
    tile, waves = found["tile"], found["waves"]
    assert isinstance(tile, dict)
    assert isinstance(waves, dict)
    assert (tile["stage_bytes"], tile["stages"], tile["most_stages"]) == (49_152, 4, 4)
    assert (waves["tiles"], waves["count"]) == (512, 4)
    assert waves["share"] == pytest.approx(0.9697, abs=1e-4)
    text = said("--tile", "128x256x64", "--problem", "4096x4096")
    assert "24 + 240 + 240 a thread, 64,512 of the CTA's pool of 64,512 (3 warpgroups launched with 168)" in " ".join(
        text.split()
    )
    assert "512 tiles in 4 waves: 96.97% of their places have a tile" in text


@pytest.mark.parametrize(
    ("tile", "stages", "message"),
    [
        ("128x256x64", "5", "needs 245,840 bytes of shared memory, there is 232,448; .* at most 4 fit"),
        ("128x128x64", "8", "needs 262,272 bytes of shared memory, there is 232,448; .* at most 7 fit"),
    ],
)
def test_a_ring_that_does_not_fit_is_refused_with_the_deepest_that_does(tile: str, stages: str, message: str) -> None:
    assert re.search(message, refused("--tile", tile, "--stages", stages))
    assert said("--tile", tile, "--stages", str(int(stages) - 1))


def test_padding_to_the_shape_of_the_instruction_is_shown() -> None:
    assert "9.9% of it padding to the instruction's shape" in " ".join(
        said("--gpu", "a100_sxm", "--tile", "100x30x64").split()
    )
    assert "padding" not in said("--tile", "128x256x64")


def test_loader_and_layout_of_a_tile() -> None:
    plain = ("--gpu", "a100_sxm", "--tile", "128x128x64", "--layout", "plain")
    assert "cp_async loads a stage with 64 instructions, through l1 and smem: 0.4% of a step's" in said(*plain)
    assert "operands are plain in shared memory: rows of 128 bytes, 8-way bank conflicts" in said(*plain)
    found = record("--tile", "128x128x64")["tile"]
    assert isinstance(found, dict)
    # One load an operand; four schedulers, one instruction a cycle each, in the 512 cycles of a step.
    assert (found["loader"], found["load_instructions"], found["issue_slots"]) == ("tma", 2, 2048)
    assert (found["layout"], found["conflict_ways"], found["stages"]) == ("swizzled", 1, 7)
    padded = record("--tile", "128x128x64", "--loader", "cp_async", "--layout", "padded")["tile"]
    assert isinstance(padded, dict)
    # 256 rows of 128 bytes and 16 of padding: 36 KiB a stage, six in 227 KiB.
    assert (padded["most_stages"], padded["conflict_ways"]) == (6, 1)


def test_every_gpu_has_a_usual_schedule() -> None:
    used = {gpu: record("--gpu", gpu, "--tile", "128x128x64")["tile"] for gpu in ("v100", "a100_sxm", "h200", "b200")}
    assert {gpu: tile["schedule"] for gpu, tile in used.items() if isinstance(tile, dict)} == {
        "v100": "register_double_buffer",
        "a100_sxm": "multistage",
        "h200": "warp_specialized",
        "b200": "tcgen05",
    }
    assert "* tensor memory  512 columns" in said("--gpu", "b200", "--tile", "128x256x64")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "given by one of --threads, --plan and --tile; given: none"),
        (("--threads", "128", "--tile", "1x1x1"), "given: --threads and --tile"),
        (("--threads", "128"), "--threads needs --registers"),
        (("--threads", "1024", "--registers", "65"), "needs 65 registers per thread, there is 64"),
        (("--threads", "384", "--registers", "176"), "needs 176 registers per thread, there is 168"),
        (("--threads", "0", "--registers", "1"), "must be at least 1"),
        (("--threads", "128", "--registers", "64", "--smem", "232449 B"), "needs 232,449 bytes of shared memory"),
        (("--threads", "128", "--registers", "64", "--smem", "48"), "a unit is due, found the bare number 48"),
        (("--threads", "128", "--registers", "64", "--smem", "0.3 B"), "not a whole number of bytes"),
        (("--plan", "40,240,240"), "the last setmaxnreg would wait for ever; each of the greatest can have 232"),
        (("--plan", "20,240"), "setmaxnreg takes 24 to 256, not 20"),
        (("--plan", "24,236"), "setmaxnreg takes multiples of 8, not 236"),
        (("--plan", "24,x"), "'x' is not a whole number greater than 0"),
        (("--plan", "24,240", "--gpu", "a100_sxm"), "a100_sxm has no setmaxnreg"),
        (("--tile", "128x256"), "is not written as 128x256x64"),
        (("--tile", "128x0x64"), "'0' is not a whole number greater than 0"),
        (("--tile", "128x128x64", "--problem", "4096"), "is not written as 4096x4096"),
        (("--tile", "128x128x64", "--dtype", "fp5"), "unknown dtype 'fp5'"),
        (("--tile", "128x128x64", "--warpgroups", "0"), "must be at least 1, is 0"),
        (("--tile", "128x128x64", "--schedule", "tcgen05"), "needs tcgen05, tmem, which h100_sxm lacks"),
        (
            ("--tile", "128x128x64", "--layout", "padded", "--loader", "tma"),
            "tma writes dense boxes, so not the layout padded",
        ),
        (("--tile", "128x128x64", "--layout", "swizled"), "unknown layout 'swizled' (did you mean 'swizzled'?)"),
        (("--tile", "128x128x64", "--loader", "dma"), "unknown loader of warp_specialized 'dma'"),
        (
            ("--tile", "64x64x64", "--schedule", "ring"),
            "schedule ring runs sums over GPUs",
        ),
        (("--tile", "1024x1024x64"), "does not fit"),
        (
            ("--plan", "24,240", "--problem", "8x8"),
            "--problem would say nothing of a kernel given by --plan: give it by --tile",
        ),
        (("--threads", "128", "--registers", "32", "--stages", "3"), "--stages would say nothing of a kernel given by"),
        (
            ("--tile", "64x64x64", "--smem", "1 KiB", "--tmem-columns", "32"),
            "--smem and --tmem-columns would say nothing of a kernel given by --tile: give it by --threads or --plan",
        ),
        (("--tile", "128x256x64", "--schedule", "pingpong"), "spread the tile over more than 1 warpgroup, or use"),
    ],
)
def test_what_cannot_be_is_told(arguments: tuple[str, ...], message: str) -> None:
    assert message in refused(*arguments)


def test_consumers_of_a_cooperative_tile_share_its_rows() -> None:
    found = record("--tile", "128x256x64", "--schedule", "cooperative")["tile"]
    assert isinstance(found, dict)
    assert (found["warpgroups"], found["roles"]["consumer"]) == (2, {"threads": 256, "registers": 160})


def test_a_plan_is_launched_with_as_many_registers_as_it_needs() -> None:
    # One warpgroup takes what it sets, not all that the SM would have for it.
    assert "40 a thread, 5,120 of the CTA's pool of 5,120 (1 warpgroup launched with 40)" in " ".join(
        said("--plan", "40").split()
    )
    given = said("--plan", "40,40", "--registers", "64")
    assert "10,240 of the CTA's pool of 16,384 (2 warpgroups launched with 64)" in " ".join(given.split())


def test_words_agree_with_their_numbers() -> None:
    text = said("--tile", "1x1x1", "--problem", "1x1", "--gpu", "v100")
    assert "1 accumulator in each of 128 threads" in text
    assert "through l1, registers and smem" in " ".join(text.split())
    assert "1 tile in 1 wave: 0.10% of their places have a tile" in text
    assert "11,622 stages of at most 11,622 that fit" in said("--tile", "1x1x1")
