"""A small decoder with random weights as an ONNX graph: it answers nonsense, at the honest speed of what it computes.

One graph serves prompts and single tokens: it takes the keys and values of what came before, and gives those of the new
tokens. Pre-norm attention and a feed-forward part with ReLU; learned positions; no sampling, the likeliest token wins.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

Floats = npt.NDArray[np.float32]
Tokens = npt.NDArray[np.int64]


class Shape(NamedTuple):
    """Sizes of the decoder; ``window`` is the most tokens of a prompt and its answer together."""

    layers: int = 6
    heads: int = 6
    width: int = 384
    vocabulary: int = 256
    window: int = 512

    @property
    def head_width(self) -> int:
        return self.width // self.heads


SHAPE = Shape()


def graph(shape: Shape, seed: int = 0) -> onnx.ModelProto:
    """The graph.

    Inputs are ``tokens`` and ``positions`` (B, T), ``keys`` and ``values`` (L, B, H, S, D), and ``mask``
    (B, 1, T, S + T), which is added to the scores. Outputs are ``next`` (B,), and ``new_keys`` and ``new_values``
    (L, B, H, T, D).
    """
    made = _Graph(shape, np.random.default_rng(seed))
    state = made.node("Add", made.node("Gather", made.weight("words", shape.vocabulary, shape.width), "tokens"),
                      made.node("Gather", made.weight("places", shape.window, shape.width), "positions"))  # fmt: skip
    new_keys, new_values = [], []
    for layer in range(shape.layers):
        attended, key, value = made.attention(layer, made.norm(f"{layer}.before", state))
        new_keys.append(key)
        new_values.append(value)
        state = made.node("Add", state, attended)
        state = made.node("Add", state, made.feed_forward(layer, made.norm(f"{layer}.middle", state)))
    last = made.node("Gather", made.norm("end", state), made.constant("last", np.array(-1, np.int64)), axis=1)
    scores = made.node("MatMul", last, made.weight("head", shape.width, shape.vocabulary))
    made.node("ArgMax", scores, axis=-1, keepdims=0, output="next")
    made.node("Concat", *new_keys, axis=0, output="new_keys")
    made.node("Concat", *new_values, axis=0, output="new_values")
    floats, integers = TensorProto.FLOAT, TensorProto.INT64
    past = [shape.layers, "B", shape.heads, "S", shape.head_width]
    new = [shape.layers, "B", shape.heads, "T", shape.head_width]
    content = helper.make_graph(
        made.nodes,
        "decoder",
        [
            helper.make_tensor_value_info("tokens", integers, ["B", "T"]),
            helper.make_tensor_value_info("positions", integers, ["B", "T"]),
            helper.make_tensor_value_info("keys", floats, past),
            helper.make_tensor_value_info("values", floats, past),
            helper.make_tensor_value_info("mask", floats, ["B", 1, "T", "all"]),
        ],
        [
            helper.make_tensor_value_info("next", integers, ["B"]),
            helper.make_tensor_value_info("new_keys", floats, new),
            helper.make_tensor_value_info("new_values", floats, new),
        ],
        made.weights,
    )
    return helper.make_model(content, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


class _Graph:
    """The nodes and weights as they are added; names are numbered."""

    def __init__(self, shape: Shape, random: np.random.Generator) -> None:
        self.shape, self._random = shape, random
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: object) -> str:
        output = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, name: str, value: npt.NDArray[np.generic]) -> str:
        if all(weight.name != name for weight in self.weights):
            self.weights.append(numpy_helper.from_array(value, name))
        return name

    def weight(self, name: str, rows: int, columns: int) -> str:
        return self.constant(name, self._random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32))

    def norm(self, name: str, state: str) -> str:
        ones = self.constant(f"{name}.norm", np.ones(self.shape.width, np.float32))
        return self.node("LayerNormalization", state, ones, axis=-1)

    def feed_forward(self, layer: int, state: str) -> str:
        width = self.shape.width
        inner = self.node("Relu", self.node("MatMul", state, self.weight(f"{layer}.up", width, 4 * width)))
        return self.node("MatMul", inner, self.weight(f"{layer}.down", 4 * width, width))

    def attention(self, layer: int, state: str) -> tuple[str, str, str]:
        """What the new tokens take from all, and their own keys and values, each (1, B, H, T, D)."""
        width, shape = self.shape.width, self.shape
        split = self.constant("heads", np.array([0, 0, shape.heads, shape.head_width], np.int64))
        at = self.constant(f"{layer}.at", np.array(layer, np.int64))
        first = self.constant("first", np.array([0], np.int64))

        def heads(name: str) -> str:
            found = self.node("MatMul", state, self.weight(f"{layer}.{name}", width, width))
            return self.node("Transpose", self.node("Reshape", found, split), perm=[0, 2, 1, 3])

        query, key, value = heads("query"), heads("key"), heads("value")
        keys = self.node("Concat", self.node("Gather", "keys", at, axis=0), key, axis=2)
        values = self.node("Concat", self.node("Gather", "values", at, axis=0), value, axis=2)
        scores = self.node("MatMul", query, self.node("Transpose", keys, perm=[0, 1, 3, 2]))
        scale = self.constant("scale", np.array(shape.head_width**-0.5, np.float32))
        shares = self.node("Softmax", self.node("Add", self.node("Mul", scores, scale), "mask"), axis=-1)
        mixed = self.node("Transpose", self.node("MatMul", shares, values), perm=[0, 2, 1, 3])
        joined = self.node("Reshape", mixed, self.constant("joined", np.array([0, 0, width], np.int64)))
        answer = self.node("MatMul", joined, self.weight(f"{layer}.out", width, width))
        return answer, self.node("Unsqueeze", key, first), self.node("Unsqueeze", value, first)


class Decoder:
    """The graph in ONNX Runtime, and the keys and values of up to ``slots`` sequences, which are its first rows.

    A step reads them in pages of so many tokens.
    """

    def __init__(self, slots: int, threads: int = 1, shape: Shape = SHAPE, *, page: int = 1) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = graph(shape).SerializeToString()
        self._session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.shape, self._page = shape, page
        past = (shape.layers, slots, shape.heads, shape.window, shape.head_width)
        self._keys, self._values = np.zeros(past, np.float32), np.zeros(past, np.float32)
        self.lengths = np.zeros(slots, np.int64)

    def begin(self, row: int, prompt: Tokens) -> int:
        """Put *prompt* into *row*, and give the first token of its answer."""
        count = len(prompt)
        nothing = np.zeros((self.shape.layers, 1, self.shape.heads, 0, self.shape.head_width), np.float32)
        later = np.triu(np.full((count, count), -1e9, np.float32), 1)[None, None]
        found, keys, values = self._run(prompt[None], np.arange(count)[None], nothing, nothing, later)
        self._keys[:, row, :, :count], self._values[:, row, :, :count] = keys[:, 0], values[:, 0]
        self.lengths[row] = count
        return int(found[0])

    def step(self, tokens: Tokens) -> Tokens:
        """Add one token to each of the first rows, and give those that follow."""
        rows = len(tokens)
        lengths = self.lengths[:rows]
        used = min(-(-int(lengths.max()) // self._page) * self._page, self.shape.window - 1)
        beyond = np.arange(used)[None] >= lengths[:, None]
        added = np.where(beyond, np.float32(-1e9), np.float32(0))
        mask = np.concatenate([added, np.zeros((rows, 1), np.float32)], axis=1)
        past = (np.ascontiguousarray(each[:, :rows, :, :used]) for each in (self._keys, self._values))
        found, keys, values = self._run(tokens[:, None], lengths[:, None], *past, mask[:, None, None])
        every = np.arange(rows)
        self._keys[:, every, :, lengths] = keys[:, :, :, 0].transpose(1, 0, 2, 3)
        self._values[:, every, :, lengths] = values[:, :, :, 0].transpose(1, 0, 2, 3)
        self.lengths[:rows] += 1
        return found

    def move(self, row: int, to: int) -> None:
        """Let the sequence of *row* be that of another row."""
        used = int(self.lengths[row])
        for each in (self._keys, self._values):
            each[:, to, :, :used] = each[:, row, :, :used]
        self.lengths[to] = used

    def _run(
        self, tokens: Tokens, positions: Tokens, keys: Floats, values: Floats, mask: Floats
    ) -> tuple[Tokens, Floats, Floats]:
        given = {"tokens": tokens, "positions": positions, "keys": keys, "values": values, "mask": mask}
        found, new_keys, new_values = self._session.run(["next", "new_keys", "new_values"], given)
        return found, new_keys, new_values


def write(path: Path) -> None:
    """Keep the graph as a file, to look at it."""
    path.write_bytes(graph(SHAPE).SerializeToString())
