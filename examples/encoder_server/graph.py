"""Build the ONNX graph of a BERT sentence encoder.

Gets the weights by their Hugging Face names and the model's `config.json`; gives an ONNX model that turns token ids
into one unit-length embedding per text (mean pooling over the real tokens, then L2 normalisation).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, checker, helper, numpy_helper

OPSET = 17
IR_VERSION = 8
MASKED_SCORE = -10_000.0

Weights = Mapping[str, NDArray[Any]]


class GraphBuilder:
    """Collects nodes and constants; every method returns the name of the tensor that it adds."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], name=f"node_{output}", **attributes))
        return output


class BertGraph:
    """The BERT encoder, piece by piece; tensors are float32 (batch, sequence, hidden) unless said otherwise."""

    def __init__(self, weights: Weights, config: Mapping[str, Any]) -> None:
        self.weights = weights
        self.layers = int(config["num_hidden_layers"])
        self.heads = int(config["num_attention_heads"])
        self.hidden = int(config["hidden_size"])
        self.epsilon = float(config["layer_norm_eps"])
        self.graph = GraphBuilder()

    def build(self) -> ModelProto:
        """Return the model: `input_ids` and `attention_mask`, int64 (batch, sequence) → `embedding` (batch, hidden)."""
        mask = self.graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
        states = self._embeddings()
        score_bias = self._score_bias(mask)
        for index in range(self.layers):
            states = self._layer(f"encoder.layer.{index}", states, score_bias)
        self._pool(states, mask)
        return self._model()

    def _embeddings(self) -> str:
        graph = self.graph
        # Every text is a single segment, so its token type is 0 and can be folded into the positions.
        positions = (
            self.weights["embeddings.position_embeddings.weight"]
            + self.weights["embeddings.token_type_embeddings.weight"][0]
        )
        words = graph.add("Gather", graph.constant(self.weights["embeddings.word_embeddings.weight"]), "input_ids")
        length = graph.add("Shape", "input_ids", start=1, end=2)
        used = graph.add("Slice", graph.constant(positions), graph.integers(0), length, graph.integers(0))
        return self._layer_norm("embeddings.LayerNorm", graph.add("Add", words, used))

    def _score_bias(self, mask: str) -> str:
        """Return what is added to attention scores, (batch, 1, 1, sequence): 0 for tokens, -10,000 for padding."""
        graph = self.graph
        padding = graph.add("Sub", graph.number(1.0), mask)
        bias = graph.add("Mul", padding, graph.number(MASKED_SCORE))
        return graph.add("Unsqueeze", bias, graph.integers(1, 2))

    def _layer(self, prefix: str, states: str, score_bias: str) -> str:
        graph = self.graph
        attention = self._attention(f"{prefix}.attention", states, score_bias)
        attended = graph.add("Add", states, attention)
        attended = self._layer_norm(f"{prefix}.attention.output.LayerNorm", attended)
        widened = self._gelu(self._dense(f"{prefix}.intermediate.dense", attended))
        narrowed = self._dense(f"{prefix}.output.dense", widened)
        return self._layer_norm(f"{prefix}.output.LayerNorm", graph.add("Add", attended, narrowed))

    def _attention(self, prefix: str, states: str, score_bias: str) -> str:
        graph = self.graph
        query = self._split_heads(self._dense(f"{prefix}.self.query", states), (0, 2, 1, 3))
        key = self._split_heads(self._dense(f"{prefix}.self.key", states), (0, 2, 3, 1))
        value = self._split_heads(self._dense(f"{prefix}.self.value", states), (0, 2, 1, 3))
        scores = graph.add("MatMul", query, key)
        scores = graph.add("Div", scores, graph.number(math.sqrt(self.hidden // self.heads)))
        shares = graph.add("Softmax", graph.add("Add", scores, score_bias), axis=-1)
        merged = graph.add("Transpose", graph.add("MatMul", shares, value), perm=[0, 2, 1, 3])
        merged = graph.add("Reshape", merged, graph.integers(0, 0, self.hidden))
        return self._dense(f"{prefix}.output.dense", merged)

    def _split_heads(self, states: str, order: Sequence[int]) -> str:
        shape = self.graph.integers(0, 0, self.heads, self.hidden // self.heads)
        return self.graph.add("Transpose", self.graph.add("Reshape", states, shape), perm=list(order))

    def _dense(self, prefix: str, states: str) -> str:
        weight = self.graph.constant(self.weights[f"{prefix}.weight"].T)
        bias = self.graph.constant(self.weights[f"{prefix}.bias"])
        return self.graph.add("Add", self.graph.add("MatMul", states, weight), bias)

    def _layer_norm(self, prefix: str, states: str) -> str:
        scale = self.graph.constant(self.weights[f"{prefix}.weight"])
        bias = self.graph.constant(self.weights[f"{prefix}.bias"])
        return self.graph.add("LayerNormalization", states, scale, bias, axis=-1, epsilon=self.epsilon)

    def _gelu(self, states: str) -> str:
        """Return x · ½ · (1 + erf(x / √2)); ONNX Runtime fuses the five nodes into one."""
        graph = self.graph
        error_function = graph.add("Erf", graph.add("Div", states, graph.number(math.sqrt(2.0))))
        gate = graph.add("Add", error_function, graph.number(1.0))
        return graph.add("Mul", graph.add("Mul", states, gate), graph.number(0.5))

    def _pool(self, states: str, mask: str) -> None:
        graph = self.graph
        token_mask = graph.add("Unsqueeze", mask, graph.integers(2))
        total = graph.add("ReduceSum", graph.add("Mul", states, token_mask), graph.integers(1), keepdims=0)
        count = graph.add("ReduceSum", token_mask, graph.integers(1), keepdims=0)
        mean = graph.add("Div", total, count)
        length = graph.add("ReduceL2", mean, axes=[-1], keepdims=1)
        graph.add("Div", mean, length, name="embedding")

    def _model(self) -> ModelProto:
        tokens = ["batch", "sequence"]
        graph = helper.make_graph(
            self.graph.nodes,
            "sentence-encoder",
            inputs=[
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
            ],
            outputs=[helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", self.hidden])],
            initializer=self.graph.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
        model.ir_version = IR_VERSION
        checker.check_model(model)
        return model
