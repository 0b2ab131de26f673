"""Blocks of other files: what they are called, what they compute, and what can be wrong with them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy
import pytest

import gpu_model
import rdu_model
from patterns.count import compulsory, graph_demand, parameters
from patterns.errors import SpecError, UnknownName
from patterns.evaluate import evaluate, random_arrays
from patterns.graph import Graph
from patterns.graph_file.compose import Budget, Opened
from patterns.library import workload
from patterns.numbers.execute import execute
from patterns.read import graph_in, parse_graph, read_graph
from patterns.write import write_graph

MLP = """\
name: mlp
extents: {rows: 8, hidden: 16, wide: hidden * 2, layers: 3}
requires: [wide > hidden]
tensors:
  x: {dims: [rows, hidden], dtype: bf16, role: input}
  y: {dims: [rows, hidden], dtype: bf16, role: output}
blocks:
  first: {nodes: {h: {kind: map, fn: exp, reads: [x]}}}
  body:
    count: layers
    carried: {h: down}
    tensors:
      w: {dims: [hidden, wide], dtype: bf16, role: weight}
      v: {dims: [wide, hidden], dtype: bf16, role: weight}
    nodes:
      up:   {kind: mm, reads: [h, w]}
      act:  {kind: map, fn: relu, reads: [up]}
      down: {kind: mm, reads: [act, v]}
  last: {nodes: {y: {kind: map, fn: neg, reads: [down]}}}
"""
HEAD = """\
name: two
extents: {tokens: 4, size: 6}
tensors:
  a: {dims: [tokens, size], dtype: bf16, role: input}
  one_w: {dims: [tokens], dtype: bf16, role: weight}
  z: {dims: [tokens, size], dtype: bf16, role: output}
blocks:
"""
TWO = (
    HEAD.replace("one_w", "gain")
    + """\
  one: {use: parts/mlp.yaml, extents: {rows: tokens, hidden: size, layers: 2}, reads: {x: a}}
  two: {again: one, reads: {x: one_y}}
  mid: {use: parts/mlp.yaml, block: body, count: size - 3, extents: {rows: tokens, hidden: size}, reads: {h: two_y}}
  end: {nodes: {z: {kind: zip, fn: add, reads: [mid_down, one_y]}, g: {kind: map, fn: neg, reads: [gain]}}}
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a graph to use, in a folder of its own."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mlp.yaml").write_text(MLP, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def two(folder: Path) -> Graph:
    """A graph that uses another one twice, and one block of it."""
    (folder / "two.yaml").write_text(TWO, encoding="utf-8")
    return read_graph("two.yaml")


def test_names_dims_and_counts(two: Graph) -> None:
    named = ["one_first", "one_body", "one_last", "two_first", "two_body", "two_last", "mid", "end"]
    assert [(block.name, block.count) for block in two.blocks] == list(
        zip(named, [1, 2, 1, 1, 2, 1, 3, 1], strict=True)
    )
    assert two.extents == (
        *(("tokens", 4), ("size", 6)),
        *(("one_wide", 12), ("one_layers", 2), ("mid_wide", 12), ("mid_layers", 3)),
    )
    assert two.tensor_named["mid_w"].dims == ("size", "mid_wide")
    assert two.block_named["mid"].carried == (("two_y", "mid_down"),)
    # What is given out is an intermediate where it is read, and a weight of another execution is the same weight.
    assert two.tensor_named["one_y"].role == "intermediate"
    assert two.results == {"z", "g"}
    assert "two_w" not in two.tensor_named
    assert parameters(two) == 4 + (2 + 3) * 2 * 6 * 12
    assert graph_demand(two).matrix_flops == (2 + 2 + 3) * 2 * (2 * 4 * 6 * 12)
    assert compulsory(two).weight_bytes == 2 * parameters(two)


def test_it_computes_what_the_parts_compute(two: Graph) -> None:
    arrays = random_arrays(two, seed=1)

    def body(x: numpy.ndarray, w: numpy.ndarray, v: numpy.ndarray) -> numpy.ndarray:
        for own_w, own_v in zip(w, v, strict=True):
            x = numpy.maximum(x @ own_w, 0) @ own_v
        return x

    one = -body(numpy.exp(arrays["a"]), arrays["one_w"], arrays["one_v"])
    again = -body(numpy.exp(one), arrays["one_w"], arrays["one_v"])
    due = body(again, arrays["mid_w"], arrays["mid_v"]) + one
    numpy.testing.assert_allclose(evaluate(two, arrays)["z"], due)


def test_it_is_written_flat_and_loads_back_equal(two: Graph) -> None:
    text = write_graph(two)
    assert "use:" not in text
    assert parse_graph(text) == two


def test_extents_of_a_part_are_set_by_the_name_that_they_have_here(two: Graph) -> None:
    changed = read_graph("two.yaml", {"one_layers": "5", "mid_wide": "hidden * 4", "size": "7"})
    assert (changed.block_named["one_body"].count, changed.block_named["two_body"].count) == (5, 5)
    assert (changed.block_named["mid"].count, changed.sizes["mid_wide"], changed.sizes["one_wide"]) == (4, 28, 14)
    with pytest.raises(UnknownName, match=r"unknown extent 'one_layer' \(did you mean 'one_layers'\?\)"):
        read_graph("two.yaml", {"one_layer": "5"})
    with pytest.raises(UnknownName, match="unknown extent 'one_hidden'"):
        read_graph("two.yaml", {"one_hidden": "5"})


WRONG = {
    "one: {use: mlp.yaml}": "9:14: blocks.one.use: cannot read mlp.yaml: No such file or directory",
    "one: {use: softmx}": "9:14: blocks.one.use: unknown workload 'softmx' (did you mean 'softmax'?)",
    "one: {use: parts/mlp.yaml}": "9:3: blocks.one: tensor 'one_w' is there already, on line 5; call this block other",
    "b: {use: parts/mlp.yaml, block: bdy}": "9:35: blocks.b.block: mlp has no block 'bdy' (did you mean 'body'?)",
    "b: {use: parts/mlp.yaml, block: body}": "9:3: blocks.b: block 'body' of mlp reads 'h', which another block of it",
    "b: {again: a}": "9:14: blocks.b.again: no block 'a' above uses another graph",
    "b: {use: parts/mlp.yaml, count: 2}": "9:35: blocks.b.count: which block of mlp is repeated? name it under block",
    "b: {use: parts/mlp.yaml, block: last, count: siz, reads: {down: a}}": "blocks.b.count: unknown name 'siz' (did y",
    "b: {use: parts/mlp.yaml, extents: {hiden: 2}}": "9:38: blocks.b.extents.hiden: unknown extent 'hiden' (did you",
    "b: {use: parts/mlp.yaml, extents: {hidden: 0}}": "9:46: blocks.b.extents.hidden: an extent is greater than 0, fo",
    "b: {use: parts/mlp.yaml, extents: {hidden: 2 * sise}}": "9:50: blocks.b.extents.hidden: unknown name 'sise' (did",
    "b: {use: parts/mlp.yaml, reads: {q: a}}": "9:36: blocks.b.reads.q: mlp reads no tensor 'q' that it does not make",
    "b: {use: parts/mlp.yaml, reads: {x: aa}}": "9:39: blocks.b.reads.x: unknown tensor 'aa'",
    "b: {use: parts/mlp.yaml, reads: {x: a}}": "9:39: blocks.b.reads.x: 'a' is bf16 [tokens, size], and 'x' is bf16 [",
    "b: {use: two.yaml}": "9:12: blocks.b.use: files that use each other go round: two.yaml -> two.yaml",
    "b: {use: parts/mlp.yaml, nodes: {}}": "9:28: blocks.b.nodes: unknown key 'nodes'; accepted here: use, block, cou",
    "b: {use: parts/mlp.yaml, extents: {wide: 1}}": "mlp.yaml:3:12: requires.0: requires wide > hidden, and wide is 1",
}


@pytest.mark.parametrize("entry", WRONG)
def test_what_is_wrong_is_told_where_it_is_written(folder: Path, entry: str) -> None:
    (folder / "two.yaml").write_text(f"{HEAD}\n  {entry}\n", encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_graph("two.yaml")
    assert WRONG[entry] in str(caught.value).replace("two.yaml:", "", 1)


def test_a_mistake_in_a_part_is_told_once_with_its_own_file(folder: Path) -> None:
    (folder / "parts" / "mlp.yaml").write_text(MLP.replace("fn: relu", "fn: relo"), encoding="utf-8")
    (folder / "two.yaml").write_text(TWO, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_graph("two.yaml")
    assert [(m.file, m.line, m.path) for m in caught.value.mistakes] == [
        ("parts/mlp.yaml", 17, "blocks.body.nodes.act.fn")
    ]


def test_no_extent_takes_the_place_of_another(folder: Path) -> None:
    small = HEAD.partition("blocks:")[0] + "nodes: {z: {kind: map, fn: exp, reads: [a]}}\n"
    (folder / "small.yaml").write_text(small.replace("tokens: 4", "e_layers: 1, tokens: 4"), encoding="utf-8")
    uses = "  b: {use: parts/mlp.yaml}\n  d: {use: small.yaml}\n  d_e: {use: parts/mlp.yaml}\n"
    (folder / "a.yaml").write_text(f"name: a\nextents: {{b_layers: 2}}\nblocks:\n{uses}", encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_graph("a.yaml")
    assert [str(mistake) for mistake in caught.value.mistakes] == [
        "a.yaml:4:3: blocks.b: extent 'b_layers' is there already, on line 2; call this block otherwise",
        "a.yaml:6:3: blocks.d_e: extent 'd_e_layers' is there already, on line 5; call this block otherwise",
    ]


def test_files_are_bounded_together(folder: Path) -> None:
    chain = "name: f\nblocks: {{b: {{use: f{}.yaml}}}}\n"
    for number in range(10):
        (folder / f"f{number}.yaml").write_text(chain.format(number + 1), encoding="utf-8")
    with pytest.raises(SpecError, match="more than 8 files deep"):
        read_graph("f0.yaml")
    again = "name: f\nblocks: {{b: {{use: {}, times: 64}}}}\n"
    for number in range(4):
        (folder / f"t{number}.yaml").write_text(again.format(f"t{number + 1}.yaml"), encoding="utf-8")
    (folder / "t4.yaml").write_text(again.format("softmax"), encoding="utf-8")
    with pytest.raises(SpecError, match="holds more than 100,000 nodes and values together"):
        graph_in(Path("t0.yaml"), {}, Opened(budget=Budget(2000)))
    (folder / "two.yaml").write_text(TWO, encoding="utf-8")
    graph_in(Path("two.yaml"), {}, Opened(budget=Budget(1000)))
    with pytest.raises(SpecError, match="holds more than 100,000 nodes and values together"):
        graph_in(Path("two.yaml"), {}, Opened(budget=Budget(150)))


REPEATED = (
    HEAD.replace("one_w", "gain").replace("size: 6", "size: 6, times: 3, all: times * tokens")
    + """\
  one: {use: parts/mlp.yaml, extents: {rows: tokens, hidden: size, layers: 2}, reads: {x: a}, times: times,
        carried: {x: y}, joined: {y: {along: rows, to: all}}}
  end: {nodes: {g: {kind: map, fn: neg, reads: [gain]}, q: {kind: map, fn: neg, reads: [one_y]},
                z: {kind: map, fn: neg, reads: [one_3_y]}}}
"""
)


def test_a_graph_is_executed_several_times_and_its_results_are_joined(folder: Path) -> None:
    (folder / "two.yaml").write_text(REPEATED, encoding="utf-8")
    graph = read_graph("two.yaml")
    assert parse_graph(write_graph(graph)) == graph
    assert parameters(graph) == 4 + 2 * 2 * 6 * 12
    arrays = random_arrays(graph, seed=1)
    x, made = arrays["a"], []
    for _ in range(3):
        x = numpy.exp(x)
        for own_w, own_v in zip(arrays["one_1_w"], arrays["one_1_v"], strict=True):
            x = numpy.maximum(x @ own_w, 0) @ own_v
        made.append(x := -x)
    found = evaluate(graph, arrays)
    numpy.testing.assert_allclose(found["q"], -numpy.concatenate(made))
    numpy.testing.assert_allclose(found["z"], -made[-1])
    assert len(read_graph("two.yaml", {"times": "5", "one_layers": "4"}).blocks) == 5 * 3 + 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("times: times,", "times: 65,", "blocks.one.times: a number from 1 to 64 is due, found 65"),
        ("times: times,", "times: tim,", "blocks.one.times: unknown name 'tim' (did you mean 'times'?)"),
        ("times: times,", "", "blocks.one.carried: carried is of a use that is executed several times"),
        ("{x: y}", "{w: y}", "blocks.one.carried.w: 'w' is a weight, the same each time"),
        ("{x: y}", "{x: yy}", "blocks.one.carried.x: mlp makes no tensor 'yy'"),
        ("{x: y}", "{x: up}", "blocks.one.carried.x: tensor 'one_1_up' is written in the repeated block"),
        ("joined: {y:", "joined: {yy:", "blocks.one.joined.yy: mlp makes no tensor 'yy'"),
        ("along: rows", "along: row", "blocks.one.joined.y.along: y has no dim 'row' (did you mean 'rows'?)"),
        ("to: all", "to: size", "blocks.one.joined.y: tokens + tokens + tokens is 12, and 'size' has extent 6"),
    ],
)
def test_what_is_wrong_with_times(folder: Path, old: str, new: str, message: str) -> None:
    assert old in REPEATED
    (folder / "two.yaml").write_text(REPEATED.replace(old, new), encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        read_graph("two.yaml")
    assert message in str(caught.value)


@pytest.mark.parametrize("members", [1, 2])
def test_speculative_decoding_is_one_draft_model_and_one_that_checks(members: int) -> None:
    graph = workload("speculative_decoding", members=members)
    draft, verify = (workload(name, members=members) for name in ("llama-3.2-1b", "llama-3.1-8b"))
    assert parameters(graph) == parameters(draft) + parameters(verify)
    checking = workload("llama-3.1-8b", members=members, overrides={"seq": 5, "last": 5})
    flops = 4 * graph_demand(draft).matrix_flops + graph_demand(checking).matrix_flops
    assert graph_demand(graph).matrix_flops == flops
    small = {"draft_layers": 1, "verify_layers": 1, "context": 32}
    assert parse_graph(write_graph(workload("speculative_decoding", overrides=small))).blocks


@pytest.mark.parametrize(
    ("model", "machine", "how"), [(gpu_model, "h100_sxm", "library"), (rdu_model, "sn40l", "looped")]
)
def test_both_machines_compute_it_too(two: Graph, model: ModuleType, machine: str, how: str) -> None:
    arrays = random_arrays(two, seed=2)
    mode = {"policy" if model is gpu_model else "mode": how}
    found = execute(model.lower(two, model.load_machine(machine, {}), **mode), arrays)
    for name, due in evaluate(two, arrays).items():
        numpy.testing.assert_allclose(found[name], due, rtol=1e-9)


@pytest.mark.parametrize("how", ["fused", "looped"])
def test_a_second_execution_reads_all_weights_again(two: Graph, how: str) -> None:
    plan = rdu_model.lower(two, rdu_model.load_machine("sn40l", {}), mode=how)
    traffic = {call.block: dict(call.traffic)["hbm"] * call.count for call in plan.calls}
    assert traffic["one_body"] == traffic["two_body"] > 2 * 2 * 6 * 12 * 2
