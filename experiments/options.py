"""Options that several commands share, and the request that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import reduce
from typing import Any

import click
from click.core import ParameterSource

from experiments.request import GPU, RDU, Request

ARTICLES = {"gpu": "a", "rdu": "an"}
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def at_least(low: int) -> Callable[[click.Context, click.Parameter, int | None], int | None]:
    """A check for options that are whole numbers of at least `low`."""

    def check(ctx: click.Context, param: click.Parameter, value: int | None) -> int | None:
        if value is not None and value < low:
            raise click.BadParameter(f"must be at least {low}, is {value}", ctx, param)
        return value

    return check


def number(name: str, low: int, **keywords: Any) -> Decorator:
    """An option that takes a whole number of at least `low`."""
    return click.option(name, type=int, metavar="N", callback=at_least(low), **keywords)


def read_settings(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """'name=value' texts as pairs."""
    pairs = [text.partition("=") for text in texts]
    for text, (name, equals, value) in zip(texts, pairs, strict=True):
        if not (name.strip() and equals and value.strip()):
            message = f"{text!r} is not name=value, as in context=8192 or gpu.hbm_bytes_per_s='4.8 TB/s'"
            raise click.BadParameter(message, ctx, param)
    return tuple((name.strip(), value.strip()) for name, _, value in pairs)


def stacked(*decorators: Decorator) -> Decorator:
    """Several decorators as one, the first on top."""
    return lambda function: reduce(lambda f, decorate: decorate(f), reversed(decorators), function)


size_options = stacked(
    click.option(
        "--phase",
        type=click.Choice(["decode", "prefill"]),
        default="decode",
        show_default=True,
        help="Which part of generation.",
    ),
    number("--batch", 1, help="Sequences at once.  [default: the graph's own, 1]"),
    number("--context", 1, help="Tokens in the cache after the run.  [default: the graph's own, 4096]"),
    click.option(
        "--set",
        "settings",
        metavar="NAME=VALUE",
        callback=read_settings,
        multiple=True,
        help="Replace an extent of the graph or a parameter of a machine (gpu.X=, rdu.X=).",
    ),
)
workload_options = stacked(click.argument("workload"), size_options)
machine_options = stacked(
    click.option("--gpu", default=GPU, show_default=True, help="Which GPU."),
    number("--gpus", 1, default=1, show_default=True, help="How many, tensor parallel."),
    click.option("--rdu", default=RDU, show_default=True, help="Which RDU."),
    number("--sockets", 1, default=1, show_default=True, help="How many RDU sockets, tensor parallel."),
    click.option(
        "--policy", "policies", multiple=True, help="Fusion policy of the GPU; may be given again.  [default: all]"
    ),
    click.option("--mode", "modes", multiple=True, help="Mode of the RDU; may be given again.  [default: all]"),
)
mapping_options = stacked(
    click.option(
        "--launch",
        default="stream",
        show_default=True,
        help="How the GPU's kernels are launched; `patternloom list launches` tells of each.",
    ),
    click.option(
        "--orchestration",
        default="hardware",
        show_default=True,
        help="Who starts RDU sections: hardware or software.",
    ),
    click.option(
        "--placement",
        default="estimate",
        show_default=True,
        help="RDU: `estimate` hops and congestion, or place and route every section (`full`).",
    ),
    click.option(
        "--collectives",
        default="overlapped",
        show_default=True,
        help="RDU: all-reduces `overlapped` in the pipeline, or as `separate` calls.",
    ),
    number("--seed", 0, default=0, show_default=True, help="RDU: of the placement."),
    click.option("--schedule", default="auto", show_default=True, help="Schedule of the GPU's matrix kernels."),
    number("--stages", 1, help="Slots of the schedule's ring of tiles.  [default: the schedule's own]"),
    click.option(
        "--option",
        "fixed",
        metavar="NAME=VALUE",
        callback=read_settings,
        multiple=True,
        help="Fix what would be chosen: loader, warpgroups, tile_m, splits, cluster, dma_warps, l2_keep ....",
    ),
)

# Of these options, by the name of its value, those that say something to one family only.
MAPPING_OF: Mapping[str, tuple[str, ...]] = {
    "gpu": ("launch", "schedule", "stages", "fixed"),
    "rdu": ("orchestration", "placement", "collectives", "seed"),
}


def given(ctx: click.Context, names: Iterable[str]) -> list[str]:
    """The options, as they are written, of those that the command line gives."""
    wanted = set(names)
    return [
        param.opts[0]
        for param in ctx.command.params
        if param.name in wanted and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]


def need_of_family(ctx: click.Context, family: str, machine: str) -> None:
    """Raises click.UsageError for options that say nothing to a machine of this family."""
    for other, names in MAPPING_OF.items():
        if other != family and (found := given(ctx, names)):
            verb = "is" if len(found) == 1 else "are"
            raise click.UsageError(
                f"{', '.join(found)} {verb} for {other.upper()}s, and {machine} is {ARTICLES[family]} {family.upper()}"
            )


def request_of(values: dict[str, Any]) -> Request:
    """The request that the shared options make. Raises click.BadParameter for what is fixed twice."""
    from gpu_model.options import ALIASES

    stages = values.pop("stages", None)
    options = (*((("stages", stages),) if stages is not None else ()), *values.pop("fixed", ()))
    names = [ALIASES.get(name, name) for name, _ in options]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise click.BadParameter(f"{', '.join(twice)} is fixed twice: keep one")
    known = {field.name for field in fields(Request)}
    return Request(**{name: value for name, value in values.items() if name in known}, options=options)
