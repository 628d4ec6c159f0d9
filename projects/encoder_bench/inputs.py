"""What is asked: the tasks of an encoder server, and inputs as texts, JSON Lines, or images as data URIs."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import MatbenchError, os_reason
from matrix_benchmarking.files import atomic_write, read_regular


@dataclasses.dataclass(frozen=True, slots=True)
class Task:
    """One kind of request, posted to *route* unless the file says otherwise; *modality* is ``image`` for data URIs."""

    name: str
    route: str
    modality: str | None = None

    def body(self, model: str, inputs: Sequence[str]) -> dict[str, Any]:
        """The JSON body of a request for *inputs*."""
        extra = {"modality": self.modality} if self.modality else {}
        return {"model": model, "input": list(inputs), **extra}


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task("embedding", "/v1/embeddings"),
        Task("classification", "/classify"),
        Task("vision_embedding", "/embeddings", modality="image"),
    )
}


MEDIA_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


class InputsError(MatbenchError):
    """Inputs that can't be read; the sentence says which and why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """A text or a data URI, and the label that is right for it, where that is known."""

    input: str
    label: str | None = None


def read_inputs(path: Path) -> list[Input]:
    """The inputs of *path*: .txt with a text a line, .jsonl with ``{"input": …, "label": …}``, a directory of images.

    Images in subdirectories have the subdirectory's name as their label.

    Raises:
        InputsError: there are none, or one is broken.
    """
    try:
        found = _read(path)
    except OSError as error:
        raise InputsError(f"the inputs {error.filename or path} can't be read: {os_reason(error).lower()}") from error
    except UnicodeDecodeError as error:
        raise InputsError(f"the inputs {path} are not UTF-8 text: {error.reason} at byte {error.start}") from error
    if not found:
        raise InputsError(f"the inputs {path} are empty")
    return found


def write_inputs(inputs: Iterable[Input], path: Path) -> None:
    """Write JSON Lines, as the k6 script reads them."""
    with atomic_write(path, durable=False) as stream:
        for each in inputs:
            content = {"input": each.input} | ({} if each.label is None else {"label": each.label})
            stream.write(json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")


def digest(inputs: Sequence[Input]) -> str:
    """SHA-256 of the inputs and their labels, in their order."""
    content = json.dumps([[each.input, each.label] for each in inputs])
    return hashlib.sha256(content.encode()).hexdigest()


def _read(path: Path) -> list[Input]:
    if path.is_dir():
        return _images(path)
    # Only line feeds separate lines: a text may hold any other of Unicode's line breaks.
    lines = read_regular(path).decode("utf-8").split("\n")
    if path.suffix == ".jsonl":
        return [_from_json(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if path.suffix in MEDIA_TYPES:
        raise InputsError(f"the inputs {path} are one image: give the directory that it is in")
    return [Input(line.strip()) for line in lines if line.strip()]


def _from_json(path: Path, number: int, line: str) -> Input:
    try:
        content: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputsError(f"{path}:{number}: is not JSON: {error}") from error
    text = content.get("input") if isinstance(content, dict) else None
    if not isinstance(text, str) or not text:
        raise InputsError(f'{path}:{number}: is not of the form {{"input": "…", "label": "…"}}')
    label = content.get("label")
    if label is not None and not isinstance(label, str):
        raise InputsError(f"{path}:{number}: the label {label!r} is not text: write it in quotes")
    return Input(text, label)


def _images(directory: Path) -> list[Input]:
    found = []
    for path in sorted(directory.rglob("*")):
        media_type = MEDIA_TYPES.get(path.suffix.lower())
        if media_type is None or not path.is_file():
            continue
        label = path.parent.relative_to(directory).as_posix()
        content = base64.b64encode(path.read_bytes()).decode("ascii")
        found.append(Input(f"data:{media_type};base64,{content}", None if label == "." else label))
    return found
