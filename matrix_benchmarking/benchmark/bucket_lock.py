"""One benchmark at a time in a bucket, whichever machines its starters are on."""

from __future__ import annotations

import contextlib
import email.utils
import json
import os
import socket
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..bucket import BEGINNING, BucketPath, close, connect, errors, reason
from ..errors import MatbenchError, OutputError

RENEWED_S, LAPSED_S = 15.0, 60.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextlib.contextmanager
def only_one(results: BucketPath, name: str, root: Path, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the object *name* below *results*, so that one benchmark at a time measures for them.

    It is written on the condition that it isn't there (S3's conditional writes), renewed while the block lasts, and
    taken over where it wasn't renewed for a minute, by the server's own clock; at once where it is of this machine,
    whose starters the lock in *root* keeps apart. A *note* says where the server can't do this.

    Raises:
        OutputError: the bucket can't be written.
        MatbenchError: another benchmark measures for these results.
    """
    machine = f"{_BOOT.read_text().strip() if _BOOT.exists() else ''} {socket.gethostname()} {root}"
    files = connect(OutputError)
    try:
        lock = _Lock(files, str(results / name).removeprefix(BEGINNING), machine)
        try:
            lock.take(results)
        except errors() as error:
            if isinstance(error, (FileNotFoundError, PermissionError)):
                raise OutputError(f"cannot write {results}: {reason(error)}") from error
            note(f"nothing keeps a second benchmark out of {results}: {reason(error)}")
        ended = threading.Event()
        renewing = threading.Thread(target=lock.keep, args=(ended,), daemon=True)
        renewing.start()
        try:
            yield
        finally:
            ended.set()
            renewing.join()
            with contextlib.suppress(*errors()):  # what can't be given back lapses
                lock.give_back()
    finally:
        close(files)


class _Lock:
    """An object that names its holder, who knows its ETag as long as it is his."""

    def __init__(self, files: Any, key: str, machine: str) -> None:
        self._files, self._key, self._machine, self._id = files, key, machine, uuid.uuid4().hex
        self._etag: str | None = None

    def take(self, results: BucketPath) -> None:
        with contextlib.suppress(FileExistsError):
            self._write(mode="create")
            return
        bucket, _, key = self._key.partition("/")
        there = self._files.call_s3("head_object", Bucket=bucket, Key=key)
        now = email.utils.parsedate_to_datetime(there["ResponseMetadata"]["HTTPHeaders"]["date"])
        left_s = LAPSED_S - (now - there["LastModified"]).total_seconds()
        known = self._read()
        if left_s > 0 and known.get("machine") != self._machine:
            raise MatbenchError(
                f"another benchmark (process {str(known.get('holder', 'unknown'))[:100]}) works in {results}: wait for "
                f"it, or end it; if it was killed, the bucket is free in {left_s:.0f} s"
            )
        self._write(IfMatch=there["ETag"])

    def keep(self, ended: threading.Event) -> None:
        """Renew it until *ended*. Once it is another's no more: the results have each point once all the same."""
        while self._etag is not None and not ended.wait(RENEWED_S):
            try:
                self._write(IfMatch=self._etag)
            except errors():  # the network may be back by the next time, and what was written then without an answer
                with contextlib.suppress(*errors()):
                    etag = self._files.info(self._key)["ETag"]
                    self._etag = etag if self._read().get("id") == self._id else None

    def give_back(self) -> None:
        if self._etag is not None and self._files.info(self._key)["ETag"] == self._etag:
            self._files.rm_file(self._key)

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(self._files.cat_file(self._key))
        except ValueError:
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, **condition: Any) -> None:
        """Each time another content, so that an ETag is of one holder and one time."""
        holder = f"{os.getpid()} on {socket.gethostname()}"
        content = {"holder": holder, "machine": self._machine, "id": self._id, "renewal": uuid.uuid4().hex}
        self._etag = self._files.pipe_file(self._key, json.dumps(content).encode(), **condition)["ETag"]
