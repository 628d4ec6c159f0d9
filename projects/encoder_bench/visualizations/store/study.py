"""The flat tree of the public encoder-analysis study: one JSON file a run, nothing else.

``results/<task>/<hw>/<vendor>_<hw>_<image>_<engine>_<batch>_<vus>.json``; any folder of it can be
given. It has no times, ids or exit codes. Its k6 script derived ``successful_requests`` from a field
that k6's rates don't have, so failed requests are not told there. Answers of the wrong shape are, for vision
embeddings: how many inputs were answered wrong is at least that.
"""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import ArtifactError, SettingsError, os_reason
from matrix_benchmarking.files import read_regular
from matrix_benchmarking.store import ArtifactPath, FoundTest, Listing, ignore_file_not_found, load_json, read_json

_FILE_NAME = re.compile(r".+_[0-9]+_[0-9]+\.json")
_TASK_FIELDS = {
    "accuracy_percentage": "classification",
    "avg_embedding_size": "embedding",
    "avg_num_vectors": "vision_embedding",
}
_SETTINGS = ("vendor", "hw_type", "image", "engine", "batch_size", "vus")
_NUMBERS = ("total_requests", "successful_requests", "test_duration_sec")


class EncoderAnalysisLayout:
    """Recognises the study's files by their names and reads settings from their content."""

    looks_for = "files <vendor>_<hw>_<image>_<engine>_<batch>_<vus>.json"

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        return [FoundTest(listing.path / name) for name in listing.files if _FILE_NAME.fullmatch(name)]

    def settings_files(self, test: Path, root: Path) -> Sequence[Path]:
        return [test]

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        try:
            content = load_json(read_regular(test))
        except OSError as error:
            raise SettingsError(f"can't be read: {os_reason(error)}") from error
        except ValueError as error:
            raise SettingsError(str(error)) from error
        if not isinstance(content, dict):
            raise SettingsError("not a result of an encoder run: it is no JSON object")
        return settings_of(content)

    def read_exit_code(self, test: Path) -> int | None:
        return None


def settings_of(content: dict[str, Any]) -> dict[str, Any]:
    """The settings of a run, from its result fields.

    Raises:
        SettingsError: the fields are not those of the study.
    """
    tasks = [task for field, task in _TASK_FIELDS.items() if field in content]
    absent = [field for field in (*_SETTINGS[1:], *_NUMBERS) if field not in content and field != "image"]
    if not tasks or absent:
        fields = ", ".join(absent) or " or ".join(_TASK_FIELDS)
        raise SettingsError(f"not a result of an encoder run: it has no {fields}")
    settings = {name: content[name] for name in _SETTINGS if name in content}
    return {"task": tasks[0], **settings, "image": short_image(content.get("image", "default"))}


def short_image(image: object) -> object:
    """The study's name of an image: ``trt-onnx`` or ``default`` for Infinity's, else as it is."""
    if not isinstance(image, str) or ":" not in image:
        return image
    name, _, tag = image.rpartition(":")
    if tag.endswith("trt-onnx"):
        return "trt-onnx"
    return "default" if name.endswith("/infinity") else image


@ignore_file_not_found
def parse_run(test_file: ArtifactPath) -> types.SimpleNamespace:
    """One run: counts, duration, latencies, and what the task adds (fractions, None where unknown).

    ``counts_failures`` is False where all requests are said to have succeeded only because the study's
    script could not tell; ``counts_wrong`` is False where no wrong answer was seen then.
    """
    content = read_json(test_file)
    for name in _NUMBERS:
        if not _is_number(content.get(name)) or content[name] < 0:
            raise ArtifactError(test_file, f"'{name}' is {content.get(name)!r}, not a number of at least 0")
    invalid = content.get("invalid_embeddings") or 0
    accuracy = content.get("accuracy_percentage")
    counts_failures = content["successful_requests"] != content["total_requests"]
    return types.SimpleNamespace(
        requests=content["total_requests"],
        answered_requests=max(0, content["successful_requests"] - invalid),
        counts_failures=counts_failures,
        counts_wrong=counts_failures or invalid > 0,
        duration_s=content["test_duration_sec"],
        avg_latency_ms=content.get("avg_latency_ms"),
        p95_latency_ms=content.get("p95_latency_ms"),
        accuracy=accuracy / 100 if _is_number(accuracy) else None,
        embedding_size=content.get("avg_embedding_size"),
        vectors_per_input=content.get("avg_num_vectors"),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
