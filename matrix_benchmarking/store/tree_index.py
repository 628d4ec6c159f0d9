"""The index of a tree: one file with what the last complete parse found, but for results and payloads.

It holds the columns of the tests as they are. All types are checked while it is read: it may come from a stranger.
"""

from __future__ import annotations

import datetime as dt
import operator
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from .. import workload_file
from ..bucket import BucketPath
from ..columns import Columns
from ..files import read_regular
from ..matrix import Matrix
from ..rows import ParsedTests, Rows
from ..workload import INDEX_PREFIX, Workload
from . import cache, codec
from .cache import Envelope
from .codec import BrokenCache
from .find import check_root, layouts_of
from .fingerprint import digest
from .in_bucket import BucketTree
from .loader import Loader
from .parsing import Context

ENVELOPE = Envelope(b"matbench-index", 9, "matbench index")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


class Contents(msgspec.Struct):
    """What an index holds of a tree: its tests, unfinished ones among them, and notes."""

    tests: Columns
    notes: list[str]


class _Index(msgspec.Struct):
    """The file: when a tree was first so, and the tree, packed."""

    written: dt.datetime
    tree: bytes


def encode(contents: Contents) -> bytes:
    """*contents* as bytes, the same for the same contents."""
    return codec.pack_struct((), contents)


def decode(content: bytes, layouts: int) -> Contents:
    """What :func:`encode` made bytes of, for a workload with so many *layouts*.

    Raises BrokenCache: *content* is no index.
    """
    try:
        tree = codec.unpack_struct(content, (), Contents)
        assert tree is not None
        tree.tests.check(layouts)
    except (ValueError, KeyError, TypeError) as error:
        raise BrokenCache(f"it holds something unexpected ({type(error).__name__}: {error})") from error
    return tree


def read_index(
    workload: Workload, root: str | os.PathLike[str], *, options: Mapping[str, object] | None = None
) -> Matrix | None:
    """The tree at *root* as its last complete parse left it, from its index, without a look at its tests.

    None if there is no index that can be used: it is damaged, of another version of the engine, of another workload or
    source, or of other parser *options*; or if MATBENCH_STORE_IGNORE_CACHE says so.

    Raises:
        MatbenchError: *root* is no readable directory.
    """
    resolved = check_root(root)
    if cache.is_ignored():
        return None
    tree = BucketTree(resolved) if isinstance(resolved, BucketPath) else None
    code = workload_file.source_digest(workload.source)
    context = Context(workload, resolved, code, dict(options or {}), tree=tree)
    try:
        latest = _latest(context)
        if latest is None:
            return None
        contents = decode(latest.tree, len(layouts_of(workload)))
    except codec.CodecError:
        return None
    return matrix_of(Loader(context).tests(contents.tests), contents.notes)


def matrix_of(tests: ParsedTests, notes: Sequence[str]) -> Matrix:
    """*tests* with their *notes*, the unfinished ones apart."""
    rows = Rows(tests)
    is_finished = list(tests.columns.finished)
    unfinished = rows.where(map(operator.not_, is_finished))
    return Matrix(rows.where(is_finished) if len(unfinished) else rows, unfinished=unfinished, notes=notes)


def save(context: Context, contents: Contents) -> list[str]:
    """Write the index of a parsed tree, unless it is there already; sentences on what was wrong with that."""
    root, notes = context.root, []
    try:
        tree = encode(contents)
        latest = _latest(context)
        if latest is not None and latest.tree == tree:
            return []
    except BrokenCache as broken:
        notes.append(f"the index of the tree is ignored: {broken}")
    except codec.CodecError as error:
        return [f"no index of the tree is kept: the tests hold {error}"]
    *beside, user = places(root, context.workload)
    content = ENVELOPE.seal(_stamp(context), _Index(dt.datetime.now(dt.UTC), tree))
    paths = [*beside, user] if _may_be_beside(contents, root) else [user]
    return [*notes, *cache.write_first(paths, content, "index of the tree")]


def _may_be_beside(contents: Contents, root: Path) -> bool:
    """False for a flat tree and one that is itself a test: files in them belong to tests."""
    tests = contents.tests
    return (
        not any(tests.is_file.distinct)
        and b"" not in tests.path.raws()
        and not any(
            os.path.isfile(root / os.fsdecode(path))
            for path, finished in zip(tests.path.raws(), tests.finished, strict=True)
            if not finished
        )
    )


def places(root: Path, workload: Workload) -> list[str]:
    """Where the index of the tree at *root* may be: beside its tests, if that is no bucket, and in the user's cache."""
    name = workload.name
    if not _PLAIN_NAME.fullmatch(name):
        name = digest(name.encode("utf-8", "surrogatepass")).hex()
    beside = [] if isinstance(root, BucketPath) else [f"{root}/{INDEX_PREFIX}{name}"]
    return [*beside, cache.in_user_directory(root, workload, "index")]


def _latest(context: Context) -> _Index | None:
    """The newer of the files in the two places; None if there is none of this parse's format and stamp."""
    kept, stamp = [], _stamp(context)
    for path in places(context.root, context.workload):
        try:
            content = read_regular(path)
        except OSError:
            continue
        kept.append(ENVELOPE.open(content, stamp, _Index))
    return max(filter(None, kept), key=lambda one: one.written, default=None)


def _stamp(context: Context) -> cache.Stamp:
    return context.workload.name, context.code, digest(codec.pack(_in_order(context.options))), sys.byteorder


def _in_order(value: object) -> object:
    """*value* with its mappings as sorted pairs: the order of prices is no difference."""
    if not isinstance(value, Mapping):
        return value
    return {"mapping": sorted((codec.pack(name), codec.pack(_in_order(item))) for name, item in value.items())}
