"""The FFT convolution is the causal convolution, and its work is that of complex products and factors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from patterns.count import graph_demand
from patterns.errors import SpecError
from patterns.evaluate import evaluate
from patterns.graph import Graph
from patterns.library import workload


def as_real(matrix: Any) -> Any:
    """A complex matrix [a, b] as the real one [a, part, b, part] that multiplies pairs."""
    return np.array([[matrix.real, matrix.imag], [-matrix.imag, matrix.real]]).transpose(2, 0, 3, 1)


def crossed(factors: Any) -> Any:
    """What multiplies the swapped parts: minus the imaginary part for the real result, plus it for the other."""
    return np.stack([-factors.imag, factors.imag], axis=-1)


def tables(graph: Graph, x: Any, filters: Any) -> dict[str, Any]:
    """All that the graph reads: DFT matrices, twiddles, and the spectra of the filters [channels, seq]."""
    fft, n1, n2 = (graph.sizes[name] for name in ("fft", "n1", "n2"))
    dft_1, dft_2, twiddle = (
        np.exp(-2j * np.pi * np.outer(np.arange(a), np.arange(b)) / of)
        for a, b, of in ((n1, n1, n1), (n2, n2, n2), (n2, n1, fft))
    )
    # Frequency k1 + n1 k2 is at [k1, k2].
    spectra = np.fft.fft(filters, fft).reshape(-1, n2, n1).transpose(0, 2, 1)
    return {
        "x": x,
        "dft_1": as_real(dft_1),
        "dft_2": as_real(dft_2),
        "same": twiddle.real,
        "crossed": crossed(twiddle),
        "filter_same": spectra.real,
        "filter_crossed": crossed(spectra),
        "inverse_2": as_real(dft_2.conj()) / n2,
        "inverse_1": as_real(dft_1.conj()) / n1,
        "back_crossed": crossed(twiddle.conj()),
    }


def test_both_sequences_are_convolved_with_the_filter_of_their_channel() -> None:
    graph = workload("fft_convolution", overrides={"batch": 2, "channels": 3, "seq": 5, "fft": 12, "n1": 4})
    random = np.random.default_rng(5)
    x, filters = random.normal(size=(2, 3, 5, 2)), random.normal(size=(3, 5))
    y = evaluate(graph, tables(graph, x, filters))["y"]
    for batch, channel, part in np.ndindex(2, 3, 2):
        expected = np.convolve(x[batch, channel, :, part], filters[channel])[:5]
        assert y[batch, channel, :, part] == pytest.approx(expected)


def test_a_channel_takes_complex_products_twiddles_and_the_filter() -> None:
    demand = graph_demand(workload("fft_convolution", overrides={"batch": 1, "channels": 1}))
    # A transform: 2 x 64 x 64 x 64 complex multiply-adds of 8 FLOPs, and 4,096 twiddles of 6 ops.
    assert demand.matrix_flops == 2 * 4_194_304
    assert demand.vector_ops == 2 * 4096 * 6 + 4096 * 6
    assert demand.matrix_flops + demand.vector_ops == 8_462_336


@pytest.mark.parametrize(("seq", "fft", "needed"), [(16384, 4096, 32768), (4096, 4096, 8192)])
def test_an_fft_that_would_wrap_round_is_refused_with_the_length_that_is_needed(
    seq: int, fft: int, needed: int
) -> None:
    with pytest.raises(SpecError, match=rf"requires fft >= 2 \* seq, and fft is {fft} and 2 \* seq is {needed}"):
        workload("fft_convolution", overrides={"seq": seq, "fft": fft})


def test_an_fft_is_the_product_of_its_factors() -> None:
    with pytest.raises(SpecError, match=r"4096.*n1, n2.*2048"):
        workload("fft_convolution", overrides={"seq": 1024, "n2": 32})
