"""The lecture's attention runs to the cycle, its time lines to the character, and who has the tensor core when.

Totals alone cannot tell turns from first-come-first-served: the order of spans is tested too.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu_model.lecture.attention import SPECIAL, TENSOR_CORE, attention_run, attention_runs
from patterns.pipeline.program import Program, Unit
from patterns.pipeline.script import Arrive, Await, Loop, Op, Run
from patterns.pipeline.simulate import simulate
from patterns.pipeline.text import text_timeline, timeline_line
from patterns.pipeline.timeline import Span, Timeline, real_spans

# Total cycles, and the percentages of tensor core and special function units, as the lecture's simulator gives them.
FIGURES = {
    "attention_A100_serial": (90112, 72.73, 18.18),
    "attention_A100_pingpong": (65536, 100.0, 25.0),
    "attention_A100_intra_warpgroup": (66304, 98.84, 24.71),
    "attention_A100_both": (65536, 100.0, 25.0),
    "attention_H100_serial": (57344, 57.14, 28.57),
    "attention_H100_pingpong": (33280, 98.46, 49.23),
    "attention_H100_intra_warpgroup": (41472, 79.01, 39.51),
    "attention_H100_both": (33024, 99.22, 49.61),
    "attention_B200_serial": (40960, 40.0, 40.0),
    "attention_B200_pingpong": (20992, 78.05, 78.05),
    "attention_B200_intra_warpgroup": (33024, 49.61, 49.61),
    "attention_B200_both": (17152, 95.52, 95.52),
}
TIME_LINES = """\
TC    |AAAAAABBBBBB···AAAAAAAAAAAAABBBBBBBBBBBBAAAAAAAAAAAABBBBBBBBBBBBBAAAAAAA|
SFU   |······xxxxxxxxxxxx··········xxxxxx······xxxxxx······xxxxxx·······xxxxxx·|"""


def test_the_runs_are_those_of_the_table() -> None:
    assert [run.id for run in attention_runs()] == list(FIGURES)


@pytest.mark.parametrize("run_id", FIGURES)
def test_every_run_to_the_cycle(run_id: str) -> None:
    run = attention_run(run_id)
    cycles, tensor_core, special = FIGURES[run_id]
    assert run.total_cycles == cycles
    assert (round(run.tensor_core_percent, 2), round(run.special_percent, 2)) == (tensor_core, special)


def owner(span: Span) -> str:
    """The letter of a warpgroup."""
    return "AB"[int(span.role[-1])]


def test_time_lines_to_the_character() -> None:
    timeline = attention_run("attention_H100_pingpong").timeline
    tensor_core = text_timeline(timeline, TENSOR_CORE, 6000, glyph=owner)
    special = text_timeline(timeline, SPECIAL, 6000, glyph=lambda span: "x")
    assert "\n".join((timeline_line("TC", tensor_core), timeline_line("SFU", special))) == TIME_LINES


def products(timeline: Timeline) -> str:
    """Who has the tensor core, product after product."""
    spans = real_spans(timeline, 0, timeline.total_cycles)
    return "".join(owner(span) for span in sorted(spans, key=lambda s: s.start) if span.unit == TENSOR_CORE)


def without_turns(program: Program) -> Program:
    """The same roles, and nobody waits for a turn."""

    def dropped(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        kept = (op for op in ops if not isinstance(op, Await | Arrive))
        return tuple(replace(op, body=dropped(op.body)) if isinstance(op, Loop) else op for op in kept)

    roles = tuple(replace(role, script=dropped(role.script)) for role in program.roles)
    return replace(program, roles=roles, barriers=())


TURNS = "AB" + "AABB" * 15 + "AB"


@pytest.mark.parametrize("generation", ["A100", "H100", "B200"])
def test_warpgroups_take_turns_of_two_products(generation: str) -> None:
    """The first turn has scores only, the last sums only."""
    assert products(attention_run(f"attention_{generation}_pingpong").timeline) == TURNS


def test_who_asks_first_is_no_turn() -> None:
    """Two serial warpgroups on an A100: who waits gets the tensor core between the sums and the scores of the other."""
    run = replace(attention_run("attention_A100_serial"), warpgroups=2)
    assert sorted(products(run.timeline)) == sorted(TURNS)
    assert products(run.timeline) != TURNS


def with_a_slow_second(program: Program) -> Program:
    """The second warpgroup waits 4,000 cycles in every block, and nobody else for that."""

    def slowed(ops: tuple[Op, ...]) -> tuple[Op, ...]:
        slow: list[Op] = []
        for op in ops:
            slow.append(replace(op, body=slowed(op.body)) if isinstance(op, Loop) else op)
            if isinstance(op, Run) and op.unit == SPECIAL:
                slow.append(Run("own", 4000))
        return tuple(slow)

    first, second = program.roles
    units = (*program.units, Unit("own", "sync"))
    return replace(program, units=units, roles=(first, replace(second, script=slowed(second.script))))


@pytest.mark.parametrize("generation", ["A100", "H100", "B200"])
def test_without_turns_the_faster_warpgroup_runs_ahead(generation: str) -> None:
    program = with_a_slow_second(attention_run(f"attention_{generation}_pingpong").program)
    assert products(simulate(program)) == TURNS
    assert products(simulate(without_turns(program))) != TURNS


def test_a_softmax_runs_outside_the_turn() -> None:
    timeline = attention_run("attention_H100_pingpong").timeline
    spans = list(real_spans(timeline, 0, 6000))
    tensor_core = [span for span in spans if span.unit == TENSOR_CORE]
    for softmax in (span for span in spans if span.unit == SPECIAL and span.start > 1024):
        others = [s for s in tensor_core if s.start < softmax.end and softmax.start < s.end]
        assert {owner(s) for s in others} == {"B" if owner(softmax) == "A" else "A"}


def test_scores_of_the_next_block_run_under_a_softmax() -> None:
    timeline = attention_run("attention_H100_intra_warpgroup").timeline
    spans = list(real_spans(timeline, 0, 6000))
    softmaxes = [span for span in spans if span.unit == SPECIAL]
    for softmax in softmaxes:
        assert any(s.unit == TENSOR_CORE and s.start == softmax.start for s in spans)
