"""A finished run that comes back from a host, part by part."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from matrix_benchmarking.benchmark import run_directory
from matrix_benchmarking.benchmark.cluster import returning
from matrix_benchmarking.benchmark.run_directory import Outcome, Point
from matrix_benchmarking.errors import ClusterError, MatbenchError

POINT, CONTENT = Point("a", {"n": 1}, 0), os.urandom(100_000)


@pytest.fixture(autouse=True)
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on a host, of eleven parts."""
    monkeypatch.setattr(returning, "PART_BYTES", 10_000)
    monkeypatch.setattr(returning, "own_root", lambda campaign: tmp_path / campaign)
    run = run_directory.begin(tmp_path / "host", Path("a/n_1"), POINT)
    (run / "big").write_bytes(CONTENT)
    run_directory.finish(run, Outcome(0))
    return run


def parts() -> Iterator[bytes]:
    start = 0
    while part := asyncio.run(returning.fetch("host", "a/n_1", start)):
        assert len(part) <= 10_000
        yield part
        start += len(part)


def test_it_comes_whole_and_is_no_longer_on_its_host(tmp_path: Path, finished: Path):
    returning.keep_returned(tmp_path / "r", "a/n_1", parts(), POINT)
    assert (tmp_path / "r" / "a" / "n_1" / "big").read_bytes() == CONTENT
    assert not finished.exists()
    assert [path for path in (tmp_path / "host").rglob("*") if path.is_file()] == []


def test_what_does_not_come_to_its_end_is_still_there_and_may_come_again(tmp_path: Path, finished: Path):
    def broken() -> Iterator[bytes]:
        yield next(parts())
        raise ClusterError("the host is gone")

    with pytest.raises(ClusterError, match="the host is gone"):
        returning.keep_returned(tmp_path / "r", "a/n_1", broken(), POINT)
    assert [path for path in (tmp_path / "r").rglob("*") if path.is_file()] == []
    assert finished.exists()
    returning.keep_returned(tmp_path / "r", "a/n_1", parts(), POINT)
    assert (tmp_path / "r" / "a" / "n_1" / "big").read_bytes() == CONTENT


@pytest.mark.parametrize("odd", [[], [b"no archive"], [b"\x1f\x8b\x08\x00"]])
def test_what_is_no_archive_is_said(tmp_path: Path, odd: list[bytes]):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 can't be unpacked: "):
        returning.keep_returned(tmp_path / "r", "a/n_1", odd, POINT)


def test_the_run_of_another_point_is_said(tmp_path: Path):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 is not its finished run"):
        returning.keep_returned(tmp_path / "r", "a/n_1", parts(), Point("a", {"n": 2}, 0))


def test_an_archive_that_is_cut_off_is_said(tmp_path: Path):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 can't be"):
        returning.keep_returned(tmp_path / "r", "a/n_1", [next(parts())], POINT)
