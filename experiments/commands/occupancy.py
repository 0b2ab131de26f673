"""patternloom occupancy: how many CTAs of a kernel an SM holds, and what limits them."""

from __future__ import annotations

from typing import Any

import click

from experiments.options import number
from experiments.request import GPU


@click.command
@click.option("--gpu", default=GPU, show_default=True, help="Which GPU.")
@number("--threads", 1, help="Threads of a CTA.")
@number("--registers", 1, help="Registers of each thread.")
@click.option("--smem", metavar="SIZE", default="0 B", help="Shared memory of a CTA, as in '48 KiB'.")
@number("--barriers", 0, default=1, show_default=True, help="Named barriers of a CTA.")
@number("--tmem-columns", 0, default=0, help="Columns of tensor memory of a CTA.")
@click.option("--plan", metavar="R,R,...", help="Registers that each warpgroup sets with setmaxnreg, as in 40,232,232.")
@click.option(
    "--tile", metavar="MxNxK", help="A CTA's tile of a matrix product, as in 128x256x64, instead of a kernel."
)
@click.option("--dtype", default="bf16", show_default=True, help="Type of the tile's operands.")
@click.option("--schedule", help="Schedule of the tile.  [default: the GPU's usual one]")
@number("--stages", 1, help="Slots of the tile's ring.  [default: the most that fit]")
@number("--warpgroups", 1, help="Warpgroups that compute the tile.  [default: the fewest that hold it]")
@click.option("--layout", default="swizzled", show_default=True, help="How operands lie in shared memory.")
@click.option("--loader", help="What brings operands there.  [default: the schedule's usual one]")
@click.option("--problem", metavar="MxN", help="Count the waves of tiles of this product.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(gpu: str, as_json: bool, **values: Any) -> None:
    """Say how many CTAs of a kernel an SM of a GPU holds at once, and which resource limits them.

    The kernel is given by --threads and --registers, with what else a CTA asks for; by --plan, registers by warpgroup
    as setmaxnreg sets them; or by --tile, a tile of a matrix product, whose ring of stages is made as deep as fits.
    """
    from experiments.occupancy import Question, answer
    from experiments.text.occupancy import occupancy_json, occupancy_parts
    from experiments.text.page import show_page

    found = answer(Question(gpu=gpu, **values))
    if as_json:
        click.echo(occupancy_json(found), nl=False)
    else:
        show_page(occupancy_parts(found))
