"""Compare answers with those of a reference, and with labels that are known: pure mathematics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .answer import Answer

if TYPE_CHECKING:
    from .files import ReferenceAnswers

DIGITS = 6


def compare(
    answers: Sequence[Answer], labels: Sequence[str | None], reference: ReferenceAnswers | None, classification: bool
) -> dict[str, Any]:
    """What ``fidelity.json`` holds; what is unknown is None.

    Args:
        answers: of the engine that is measured.
        labels: for each input the right label, where it is known.
        reference: answers to the same inputs; None where there is no reference.
        classification: labels are compared instead of embeddings.
    """
    if classification:
        return _labels(answers, labels, reference)
    return _embeddings(answers, reference)


def cosine(one: Any, other: Any) -> float:
    """The cosine between two vectors of one size, computed in float64; neither may be zero."""
    import numpy

    a, b = one.astype(numpy.float64), other.astype(numpy.float64)
    return float(a @ b / (numpy.linalg.norm(a) * numpy.linalg.norm(b)))


def standard_error(right: int, count: int) -> float:
    """The standard error of a share of *right* in *count*, by Agresti and Coull.

    Their two successes and two failures keep it above 0 for a share of 1, where ``sqrt(p (1 - p) / n)`` claims to be
    certain. Source: Agresti, Coull: Approximate is better than "exact" …, The American Statistician 52 (1998).
    """
    p = (right + 2) / (count + 4)
    return math.sqrt(p * (1 - p) / (count + 4))


def _embeddings(answers: Sequence[Answer], reference: ReferenceAnswers | None) -> dict[str, Any]:
    vectors = [answer.vector for answer in answers if answer.vector is not None]
    sizes = {len(vector) for vector in vectors}
    found: dict[str, Any] = {
        "metric": "cosine",
        "reference": reference.name if reference else None,
        "mean": None,
        "minimum": None,
        "count": len(answers),
        "vectors": len(vectors),
        "invalid": len(answers) - len(vectors),
        "embedding_size": sizes.pop() if len(sizes) == 1 else None,
        "problem": next((answer.invalid for answer in answers if answer.invalid), None),
    }
    if reference is None or not vectors:
        return found
    pairs = [
        (answer.vector, known.vector)
        for answer, known in zip(answers, reference.answers, strict=True)
        if answer.vector is not None and known.vector is not None
    ]
    if any(len(one) != len(other) for one, other in pairs):
        return found | {"problem": f"embeddings are of another size than those of the reference, {reference.name}"}
    cosines = [cosine(one, other) for one, other in pairs]
    if cosines:
        found |= {"mean": round(sum(cosines) / len(cosines), DIGITS), "minimum": round(min(cosines), DIGITS)}
    return found


def _labels(
    answers: Sequence[Answer], labels: Sequence[str | None], reference: ReferenceAnswers | None
) -> dict[str, Any]:
    """An invalid answer is a wrong one."""
    known = [at for at, label in enumerate(labels) if label is not None]
    right = _right(answers, labels)
    found: dict[str, Any] = {
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
