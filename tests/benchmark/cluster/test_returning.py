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


@pytest.fixture
def finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run on a host, of eleven parts."""
    monkeypatch.setattr(returning, "PART_BYTES", 10_000)
    monkeypatch.setattr(returning, "own_root", lambda campaign: tmp_path / campaign)
    run = run_directory.begin(tmp_path / "host", Path("a/n_1"), POINT)
    (run / "big").write_bytes(CONTENT)
    (run / "link").symlink_to("big")
    run_directory.finish(run, Outcome(0))
    return run


@pytest.fixture
def archive(finished: Path, tmp_path: Path) -> Path:
    found = returning.pack(tmp_path / "host", "a/n_1")
    assert not finished.exists()
    return found


def parts() -> Iterator[bytes]:
    start = 0
    while part := asyncio.run(returning.fetch("host", "a/n_1", start)):
        assert len(part) <= 10_000
        yield part
        start += len(part)


def files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


@pytest.mark.usefixtures("archive")
def test_it_comes_whole_and_is_no_longer_on_its_host(tmp_path: Path):
    assert returning.keep_returned(tmp_path / "r", "a/n_1", parts(), POINT) == []
    assert (tmp_path / "r" / "a" / "n_1" / "big").read_bytes() == CONTENT
    assert (tmp_path / "r" / "a" / "n_1" / "link").read_bytes() == CONTENT
    assert files(tmp_path / "host") == []


def test_what_does_not_come_to_its_end_is_still_there_and_may_come_again(tmp_path: Path, archive: Path):
    def broken() -> Iterator[bytes]:
        yield next(parts())
        raise ClusterError("the host is gone")

    with pytest.raises(ClusterError, match="the host is gone"):
        returning.keep_returned(tmp_path / "r", "a/n_1", broken(), POINT)
    assert files(tmp_path / "r") == []
    assert archive.exists()
    returning.keep_returned(tmp_path / "r", "a/n_1", parts(), POINT)
    assert (tmp_path / "r" / "a" / "n_1" / "big").read_bytes() == CONTENT


def test_pipes_and_links_that_lead_out_of_it_are_left_out_and_named(tmp_path: Path, finished: Path):
    os.mkfifo(finished / "pipe")
    (finished / "absolute").symlink_to("/etc/hostname")
    (finished / "outside").symlink_to("../../../outside")
    returning.pack(tmp_path / "host", "a/n_1")
    left_out = returning.keep_returned(tmp_path / "r", "a/n_1", parts(), POINT)
    assert sorted(map(os.path.basename, left_out)) == ["absolute", "outside", "pipe"]
    assert (tmp_path / "r" / "a" / "n_1" / "big").read_bytes() == CONTENT


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize("odd", [[], [b"no archive"], [b"\x1f\x8b\x08\x00"]])
def test_what_is_no_archive_is_said(tmp_path: Path, odd: list[bytes]):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 can't be unpacked: "):
        returning.keep_returned(tmp_path / "r", "a/n_1", odd, POINT)


@pytest.mark.usefixtures("archive")
def test_the_run_of_another_point_is_said(tmp_path: Path):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 is not its finished run"):
        returning.keep_returned(tmp_path / "r", "a/n_1", parts(), Point("a", {"n": 2}, 0))


@pytest.mark.usefixtures("archive")
def test_an_archive_that_is_cut_off_is_said(tmp_path: Path):
    with pytest.raises(MatbenchError, match="what came back for a/n_1 can't be"):
        returning.keep_returned(tmp_path / "r", "a/n_1", [next(parts())], POINT)


def test_a_path_of_many_bytes_has_an_archive(tmp_path: Path):
    path = "/".join(("ベンチマーク" * 8, "設定" * 20, "n_1"))
    run = run_directory.begin(tmp_path / "host", Path(path), POINT)
    run_directory.finish(run, Outcome(0))
    assert returning.pack(tmp_path / "host", path).exists()


def test_no_archive_is_said(finished: Path):
    with pytest.raises(MatbenchError, match="the archive of a/n_1 can't be read: No such file or directory"):
        next(parts())
