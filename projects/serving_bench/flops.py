"""How many operations a model takes: its multiplications and additions, counted in its ONNX graph.

As data sheets count, a multiply-add is two. Counted are matrix products, convolutions, attention and recurrent layers,
which are all but some percent of what a model does; what works element by element is left out. A graph with a node that
could hold products and isn't understood is refused: a count that is too low would promise a maximum that is too high.

    python -m projects.serving_bench.flops model.onnx batch=1 sequence=24
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import MatbenchError

Shape = tuple[int, ...]
_STANDARD = {"", "ai.onnx", "ai.onnx.ml"}
_ELEMENTWISE = {  # of ONNX Runtime's own domain
    *("BiasGelu", "BiasAdd", "BiasSoftmax", "BiasSplitGelu", "DequantizeLinear", "DynamicQuantizeLinear"),
    *("EmbedLayerNormalization", "FastGelu", "Gelu", "QuantizeLinear", "QuickGelu", "Rfft", "SkipLayerNormalization"),
    *("SimplifiedLayerNormalization", "SkipSimplifiedLayerNormalization", "QLinearAdd", "QLinearMul", "QLinearSigmoid"),
}
_HIDDEN_PRODUCTS = {"If", "Loop", "Scan", "SequenceMap", "DeformConv", "DFT", "STFT", "Det"}
"""Standard nodes that may take products which aren't counted here."""


class FlopsError(MatbenchError):
    """A model whose operations can't be counted."""


def flops_of_onnx(path: Path | str, sizes: Mapping[str, int] | None = None) -> int:
    """The operations of one call of the model in *path*: twice its multiply-adds.

    Args:
        sizes: for each dimension of the inputs that the model leaves open its size, by the model's own name for it.
            A dimension without a name has that of its input and its place: ``input_ids.1``.

    Raises:
        FlopsError: the file is no model, a size is missing, or a node that may hold products isn't understood.
    """
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        raise FlopsError(f"counting needs {error.name}: pip install 'matrix-benchmarking[server]'") from error
    try:
        # Weights that are kept in files of their own are not needed: their shapes are in the model.
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, ValueError, DecodeError) as error:
        raise FlopsError(
            f"{path} can't be read as an ONNX model: {type(error).__name__}: {str(error)[:200]}"
        ) from error
    return flops_of_model(model, sizes)


def flops_of_model(model: object, sizes: Mapping[str, int] | None = None) -> int:
    """As :func:`flops_of_onnx`, of a loaded model, which is left as it is."""
    import onnx.inliner

    fixed = onnx.ModelProto()
    fixed.CopyFrom(model)
    if fixed.functions:
        fixed = onnx.inliner.inline_local_functions(fixed)
    _fix_sizes(fixed.graph, dict(sizes or {}))
    try:
        fixed = onnx.shape_inference.infer_shapes(fixed, strict_mode=False, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        raise FlopsError(f"the shapes within the model can't be inferred: {str(error)[:200]}") from error
    shapes = _shapes(fixed.graph)
    return 2 * sum(_multiply_adds(node, shapes) for node in fixed.graph.node)


def _fix_sizes(graph: Any, sizes: dict[str, int]) -> None:
    """Put *sizes* in place of the open dimensions of the inputs."""
    weights = {tensor.name for tensor in graph.initializer}
    missing: dict[str, None] = {}
    for given in graph.input:
        if given.name in weights:
            continue
        for place, dimension in enumerate(given.type.tensor_type.shape.dim):
            if dimension.HasField("dim_value"):
                continue
            name = dimension.dim_param or f"{given.name}.{place}"
            if name in sizes:
                dimension.dim_value = sizes[name]
            else:
                missing[name] = None
    if missing:
        names = " ".join(f"{name}=N" for name in missing)
        raise FlopsError(f"the model leaves the sizes of its inputs open; give {names}")
    for given in graph.output:  # what they were called no longer says their size
        for dimension in given.type.tensor_type.shape.dim:
            if dimension.dim_param:
                dimension.Clear()


def _shapes(graph: Any) -> dict[str, Shape]:
    """The known shapes of all tensors."""
    shapes: dict[str, Shape] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for info in (*graph.input, *graph.value_info, *graph.output):
        dimensions = info.type.tensor_type.shape.dim
        if info.type.tensor_type.HasField("shape") and all(each.HasField("dim_value") for each in dimensions):
            shapes[info.name] = tuple(each.dim_value for each in dimensions)
    return shapes


def _multiply_adds(node: Any, shapes: Mapping[str, Shape]) -> int:
    rule = _RULES.get(node.op_type) if node.domain in _STANDARD else None
    if rule is None:
        is_known = node.domain in _STANDARD and node.op_type not in _HIDDEN_PRODUCTS
        if is_known or (node.domain == "com.microsoft" and node.op_type in _ELEMENTWISE):
            return 0
        raise FlopsError(f"the node {_name(node)} may hold products, and how many isn't known")
    if node.op_type == "Attention" and any(node.input[4:6]):
        raise FlopsError(f"the node {_name(node)} goes on from past keys, and how many isn't known")
    attributes = {each.name: each for each in node.attribute}

    def shape(place: int, *, of_output: bool = False) -> Shape:
        tensor = (node.output if of_output else node.input)[place]
        if tensor not in shapes:
            raise FlopsError(f"the shape of '{tensor}', which the node {_name(node)} needs, isn't known")
        return shapes[tensor]

    return rule(shape, attributes)


def _name(node: Any) -> str:
    kind = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return f"'{node.name}' ({kind})" if node.name else kind


GetShape = Callable[..., Shape]
Attributes = Mapping[str, Any]


def _product(first: int, shape: GetShape) -> int:
    """Each element of the result is a sum over the last dimension of the left matrix."""
    return math.prod(shape(0, of_output=True)) * shape(first)[-1]


def _gemm(shape: GetShape, attributes: Attributes) -> int:
    transposed = "transA" in attributes and attributes["transA"].i
    return math.prod(shape(0, of_output=True)) * shape(0)[0 if transposed else 1]


def _convolution(weights: int, shape: GetShape) -> int:
    """Each element of the result takes a kernel, shape (channels out, channels in / groups, …)."""
    return math.prod(shape(0, of_output=True)) * math.prod(shape(weights)[1:])


def _transposed_convolution(shape: GetShape, _: Attributes) -> int:
    """Each element of the input takes a kernel, shape (channels in, channels out / groups, …)."""
    return math.prod(shape(0)) * math.prod(shape(1)[1:])


def _einsum(shape: GetShape, attributes: Attributes) -> int:
    """All combinations of the two operands' indices."""
    equation = attributes["equation"].s.decode().replace(" ", "")
    operands = equation.partition("->")[0].split(",")
    if len(operands) != 2 or "." in equation:
        raise FlopsError(f"the products of the Einsum '{equation}' aren't counted: it needs two operands without '...'")
    sizes = {index: size for place, term in enumerate(operands) for index, size in zip(term, shape(place), strict=True)}
    return math.prod(sizes.values())


def _attention(shape: GetShape, attributes: Attributes) -> int:
    """Scores and their weighted sum; (batch, heads, tokens, size), or (batch, tokens, heads × size) by attributes."""
    query, key, value = shape(0), shape(1), shape(2)
    heads = query[1]
    if len(query) == 3:
        heads = attributes["q_num_heads"].i
        own = attributes["kv_num_heads"].i
        query, key, value = (
            (each[0], count, each[1], each[2] // count) for each, count in ((query, heads), (key, own), (value, own))
        )
    return query[0] * heads * query[2] * key[2] * (query[3] + value[3])


def _recurrent(gates: int, shape: GetShape) -> int:
    """For each step, element of the batch and direction: the gates' products with input and state."""
    steps, batch, size = shape(0)
    directions, rows, hidden = shape(2)
    if rows != gates * hidden:
        raise FlopsError(f"a recurrent layer has {rows} rows of weights for {gates} gates of {hidden}")
    return steps * batch * directions * rows * (size + hidden)


Rule = Callable[[GetShape, Attributes], int]
_RULES: dict[str, Rule] = {
    "MatMul": lambda shape, _: _product(0, shape),
    "MatMulInteger": lambda shape, _: _product(0, shape),
    "QLinearMatMul": lambda shape, _: _product(0, shape),
    "Gemm": _gemm,
    "Conv": lambda shape, _: _convolution(1, shape),
    "ConvInteger": lambda shape, _: _convolution(1, shape),
    "QLinearConv": lambda shape, _: _convolution(3, shape),
    "ConvTranspose": _transposed_convolution,
    "Einsum": _einsum,
    "Attention": _attention,
    "RNN": lambda shape, _: _recurrent(1, shape),
    "GRU": lambda shape, _: _recurrent(3, shape),
    "LSTM": lambda shape, _: _recurrent(4, shape),
}


def main(arguments: Sequence[str]) -> int:
    """Print the operations of the model that *arguments* name; 2 if they can't be counted."""
    path, sizes = arguments[0] if arguments else "", {}
    for argument in arguments[1:]:
        found = re.fullmatch(r"(.+)=(\d+)", argument)
        if found is None:
            print(f"'{argument}' is not of the form NAME=SIZE", file=sys.stderr)
            return 2
        sizes[found[1]] = int(found[2])
    try:
        print(flops_of_onnx(path, sizes))
    except FlopsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
