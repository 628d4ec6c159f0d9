"""Build the ONNX graph of a classifier with one hidden layer, from its weights."""

from __future__ import annotations

import numpy as np
from graph import IR_VERSION, OPSET, GraphBuilder
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, checker, helper

SMALLEST_LENGTH = 1e-12

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]
"""Weights of shape (inputs, outputs) and bias of shape (outputs,)."""


def classifier_graph(hidden: Layer, output: Layer) -> ModelProto:
    """Return the model: `pixels`, float32 (batch, inputs) → `scores`, `logits` and `embedding`.

    `scores` are the shares of the classes, (batch, classes), each row of sum 1; `logits` what softmax makes them from;
    `embedding` is the hidden layer after ReLU, (batch, hidden), divided by its length.
    """
    graph = GraphBuilder()
    activations = graph.add("Relu", _dense(graph, "pixels", hidden))
    _dense(graph, activations, output, name="logits")
    graph.add("Softmax", "logits", axis=-1, name="scores")
    length = graph.add("ReduceL2", activations, axes=[-1], keepdims=1)
    # A hidden layer of zeros has no direction: it stays zero instead of becoming NaN.
    graph.add("Div", activations, graph.add("Max", length, graph.number(SMALLEST_LENGTH)), name="embedding")

    inputs, hidden_size, classes = len(hidden[0]), len(hidden[1]), len(output[1])
    sizes = {"scores": classes, "logits": classes, "embedding": hidden_size}
    proto = helper.make_graph(
        graph.nodes,
        "digit-classifier",
        inputs=[helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["batch", inputs])],
        outputs=[helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", sizes[name]]) for name in sizes],
        initializer=graph.constants,
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = IR_VERSION
    checker.check_model(model)
    return model


def _dense(graph: GraphBuilder, values: str, layer: Layer, name: str | None = None) -> str:
    weights, bias = layer
    return graph.add("Gemm", values, graph.constant(weights), graph.constant(bias), name=name)
