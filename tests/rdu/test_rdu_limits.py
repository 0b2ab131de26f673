"""Limits of an RDU by themselves: what one of them alone refuses, and that it is compiled as soon as it is lifted."""

from __future__ import annotations

import pytest

from patterns.errors import DoesNotFit
from patterns.library import workload
from rdu_model import Metapipeline, load_machine, lower, lower_metapipe
from rdu_model.metapipe import Metapipe


def test_a_group_is_of_no_more_sockets_than_are_linked() -> None:
    graph = workload("tensor_parallel_mlp", members=32)
    with pytest.raises(DoesNotFit, match=r"a tensor-parallel group of 32 .*needs 32 sockets, there is 16; sn40l links"):
        lower(graph, load_machine("sn40l"), members=32)
    assert lower(graph, load_machine("sn40l", {"sockets": "32"}), members=32).members == 32


def loaded(row_par: int) -> Metapipe:
    p = Metapipeline("copy")
    source, out = p.input_region("source", "r c", (128, 8)), p.output_region("out", "r c", (128, 8))
    p.store_tile(out, p.map("exp", p.load_tile(source, (128, 8), row_par=row_par)))
    return p.build()


def test_a_load_has_no_more_streams_than_there_are_agcus() -> None:
    machine = load_machine("sn40l")
    assert lower_metapipe(loaded(machine.agcus), machine)
    more = loaded(machine.agcus + 1)
    with pytest.raises(DoesNotFit, match=f"needs {machine.agcus + 1} AGCUs.* row_par={machine.agcus} is the most"):
        lower_metapipe(more, machine)
    assert lower_metapipe(more, load_machine("sn40l", {"agcus": str(machine.agcus + 1)}))
