"""Whether the answers are right: ask some inputs again, compare with a reference, keep a few."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matrix_benchmarking.errors import MatbenchError, os_reason
from matrix_benchmarking.files import atomic_write, read_regular
from matrix_benchmarking.plausible import is_number

from .k6 import Task

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vector = NDArray[numpy.float32]

ENCODING = "base64 of little-endian float32"
MOST_SCORES = 5


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one input: an embedding, the label with the highest score, or why it is neither.

    Attributes:
        vector: of the embedding's length; vectors × length where an input has several.
    """

    vector: Vector | None = None
    label: str | None = None
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)
    invalid: str | None = None


def read_answers(body: object, count: int, classification: bool) -> list[Answer]:
    """The answers in the decoded *body* of a request for *count* inputs; all invalid if their number is wrong."""
    listed = body.get("data") if isinstance(body, dict) else body
    if not isinstance(listed, list) or len(listed) != count:
        there = f"{len(listed)} answers" if isinstance(listed, list) else "no list of answers"
        return [Answer(invalid=f"the body holds {there} for {count} inputs")] * count
    return [_classification(item) if classification else _embedding(item) for item in listed]


def kept(answers: Sequence[Answer], keep: int) -> dict[str, object]:
    """The first *keep* answers, as ``answers.json`` holds them."""
    return {"encoding": ENCODING, "answers": [encode(answer) for answer in answers[:keep]]}


def encode(answer: Answer) -> dict[str, object]:
    """*answer* as JSON; an embedding as base64 of little-endian float32, which is exact and short."""
    if answer.invalid is not None:
        return {"invalid": answer.invalid}
    if answer.vector is not None:
        embedding = base64.b64encode(answer.vector.astype("<f4").tobytes()).decode("ascii")
        return {"embedding": embedding} | ({"vectors": len(answer.vector)} if answer.vector.ndim > 1 else {})
    return {"label": answer.label, "scores": dict(answer.scores)}


def decode(content: object) -> Answer:
    """What :func:`encode` gave; ValueError for something else."""
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
        vectors = content.get("vectors")
        if vectors is None:
            return Answer(vector=vector)
        if not isinstance(vectors, int) or vectors < 1 or len(vector) % vectors:
            raise ValueError("an embedding is not a number of vectors of one length")
        return Answer(vector=vector.reshape(vectors, -1))
    if isinstance(content.get("label"), str):
        return Answer(label=content["label"])
    if isinstance(content.get("invalid"), str):
        return Answer(invalid=content["invalid"])
    raise ValueError("an answer is neither an embedding nor a label")


def _embedding(item: object) -> Answer:
    import numpy

    values = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(values, list) or not values:
        return Answer(invalid="there is no embedding in it")
    vectors = values if isinstance(values[0], list) else [values]
    if not all(isinstance(each, list) and each and all(map(is_number, each)) for each in vectors):
        return Answer(invalid="the embedding holds something that is no finite number")
    if len({len(each) for each in vectors}) > 1:
        return Answer(invalid="the embedding's vectors are of different lengths")
    vector = numpy.array(values, dtype=numpy.float32)
    if not vector.any():
        return Answer(invalid="the embedding is all zeros")
    return Answer(vector=vector)


def _classification(item: object) -> Answer:
    """Infinity's list of ``{label, score}``, or vLLM's ``{label, probs}``."""
    if isinstance(item, dict) and isinstance(item.get("probs"), list) and "label" in item:
        return Answer(label=str(item["label"]))
    listed = item if isinstance(item, list) else []
    pairs = [
        (each["label"], each["score"])
        for each in listed
        if isinstance(each, dict) and {"label", "score"} <= each.keys()
    ]
    if not pairs or len(pairs) != len(listed) or not all(is_number(score) for _, score in pairs):
        return Answer(invalid="there are no labels with scores in it")
    pairs.sort(key=lambda pair: -pair[1])
    return Answer(label=str(pairs[0][0]), scores={str(label): float(score) for label, score in pairs[:MOST_SCORES]})


VERSION = 1


class UnusableReference(MatbenchError):
    """Reference answers that can't be used; the sentence says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class ReferenceAnswers:
    """The answers of a reference, one for each input that was asked for, and the reference's name."""

    name: str
    answers: Sequence[Answer]


def write_reference(
    path: Path, name: str, task: str, model: str, inputs: Sequence[str], answers: Sequence[Answer]
) -> None:
    """Write the answers of the reference *name*; UnusableReference if one of them is invalid."""
    for text, answer in zip(inputs, answers, strict=True):
        if answer.invalid is not None:
            raise UnusableReference(f"the reference, {name}, doesn't answer {text[:40]!r}: {answer.invalid}")
    content = {
        "version": VERSION,
        "name": name,
        "task": task,
        "model": model,
        "encoding": ENCODING,
        "answers": {_digest(text): encode(answer) for text, answer in zip(inputs, answers, strict=True)},
    }
    with atomic_write(path) as stream:
        stream.write(json.dumps(content, indent=0).encode())


def read_reference(path: Path, inputs: Sequence[str]) -> ReferenceAnswers:
    """The reference answers to *inputs*, in their order.

    Raises:
        UnusableReference: the file is missing, broken, newer than this matbench, or answers other inputs.
    """
    try:
        content: object = json.loads(read_regular(path))
    except OSError as error:
        raise UnusableReference(f"the reference answers {path} can't be read: {os_reason(error).lower()}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableReference(f"the reference answers {path} are not JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get("answers"), dict):
        raise UnusableReference(f"{path} holds no reference answers")
    if content.get("version") != VERSION:
        raise UnusableReference(f"{path} has version {content.get('version')!r}; this matbench reads version {VERSION}")
    listed = content["answers"]
    digests = [_digest(text) for text in inputs]
    missing = sum(digest not in listed for digest in digests)
    if missing:
        raise UnusableReference(f"{path} answers other inputs: {missing} of {len(inputs)} are not in it")
    try:
        return ReferenceAnswers(str(content.get("name", path.name)), [decode(listed[digest]) for digest in digests])
    except ValueError as error:
        raise UnusableReference(f"{path} is broken: {error}") from error


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def ask(
    url: str,
    route: str,
    task: Task,
    model: str,
    inputs: Sequence[str],
    *,
    inputs_per_request: int = 1,
    concurrency: int = 1,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 60.0,
) -> list[Answer]:
    """One answer an input, in their order. A server that doesn't answer makes invalid answers, not an error."""
    import httpx

    chunks = [inputs[at : at + inputs_per_request] for at in range(0, len(inputs), inputs_per_request)]
    # The benchmark's traffic goes where the file says, never through a proxy of the environment.
    with (
        httpx.Client(headers=dict(headers or {}), timeout=timeout_s, trust_env=False) as client,
        ThreadPoolExecutor(max(1, min(concurrency, len(chunks)))) as threads,
    ):
        answered = threads.map(
            lambda chunk: _ask(client, f"{url}{route}", task, task.body(model, chunk), len(chunk)), chunks
        )
        return [answer for answers in answered for answer in answers]


def _ask(client: Any, url: str, task: Task, body: Mapping[str, object], count: int) -> list[Answer]:
    import httpx

    try:
        response = client.post(url, json=body)
        if response.status_code != 200:
            return [Answer(invalid=f"the status is {response.status_code}")] * count
        return read_answers(response.json(), count, task.name == "classification")
    except httpx.HTTPError as error:
        return [Answer(invalid=f"no answer ({type(error).__name__})")] * count
    except (ValueError, RecursionError):
        return [Answer(invalid="the body is not JSON")] * count


DIGITS = 6


def compare(
    answers: Sequence[Answer], labels: Sequence[str | None], reference: ReferenceAnswers | None, classification: bool
) -> dict[str, object]:
    """What ``fidelity.json`` holds of *answers*, with what is known of the right labels; what is unknown is None."""
    if classification:
        return _labels(answers, labels, reference)
    return _embeddings(answers, reference)


def cosine(one: NDArray[numpy.floating], other: NDArray[numpy.floating]) -> float:
    """The cosine between two embeddings of one shape, in float64; the mean over their vectors, where they have several.

    Padding, which is zero in both, is left out.
    """
    import numpy

    a, b = (numpy.atleast_2d(each).astype(numpy.float64) for each in (one, other))
    there = a.any(axis=1) | b.any(axis=1)
    lengths = numpy.linalg.norm(a[there], axis=1) * numpy.linalg.norm(b[there], axis=1)
    return float(numpy.mean((a * b).sum(axis=1)[there] / numpy.where(lengths, lengths, 1.0)))


def standard_error(right: int, count: int) -> float:
    """The standard error of a share of *right* in *count*, by Agresti and Coull.

    Their two successes and two failures keep it above 0 for a share of 1, where ``sqrt(p (1 - p) / n)`` claims to be
    certain. Source: Agresti, Coull: Approximate is better than "exact" …, The American Statistician 52 (1998).
    """
    p = (right + 2) / (count + 4)
    return math.sqrt(p * (1 - p) / (count + 4))


def _embeddings(answers: Sequence[Answer], reference: ReferenceAnswers | None) -> dict[str, object]:
    vectors = [answer.vector for answer in answers if answer.vector is not None]
    sizes, counts = {vector.shape[-1] for vector in vectors}, [len(vector) for vector in vectors if vector.ndim > 1]
    found: dict[str, object] = {
        "metric": "cosine",
        "reference": reference.name if reference else None,
        "mean": None,
        "minimum": None,
        "count": len(answers),
        "vectors": len(vectors),
        "invalid": len(answers) - len(vectors),
        "embedding_size": sizes.pop() if len(sizes) == 1 else None,
        "vectors_per_input": round(sum(counts) / len(counts), DIGITS) if counts else None,
        "vectors_per_input_least": min(counts, default=None),
        "vectors_per_input_most": max(counts, default=None),
        "other_shapes": None,
        "problem": next((answer.invalid for answer in answers if answer.invalid), None),
    }
    if reference is None or not vectors:
        return found
    pairs = [
        (answer.vector, known.vector)
        for answer, known in zip(answers, reference.answers, strict=True)
        if answer.vector is not None and known.vector is not None
    ]
    other_shapes = [(one, other) for one, other in pairs if one.shape != other.shape]
    found["other_shapes"] = len(other_shapes)
    if other_shapes:
        one, other = (" × ".join(map(str, each.shape)) for each in other_shapes[0])
        what = f"embeddings are of another size ({one}) than those of the reference, {reference.name} ({other})"
        return found | {"problem": what}
    cosines = [cosine(one, other) for one, other in pairs]
    if cosines:
        found |= {"mean": round(sum(cosines) / len(cosines), DIGITS), "minimum": round(min(cosines), DIGITS)}
    return found


def _labels(
    answers: Sequence[Answer], labels: Sequence[str | None], reference: ReferenceAnswers | None
) -> dict[str, object]:
    """An invalid answer is a wrong one."""
    known = [at for at, label in enumerate(labels) if label is not None]
    right = _right(answers, labels)
    found: dict[str, object] = {
        "metric": "accuracy",
        "reference": reference.name if reference else None,
        "accuracy": round(right / len(known), DIGITS) if known else None,
        "count": len(answers),
        "labelled": len(known),
        "invalid": sum(answer.invalid is not None for answer in answers),
        "reference_accuracy": None,
        "standard_error": None,
        "agreement": None,
        "problem": next((answer.invalid for answer in answers if answer.invalid), None),
    }
    if reference is None:
        return found
    same = sum(one.label == other.label for one, other in zip(answers, reference.answers, strict=True) if one.label)
    found["agreement"] = round(same / len(answers), DIGITS) if answers else None
    if known:
        of_reference = _right(reference.answers, labels)
        found["reference_accuracy"] = round(of_reference / len(known), DIGITS)
        found["standard_error"] = round(standard_error(of_reference, len(known)), DIGITS)
    return found


def _right(answers: Sequence[Answer], labels: Sequence[str | None]) -> int:
    return sum(label is not None and answer.label == label for answer, label in zip(answers, labels, strict=True))
