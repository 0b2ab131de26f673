"""Machine files: values with sources into a flat record."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patterns.documents.parameters import COMMAND_LINE, Parameters, Published, Rules, read_parameters
from patterns.errors import SpecError, UnknownName, UserError


@dataclass(frozen=True)
class Machine:
    cores: int
    clock_hz: int
    hbm_bytes_per_s: float
    launch_ps: int
    flops_per_cycle: tuple[tuple[str, int], ...]
    grid: tuple[int, int]
    kind: str
    sparse: bool
    mode: Literal["fast", "slow"]
    reserved_bytes: int = field(default=0, metadata={"zero": True})
    byte_joules: float | None = None
    names: tuple[str, ...] = ()


TEXT = """
# Comments are for people.
cores: {value: 010, source: white paper}
clock_hz: {value: 1.83 GHz, source: lecture, note: "boost: not sustained"}
hbm_bytes_per_s:
  value: 3.35 TB/s
  source: data sheet
  alternatives:
    - {value: 3.2 TB/s, source: measured, note: STREAM}
    - {value: 3 TB/s, source: guessed}
launch_ps: {value: 2.1 us, source: measured}
flops_per_cycle: {value: {bf16: 4096 FLOP/cycle, fp8: 8192 FLOP/cycle}, source: lecture}
grid: {value: [16, 8], source: slide 47}
kind: {value: no, source: on}
sparse: {value: true, source: x}
mode: {value: slow, source: x}
reserved_bytes: {value: 0 B, source: x}
byte_joules: {value: 4 pJ, source: x}
"""


def read(text: str, folder: Path, **overrides: str) -> Parameters[Machine]:
    file = folder / "machine.yaml"
    file.write_text(text, encoding="utf-8")
    return read_parameters(file, Machine, overrides)


def test_values_and_where_they_are_from(tmp_path: Path) -> None:
    found = read(TEXT, tmp_path)
    flops = (("bf16", 4096), ("fp8", 8192))
    assert found.values == Machine(
        10, 1_830_000_000, 3.35e12, 2_100_000, flops, (16, 8), "no", True, "slow", 0, 4e-12, ()
    )
    assert isinstance(found.values.hbm_bytes_per_s, float)
    sources = dict(found.sources)
    assert list(sources) == list(Machine.__dataclass_fields__)
    assert sources["cores"] == "white paper"
    assert sources["names"] == "not in the file: the default"
    origin = {origin.field: origin for origin in found.origins}["hbm_bytes_per_s"]
    assert origin.used == Published(3.35e12, "3.35 TB/s", "data sheet")
    assert origin.alternatives == (
        Published(3.2e12, "3.2 TB/s", "measured", "STREAM"),
        Published(3e12, "3 TB/s", "guessed"),
    )


def test_overrides_are_read_like_the_file_and_say_where_they_are_from(tmp_path: Path) -> None:
    found = read(TEXT, tmp_path, cores="20", hbm_bytes_per_s="1 TB/s", grid="[2, 3]", mode="fast", kind="x y")
    assert (found.values.cores, found.values.hbm_bytes_per_s, found.values.grid) == (20, 1e12, (2, 3))
    assert (found.values.mode, found.values.kind) == ("fast", "x y")
    assert dict(found.sources)["cores"] == COMMAND_LINE


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("hbm_bytes_per_s", "3.35", "--set hbm_bytes_per_s:1:1: a unit is due, found the bare number 3.35"),
        ("cores", "0", "--set cores:1:1: must be finite and greater than 0, found 0"),
        ("cores", "1e3", "a whole number is due, found the number 1000.0 (written 1e3); write 1000"),
        ("cores", "no", "a whole number is due, found the text 'no'"),
        ("cores", "true", "a whole number is due, found true"),
        ("cores", " ", "--set cores= has no value"),
        ("cores", "~", "--set cores:1:1: the file is empty"),
        ("grid", "[2, 0]", "--set grid:1:5: 1: must be finite and greater than 0"),
        ("grid", "[2, ", "--set grid:2:1: not YAML"),
        ("mode", "fats", "one of fast, slow is due, found the text 'fats' (did you mean 'fast'?)"),
        ("sparse", "yes", "true or false is due, found the text 'yes'"),
        ("byte_joules", "4", "a unit is due"),
    ],
)
def test_a_wrong_override(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        read(TEXT, tmp_path, **{name: text})
    assert message in str(caught.value)


def test_an_override_of_no_parameter(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown parameter 'core' \(did you mean 'cores'\?\)"):
        read(TEXT, tmp_path, core="3")


def test_every_mistake_is_told_with_its_place(tmp_path: Path) -> None:
    wrong = TEXT.replace("010", "-1").replace("2.1 us", "2.1").replace("mode:", "mood:").replace("[16, 8]", "[16]")
    with pytest.raises(SpecError) as caught:
        read(wrong, tmp_path)
    told = [(mistake.line, mistake.path) for mistake in caught.value.mistakes]
    # Line 3 has two: the missing `mode` is told where the mapping begins.
    assert told == [(3, ""), (3, "cores.value"), (11, "launch_ps.value"), (13, "grid.value"), (16, "mood")]


@settings(deadline=None, max_examples=60)
@given(st.text("0123456789.-+eE kMGTi B/s[]{}:,&*~nofaultrue\"'", max_size=30))
def test_any_value_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("cores", "clock_hz", "flops_per_cycle", "grid", "byte_joules", "names"):
        try:
            values = read(TEXT, folder, **{name: text}).values
        except UserError:
            continue
        assert getattr(values, name) is not None


def like(text: str, folder: Path) -> Parameters[Machine]:
    (folder / "machine.yaml").write_text(text, encoding="utf-8")

    def file_of(name: str) -> Path:
        if name not in ("other", "second"):
            raise UnknownName("machine", name, ("other", "second"))
        return folder / f"{name}.yaml"

    return read_parameters(folder / "machine.yaml", Machine, None, Rules(file_of=file_of))


def test_a_machine_like_another_takes_what_it_leaves_out(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(TEXT, encoding="utf-8")
    found = like("like: other\ncores: {value: 12, source: counted}\n", tmp_path)
    assert (found.values.cores, found.values.clock_hz) == (12, 1_830_000_000)
    sources = dict(found.sources)
    assert (sources["cores"], sources["clock_hz"]) == ("counted", "lecture")
    assert next(o for o in found.origins if o.field == "hbm_bytes_per_s").alternatives


def test_a_machine_is_like_one_that_there_is_and_that_is_like_no_other(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(TEXT, encoding="utf-8")
    (tmp_path / "second.yaml").write_text("like: other\n", encoding="utf-8")
    with pytest.raises(SpecError, match=r"machine.yaml:1:7: like: unknown machine 'othe' .did you mean 'other'"):
        like("like: othe\n", tmp_path)
    with pytest.raises(SpecError, match=r"machine.yaml:1:7: like: second is itself like another machine"):
        like("like: second\n", tmp_path)
    with pytest.raises(SpecError, match="unknown parameter 'like'"):
        read("like: other\n" + TEXT, tmp_path)


def test_values_that_cannot_all_be_true_are_told_where_they_stand(tmp_path: Path) -> None:
    def contradictions(machine: Machine) -> list[tuple[str, str]]:
        return [("cores", "more cores than the grid has")] if machine.cores > 128 else []

    def hint(name: str) -> str:
        return "; there are no threads" if "thread" in name else ""

    def impossible(machine: Machine) -> list[tuple[str, str]]:
        return [("cores", "no computer has these")] if machine.cores > 1000 else []

    rules = Rules(hint=hint, contradictions=contradictions, impossible=impossible)
    file = tmp_path / "machine.yaml"
    file.write_text(TEXT.replace("010", "129"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"machine.yaml:3:16: cores.value: more cores than the grid has"):
        read_parameters(file, Machine, None, rules)
    file.write_text(TEXT + "threads: {value: 1, source: x}\n", encoding="utf-8")
    with pytest.raises(SpecError, match="unknown parameter 'threads'; there are no threads"):
        read_parameters(file, Machine, None, rules)
    file.write_text(TEXT, encoding="utf-8")
    assert read_parameters(file, Machine, {"cores": "129"}, rules).values.cores == 129
    with pytest.raises(UserError, match="--set cores: no computer has these"):
        read_parameters(file, Machine, {"cores": "1001"}, rules)
