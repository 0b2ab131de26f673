"""A schedule that was asked for, and the kernels that there are: whether it runs any of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from gpu_model.asked import Asked
from gpu_model.machine import Machine
from gpu_model.options import Options
from gpu_model.schedule import AUTO, SCHEDULES, Job, check_schedule, is_idle, schedule_named
from patterns.errors import UserError
from patterns.graph import Graph
from patterns.kind import Trait, has
from patterns.plugin import modules

# What kernels of each sort are, and the trait that one of their nodes has.
WORDS: Mapping[Job, str] = {
    "mm": "matrix products",
    "online": "attention, two products with a softmax between them",
    "stream": "kernels without a product of their own",
    "collective": "sums over GPUs",
}
# Options that only some sorts of kernels have, and those that are of the whole run.
OPTION_JOBS: Mapping[str, tuple[Job, ...]] = {
    "tile_m": ("mm", "online"),
    "tile_n": ("mm",),
    "tile_k": ("mm", "online"),
    "splits": ("mm", "online"),
}
ANY_JOB = "matrix products, or of a schedule that is named"
RUN_OPTIONS = ("l2_keep", "l2_share")
NEEDS: Mapping[Job, Trait] = {"mm": "contracts", "online": "contracts", "collective": "communicates"}


def check_applies(graph: Graph, name: str, machine: Machine) -> None:
    """Raises UnknownName, and UserError where the machine lacks what a schedule needs, or a graph any kernel for it."""
    check_schedule(name, machine)
    if name == AUTO:
        return
    jobs = schedule_named(name).SERVES
    nodes = [node for _, node in graph.nodes()]
    if not any(job not in NEEDS or any(has(node, NEEDS[job]) for node in nodes) for job in jobs):
        raise UserError(f"schedule {name} runs {served(name)}, and {graph.name} has none; leave it to auto")


def unused(name: str, used: Iterable[str]) -> Iterator[str]:
    """A warning where no kernel runs by the schedule that was asked for."""
    if name != AUTO and name not in used:
        yield f"schedule {name} runs {served(name)}; no kernel is one here, so all are as auto chooses"


def idle_options(options: Options, kernels: Iterable[Asked]) -> Iterator[str]:
    """A warning for every option that was fixed and that no kernel has a use for."""
    given = [field.name for field in fields(options) if getattr(options, field.name) is not None]
    having = [
        (name, asked)
        for asked in kernels
        for name in given
        if asked.job in OPTION_JOBS.get(name, WORDS) and asked.fixed == options
    ]
    used = {name for name, asked in having if not (asked.is_named and is_idle(asked.schedule, name))}
    idle = dict(having)
    for name in given:
        if name in used or name in RUN_OPTIONS:
            continue
        if name in idle:
            asked = idle[name]
            yield f"schedule {asked.schedule} has no use for {name}; {_using(name, asked)} or auto would have"
            continue
        jobs = " and ".join(WORDS[job] for job in OPTION_JOBS.get(name, ()))
        yield f"option {name} is of {jobs or ANY_JOB}; no kernel here has a use for it"


def _using(option: str, asked: Asked) -> str:
    """The schedule most like the named one, by the names in its file, that has a use for an option."""
    own = set(vars(schedule_named(asked.schedule)))
    others = [name for name in modules(SCHEDULES) if asked.job in schedule_named(name).SERVES]
    able = [name for name in others if not is_idle(name, option)]
    return max(able, key=lambda name: len(own & set(vars(schedule_named(name)))))


def served(name: str) -> str:
    """What a schedule runs, in words."""
    return " and ".join(WORDS[job] for job in schedule_named(name).SERVES)
