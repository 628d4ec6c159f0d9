"""Fetching files with several threads into a destination: whole or not at all, within a number of bytes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import os
import random
import re
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from ..download_record import Held
from ..errors import DownloadError, NotFetched, OutputError, failing, os_reason
from ..files import atomic_write, unsafe
from .source import LEAST_BYTES, LISTING_S, File, Readable, Source, Trouble, join, shown

_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}")


class Destination:
    """Writes files below *root*, which is made where it is missing, in its *subdirectory*.

    Raises:
        OutputError: it is a file, or can't be written.
    """

    def __init__(self, root: Path, subdirectory: str = "") -> None:
        self.root = Path(os.path.realpath(root))
        self.subdirectory = subdirectory
        self._checked: set[str] = set()
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise OutputError(f"cannot write to {root}: it is a file") from None
        except OSError as error:
            raise OutputError(f"cannot write to {root}: {os_reason(error)}") from error

    @property
    def directory(self) -> Path:
        """The root of the tree that is written."""
        return self.root / self.subdirectory

    def whole(self) -> Destination:
        """The destination without the subdirectory."""
        return Destination(self.root)

    def path(self, name: str) -> Path:
        """Where the file *name* is; OutputError where the name leads out, or a link on its way does."""
        reason = unsafe(name)
        if reason is not None:
            raise OutputError(f"cannot write {shown(name)}: {reason}")
        name = join(self.subdirectory, name)
        self._check_way(name.rpartition("/")[0])
        return self.root / name

    def _check_way(self, directory: str) -> None:
        """Refuse links among the directories on the way; what isn't there yet will be made."""
        if not directory or directory in self._checked:
            return
        self._check_way(directory.rpartition("/")[0])
        path = self.root / directory
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if stat.S_ISLNK(os.lstat(path).st_mode):
                raise OutputError(f"cannot write to {path}: it is a link; remove it or choose another destination")
            self._checked.add(directory)

    def state(self, name: str) -> tuple[int, int] | None:
        """Size and modification time (ns) of the regular file *name*; None where there is none."""
        try:
            status = os.lstat(self.path(name))
        except OSError:
            return None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def size(self, name: str) -> int | None:
        """The size of the regular file *name*; None where there is none."""
        state = self.state(name)
        return None if state is None else state[0]

    def make_directory(self, name: str) -> None:
        """Make the directory *name*."""
        path = self.path(name)
        self._check_way(join(self.subdirectory, name))
        with failing(f"cannot make the directory {path}", OutputError):
            path.mkdir(parents=True, exist_ok=True)

    def write(self, file: File, chunks: Iterable[bytes]) -> int:
        """Write *chunks* to the file's place, whole or not at all, with its modification time; gives its size.

        Trouble says that there is less of it, or more, than the file's size.
        """
        size = 0
        with atomic_write(self.path(file.name), durable=False) as stream:
            for chunk in chunks:
                stream.write(chunk)
                size += len(chunk)
            if file.size is not None and size != file.size:
                raise Trouble(f"it ended after {size:,} of {file.size:,} bytes", transient=True)
            stream.flush()
            if file.mtime_ns is not None and 0 <= file.mtime_ns < 2**62:
                os.utime(stream.fileno(), ns=(file.mtime_ns, file.mtime_ns))
        return size

    def remove(self, name: str) -> None:
        """Remove the file *name* if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(self.path(name))

    def remove_leftovers(self, files: Iterable[str]) -> None:
        """Remove temporary files of *files* that a killed download left behind."""
        expected: dict[str, set[str]] = {}
        for name in files:
            directory, _, base = name.rpartition("/")
            expected.setdefault(directory, set()).add(base[:100])
        for directory, bases in expected.items():
            parent = self.path(directory) if directory else self.directory
            with contextlib.suppress(OSError), os.scandir(parent) as items:
                for item in items:
                    match = _TEMPORARY.fullmatch(item.name)
                    if match and match[1] in bases:
                        os.unlink(item.path)

    def check_space(self, needed: int) -> None:
        """Raise DownloadError if the disk has less than *needed* bytes left."""
        free = shutil.disk_usage(self.root).free
        if needed > free:
            raise DownloadError(f"{needed:,} bytes are to be fetched, and {self.root} has room for {free:,}")


ATTEMPTS, FIRST_DELAY_S = 4, 0.5
CHUNK_BYTES = 1 << 20
SAVE_EVERY_S, SAVE_SHARE = 1.0, 0.05

Progress = Callable[[int, int], None]
S = TypeVar("S")
T = TypeVar("T")


class Stopped(Exception):
    """The download was interrupted, or another file of it failed for good."""


class LimitReached(DownloadError):
    """More bytes than were allowed."""


class Budget:
    """The bytes that may still be fetched, counted by all threads."""

    def __init__(self, max_bytes: int) -> None:
        self._lock = threading.Lock()
        self.max_bytes = max_bytes
        self.spent = 0

    def spend(self, size: int) -> None:
        """Count *size* bytes; LimitReached if they are too many."""
        with self._lock:
            self.spent += size
            if self.spent > self.max_bytes:
                raise LimitReached(f"more than {self.max_bytes:,} bytes; `max_bytes` raises the limit")

    def check(self, planned: int) -> None:
        """Raise LimitReached where *planned* bytes more are too many."""
        if self.spent + planned > self.max_bytes:
            raise LimitReached(
                f"{planned:,} bytes are to be fetched, more than {self.max_bytes:,}; `max_bytes` raises the limit"
            )


class Means(msgspec.Struct, frozen=True):
    """With what a download works: its destination, its limits, its threads."""

    destination: Destination
    budget: Budget
    jobs: int
    stop: threading.Event = msgspec.field(default_factory=threading.Event)
    progress: Progress | None = None


@dataclasses.dataclass(slots=True)
class Outcome:
    """What came of one tree: numbers of files and tests, and sentences on what was left out and what failed."""

    address: str
    fetched: int = 0
    fetched_bytes: int = 0
    held: int = 0
    tests: int | None = None
    notes: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)


def each(source: Source, items: Iterable[S], action: Callable[[S], T], means: Means) -> Iterator[T | DownloadError]:
    """What *action*, which asks the source, gives for each of *items* in their order, or why it failed."""

    def one(item: S) -> T | DownloadError:
        try:
            return persistently(source, lambda: action(item), means.stop)
        except DownloadError as error:
            return error

    with _threads(source, means) as pool:
        yield from pool.map(one, items)


def described(source: Source, files: list[File], means: Means) -> list[File]:
    """*files* with what can be known of them without reading them; where that fails, fetching will say why."""
    found = each(source, files, source.describe, means)
    return [file if isinstance(now, DownloadError) else now for file, now in zip(files, found, strict=True)]


def fetch_one(source: Source, file: File, means: Means) -> Held:
    """Fetch one file; gives its state at the source. DownloadError, OutputError, LimitReached say why it can't be."""

    def once() -> Held:
        with source.open(file) as (now, content):
            size = means.destination.write(now, _chunks(source, content, means))
        return Held(size=size, etag=now.etag, mtime_ns=now.mtime_ns, fetched=True)

    return persistently(source, once, means.stop)


def fetch_all(
    source: Source,
    files: list[File],
    means: Means,
    outcome: Outcome,
    held: dict[str, Held],
    save: Callable[[], None] = lambda: None,
) -> None:
    """Fetch *files*, noting each in *held*, which *save* writes from time to time.

    Raises:
        OutputError, LimitReached: none of the others could be fetched either.
    """
    next_save = time.monotonic() + SAVE_EVERY_S
    with _threads(source, means) as pool:
        running = {pool.submit(fetch_one, source, file, means): file for file in files}
        for done, future in enumerate(concurrent.futures.as_completed(running), start=1):
            file = running[future]
            try:
                held[file.name] = state = future.result()
            except LimitReached:
                raise
            except DownloadError as error:
                outcome.problems.append(f"{shown(file.name)}: {error}")
                continue
            outcome.fetched += 1
            outcome.fetched_bytes += state.size or 0
            if (start := time.monotonic()) >= next_save:
                save()
                end = time.monotonic()
                next_save = end + max(SAVE_EVERY_S, (end - start) / SAVE_SHARE)
            if means.progress is not None:
                means.progress(done, len(files))


def _chunks(source: Source, content: Readable, means: Means) -> Iterator[bytes]:
    """The pieces of *content*, counted; they end if the download is stopped.

    Raises:
        Trouble: one of the errors of *source*, told apart from errors of the writing.
        NotFetched: fewer than LEAST_BYTES came in the last LISTING_S seconds; trying again would take as long.
    """
    since, came = time.monotonic(), 0
    while True:
        try:
            chunk = content.read(CHUNK_BYTES)
        except source.errors as error:
            raise source.explain(error) from error
        if not chunk:
            return
        came += len(chunk)
        now = time.monotonic()
        if now - since >= LISTING_S:
            if came < LEAST_BYTES:
                raise NotFetched(f"only {came:,} bytes of it came in {LISTING_S} s")
            since, came = now, 0
        if means.stop.is_set():
            raise Stopped
        means.budget.spend(len(chunk))
        yield chunk


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
        except Trouble as error:
            trouble = error
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
