"""The light models in onnx's own wheel have the multiply-adds that are published for them, and their layers fold."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from patterns.count import graph_demand, parameters
from patterns.importers.onnx import import_graph

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def vgg19_multiply_adds() -> int:
    """Simonyan and Zisserman, arXiv 1409.1556, table 1, column E: 3 x 3 convolutions that keep the extent of 224."""
    stages = [(2, 64), (2, 128), (4, 256), (4, 512), (4, 512)]
    total, channels, extent = 0, 3, 224
    for layers, wide in stages:
        for _ in range(layers):
            total += extent * extent * 9 * channels * wide
            channels = wide
        extent //= 2
    return total + 7 * 7 * 512 * 4096 + 4096 * 4096 + 4096 * 1000


def alexnet_multiply_adds() -> int:
    """The Caffe reference model on 224 x 224: layers 2, 4 and 5 in two groups; (extent, kernel, inputs, outputs)."""
    layers = [(54, 11, 3, 96), (26, 5, 48, 256), (12, 3, 256, 384), (12, 3, 192, 384), (12, 3, 192, 256)]
    convolutions = sum(extent**2 * kernel**2 * inputs * outputs for extent, kernel, inputs, outputs in layers)
    return convolutions + 256 * 6 * 6 * 4096 + 4096 * 4096 + 4096 * 1000


def resnet50_multiply_adds() -> int:
    """He et al., arXiv 1512.03385, table 1: bottlenecks of 3, 4, 6 and 3; the stride is on the 3 x 3, as in Torch's."""
    total, channels, extent = 112 * 112 * 49 * 3 * 64, 64, 56
    for blocks, narrow in ((3, 64), (4, 128), (6, 256), (3, 512)):
        for block in range(blocks):
            wide = 4 * narrow
            total += extent * extent * channels * narrow
            extent = extent // 2 if block == 0 and narrow > 64 else extent
            shortcut = channels * wide if block == 0 else 0
            total += extent * extent * (9 * narrow * narrow + narrow * wide + shortcut)
            channels = wide
    return total + 2048 * 1000


@pytest.mark.parametrize(
    ("name", "multiply_adds", "about"),
    [
        ("vgg19", vgg19_multiply_adds(), 19.6e9),
        ("bvlc_alexnet", alexnet_multiply_adds(), 0.65e9),
        ("resnet50", resnet50_multiply_adds(), 4.09e9),
    ],
)
def test_multiply_adds_are_those_of_the_layers(name: str, multiply_adds: int, about: float) -> None:
    graph = import_graph(LIGHT / f"light_{name}.onnx", name)
    assert graph_demand(graph).matrix_flops == 2 * multiply_adds
    assert multiply_adds == pytest.approx(about, rel=0.02)
    counted = {"vgg19": 143_667_240, "bvlc_alexnet": 60_965_224, "resnet50": 25_557_032}
    assert parameters(graph) == counted[name]
