"""Continuous batching: a request joins the batch as soon as there is a place, and leaves it with its last token."""

from __future__ import annotations

import collections
import dataclasses
import threading
import time
from collections.abc import Callable

import numpy as np
from decoder import Decoder, Tokens


@dataclasses.dataclass(eq=False)
class Request:
    """A prompt, how many tokens it is to be answered with, and who is told of each; None says that it is done."""

    prompt: Tokens
    wanted: int
    tell: Callable[[int | None], None]
    cancelled: bool = False
    made: int = 0
    last: int = 0

    def add(self, token: int) -> bool:
        """Hand on the next token; True after the last."""
        self.last, self.made = token, self.made + 1
        self.tell(token)
        return self.made >= self.wanted


class Batcher(threading.Thread):
    """The thread that decodes; of waiting requests one joins between two steps, so that answers don't stand still."""

    def __init__(self, decoder: Decoder, slots: int) -> None:
        super().__init__(daemon=True, name="decoder")
        self._decoder, self._slots = decoder, slots
        self._waiting: collections.deque[Request] = collections.deque()
        self._active: list[Request] = []
        self._has_work = threading.Condition()
        self.busy_s = 0.0

    def submit(self, request: Request) -> None:
        with self._has_work:
            self._waiting.append(request)
            self._has_work.notify()

    def run(self) -> None:
        while True:
            with self._has_work:
                while not self._waiting and not self._active:
                    self._has_work.wait()
                joining = self._waiting.popleft() if self._waiting and len(self._active) < self._slots else None
            began = time.perf_counter()
            if joining is not None and not joining.cancelled:
                self._join(joining)
            if self._active:
                self._step()
            self.busy_s += time.perf_counter() - began

    def _join(self, request: Request) -> None:
        if request.add(self._decoder.begin(len(self._active), request.prompt)):
            request.tell(None)
        else:
            self._active.append(request)

    def _step(self) -> None:
        found = self._decoder.step(np.array([request.last for request in self._active], np.int64))
        pairs = zip(self._active, found, strict=True)
        done = [request.add(int(token)) or request.cancelled for request, token in pairs]
        for row in reversed(range(len(done))):
            if done[row]:
                self._active[row].tell(None)
                last = len(self._active) - 1
                if row != last:
                    self._decoder.move(last, row)
                    self._active[row] = self._active[last]
                self._active.pop()
