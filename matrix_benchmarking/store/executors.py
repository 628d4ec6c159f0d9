"""How a parse is shared: processes of this machine, and calls of an executor whose outcomes come in order."""

from __future__ import annotations

import collections
import concurrent.futures
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Given = TypeVar("Given")
T = TypeVar("T")
AHEAD = 128
"""So many calls wait or run at a time: what is given to all calls of a big tree would take much memory."""


def in_order(
    executor: concurrent.futures.Executor, function: Callable[[Given], T], given: Iterable[Given]
) -> Iterator[T]:
    """As ``executor.map``, which takes in all that is *given* before the first call."""
    called = collections.deque[concurrent.futures.Future[T]]()
    try:
        for each in given:
            called.append(executor.submit(function, each))
            if len(called) == AHEAD:
                yield called.popleft().result()
        while called:
            yield called.popleft().result()
    finally:
        for future in called:
            future.cancel()


def processes(jobs: int) -> concurrent.futures.Executor:
    """So many processes of this machine, which end when this one does."""
    return _Workers(jobs, mp_context=_process_context(), initializer=_end_with_the_parent)


class _Workers(concurrent.futures.ProcessPoolExecutor):
    """Processes that don't run the script of who called: it may have no ``if __name__ == "__main__"``.

    What they are given is of importable modules, and a workload is loaded by its name or file.
    """

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> concurrent.futures.Future[T]:
        script = sys.modules["__main__"]
        hidden: dict[str, object] = {
            name: vars(script)[name] for name in ("__file__", "__spec__") if name in vars(script)
        }
        vars(script).update(dict.fromkeys(hidden))  # what a started process would learn of it
        try:
            return super().submit(function, *args, **kwargs)
        finally:
            vars(script).update(hidden)


def _end_with_the_parent() -> None:
    """In a worker: end it when the process that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()

    def wait_and_exit() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_and_exit, daemon=True).start()


def _process_context() -> multiprocessing.context.BaseContext:
    """How workers are started: forked, which is fast, from a process without threads; else spawned."""
    try:
        threads = len(os.listdir("/proc/self/task"))
    except OSError:
        threads = 0
    return multiprocessing.get_context("fork" if threads == 1 else "spawn")
