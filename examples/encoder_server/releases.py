"""Releases that the server can play, so that a history of it can be recorded: one made a configuration slower.

From release 1.3.1 on, int8 does needless work after each model call of more than one text: it reads its answer again
and again for an eighth of the time that the call took.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence

from batching import Floats

CURRENT = "1.2.0"
SLOWER_FROM = (1, 3, 1)
SLOWER_IMAGE = "onnx-int8"
NEEDLESS_SHARE = 0.125

Model = Callable[[Sequence[str]], Floats]


def as_released(model: Model, image: str, release: str) -> Model:
    """The model's call as `release` makes it."""
    return with_needless_work(model) if image == SLOWER_IMAGE and numbers(release) >= SLOWER_FROM else model


def with_needless_work(model: Model) -> Model:
    """The same answers, an eighth later where there is more than one text."""

    def slower(texts: Sequence[str]) -> Floats:
        start = time.perf_counter()
        answer = model(texts)
        if len(texts) > 1:
            end = start + (time.perf_counter() - start) * (1.0 + NEEDLESS_SHARE)
            while time.perf_counter() < end:
                hashlib.blake2b(answer.tobytes()).digest()
        return answer

    return slower


def numbers(release: str) -> tuple[int, ...]:
    """The first three numbers of a release; a candidate's are those of the release that it is a candidate for."""
    found = re.match(r"(\d+)\.(\d+)\.(\d+)", release)
    if found is None:
        raise ValueError(f"{release!r} is no release such as {CURRENT}")
    return tuple(int(part) for part in found.groups())
