"""What holds for the stages of every metapipe: all of it is shown, once, and every unit has one cell on the map."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from experiments.text.page import page_text
from experiments.text.stage import stage_parts
from rdu_model import compile_metapipe, load_machine
from rdu_model.compilation import Compilation
from rdu_model.compile_stage import show_stage, stage_names
from rdu_model.floor.areas import areas, owners
from rdu_model.floor.floor_map import floor_map
from rdu_model.language.vocabulary import statements
from tests.rdu.placed_in_order import placed_in_order
from tests.rdu.random_metapipes import random_metapipe

SEEDS = st.integers(0, 10**9)


def compiled(seed: int, machine: str = "sn40l") -> Compilation:
    """A random metapipe on a machine, placed in order."""
    metapipe, _ = random_metapipe(Random(seed))
    # Random metapipes have more streams than a machine serves.
    made = compile_metapipe(metapipe, load_machine(machine, {"agcu_streams": "1000"}))
    return replace(made, sections=tuple(replace(one, section=placed_in_order(one.section)) for one in made.sections))


@settings(max_examples=12)
@given(SEEDS, st.sampled_from(["unit", "sn40l"]))
def test_every_stage_of_every_metapipe_can_be_shown(seed: int, machine: str) -> None:
    compilation = compiled(seed, machine)
    for stage in stage_names():
        text = page_text(stage_parts(show_stage(stage, compilation)), 100)
        assert compilation.sections[0].section.name in text
        assert text == page_text(stage_parts(show_stage(stage, compiled(seed, machine))), 100)


@settings(max_examples=40)
@given(SEEDS)
def test_every_leaf_and_every_buffer_is_one_statement(seed: int) -> None:
    section = compiled(seed).sections[0].section
    abouts = [one.about for one in statements(section) if one.about is not None]
    leaves = Counter(about.name for about in abouts if hasattr(about, "name") and about.name in section.flow.leaves)
    assert leaves == Counter(dict.fromkeys(section.flow.leaves, 1))
    links = [about.link.name for about in abouts if hasattr(about, "link")]
    assert sorted(links) == sorted(buffer.link.name for buffer in section.buffers)
    assert sum(one.text.count("{") for one in statements(section)) == sum(
        one.text.count("}") for one in statements(section)
    )


@settings(max_examples=40)
@given(SEEDS)
def test_the_map_has_every_unit_once(seed: int) -> None:
    section = compiled(seed).sections[0].section
    placed = section.placed
    assert placed is not None
    of = owners(section, placed)
    assert len(of) == section.pcus + section.pmus
    assert set(of.values()) <= set(section.flow.leaves)
    signs = Counter("".join(line for line in floor_map(section, placed) if "tile" not in line))
    assert sum(number for sign, number in signs.items() if sign.isupper() or sign == "*") == section.pcus
    idle = len(placed.fabric.agcus) - len({n for numbers in placed.placement.agcus.values() for n in numbers})
    pmus = sum(number for sign, number in signs.items() if sign.islower() or sign == "+")
    # An AGCU that does not stream is an o, too.
    assert section.pmus <= pmus <= section.pmus + idle
    for cells in (*placed.placement.pcus.values(), *placed.placement.pmus.values()):
        assert sum(area.units for area in areas(placed.fabric, cells)) == len(cells)
