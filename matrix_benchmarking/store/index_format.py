"""The index of a tree as bytes: a matrix without results and payloads, which are loaded on demand.

All types are checked while decoding: an index may come from a stranger.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ..matrix import Entry
from .codec import CodecError
from .find import Candidate
from .index_rows import Body, Reader, Stamp, Writer, to_bytes, to_text
from .sealed import BrokenCache


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What an index holds of a tree: finished tests with how they were found, unfinished ones, and notes."""

    tests: Sequence[tuple[Entry, Candidate]]
    unfinished: Sequence[Entry]
    notes: Sequence[str]


_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(Body).decode


def encode(contents: Contents, stamp: Stamp, root: Path) -> bytes:
    """*contents* of the tree at *root* as bytes, the same for the same contents.

    Raises:
        CodecError: something in it can't be kept with its type.
    """
    writer = Writer(root)
    try:
        tests = [writer.row(entry, candidate) for entry, candidate in contents.tests]
        unfinished = [writer.row(entry, None) for entry in contents.unfinished]
        body = Body(
            stamp=stamp,
            texts=writer.texts.items,
            values=writer.values.items,
            lists=writer.lists.items,
            problems=writer.problems.items,
            reasons=writer.reasons.items,
            tests=tests,
            unfinished=unfinished,
            notes=[to_bytes(note) for note in contents.notes],
        )
        return _pack(body)
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"something unexpected ({error})") from error


def decode(content: bytes | memoryview, stamp: Stamp, root: Path, layouts: int) -> Contents | None:
    """What :func:`encode` made bytes of; None if that was with another *stamp*.

    Args:
        root: where the tree is now; it may have moved.
        layouts: how many layouts the workload has.

    Raises:
        BrokenCache: *content* is no index.
    """
    try:
        body = _unpack(content)
        if body.stamp != stamp:
            return None
        reader = Reader(body, root)
        tests = [reader.test(row) for row in body.tests]
        unfinished = [reader.entry(row) for row in body.unfinished]
        notes = [to_text(note) for note in body.notes]
    except (msgspec.MsgspecError, ValueError, IndexError) as error:
        raise BrokenCache(f"it holds something unexpected ({type(error).__name__}: {error})") from error
    if any(row.layout is not None and row.layout >= layouts for row in body.tests):
        raise BrokenCache("it names a layout that the workload doesn't have")
    return Contents(tests, unfinished, notes)
