"""Releases that the example server can play: which of them make int8 slower, and by how much."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def releases(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(repository / "examples/encoder_server"))
    return __import__("releases")


def answer(texts: list[str]) -> Any:
    time.sleep(0.08)
    return np.ones((len(texts), 3), dtype=np.float32)


@pytest.mark.parametrize(
    ("image", "release", "is_slower"),
    [
        ("onnx-int8", "1.3.0", False),
        ("onnx-int8", "1.3.1", True),
        ("onnx-int8", "1.10.0", True),
        ("onnx-int8", "1.3.0-rc.1", False),
        ("onnx-fp32", "1.3.1", False),
    ],
)
def test_only_int8_is_slower_and_only_from_one_release_on(
    releases: Any, image: str, release: str, is_slower: bool
) -> None:
    assert (releases.as_released(answer, image, release) is not answer) is is_slower


def test_the_slower_release_gives_the_same_answers_later_where_there_are_several_texts(releases: Any) -> None:
    slower = releases.with_needless_work(answer)
    start = time.perf_counter()
    given = slower(["one", "two"])
    took = time.perf_counter() - start
    assert took >= 0.08 * (1.0 + releases.NEEDLESS_SHARE)
    assert np.array_equal(given, answer(["one", "two"]))


def test_what_is_no_release_is_refused(releases: Any) -> None:
    with pytest.raises(ValueError, match="is no release such as"):
        releases.numbers("latest")
