"""Metapipes whose stages take the cycles that a test asks for, on a machine that has nothing else to see."""

from __future__ import annotations

from rdu_model import Metapipeline, load_machine
from rdu_model.pipe import Metapipe

LARGE = {"pcus": "1000", "pmus": "1000", "tile_rows": "50", "tile_columns": "40"}
# Units enough for whatever is drawn.
ROOMY = load_machine("unit", LARGE)
# Memories that move a tile in one cycle, so that stages are all there is to see.
FAST = load_machine(
    "unit",
    {
        **LARGE,
        "hbm_bytes_per_s": "1 TB/s",
        "agcu_bytes_per_cycle": "1000 B/cycle",
        "pmu_bytes_per_cycle": "1000 B/cycle",
    },
)
# PCUs that make a stage take so many cycles on a tile of 36 elements.
PCUS = {1: 36, 4: 9, 5: 8, 9: 4, 12: 3, 18: 2, 36: 1}


def chain(stages: tuple[int, ...], steps: int, depths: tuple[int | None, ...] = ()) -> Metapipe:
    """Stages of so many cycles one after another; depths: of the buffer behind each, None for the rule."""
    p = Metapipeline("chain")
    x, y = p.input_region("x", "t e", (steps, 36), "fp8"), p.output_region("y", "t e", (steps, 36), "fp8")
    with p.metapipe(steps):
        tile = p.load_tile(x, (1, 36))
        for stage, depth in zip(stages, depths or (None,) * len(stages), strict=True):
            tile = p.buffer(p.map("neg", tile, pcus=PCUS[stage]), depth=depth)
        p.store_tile(y, tile)
    return p.build()


def skip_edge(stages: tuple[int, ...], steps: int, source: int, reader: int, depth: int | None) -> Metapipe:
    """A chain of stages named s0, s1 ...; `reader` also reads what `source` made, from a buffer of that depth."""
    p = Metapipeline("skip")
    x, y = p.input_region("x", "t e", (steps, 36), "fp8"), p.output_region("y", "t e", (steps, 36), "fp8")
    with p.metapipe(steps):
        tiles = [p.load_tile(x, (1, 36))]
        for number, stage in enumerate(stages):
            name, pcus = f"s{number}", PCUS[stage]
            if number == reader:
                tiles.append(p.zip("add", tiles[-1], tiles[source + 1], pcus=pcus, name=name))
            else:
                tiles.append(p.map("neg", tiles[-1], pcus=pcus, name=name))
            if number == source:
                tiles[-1] = p.buffer(tiles[-1], depth=depth)
        p.store_tile(y, tiles[-1])
    return p.build()
