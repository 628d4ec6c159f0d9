"""S3, through s3fs. Endpoint, region, profile and credentials come from the standard AWS variables and files.

One benchmark at a time works in a bucket, whichever machines its starters are on: see :func:`only_one`.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import socket
import threading
import uuid
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PosixPath
from typing import Any

import msgspec

from .errors import MatbenchError, OutputError, needing, os_reason
from .files import unsafe

BEGINNING = "s3://"
_VARIABLES = "the standard AWS variables (AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_ENDPOINT_URL …)"


def connect(kind: type[MatbenchError], *, use_listings_cache: bool = False, **options: Any) -> Any:
    """What reads and writes objects; :func:`close` it. Raises *kind*: s3fs isn't installed."""
    with needing("S3", "remote", kind):
        import s3fs

    return s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=use_listings_cache, **options)


def close(files: Any) -> None:
    """Let go of the connections of s3fs."""
    if files._s3 is not None:
        files.close_session(files.loop, files._s3creator)


def errors() -> tuple[type[Exception], ...]:
    """What s3fs raises where S3 doesn't do what was asked for; :func:`reason` says why.

    Raises:
        MatbenchError: it isn't installed.
    """
    with needing("S3", "remote", MatbenchError):
        import botocore.exceptions as botocore

    return OSError, botocore.BotoCoreError, botocore.ClientError


class BucketPath(PosixPath):
    """``s3://bucket/prefix``, where a user may name a directory; no call of the system finds anything there."""

    def __str__(self) -> str:
        text = super().__str__()
        return BEGINNING + text[4:] if text.startswith("s3:/") else text

    def absolute(self) -> BucketPath:
        return self

    def as_uri(self) -> str:
        return str(self)


@contextlib.contextmanager
def sentences(place: str | BucketPath, kind: type[MatbenchError], verb: str = "read") -> Iterator[None]:
    """The errors of s3fs as *kind*: cannot *verb* *place*, and why."""
    try:
        yield
    except errors() as error:
        raise kind(f"cannot {verb} {place}: {reason(error)}") from error


@contextlib.contextmanager
def opened(place: str | BucketPath, kind: type[MatbenchError], verb: str = "read") -> Iterator[Any]:
    """What reads and writes objects, with its errors as :func:`sentences`."""
    files = connect(kind)
    try:
        with sentences(place, kind, verb):
            yield files
    finally:
        close(files)


def require(place: BucketPath, who: str) -> None:
    """Raise MatbenchError where *who* can't read the bucket of *place*."""
    try:
        with opened(place, MatbenchError) as files:
            files.ls(place.parts[1])
    except MatbenchError as error:
        raise MatbenchError(f"{who}: {error}") from error


class Names:
    """Texts one after the other, in half the memory of a list of them."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._text, self._ends = bytearray(), array("Q", [0])
        for name in names:
            self.append(name)

    def append(self, name: str) -> None:
        self._text += name.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._text))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, place: int) -> str:
        return self._text[self._ends[place] : self._ends[place + 1]].decode("utf-8", "surrogatepass")


class Listed(msgspec.Struct, frozen=True):
    """The objects below a place, in the order of their names; there may be millions.

    Attributes:
        names: relative to the place.
        sizes: in bytes.
        times_ns: made of their ETags: that of another content is another.
    """

    names: Names
    sizes: array[int]
    times_ns: array[int]


def listed(files: Any, place: BucketPath) -> tuple[Listed, list[str]]:
    """The objects below *place*, and a sentence on each that is left out, since its name can't be a file's."""
    names, sizes, times_ns = Names(), array("q"), array("q")
    for key, size, etag in _objects(files, f"{place}/".removeprefix(BEGINNING)):
        names.append(key)
        sizes.append(size)
        times_ns.append(int.from_bytes(hashlib.blake2b(etag.encode(), digest_size=7).digest()))
    above = set[str]()
    for name in names:
        while (name := name.rpartition("/")[0]) and name not in above:
            above.add(name)
    reasons = ((name, "there is a directory of that name" if name in above else unsafe(name)) for name in names)
    odd = {name: reason for name, reason in reasons if reason is not None}
    order: Sequence[int] = range(len(names))
    if odd or any(former > latter for former, latter in itertools.pairwise(names)):
        order = [n for n in sorted(order, key=names.__getitem__) if names[n] not in odd]
        names, sizes, times_ns = (
            Names(names[n] for n in order),
            array("q", (sizes[n] for n in order)),
            array("q", (times_ns[n] for n in order)),
        )
    return Listed(names, sizes, times_ns), [f"{name!r}: left out, {reason}" for name, reason in sorted(odd.items())]


def _objects(files: Any, beginning: str) -> Iterator[tuple[str, int, str]]:
    """Name, size and ETag of each object that begins so, a page at a time: what s3fs keeps of one takes a kilobyte."""
    name, _, prefix = beginning.partition("/")
    asked = {"Bucket": name, "Prefix": prefix}
    while True:
        page = files.call_s3("list_objects_v2", **asked)
        for each in page.get("Contents", ()):
            if not each["Key"].endswith("/"):
                yield each["Key"].removeprefix(prefix), each["Size"], each["ETag"]
        if not page.get("IsTruncated"):
            return
        asked["ContinuationToken"] = page["NextContinuationToken"]


def fetch(files: Any, place: BucketPath, wanted: Mapping[str, Path]) -> list[str]:
    """Write the objects of these names below *place* to files; gives the names of those that are gone."""
    names = {str(place / name).removeprefix(BEGINNING): name for name in wanted}
    try:
        files.get([*names], [str(wanted[name]) for name in names.values()])
    except FileNotFoundError:
        gone = [each for each in names if not files.exists(each)]
        if not gone:
            raise
        left = {name: local for each, name in names.items() if each not in gone for local in [wanted[name]]}
        return [*(names[each] for each in gone), *fetch(files, place, left)]
    return []


def put(local: Path, address: str) -> None:
    """Write the file *local* as the object at *address*, which is there as a whole, or as before.

    Raises:
        OutputError: it can't be written.
    """
    check(address, OutputError)
    with opened(address, OutputError, "write") as files:
        files.put_file(str(local), address.removeprefix(BEGINNING))


def remove(address: str) -> None:
    """Remove the object at *address*, if it is there. Raises OutputError: the bucket can't be written."""
    with opened(address, OutputError, "remove") as files, contextlib.suppress(FileNotFoundError):
        files.rm_file(address.removeprefix(BEGINNING))


def check(address: str, kind: type[MatbenchError]) -> None:
    """Raise *kind* where *address* names no bucket, or nothing in it."""
    bucket, _, key = address.removeprefix(BEGINNING).partition("/")
    if not bucket or not key.strip("/"):
        raise kind(f"'{address}' should be s3://bucket/name")


def reason(error: Exception) -> str:
    """Why S3 doesn't do what was asked for, without what a server may have put into it."""
    import botocore.exceptions as botocore

    if isinstance(error, FileNotFoundError):
        return "there is no such bucket or prefix; the endpoint is named by AWS_ENDPOINT_URL"
    if isinstance(error, PermissionError):
        return f"the access is refused; check {_VARIABLES}"
    if isinstance(error, (botocore.NoCredentialsError, botocore.PartialCredentialsError)):
        return f"there are no credentials; set {_VARIABLES}"
    if isinstance(error, botocore.EndpointConnectionError):
        return "the endpoint can't be reached; it is named by AWS_ENDPOINT_URL"
    if isinstance(error, (botocore.HTTPClientError, TimeoutError)):
        return f"the connection broke ({type(error).__name__})"
    if isinstance(error, OSError):
        return f"the server refuses it: {os_reason(error)}"
    return f"the request failed ({type(error).__name__})"


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
        from email.utils import parsedate_to_datetime

        bucket, _, key = self._key.partition("/")
        there = self._files.call_s3("head_object", Bucket=bucket, Key=key)
        now = parsedate_to_datetime(there["ResponseMetadata"]["HTTPHeaders"]["date"])
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
