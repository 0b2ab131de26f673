"""Machine files of the RDU: what they say, and that their numbers agree with each other."""

from __future__ import annotations

import pytest

from patterns.errors import SpecError, UnknownName
from rdu_model.machine import hbm_pace, load_machine, machine_names, read_machine, usable_pcus


def test_there_are_two_machines() -> None:
    assert machine_names() == ("sn40l", "unit")


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


def test_conflicting_public_figures_are_kept_beside_the_one_in_use() -> None:
    origins = {origin.field: origin for origin in read_machine("sn40l").origins}
    assert [other.written for other in origins["hbm_bytes_per_s"].alternatives] == ["2.0 TB/s", "1.6 TB/s"]
    assert [other.written for other in origins["clock_hz"].alternatives] == ["1.6 GHz"]


def test_hbm_pace_is_exact() -> None:
    # 1.8 TB/s x 0.88 at 1.2 GHz is 1320 bytes in a cycle.
    pace = hbm_pace(load_machine("sn40l"))
    assert (pace.amount, pace.cycles) == (1320, 1)
    assert (pace.cycles_for(0), pace.cycles_for(1), pace.cycles_for(1320), pace.cycles_for(1321)) == (0, 1, 1, 2)


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
