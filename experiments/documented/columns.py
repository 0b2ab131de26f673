"""Columns of results: what each means, its unit and range. `compare --csv` and data frames have those of REPORT, sweeps
those of SWEEP beside the fields of their points.
"""

from __future__ import annotations

from collections.abc import Iterator

from experiments.column_units import unit_of
from experiments.documented.said import Said
from experiments.export import LEVELS as LEVELS_IN_ORDER
from experiments.text.parts import OVERLAP_LEGEND, WATERFALL_LEGEND
from patterns.report import OVERLAP_PARTS, WATERFALL_PARTS
from patterns.spent import ENERGY_PARTS

SOME, ONE = "at least 0", "at least 1"
LEVELS = {
    "hbm": "bytes read from and written to HBM, over all members",
    "l2": "bytes between the L2 and the SMs of a GPU, over all members; 0 on an RDU",
    "onchip": "bytes into and out of the PMUs of an RDU, over all members; 0 on a GPU",
    "ddr": "bytes read from and written to DDR, over all members; 0 on a GPU",
    "network": "bytes sent from member to member",
}
ENERGY = {
    "matrix": "operations of matrix units",
    "vector": "operations of vector units",
    "special": "operations of special-function units",
    "issue": "instructions that warps issue; 0 on an RDU, whose units have none in steady state",
    "smem": "bytes through the shared memory of SMs",
    "onchip": "bytes into and out of PMUs",
    "l2": "bytes between the L2 and the SMs",
    "hbm": "bytes between HBM and the chip",
    "ddr": "bytes between DDR and the chip",
    "network": "bytes to other members",
    "static": "the whole time on all members: leakage, clocks, fans, the board",
}
SPREAD = {
    "avg": "the mean",
    "med": "the median",
    "min": "the least",
    "max": "the greatest",
    "stddev": "the standard deviation",
}
MODE = "fusion policy of a GPU or mode of an RDU"
CALLS = "kernel launches of a GPU or section executions of an RDU in one run (a decode step, a prompt) on one member"
BOUND = "compulsory work at datasheet peaks: the greatest over resources; no plan can be faster"
RESOURCE = "the resource that sets the lower bound"
BAND = "of ten measurements of runs made of such parts eight lie above {} and below {}; empty where none is known"


def report_columns() -> tuple[Said, ...]:
    """Those of a machine in a mode."""
    return (
        Said("machine", "name of the machine's file", "-", "see `patternloom list machines`"),
        Said("mode", MODE, "-", "see `patternloom list policies`"),
        Said("members", "GPUs or sockets that share the work", "-", ONE),
        Said("calls", CALLS, "-", ONE),
        Said("calls_per_layer", "calls of one execution of the block that is repeated most", "-", "empty without one"),
        Said("time_s", "simulated time of one run, launches included", "s", "above 0"),
        Said("bound_s", f"{BOUND}; time_s / bound_s is at least 1", "s", SOME),
        Said("bound", RESOURCE, "-", "such as hbm_bytes, matrix_flops"),
        *(_bytes(level) for level in LEVELS_IN_ORDER),
        *(_part("overlap", part, OVERLAP_LEGEND[part]) for part in OVERLAP_PARTS),
        *(_part("waterfall", part, WATERFALL_LEGEND[part]) for part in WATERFALL_PARTS),
        *_energy(),
        *(_joules(part) for part in ENERGY_PARTS),
        Said("error_band_low_percent", f"{BAND.format('this', 'the next')}, in percent of time_s", "%", "above -100"),
        Said("error_band_high_percent", "the upper end of that band", "%", "at least the lower end"),
    )


def sweep_columns() -> tuple[Said, ...]:
    """Those of a point, beside the fields that its sweep names."""
    return (
        Said("mode", f"{MODE}, as it was run", "-", "see `patternloom list policies`"),
        Said("status", "what became of the point", "-", "`ok`, `infeasible`, `failed` or `not run`"),
        Said("calls", CALLS, "-", ONE),
        Said("calls_per_layer", "calls of one execution of the block that is repeated most", "-", "empty without one"),
        Said("time_us", "simulated time of one run, launches included", "us", "above 0"),
        Said("bound_us", BOUND, "us", SOME),
        Said("off_chip_bytes", "hbm_bytes and ddr_bytes together", "B", SOME),
        *(_bytes(level) for level in LEVELS_IN_ORDER),
        *_energy(),
        Said("bound", RESOURCE, "-", "such as hbm_bytes, matrix_flops"),
        Said("message", "why the point is not ok", "-", "empty where it is"),
        Said("resource", "of an infeasible point: what there is too little of", "-", "empty else"),
        Said("needed", "how much of it the point needs", "that of the resource", "above what there is"),
        Said("available", "how much of it there is", "that of the resource", SOME),
        Said("nearest", "the nearest change with which the point would be feasible", "-", "empty where none is known"),
    )


def optional_sweep_columns() -> tuple[Said, ...]:
    """Those that a sweep file asks for with `columns: [overlap, waterfall]`."""
    overlap = (_part("overlap", part, OVERLAP_LEGEND[part]) for part in OVERLAP_PARTS)
    return (*overlap, *(_part("waterfall", part, WATERFALL_LEGEND[part]) for part in WATERFALL_PARTS))


def profile_columns() -> tuple[Said, ...]:
    """Those of a recording: a row a class of kernels, and a row a kernel's name."""
    return (
        Said("device", "number of the GPU in the recording", "-", SOME),
        Said("what", "what the row is of", "-", "`class` or `kernel`"),
        Said("time_percent", "total_ns as a part of the same of all kernels in steps of the GPU", "%", "0 to 100"),
        Said("total_ns", "sum of the durations of its kernels in steps, each for itself", "ns", SOME),
        Said("instances", "how many kernels these are", "-", ONE),
        *(Said(f"{short}_ns", f"{text} of their durations", "ns", SOME) for short, text in SPREAD.items()),
        Said("name", "of the class or the kernel", "-", "as recorded"),
        Said("class", "what the kernel does, told by its name", "-", "such as matrix product, elementwise"),
        Said("per_step", "how many a step has: the median over steps", "-", SOME),
    )


def _bytes(level: str) -> Said:
    return Said(f"{level}_bytes", LEVELS[level], "B", SOME)


def _part(account: str, part: str, text: str) -> Said:
    return Said(f"{account}_{part}_s", f"of time_s, while {text}" if account == "overlap" else text, "s", SOME)


def _energy() -> Iterator[Said]:
    yield Said("energy_j", "energy of one run over all members, with typical prices", "J", SOME)
    yield Said("energy_low_j", "the same with every price at the low end that its sources leave open", "J", SOME)
    yield Said("energy_high_j", "the same with every price at the high end", "J", SOME)


def _joules(part: str) -> Said:
    return Said(f"energy_{part}_j", f"of energy_j: {ENERGY[part]}", "J", SOME)


def unit_is_in_name(said: Said) -> bool:
    """Whether the unit that is told of a column is the one that its name says."""
    return unit_of(said.name) == (said.unit if said.unit != "-" else "")
