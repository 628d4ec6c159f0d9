"""The sample that is one archive: unpacked once, and again where the archive is another one."""

from __future__ import annotations

import runpy
import tarfile
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def unpack(repository: Path) -> Any:
    return runpy.run_path(str(repository / "data" / "samples" / "unpack.py"))["unpack"]


def pack(archive: Path, **files: str) -> None:
    source = archive.parent / "source"
    with tarfile.open(archive, "w:gz") as opened:
        for name, content in files.items():
            source.write_text(content)
            opened.add(source, f"runs/{name}")


def test_an_archive_is_unpacked_once_and_a_newer_one_takes_its_place(unpack: Any, tmp_path: Path) -> None:
    archive, place = tmp_path / "sample.tar.gz", tmp_path / "sample"
    place.mkdir()
    (place / "README.md").write_text("stays")
    pack(archive, one="1", two="2")
    assert unpack(archive)
    assert not unpack(archive)
    (place / "runs" / "one").unlink()
    assert unpack(archive)
    assert (place / "runs" / "one").read_text() == "1"
    (place / "runs" / "one").write_text("")
    assert unpack(archive)
    assert (place / "runs" / "one").read_text() == "1"
    pack(archive, two="3")
    assert unpack(archive)
    assert {path.name: path.read_text() for path in place.rglob("*") if path.is_file()} == {
        "README.md": "stays",
        "two": "3",
    }
    assert not list(tmp_path.glob(".unpacking-*"))


def test_the_sample_has_its_runs(sample: Path) -> None:
    assert len(list(sample.glob("cpu-*/*/*/*/exit_code"))) == 153
    assert len([path for path in sample.glob("cpu-*/**/*") if path.is_file() and ".matbench_" not in path.name]) == 2295
