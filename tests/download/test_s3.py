"""Trees below prefixes of buckets, on a real S3 server of our own (moto's)."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from download_support.bucket import emptied
from download_support.web import Answer, nasty_server

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def s3(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch, directory: Path) -> Any:
    return emptied(s3_endpoint, monkeypatch)


def upload(s3: Any, tree: Path, prefix: str = "nightly/") -> None:
    for path in tree.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket="results", Key=f"{prefix}{path.relative_to(tree).as_posix()}", Body=path.read_bytes())


def object_requests(s3_log: Path, start: int) -> list[str]:
    """The requests for objects since byte *start* of the log: listings and resets are left out."""
    lines = s3_log.read_text(encoding="utf-8", errors="replace")[start:].splitlines()
    return [line for line in lines if ("GET /results/" in line or "HEAD /results/" in line)]


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_prefix_is_fetched_whole(slash, s3, tree, download, files) -> None:
    upload(s3, tree)
    assert download(f"s3://results/nightly{slash}", "--mode=all", workload=None) == 0
    assert files("here") == files(tree)
    assert all(Path("here", name).read_bytes() == (tree / name).read_bytes() for name in files(tree))


def test_a_whole_bucket_can_be_the_address(s3, tree, download, files) -> None:
    upload(s3, tree, "")
    assert download("s3://results") == 0
    assert len(files("here")) == 3 * 5


def test_a_second_call_fetches_no_object_and_a_changed_one_is_fetched_alone(s3, tree, s3_log, download) -> None:
    upload(s3, tree)
    assert download("s3://results/nightly") == 0
    start = s3_log.stat().st_size
    assert download("s3://results/nightly") == 0
    assert object_requests(s3_log, start) == []
    changed = next(tree.rglob("exit_code")).relative_to(tree).as_posix()
    s3.put_object(Bucket="results", Key=f"nightly/{changed}", Body=b"3\n")
    assert download("s3://results/nightly") == 0
    assert {line.split('"')[1].split()[1] for line in object_requests(s3_log, start)} == {f"/results/nightly/{changed}"}
    assert Path("here", changed).read_text() == "3\n"


def test_big_objects_come_in_pieces(s3, download) -> None:
    content = bytes(range(256)) * 50_000
    s3.put_object(Bucket="results", Key="big/x", Body=content)
    assert download("s3://results/big", "--mode=all") == 0
    assert Path("here/x").read_bytes() == content


def test_keys_that_lead_out_are_left_out(s3, directory, download, files, capsys: Capture) -> None:
    keys = ["a/../../up", "/absolute", "a//b", "back\\slash", "both", "both/x", "dir/", "good"]
    for key in keys:
        s3.put_object(Bucket="results", Key=f"odd/{key}", Body=b"x")
    assert download("s3://results/odd", "--mode=all") == 0
    assert files("here") == {"good", "both/x"}
    assert {path.name for path in directory.parent.iterdir()} <= {"work", "cache", "home"}
    said = capsys.readouterr().err
    assert "leads out of the destination" in said
    assert "there is a directory of that name" in said


def test_an_archive_in_a_bucket_is_fetched_once(s3, tree, s3_log, directory, download, files) -> None:
    with zipfile.ZipFile(directory / "tree.zip", "w") as archive:
        for name in files(tree):
            archive.write(tree / name, name)
    s3.put_object(Bucket="results", Key="tree.zip", Body=(directory / "tree.zip").read_bytes())
    assert download("s3://results/tree.zip") == 0
    assert len(files("here")) == 3 * 5
    assert not list(Path("here/.matbench").glob("archive*"))
    start = s3_log.stat().st_size
    assert download("s3://results/tree.zip") == 0
    assert not [line for line in object_requests(s3_log, start) if "GET" in line]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("s3://results/nothing", "no such bucket or prefix"),
        ("s3://nobucket/x", "no such bucket or prefix"),
        ("s3://results/one", "neither a prefix nor an archive"),
    ],
)
def test_what_is_not_there_is_said(address, sentence, s3, download, capsys: Capture) -> None:
    s3.put_object(Bucket="results", Key="one", Body=b"x")
    assert download(address, "--mode=all") == 2
    assert sentence in capsys.readouterr().err


def test_a_listing_that_drips_is_given_up(s3, download, monkeypatch, capsys: Capture) -> None:
    from matrix_benchmarking.download import source

    monkeypatch.setattr(source, "LISTING_S", 1)
    with nasty_server({"/results": Answer("<a>" * 1000, pause_s=0.05)}) as nasty:
        monkeypatch.setenv("AWS_ENDPOINT_URL", nasty.url)
        assert download("s3://results/nightly/", "--mode=all") == 2
    assert "its listing was not whole after 1 s" in capsys.readouterr().err


def test_missing_credentials_are_asked_for(s3, download, monkeypatch, capsys: Capture) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert download("s3://results/x", "--mode=all") == 2
    assert "there are no credentials; set the standard AWS variables" in capsys.readouterr().err


def test_credentials_are_not_kept(s3, tree, download, capsys: Capture) -> None:
    upload(s3, tree)
    assert download("s3://results/nightly") == 0
    assert "sesame" not in Path("here/.matbench/download.json").read_text() + "".join(capsys.readouterr())
