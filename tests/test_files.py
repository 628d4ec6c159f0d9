"""Files that are read whole, from their end, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matrix_benchmarking.files import read_regular


def test_a_file_is_read_whole_or_as_much_of_its_beginning_or_end_as_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    assert read_regular(path) == b"0123456789"
    assert read_regular(path, 4) == b"0123"
    assert read_regular(path, 4, is_end=True) == b"6789"
    assert read_regular(path, 40, is_end=True) == read_regular(path, 40) == b"0123456789"
    path.write_bytes(b"")
    assert read_regular(path) == read_regular(path, 4, is_end=True) == b""


def test_what_grows_or_tells_no_size_is_read_to_its_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert os.stat("/proc/self/status").st_size == 0
    assert len(read_regular("/proc/self/status")) > 100
    path, read = tmp_path / "log", os.read
    path.write_bytes(b"0123")

    def after_more(descriptor: int, size: int) -> bytes:
        if path.stat().st_size == 4:
            with path.open("ab") as stream:
                stream.write(b"4567")
        return read(descriptor, size)

    monkeypatch.setattr(os, "read", after_more)
    assert read_regular(path) == b"01234567"


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_what_is_no_file_is_an_error_and_blocks_nothing(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "odd")
    with pytest.raises(OSError, match=r"Is a directory|not a regular file"):
        read_regular(tmp_path / "odd")
