"""A JSON document without the values that nobody needs, so that a file may be much larger than memory."""

from __future__ import annotations

import mmap
import re
from typing import IO

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)
_OPENING, _CLOSING = b"[{", b"]}"
_RELEASE = 1 << 24
"""After so many bytes, pages of the file are given back."""


def without_values(stream: IO[bytes], key: bytes, within: bytes) -> bytes:
    """The document in *stream*, with null for the objects and lists at *key* where *within* is open: ``{[{`` is an
    object in a list of the whole.

    What is no JSON comes out as something that is none either. The file is mapped, not read: what is left out is passed
    over and leaves memory again.
    """
    if stream.seek(0, 2) == 0:
        return b""
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        kept: list[bytes] = []
        opened = bytearray()
        begin = released = 0
        skipped_at = -1
        follows = False
        wanted = b'"' + key + b'"'
        for match in _TOKEN.finditer(content):
            start, end = match.span()
            if end - released > _RELEASE:
                content.madvise(mmap.MADV_DONTNEED, released, _RELEASE)
                released += _RELEASE
            sign = content[start]
            if sign in _OPENING:
                if follows and skipped_at < 0:
                    kept += [content[begin:start], b"null"]
                    skipped_at = len(opened)
                opened.append(sign)
                follows = False
            elif sign in _CLOSING:
                del opened[-1:]
                if len(opened) == skipped_at:
                    begin, skipped_at = end, -1
                follows = False
            elif skipped_at < 0:
                is_key = opened == within and end - start == len(wanted) and content[start:end] == wanted
                follows = is_key and content[end : end + 16].lstrip().startswith(b":")
        if skipped_at < 0:
            kept.append(content[begin:])
        return b"".join(kept)
