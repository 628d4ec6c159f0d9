"""Files of reference answers: versioned JSON, one answer an input, found by the input's digest."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...errors import MatbenchError, os_reason
from ...files import atomic_write, read_regular
from .answer import ENCODING, Answer, decode, encode

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
    """Write the answers of the reference *name*.

    Raises:
        UnusableReference: one of the answers is invalid: that is no reference.
    """
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
        content: Any = json.loads(read_regular(path))
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
