"""One answer, read from what a server sent: an embedding, a label with its scores, or why it is neither."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vector = NDArray[numpy.float32]

ENCODING = "base64 of little-endian float32"
MOST_SCORES = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one input.

    Attributes:
        vector: the embedding, float32.
        label: the label with the highest score.
        scores: the highest scores by label.
        invalid: why it is no answer; None for one that is.
    """

    vector: Vector | None = None
    label: str | None = None
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)
    invalid: str | None = None


def read_answers(body: Any, count: int, classification: bool) -> list[Answer]:
    """The answers in the decoded *body* of a request for *count* inputs; all invalid if their number is wrong."""
    listed = body.get("data") if isinstance(body, dict) else body
    if not isinstance(listed, list) or len(listed) != count:
        there = f"{len(listed)} answers" if isinstance(listed, list) else "no list of answers"
        return [Answer(invalid=f"the body holds {there} for {count} inputs")] * count
    return [_classification(item) if classification else _embedding(item) for item in listed]


def kept(answers: Sequence[Answer], keep: int) -> dict[str, Any]:
    """The first *keep* answers, as ``answers.json`` holds them."""
    return {"encoding": ENCODING, "answers": [encode(answer) for answer in answers[:keep]]}


def encode(answer: Answer) -> dict[str, Any]:
    """*answer* as JSON; an embedding as base64 of little-endian float32, which is exact and short."""
    if answer.invalid is not None:
        return {"invalid": answer.invalid}
    if answer.vector is not None:
        return {"embedding": base64.b64encode(answer.vector.astype("<f4").tobytes()).decode("ascii")}
    return {"label": answer.label, "scores": dict(answer.scores)}


def decode(content: Any) -> Answer:
    """What :func:`encode` gave.

    Raises:
        ValueError: it is something else.
    """
    import numpy

    if not isinstance(content, dict):
        raise ValueError("an answer is no mapping")
    if isinstance(content.get("embedding"), str):
        raw = base64.b64decode(content["embedding"], validate=True)
        if not raw or len(raw) % 4:
            raise ValueError("an embedding is not a number of float32")
        vector = numpy.frombuffer(raw, dtype="<f4").astype(numpy.float32)
        if not numpy.isfinite(vector).all():
            raise ValueError("an embedding holds something that is no finite number")
        return Answer(vector=vector)
    if isinstance(content.get("label"), str):
        return Answer(label=content["label"])
    if isinstance(content.get("invalid"), str):
        return Answer(invalid=content["invalid"])
    raise ValueError("an answer is neither an embedding nor a label")


def _embedding(item: Any) -> Answer:
    import numpy

    values = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(values, list) or not values:
        return Answer(invalid="there is no embedding in it")
    if not all(_is_number(value) for value in values):
        return Answer(invalid="the embedding holds something that is no finite number")
    vector = numpy.array(values, dtype=numpy.float32)
    if not vector.any():
        return Answer(invalid="the embedding is all zeros")
    return Answer(vector=vector)


def _classification(item: Any) -> Answer:
    """Infinity's list of ``{label, score}``, or vLLM's ``{label, probs}``."""
    if isinstance(item, dict) and isinstance(item.get("probs"), list) and "label" in item:
        return Answer(label=str(item["label"]))
    listed = item if isinstance(item, list) else []
    pairs = [
        (each["label"], each["score"])
        for each in listed
        if isinstance(each, dict) and {"label", "score"} <= each.keys()
    ]
    if not pairs or len(pairs) != len(listed) or not all(_is_number(score) for _, score in pairs):
        return Answer(invalid="there are no labels with scores in it")
    pairs.sort(key=lambda pair: -pair[1])
    return Answer(label=str(pairs[0][0]), scores={str(label): float(score) for label, score in pairs[:MOST_SCORES]})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
