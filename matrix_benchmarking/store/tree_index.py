"""The index of a tree: one file with what the last complete parse found, but for results and payloads.

It is beside the tests, in the results directory; for a flat tree, for one that is itself a test, and where
the results directory can't be written it is in the user's cache directory. Reading it opens no test.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OutputError, os_reason
from ..files import atomic_write, read_regular
from ..matrix import Matrix
from ..version import __version__
from ..workload import INDEX_PREFIX, Workload
from . import cache, codec, index_format
from .find import check_root
from .fingerprint import DIGEST_SIZE
from .index_format import Contents
from .index_rows import Stamp
from .layouts import layouts_of
from .loading import Loader
from .parsing import Context
from .sealed import BrokenCache, Envelope

FORMAT_VERSION = 4
_ENVELOPE = Envelope(b"matbench-index", FORMAT_VERSION, "matbench index")
_TIME_SIZE = 8
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


@dataclasses.dataclass(frozen=True, slots=True)
class IndexedTree:
    """A tree as its last complete parse left it.

    Attributes:
        matrix: its entries load results and payloads on demand, as those of a parse do.
        written: when a parse first found the tree so; later ones that found nothing else don't change it.
    """

    matrix: Matrix
    written: dt.datetime


def read_index(
    workload: Workload, root: str | os.PathLike[str], *, options: Mapping[str, Any] | None = None
) -> IndexedTree | None:
    """The tree at *root* from its index, without a look at its tests.

    None if there is no index that can be used: it is damaged, of another version of the engine, of another workload or
    source, or of other parser *options*; or if MATBENCH_STORE_IGNORE_CACHE says so. The next parse makes it anew, and
    notes a damaged one.

    Raises:
        MatbenchError: *root* is no readable directory.
    """
    resolved = check_root(root)
    if cache.is_ignored():
        return None
    context = Context(workload, resolved, cache.source_digest(workload), dict(options or {}))
    try:
        stamp = _stamp(context)
        latest = _latest(resolved, workload)
        if latest is None:
            return None
        contents = index_format.decode(latest.body, stamp, resolved, len(layouts_of(workload)))
    except (codec.CodecError, BrokenCache):
        return None
    if contents is None:
        return None
    loader = Loader(context)
    for entry, candidate in contents.tests:
        loader.attach(entry, candidate)
    matrix = Matrix([entry for entry, _ in contents.tests], unfinished=contents.unfinished, notes=contents.notes)
    return IndexedTree(matrix, latest.written)


def save(context: Context, contents: Contents) -> list[str]:
    """Write the index of a parsed tree, unless it is there already; sentences on what was wrong with that."""
    root, workload = context.root, context.workload
    notes: list[str] = []
    try:
        body = index_format.encode(contents, _stamp(context), root)
    except codec.CodecError as error:
        return [f"no index of the tree is kept: the tests hold {error}"]
    try:
        latest = _latest(root, workload)
        if latest is not None and latest.body == body:
            return []
    except BrokenCache as broken:
        notes.append(f"the index of the tree is ignored: {broken}")
    content = _ENVELOPE.seal(time.time_ns().to_bytes(_TIME_SIZE, "big") + body)
    beside, user = places(root, workload)
    for path in [beside, user] if _may_be_beside(contents, root) else [user]:
        try:
            with atomic_write(path, durable=False) as stream:
                stream.write(content)
        except OutputError as error:
            problem = error
        else:
            return notes
    reason = os_reason(problem.__cause__) if isinstance(problem.__cause__, OSError) else str(problem)
    return [*notes, f"no index of the tree is kept, {user.parent} can't be written either: {reason}"]


def _may_be_beside(contents: Contents, root: Path) -> bool:
    """False for a flat tree and one that is itself a test: files in them belong to tests."""
    return all(not test.is_file and test.path != root for _, test in contents.tests) and not any(
        entry.location == root or entry.location.is_file() for entry in contents.unfinished
    )


def remove(root: Path, workload: Workload) -> None:
    """Remove the index of the tree at *root*, which is resolved, wherever it is.

    Raises:
        OutputError: it can't be removed.
    """
    for path in places(root, workload):
        try:
            path.unlink(missing_ok=True)
        except NotADirectoryError:
            continue
        except OSError as error:
            raise OutputError(f"cannot remove {path}: {os_reason(error)}") from error


def places(root: Path, workload: Workload) -> tuple[Path, Path]:
    """Where the index of the tree at *root* may be: beside its tests, and in the user's cache directory."""
    name = workload.name
    if not _PLAIN_NAME.fullmatch(name):
        name = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=DIGEST_SIZE).hexdigest()
    return root / f"{INDEX_PREFIX}{name}", cache.in_user_directory(root, workload, "index")


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    written: dt.datetime
    body: memoryview


def _latest(root: Path, workload: Workload) -> _Kept | None:
    """The newer of the files in the two places; None if there is none of this format.

    Raises:
        BrokenCache: one of them is damaged, or of a newer format.
    """
    kept = []
    for path in places(root, workload):
        try:
            content = read_regular(path)
        except OSError:
            continue
        opened = _ENVELOPE.open(content)
        if opened is not None:
            kept.append(_Kept(_time(opened[:_TIME_SIZE]), opened[_TIME_SIZE:]))
    return max(kept, key=lambda one: one.written, default=None)


def _time(content: memoryview) -> dt.datetime:
    try:
        return dt.datetime.fromtimestamp(int.from_bytes(content, "big") / 1e9, dt.UTC)
    except (OverflowError, ValueError, OSError) as error:
        raise BrokenCache("it holds a time that is none") from error


def _stamp(context: Context) -> Stamp:
    """What the index of this parse is of.

    Raises:
        CodecError: the options hold what can't be told apart.
    """
    workload = context.workload
    name = workload.name.encode("utf-8", "backslashreplace").decode()
    options = hashlib.blake2b(codec.pack(_in_order(context.options)), digest_size=DIGEST_SIZE).digest()
    return Stamp(__version__, name, context.code, options)


def _in_order(value: Any) -> Any:
    """*value* with its mappings as sorted pairs: the order of prices is no difference."""
    if not isinstance(value, Mapping):
        return value
    return {"mapping": sorted((codec.pack(name), codec.pack(_in_order(item))) for name, item in value.items())}
