"""Trying again what fails for the moment; what fails for good becomes a sentence without anything secret."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from ..errors import NotFetched
from .destination import Incomplete
from .source import LEAST_BYTES, LISTING_S, Readable, Source, Trouble

ATTEMPTS, FIRST_DELAY_S = 4, 0.5

T = TypeVar("T")


class Stopped(Exception):
    """The download was interrupted, or another file of it failed for good."""


class SourceFailed(Exception):
    """One of a source's errors while a file is being written, told apart from errors of the writing."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Guarded:
    """Reads *content* of *source*; its errors come out as :class:`SourceFailed`, and one that drips is given up."""

    def __init__(self, source: Source, content: Readable) -> None:
        self._source, self._content = source, content
        self._since, self._came = time.monotonic(), 0

    def read(self, size: int, /) -> bytes:
        """The next bytes.

        Raises:
            NotFetched: fewer than LEAST_BYTES came in the last LISTING_S seconds; trying again would take as long.
        """
        try:
            chunk = self._content.read(size)
        except self._source.errors as error:
            raise SourceFailed(error) from error
        self._came += len(chunk)
        now = time.monotonic()
        if chunk and now - self._since >= LISTING_S:
            if self._came < LEAST_BYTES:
                raise NotFetched(f"only {self._came:,} bytes of it came in {LISTING_S} s")
            self._since, self._came = now, 0
        return chunk


def persistently(source: Source, action: Callable[[], T], stop: threading.Event) -> T:
    """The outcome of *action*, which is tried again with growing delays where the trouble may pass.

    Raises:
        NotFetched: it failed for good.
        Stopped: *stop* was set while waiting.
    """
    delay_s = FIRST_DELAY_S
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return action()
        except Incomplete as error:
            trouble = Trouble(str(error), transient=True)
        except SourceFailed as failed:
            trouble = source.explain(failed.error)
        except source.errors as error:
            trouble = source.explain(error)
        if not trouble.transient:
            raise NotFetched(trouble.reason)
        if attempt == ATTEMPTS:
            raise NotFetched(f"{trouble.reason}, {ATTEMPTS} times")
        if stop.wait(delay_s * random.uniform(0.5, 1.5)):  # noqa: S311 - spreads the attempts, protects nothing
            raise Stopped
        delay_s *= 2
    raise AssertionError("unreachable")
