"""Options that several commands share, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import reduce
from typing import Any

import click

from experiments.request import GPU, RDU, Request

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class WholeNumber(click.ParamType):
    """A whole number of at least `low`."""

    name = "integer"

    def __init__(self, low: int) -> None:
        self.low = low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number. Fails with what would be right."""
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        if number < self.low:
            self.fail(f"must be at least {self.low}, is {number}", param, ctx)
        return number


class Setting(click.ParamType):
    """A text 'name=value'."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The name and the value. Fails with what would be right."""
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not equals or not name.strip() or not text.strip():
            self.fail(f"{value!r} is not name=value, as in context=8192 or gpu.hbm_bytes_per_s='4.8 TB/s'", param, ctx)
        return name.strip(), text.strip()


POSITIVE = WholeNumber(1)


def stacked(*decorators: Decorator) -> Decorator:
    """Several decorators as one, the first on top."""
    return lambda function: reduce(lambda f, decorate: decorate(f), reversed(decorators), function)


workload_options = stacked(
    click.argument("workload"),
    click.option(
        "--phase",
        type=click.Choice(["decode", "prefill"]),
        default="decode",
        show_default=True,
        help="Which part of generation.",
    ),
    click.option("--batch", type=POSITIVE, help="Sequences at once.  [default: the graph's own, 1]"),
    click.option(
        "--context", type=POSITIVE, help="Tokens in the cache after the run.  [default: the graph's own, 4096]"
    ),
    click.option(
        "--set",
        "settings",
        type=Setting(),
        multiple=True,
        help="Replace an extent of the graph or a parameter of a machine (gpu.X=, rdu.X=).",
    ),
)
machine_options = stacked(
    click.option("--gpu", default=GPU, show_default=True, help="Which GPU."),
    click.option("--gpus", type=POSITIVE, default=1, show_default=True, help="How many, tensor parallel."),
    click.option("--rdu", default=RDU, show_default=True, help="Which RDU."),
    click.option(
        "--sockets", type=POSITIVE, default=1, show_default=True, help="How many RDU sockets, tensor parallel."
    ),
    click.option(
        "--policy", "policies", multiple=True, help="Fusion policy of the GPU; may be given again.  [default: all]"
    ),
    click.option("--mode", "modes", multiple=True, help="Mode of the RDU; may be given again.  [default: all]"),
)
mapping_options = stacked(
    click.option(
        "--launch",
        type=click.Choice(["stream", "graph"]),
        default="stream",
        show_default=True,
        help="How the GPU's host launches kernels.",
    ),
    click.option(
        "--orchestration",
        type=click.Choice(["hardware", "software"]),
        default="hardware",
        show_default=True,
        help="Who starts RDU sections.",
    ),
    click.option("--schedule", default="auto", show_default=True, help="Schedule of the GPU's matrix kernels."),
    click.option(
        "--stages", type=POSITIVE, help="Slots of the schedule's ring of tiles.  [default: the schedule's own]"
    ),
)


def request_of(values: dict[str, Any]) -> Request:
    """The request that the shared options make. Raises click.BadParameter for a schedule that does not exist."""
    stages = values.pop("stages", None)
    options = (("stages", stages),) if stages is not None else ()
    known = {field.name for field in fields(Request)}
    return Request(**{name: value for name, value in values.items() if name in known}, options=options)
