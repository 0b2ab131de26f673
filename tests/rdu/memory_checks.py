"""What holds of every compilation: homes that do not collide, and bytes that add up."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from patterns.count import compulsory
from patterns.graph import Graph
from patterns.plan import Plan
from patterns.report import Report
from patterns.run import run_plan
from patterns.summarize import summarize
from rdu_model import load_machine
from rdu_model.compilation import Compilation
from rdu_model.machine import Machine
from rdu_model.memory import off_chip, transfers


def homes_of(compiled: Compilation) -> dict[str, tuple[str, int]]:
    """Memory and address by tensor."""
    return {name: (home.tier, home.address) for home in compiled.homes for name in home.symbol.names}


def moved(plan: Plan) -> dict[str, int]:
    """Off-chip bytes of one socket in one run, by memory."""
    found = Counter({"hbm": 0, "ddr": 0})
    for call in plan.calls:
        for level, amount in call.traffic:
            if level in found:
                found[level] += amount * call.count
    return dict(found)


def report_of(plan: Plan) -> Report:
    return summarize(run_plan(plan))


def unit_with(hbm_bytes: int, ddr_bytes: int = 2**20) -> Machine:
    return load_machine("unit", {"hbm_bytes": f"{hbm_bytes} B", "ddr_bytes": f"{ddr_bytes} B"})


def check_homes(compiled: Compilation, machine: Machine) -> None:
    """Nobody's address range is another's while both live, and none ends behind its memory."""
    sizes = {"hbm": machine.hbm_bytes, "ddr": machine.ddr_bytes}
    for home in compiled.homes:
        assert 0 <= home.address <= home.end <= sizes[home.tier]
    for one, other in combinations(compiled.homes, 2):
        if one.tier == other.tier and one.symbol.meets(other.symbol):
            assert one.end <= other.address or other.end <= one.address, (one, other)


def check_nothing_is_overwritten(graph: Graph, compiled: Compilation) -> None:
    """All calls of a run in order: what a call reads, nobody has written over since it was written or given."""
    home = {name: home for home in compiled.homes for name in home.symbol.names}
    whole = {id(one): one.symbol.use in ("weights", "states", "inputs") for one in compiled.homes}
    used: dict[tuple[int, bool], set[str]] = {}
    for stream in transfers(compiled.sections):
        used.setdefault((stream.section, stream.written), set()).add(stream.storage)
    for block in graph.blocks:
        numbers = [number for number, one in enumerate(compiled.sections) if one.block.name == block.name]
        calls = max((block.count // compiled.sections[n].section.flow.metapipe.iterations for n in numbers), default=0)
        for number in numbers * calls:
            assert all(whole[id(home[name])] for name in used.get((number, False), ())), number
            for name in used.get((number, True), ()):
                mine = home[name]
                for other in compiled.homes:
                    if other.tier == mine.tier and other.address < mine.end and mine.address < other.end:
                        whole[id(other)] = False
                whole[id(mine)] = True
    assert all(whole[id(one)] for one in compiled.homes if one.symbol.use != "between calls")


def check_rows(graph: Graph, compiled: Compilation, plan: Plan) -> None:
    """All rows together are the plan's traffic, and what is not read again or passed on is what has to be moved."""
    rows = off_chip(graph, compiled.sections)
    assert rows == plan.moved
    by_tier = Counter({"hbm": 0, "ddr": 0})
    for row in rows:
        assert row.num_bytes > 0
        by_tier[row.level] += row.num_bytes
    assert dict(by_tier) == moved(plan)
    needed = sum(row.num_bytes for row in rows if "again" not in row.reason and "between" not in row.reason)
    assert needed == compulsory(graph).total_bytes
