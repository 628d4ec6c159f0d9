"""The matrix file: a JSON array of ``{settings, repeat, location, exit_code, results}``, one a test."""

from __future__ import annotations

from typing import IO

import msgspec

from ..errors import OutputError
from ..jsonable import to_jsonable
from ..matrix import Matrix


def write_matrix(matrix: Matrix, stream: IO[bytes], *, pretty: bool = False) -> None:
    """Write all entries to *stream*, one after the other, so that one's results are held at a time.

    Raises:
        OutputError: an entry's results hold something that has no JSON form.
    """
    encode = msgspec.json.Encoder().encode
    separator = b"[\n"
    for entry in matrix:
        try:
            row = {
                "settings": dict(entry.settings),
                "repeat": entry.repeat,
                "location": entry.name,
                "exit_code": entry.exit_code,
                "results": to_jsonable(entry.results),
            }
        except TypeError as error:
            raise OutputError(f"{entry.name}: the results can't be written as JSON: {error}") from error
        content = encode(row)
        stream.write(separator + (msgspec.json.format(content, indent=2) if pretty else content))
        separator = b",\n"
    stream.write(b"[]\n" if separator == b"[\n" else b"\n]\n")
