"""What there is to choose from, each with one line about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from typing import TYPE_CHECKING

from experiments.about import about_config, about_data, about_module, below_the_first
from experiments.sides import MODELS, Family, machine_names, mode_names
from experiments.text.rules import rule_of
from patterns.plugin import modules
from patterns.plural import number_of

if TYPE_CHECKING:
    from patterns.counting.peaks import Peaks


@dataclass(frozen=True)
class Entry:
    """A name that a command or a file takes, and what it stands for; `details` where its section is shown alone."""

    name: str
    about: str
    details: tuple[str, ...] = ()


def machines() -> list[Entry]:
    """Machines of both families, with their peaks."""
    return [
        Entry(name, about_machine(family, name), peak_lines(MODELS[family], name))
        for family in MODELS
        for name in machine_names(family)
    ]


def peak_lines(model: str, name: str) -> tuple[str, ...]:
    """Dense peaks with the clock they hold at, the ridge point of every type, and the memory's rates."""
    from experiments.text.quantity import digits, scaled

    peaks: Peaks = import_module(f"{model}.peaks").peaks_of(name)
    memory, achieved = scaled(peaks.memory_bytes_per_s, "B/s"), scaled(float(peaks.achieved_bytes_per_s), "B/s")
    lines = [f"{peaks.memory} {memory}, of which long streams get {peaks.memory_efficiency:.4g}: {achieved}"]
    for rate, group in groupby(peaks.flops_per_s, key=lambda pair: pair[1]):
        dtypes = [dtype for dtype, _ in group]
        ridge = digits(float(peaks.ridge_flops_per_byte(dtypes[0])))
        lines.append(f"{', '.join(dtypes)}: {scaled(rate, 'FLOP/s')} dense, ridge point {ridge} FLOP/B")
    lines.append(f"16-bit: {peaks.derivation} x {scaled(peaks.clock_hz, 'Hz')}")
    return (*lines, *([f"features: {', '.join(peaks.features)}"] if peaks.features else []))


def about_machine(family: Family, name: str) -> str:
    """Its family, and the first sentence of its file."""
    return f"{family.upper()}: {about_data(f'{MODELS[family]}.machines', f'{name}.yaml')}"


def graphs() -> list[Entry]:
    """Ready-made graphs and model configurations."""
    from patterns.library import CONFIGS, config_names, graph_names

    return [
        *(Entry(name, about_data("patterns.library", f"{name}.yaml")) for name in graph_names()),
        *(Entry(name, about_config(CONFIGS, f"{name}.json")) for name in config_names()),
    ]


def policies() -> list[Entry]:
    """Fusion policies of the GPU and modes of the RDU."""
    return [
        Entry(mode, f"{family.upper()}: {rule_of(family, mode)}") for family in MODELS for mode in mode_names(family)
    ]


def schedules() -> list[Entry]:
    """Schedules of both families: the files of their folders."""
    return [
        Entry(name, f"{family.upper()}: {about_module(f'{model}.schedules.{name}').removeprefix(f'{name}: ')}")
        for family, model in MODELS.items()
        for name in modules(f"{model}.schedules")
    ]


def stages() -> list[Entry]:
    """Stages of the RDU's compile flow, in its order: the files of their folder."""
    from rdu_model.compile_stage import PACKAGE, stage_names

    return [Entry(name, about_module(f"{PACKAGE}.{name}").removeprefix(f"{name}: ")) for name in stage_names()]


def launches() -> list[Entry]:
    """Ways to launch the GPU's kernels: the files of their folder."""
    folder = "gpu_model.launches"
    return [Entry(name, about_module(f"{folder}.{name}").removeprefix(f"{name}: ")) for name in modules(folder)]


def kinds() -> list[Entry]:
    """Pattern kinds: what each is, and how a node of it is written."""
    from patterns.kind import kind_named, kind_names

    found = []
    for name in kind_names():
        module, functions = f"patterns.kinds.{name}", kind_named(name).FUNCTIONS
        listed = [f"{fn} ({', '.join(fields)})" if fields else fn for fn, fields in functions.items()]
        told = [*below_the_first(module), *([f"fn: {', '.join(listed)}"] if listed else [])]
        found.append(Entry(name, about_module(module).removeprefix(f"{name}: "), tuple(told)))
    return found


def architectures() -> list[Entry]:
    """Model families whose config.json is read, with the names that they go by there."""
    from patterns.architecture import PACKAGE, architectures

    found = []
    for name, family in zip(modules(PACKAGE), architectures(), strict=True):
        told = f"architectures: {', '.join(family.ARCHITECTURES)}; model_type: {', '.join(family.MODEL_TYPES)}"
        found.append(Entry(name, about_module(f"{PACKAGE}.{name}"), (told,)))
    return found


def studies() -> list[Entry]:
    """Experiments that can be run by name."""
    return [Entry(name, about_module(f"experiments.studies.{name}")) for name in modules("experiments.studies")]


def sweeps() -> list[Entry]:
    """Example sweeps."""
    from experiments.sweep.examples import example_names

    return [Entry(name, about_data("experiments.sweep.examples", f"{name}.yaml")) for name in example_names()]


def plots() -> list[Entry]:
    """Kinds of plots that can be asked for, with what each draws."""
    from experiments.picture import ASKED, PLOTS, plot_kinds

    kinds = {kind: told for subject, told in ASKED.items() for kind in plot_kinds(subject)}
    return [Entry(kind, f"{kinds[kind]}: {about_module(f'{PLOTS}.{kind}')}") for kind in sorted(kinds)]


def families() -> list[Entry]:
    """Families of measurements that the GPU model is validated with."""
    from experiments.validation.family import FAMILIES, family_names

    return [Entry(name, about_module(f"{FAMILIES}.{name}").removeprefix(f"{name}: ")) for name in family_names()]


def loaders() -> list[Entry]:
    """What brings operands into a GPU's shared memory, by way of which levels and with how many instructions."""
    from gpu_model import load_machine
    from gpu_model.loader import loader_named, loader_names

    machine = load_machine("unit")
    found = []
    for name in loader_names():
        loader = loader_named(name)
        needs = ", ".join(loader.NEEDS) or "nothing"
        count = loader.instructions(machine, 2**14)
        through = " and ".join(loader.THROUGH)
        told = f"through {through}; 16 KiB take {number_of(count, 'warp instruction')}; needs {needs}"
        found.append(Entry(name, about_module(f"gpu_model.loaders.{name}"), (told,)))
    return found


def layouts() -> list[Entry]:
    """How operands lie in a GPU's shared memory, with their bank conflicts."""
    from gpu_model.smem_layout import conflict_ways, layout_names

    found = []
    for name in layout_names():
        ways = ", ".join(f"{conflict_ways(name, size)} of {size} bytes" for size in (32, 64, 128))
        told = f"ways in which reading eight rows conflicts (1: not at all), by their length: {ways}"
        found.append(Entry(name, about_module(f"gpu_model.layouts.{name}"), (told,)))
    return found


SECTION_ENTRIES: Mapping[str, Callable[[], list[Entry]]] = {
    "machines": machines,
    "graphs": graphs,
    "policies": policies,
    "schedules": schedules,
    "loaders": loaders,
    "layouts": layouts,
    "launches": launches,
    "stages": stages,
    "kinds": kinds,
    "architectures": architectures,
    "studies": studies,
    "sweeps": sweeps,
    "plots": plots,
    "families": families,
}
