"""Machine files of the RDU: what they say, and that their numbers agree with each other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from patterns.documents.parameters import read_parameters
from patterns.errors import SpecError, UnknownName, UserError
from patterns.plugin import data_file
from rdu_model.homes import first_memory
from rdu_model.machine import (
    PACKAGE,
    RULES,
    Machine,
    Pace,
    hbm_pace,
    load_machine,
    machine_names,
    read_machine,
    usable_pcus,
)
from rdu_model.peaks import peaks_of


def test_there_are_these_machines() -> None:
    assert machine_names() == ("plasticine", "sn10", "sn30", "sn40l", "sn50", "unit")


@pytest.mark.parametrize("name", machine_names())
def test_every_number_has_a_source(name: str) -> None:
    sources = dict(read_machine(name).sources)
    assert sources.pop("name") == "not in the file: the default"
    assert all(len(source) > 5 for source in sources.values()), sources


def test_sn40l_by_shape_and_clock_is_its_data_sheet_peak() -> None:
    machine = load_machine("sn40l")
    assert machine.peak_flops_per_s == pytest.approx(638e12, rel=0.002)
    # The other shape that the published numbers allow gives the same.
    assert pytest.approx(machine.peak_flops_per_s, rel=1e-9) == 1040 * 16 * 6 * 2 * 2 * 1.6e9


# Published: peak in TFLOP/s, on-chip MiB, and TB/s of all PMUs' read ports, which follow from 64 B/cycle and the clock.
@pytest.mark.parametrize(
    ("name", "peak", "sram", "ports"),
    [
        ("sn50", 1600, 412.3, 199.7),
        ("sn40l", 638, 520, 79.9),
        ("sn30", 614.4, 640, 102.4),
        ("sn10", 325, 320, 54.2),
        ("plasticine", 12.3, 16, 4.1),
        ("unit", 0.128, 16, 0.256),
    ],
)
def test_units_by_shape_and_clock_give_what_is_published(name: str, peak: float, sram: float, ports: float) -> None:
    machine = load_machine(name)
    assert machine.peak_flops_per_s / 1e12 == pytest.approx(peak, rel=0.002)
    assert machine.pmus * machine.pmu_bytes == pytest.approx(sram * 2**20, rel=1e-3)
    assert machine.pmus * machine.pmu_bytes_per_cycle * machine.clock_hz / 1e12 == pytest.approx(ports, rel=0.002)
    assert machine.tiles * machine.tile_rows * machine.tile_columns == machine.pcus + machine.pmus


def test_machines_without_hbm_stream_from_ddr() -> None:
    sn10, sn30, plasticine = (load_machine(name) for name in ("sn10", "sn30", "plasticine"))
    paces = [first_memory(machine).pace for machine in (sn10, sn30, plasticine)]
    streams = [
        pace.amount * machine.clock_hz / pace.cycles
        for pace, machine in zip(paces, (sn10, sn30, plasticine), strict=True)
    ]
    # 100 GB/s is measured; 78 % of 300 GB/s, 80 % of 51.2 GB/s.
    assert streams == pytest.approx([100e9, 234e9, 40.96e9])
    assert peaks_of("sn10").memory == peaks_of("sn30").memory == "DDR"
    assert peaks_of("sn40l").memory == "HBM"


def test_the_other_shape_of_sn40l_is_reached_by_setting_it() -> None:
    other = load_machine("sn40l", {"pcu_stages": "6", "clock_hz": "1.6 GHz"})
    assert other.peak_flops_per_s == load_machine("sn40l").peak_flops_per_s
    # What changes: the PMUs' ports in bytes per second, and the bytes that come from HBM in a cycle.
    assert other.pmu_bytes_per_cycle * other.clock_hz == 4 * 64 * 1_200_000_000 // 3
    assert hbm_pace(other) == Pace(3915, 4)


def test_conflicting_public_figures_are_kept_beside_the_one_in_use() -> None:
    origins = {origin.field: origin for origin in read_machine("sn40l").origins}
    assert [other.written for other in origins["hbm_bytes_per_s"].alternatives] == ["2.0 TB/s", "1.6 TB/s"]
    assert [other.written for other in origins["clock_hz"].alternatives] == ["1.6 GHz"]


def test_hbm_pace_is_exact() -> None:
    # 1.8 TB/s x 0.87 at 1.2 GHz is 1305 bytes in a cycle.
    pace = hbm_pace(load_machine("sn40l"))
    assert (pace.amount, pace.cycles) == (1305, 1)
    assert (pace.cycles_for(0), pace.cycles_for(1), pace.cycles_for(1305), pace.cycles_for(1306)) == (0, 1, 1, 2)


def test_usable_pcus_are_counted_exactly() -> None:
    assert usable_pcus(load_machine("sn40l")) == 936
    # 0.29 x 100 is 28.999... in binary.
    assert usable_pcus(load_machine("unit", {"pcus": "100", "usable_share": "0.29"})) == 29


def test_overrides_are_read_like_the_file() -> None:
    assert load_machine("sn40l", {"hbm_bytes_per_s": "2 TB/s"}).hbm_bytes_per_s == 2 * 10**12
    with pytest.raises(SpecError, match="a unit is due"):
        load_machine("sn40l", {"hbm_bytes_per_s": "2000"})
    with pytest.raises(UnknownName, match="did you mean 'hbm_bytes'"):
        load_machine("sn40l", {"hbm_byte": "2 GB"})
    with pytest.raises(UnknownName, match="unknown RDU 'sn40'"):
        load_machine("sn40")


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Machine]:
    """The unit machine's file with some lines replaced, or left out, as a file of a user's."""
    text = data_file(PACKAGE, "unit", ".yaml", "RDU").read_text(encoding="utf-8")

    def read(without: str = "", **values: str) -> Machine:
        lines = [line for line in text.splitlines() if line.partition(":")[0] not in {without, *values}]
        lines += [f"{name}: {{value: {value}, source: a data sheet}}" for name, value in values.items()]
        file = tmp_path / "mine.yaml"
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_parameters(file, Machine, None, RULES).values

    return read


def test_a_machine_without_compute_units_is_refused(changed: Callable[..., Machine]) -> None:
    with pytest.raises(SpecError, match="missing parameter 'pcus'"):
        changed(without="pcus")
    with pytest.raises(SpecError, match=r"mine\.yaml:\d+:\d+: pcus\.value: .*greater than 0, found 0"):
        changed(pcus="0")
    with pytest.raises(SpecError, match=r"pcus.*greater than 0, found 0"):
        load_machine("sn40l", {"pcus": "0"})


def test_values_that_cannot_be_true_together_are_refused(changed: Callable[..., Machine]) -> None:
    with pytest.raises(SpecError, match="1 tiles of 16 x 20 hold 320 units, and there are 65 PCUs and 256 PMUs: 321"):
        changed(pcus="65")
    with pytest.raises(SpecError, match="1 tiles are no rectangle with 2 side by side"):
        changed(tiles_across="2")
    with pytest.raises(SpecError, match="HBM that holds bytes needs a bandwidth"):
        changed(hbm_bytes_per_s="0 B/s")
    # What would be, with another number of units, may be asked; what could never be, not.
    assert load_machine("unit", {"pcus": "65"}).pcus == 65
    with pytest.raises(UserError, match="HBM that holds bytes needs a bandwidth"):
        load_machine("unit", {"hbm_bytes_per_s": "0 B/s"})
    with pytest.raises(SpecError, match=r"unknown parameter 'peak_flops_per_s'.*a multiply-add is 2 FLOP"):
        changed(peak_flops_per_s="638 TFLOP/s")
