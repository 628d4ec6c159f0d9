"""Trees in a bucket, read where they are: on a real S3 server of our own (moto's)."""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from benchmark_support.machines import Machines
from download_support.bucket import emptied

from matrix_benchmarking import bucket, store
from matrix_benchmarking import workload as workloads
from matrix_benchmarking.bucket import BucketPath
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.store import in_bucket, tree_index

Capture = pytest.CaptureFixture[str]
MINIMAL = "examples/minimal_workload.py"
SAMPLES = {
    "openssl_speed": MINIMAL,
    "encoder_bench/cpu-2": "encoder_bench",
    "training_bench": "training_bench",
    "llm_bench": "llm_bench",
    "micro_bench": "micro_bench",
}


@pytest.fixture
def s3(s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return emptied(s3_endpoint, monkeypatch)


def upload(s3: Any, tree: Path, prefix: str = "tree") -> None:
    for path in tree.rglob("*"):
        if path.is_file():
            s3.put_object(Bucket="results", Key=f"{prefix}/{path.relative_to(tree)}", Body=path.read_bytes())


def parsed(place: str | Path, workload: str, output: Path, *more: str) -> list[Any]:
    """The entries of a parse, each without its place."""
    words = [f"--results-dirname={place}", f"--workload={workload}", f"--output-matrix={output}", *more]
    assert main(["parse", *words]) == 0
    entries: list[Any] = json.loads(output.read_text())
    return [{**entry, "location": entry["location"].replace(str(place), "PLACE")} for entry in entries]


def fetched(s3_log: Path, start: int) -> list[str]:
    """The objects that were read since the log had *start* characters."""
    return re.findall(r"GET /results/tree/(\S+) HTTP", s3_log.read_text()[start:])


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_tree_in_a_bucket_is_parsed_to_the_same_matrix_as_on_a_disk(
    s3: Any, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: str
):
    monkeypatch.chdir(repository)
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", "true")
    tree = repository / "data" / "samples" / sample
    upload(s3, tree)
    here = parsed(tree, SAMPLES[sample], tmp_path / "here.json")
    assert parsed("s3://results/tree", SAMPLES[sample], tmp_path / "there.json") == here
    assert not list((tmp_path / "temporary").iterdir()), "something stays"


def test_a_list_that_was_let_go_of_is_made_again_for_what_is_asked_later(
    s3: Any, s3_log: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(in_bucket, "KEPT", 0)
    monkeypatch.setattr(tree_index, "_KEPT_BYTES", 0)
    tree = repository / "data" / "samples" / "openssl_speed"
    upload(s3, tree)
    workload = workloads.load(f"{repository}/{MINIMAL}")
    before = s3_log.read_text().count("list-type=2")
    here, there = (store.parse_tree(workload, root) for root in (tree, BucketPath("s3://results/tree")))
    pages = s3_log.read_text().count("list-type=2") - before  # of one list
    assert [entry.results for entry in there.entries] == [entry.results for entry in here.entries]
    assert s3_log.read_text().count("list-type=2") - before == 2 * pages > 0


@pytest.mark.xdist_group("cluster")
def test_processes_and_the_workers_of_a_cluster_read_it_too(
    s3: Any, repository: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", "true")
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    workload = f"{repository}/{MINIMAL}"
    here = parsed("s3://results/tree", workload, tmp_path / "here.json", "--jobs=1")
    assert len(here) > 4
    assert parsed("s3://results/tree", workload, tmp_path / "two.json", "--jobs=2") == here
    with Machines(tmp_path / "logs") as machines:
        machines.scheduler()
        machines.worker("a", "b", environment={"XDG_CACHE_HOME": str(tmp_path / "theirs")})
        cluster = f"--cluster={machines.address}"
        assert parsed("s3://results/tree", workload, tmp_path / "there.json", cluster) == here
        machines.worker("c", environment={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "HOME": str(tmp_path)})
        cluster = f"--cluster={machines.address}"
        assert main(["parse", "--results-dirname=s3://results/tree", f"--workload={workload}", cluster]) == 2
        assert "matbench: c: cannot read s3://results/tree: there are no credentials; set " in capsys.readouterr().err


def test_settings_are_taken_from_its_names_as_on_a_disk(s3: Any, repository: Path, tmp_path: Path):
    tree = tmp_path / "results" / "night"
    shutil.copytree(repository / "data" / "samples" / "openssl_speed", tree)
    upload(s3, tree, "night")
    pattern = "--settings-from=night/{hash}"
    here = parsed(tree, f"{repository}/{MINIMAL}", tmp_path / "here.json", pattern)
    assert here[0]["settings"]["hash"] == "md5"
    assert parsed("s3://results/night", f"{repository}/{MINIMAL}", tmp_path / "there.json", pattern) == here


def test_what_has_not_changed_is_not_read_again_and_what_has_is(
    s3: Any, s3_log: Path, repository: Path, tmp_path: Path, capsys: Capture
):
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    words = ["parse", "--results-dirname=s3://results/tree", f"--workload={repository}/{MINIMAL}"]
    start = len(s3_log.read_text())
    assert main(words) == 0
    first = capsys.readouterr().out
    assert any(name.endswith("/speed.txt") for name in fetched(s3_log, start))
    assert not any(name.endswith("README.md") for name in fetched(s3_log, start)), "nobody asked for it"
    start = len(s3_log.read_text())
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert not [name for name in fetched(s3_log, start) if name.endswith("/speed.txt")]
    listed = s3.list_objects_v2(Bucket="results", Prefix="tree/")["Contents"]
    changed = next(each["Key"] for each in listed if each["Key"].endswith("/speed.txt"))
    body = s3.get_object(Bucket="results", Key=changed)["Body"].read()
    s3.put_object(Bucket="results", Key=changed, Body=body.replace(b"size blocks: ", b"size blocks: 9"))
    start = len(s3_log.read_text())
    assert main(words) == 0
    assert [f"tree/{name}" for name in fetched(s3_log, start) if name.endswith("/speed.txt")] == [changed]
    assert capsys.readouterr().out != first


def test_what_cannot_be_read_is_one_sentence(
    s3: Any, repository: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    workload = f"--workload={repository}/{MINIMAL}"
    assert main(["parse", "--results-dirname=s3://nowhere/tree", workload]) == 2
    assert capsys.readouterr().err == (
        "matbench: cannot read s3://nowhere/tree: there is no such bucket or prefix; "
        "the endpoint is named by AWS_ENDPOINT_URL\n"
    )
    assert main(["parse", "--results-dirname=s3://results/tree", workload]) == 2
    assert capsys.readouterr().err.startswith("matbench: no test found in 's3://results/tree': ")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert main(["parse", "--results-dirname=s3://results/tree", workload]) == 2
    assert "matbench: cannot read s3://results/tree: there are no credentials; set " in capsys.readouterr().err


def test_an_object_that_goes_away_while_the_tree_is_read_is_missing_and_said(
    s3: Any, repository: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    listed = bucket.listed

    def and_then_it_goes(files: Any, place: Any) -> Any:
        found = listed(files, place)
        gone = next(name for name in found[0].names if name.endswith("/speed.txt"))
        s3.delete_object(Bucket="results", Key=f"tree/{gone}")
        return found

    monkeypatch.setattr(bucket, "listed", and_then_it_goes)
    assert main(["parse", "--results-dirname=s3://results/tree", f"--workload={repository}/{MINIMAL}"]) == 0
    said = capsys.readouterr().err
    assert "/speed.txt: went away while the tree was read" in said


def test_objects_whose_names_lead_out_or_are_directories_are_left_out_and_said(
    s3: Any, repository: Path, tmp_path: Path, capsys: Capture
):
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    evil = "tree/md5/block_64/repeat_0/../../../../../evil"
    for key in (evil, "tree/md5"):
        s3.put_object(Bucket="results", Key=key, Body=b"evil")
    assert main(["parse", "--results-dirname=s3://results/tree", f"--workload={repository}/{MINIMAL}"]) == 0
    said = capsys.readouterr().err
    assert "'md5/block_64/repeat_0/../../../../../evil': left out, its name leads out of the destination" in said
    assert "'md5': left out, there is a directory of that name" in said
    assert not list(tmp_path.rglob("evil"))


def test_clean_removes_what_was_kept_of_it(s3: Any, repository: Path, capsys: Capture):
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    words = ["parse", "--results-dirname=s3://results/tree", f"--workload={repository}/{MINIMAL}"]
    assert main(words) == 0
    assert main([*words, "--clean"]) == 0
    assert re.search(r"removed \d\d cache files of s3://results/tree", capsys.readouterr().err)


def test_the_application_shows_a_tree_in_a_bucket(
    s3: Any, repository: Path, application: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    upload(s3, repository / "data" / "samples" / "openssl_speed")
    names = ("selectors.children", "headline.children", "tabs.children")
    asked = {
        "output": f"..{'...'.join(names)}..",
        "outputs": [dict(zip(("id", "property"), name.split("."), strict=True)) for name in names],
        "inputs": [
            {"id": "request", "property": "data", "value": {"search": "", "parts": []}},
            {"id": "checked", "property": "data"},
        ],
    }
    with application("--results-dirname=s3://results/tree", f"--workload={MINIMAL}", "--port=0") as place:
        request = urllib.request.Request(
            f"{place}/_dash-update-component", json.dumps(asked).encode(), {"Content-Type": "application/json"}
        )
        deadline, said = time.monotonic() + 60, ""
        while "Best configuration" not in said and time.monotonic() < deadline:
            with urllib.request.urlopen(request) as answer:
                said = answer.read().decode()
    assert "Highest hash_rate: " in said


@pytest.mark.parametrize("address", ["s3://", "s3:///tree"])
def test_an_address_without_a_bucket_is_a_sentence(address: str, capsys: Capture) -> None:
    assert main(["parse", f"--results-dirname={address}", f"--workload={MINIMAL}"]) == 2
    assert f"'{address}' should be s3://bucket/prefix" in capsys.readouterr().err


def test_without_what_reads_buckets_each_command_says_what_to_install(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("s3fs", "botocore", "botocore.exceptions"):
        monkeypatch.setitem(sys.modules, library, None)
    for words in (["parse"], ["check"], ["visualize", "--generate"]):
        assert main([*words, "--results-dirname=s3://results/tree", "--workload=encoder_bench"]) == 2
        assert "matbench: S3 needs s3fs: pip install 'matrix-benchmarking[remote]'" in capsys.readouterr().err


def test_a_list_of_several_pages_is_whole_and_in_order(s3: Any):
    names = [f"{number:04d}/a" for number in range(110)]
    for number, name in enumerate(names):
        s3.put_object(Bucket="results", Key=f"tree/{name}", Body=b"x" * (number % 3))
    with bucket.opened(place := BucketPath("s3:/results/tree"), MatbenchError) as files:
        found, said = bucket.listed(files, place)
    assert [*found.names] == names
    assert [*found.sizes] == [number % 3 for number in range(110)]
    assert len({*found.times_ns}) == 3, "one for each content"
    assert not said


def test_a_server_that_lists_in_no_order_is_understood():
    class Express:
        """A directory bucket of S3, which no server of ours is."""

        def call_s3(self, method: str, **asked: str) -> dict[str, Any]:
            keys = ["tree/b/x", "tree/a/y"] if "ContinuationToken" not in asked else ["tree/a/x", "tree/a", "tree/b/"]
            contents = [{"Key": key, "Size": len(key) + ord(key[-1]), "ETag": key} for key in keys]
            return {"Contents": contents, "IsTruncated": "ContinuationToken" not in asked, "NextContinuationToken": "2"}

    found, said = bucket.listed(Express(), BucketPath("s3:/results/tree"))
    assert [*found.names] == ["a/x", "a/y", "b/x"]
    assert [*found.sizes] == [8 + ord(last) for last in "xyx"]
    assert said == ["'a': left out, there is a directory of that name"]
