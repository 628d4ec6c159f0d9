"""Fetching files with several threads: whole or not at all, again where it fails, within a number of bytes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from ..download_record import Held
from ..errors import DownloadError
from . import names
from .destination import Destination
from .retry import Guarded, Stopped, persistently
from .source import Directory, File, Source

Progress = Callable[[int, int], None]
SAVE_EVERY_S, SAVE_SHARE = 1.0, 0.05


class LimitReached(DownloadError):
    """More bytes than were allowed."""


class Budget:
    """The bytes that may still be fetched, counted by all threads."""

    def __init__(self, max_bytes: int) -> None:
        self._lock = threading.Lock()
        self.max_bytes = max_bytes
        self.spent = 0

    def spend(self, size: int) -> None:
        """Count *size* bytes.

        Raises:
            LimitReached: they are too many.
        """
        with self._lock:
            self.spent += size
            if self.spent > self.max_bytes:
                raise LimitReached(f"more than {self.max_bytes:,} bytes; --max-bytes raises the limit")

    def check(self, planned: int) -> None:
        """Raise LimitReached where *planned* bytes more are too many."""
        if self.spent + planned > self.max_bytes:
            raise LimitReached(
                f"{planned:,} bytes are to be fetched, more than {self.max_bytes:,}; --max-bytes raises the limit"
            )


@dataclasses.dataclass(frozen=True, slots=True)
class Means:
    """With what a download works: its destination, its limits, its threads."""

    destination: Destination
    budget: Budget
    jobs: int
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    progress: Progress | None = None


@dataclasses.dataclass(slots=True)
class Fetched:
    """What came of fetching: how many files and bytes, and a sentence for each file that failed."""

    files: int = 0
    size: int = 0
    problems: list[str] = dataclasses.field(default_factory=list)


def listings(source: Source, directories: Iterable[str], means: Means) -> Iterator[Directory | DownloadError]:
    """The content of each directory in their order, or why it can't be listed."""

    def one(name: str) -> Directory | DownloadError:
        try:
            return persistently(source, lambda: source.list(name), means.stop)
        except DownloadError as error:
            return error

    with _threads(source, means) as pool:
        yield from pool.map(one, directories)


def described(source: Source, files: Iterable[File], means: Means) -> Iterator[File]:
    """*files* with what can be known of them without reading them."""

    def one(file: File) -> File:
        try:
            return persistently(source, lambda: source.describe(file), means.stop)
        except DownloadError:
            return file  # fetching it will say why

    with _threads(source, means) as pool:
        yield from pool.map(one, files)


def fetch_one(source: Source, file: File, means: Means) -> Held:
    """Fetch one file; gives its state at the source.

    Raises:
        DownloadError: it can't be fetched.
        OutputError: it can't be written.
        LimitReached: there were more bytes than allowed.
    """

    def spend(size: int) -> None:
        if means.stop.is_set():
            raise Stopped
        means.budget.spend(size)

    def once() -> Held:
        with source.open(file) as (now, content):
            size = means.destination.write(now, Guarded(source, content), spend)
        return Held(size=size, etag=now.etag, mtime_ns=now.mtime_ns, fetched=True)

    return persistently(source, once, means.stop)


def fetch_all(
    source: Source, files: list[File], means: Means, held: dict[str, Held], save: Callable[[], None]
) -> Fetched:
    """Fetch *files*, noting each in *held*, which *save* writes from time to time.

    Raises:
        OutputError, LimitReached: none of the others could be fetched either.
    """
    outcome, lock, waiting = Fetched(), threading.Lock(), iter(files)
    saver = _Saver(save)

    def work() -> None:
        while not means.stop.is_set():
            with lock:
                file = next(waiting, None)
            if file is None:
                return
            try:
                state = fetch_one(source, file, means)
            except LimitReached:
                raise
            except DownloadError as error:
                with lock:
                    outcome.problems.append(f"{names.shown(file.name)}: {error}")
                continue
            with lock:
                held[file.name] = state
                outcome.files += 1
                outcome.size += state.size or 0
                saver.maybe()
                if means.progress is not None:
                    means.progress(outcome.files + len(outcome.problems), len(files))

    jobs = means.jobs if source.parallel else 1
    with _threads(source, means) as pool:
        running = [pool.submit(work) for _ in range(min(jobs, len(files)))]
        done, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_EXCEPTION)
        for future in done:
            future.result()
    return outcome


class _Saver:
    """Saves at most once in SAVE_EVERY_S, and so that it takes a small share of the time."""

    def __init__(self, save: Callable[[], None]) -> None:
        self._save = save
        self._next = time.monotonic() + SAVE_EVERY_S

    def maybe(self) -> None:
        start = time.monotonic()
        if start >= self._next:
            self._save()
            end = time.monotonic()
            self._next = end + max(SAVE_EVERY_S, (end - start) / SAVE_SHARE)


@contextlib.contextmanager
def _threads(source: Source, means: Means) -> Iterator[concurrent.futures.ThreadPoolExecutor]:
    """A pool whose threads stop when anything is raised here, an interrupt too: also those that wait for the source."""
    pool = concurrent.futures.ThreadPoolExecutor(means.jobs if source.parallel else 1, "download")
    try:
        yield pool
    except BaseException:
        means.stop.set()
        source.close()
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
