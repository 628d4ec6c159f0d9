"""Paid targets of results in a bucket: their leases are there, and any machine tears down what they name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmark_support.fake_hf_api import NAMESPACE, FakeApi
from download_support.bucket import emptied

from matrix_benchmarking.benchmark import leases, processes, schema
from matrix_benchmarking.benchmark.hf_endpoint import HFEndpoint
from matrix_benchmarking.benchmark.run_directory import place_of
from matrix_benchmarking.bucket import BucketPath
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import OutputError

RESULTS = BucketPath("s3://results/night")
CLEANUP = ["benchmark", "--cleanup", f"--results-dirname={RESULTS}"]


@pytest.fixture
def s3(s3_endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a"))
    monkeypatch.setattr(processes, "end_leftovers", list)  # of tests that run beside these
    return emptied(s3_endpoint, monkeypatch)


def target(results: Path) -> HFEndpoint:
    spec = schema.HFEndpointTarget(repository="sentence-transformers/all-MiniLM-L6-v2", instance_type="nvidia-l4")
    return HFEndpoint(spec, results, 0.8, RESULTS)


def kept(s3: Any) -> list[str]:
    return [each["Key"] for each in s3.list_objects_v2(Bucket="results").get("Contents", [])]


def go_on() -> None:
    """Nothing stops the start."""


def test_another_machine_tears_down_what_the_bucket_says(
    api: FakeApi, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target(place_of(RESULTS)).start(tmp_path / "log", go_on)  # and its machine is gone
    (name,) = kept(s3)
    assert name.startswith(f"night/.matbench/leases/{NAMESPACE}__mb-all-minilm-l6-v2-")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "b"))
    assert main(CLEANUP) == 0
    assert "deleted endpoint 'mb-all-minilm-l6-v2-" in capsys.readouterr().out
    assert (api.endpoints, kept(s3)) == ({}, [])
    for machine in ("b", "a"):  # an endpoint that somebody uses again since isn't ours to tear down
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / machine))
        assert main(CLEANUP) == 0
        assert f"nothing is left behind in {RESULTS}" in capsys.readouterr().out
    assert api.count("DELETE") == 1


def test_the_lease_is_in_the_bucket_before_the_endpoint_is(
    api: FakeApi, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, create = list[int](), api._create

    def created(body: Any) -> Any:
        seen.append(len(kept(s3)))
        return create(body)

    monkeypatch.setattr(api, "_create", created)
    one = target(tmp_path)
    one.start(tmp_path / "log", go_on)
    one.stop()
    assert (seen, kept(s3), leases.read_leases(tmp_path, RESULTS)) == ([1], [], [])


def test_without_the_bucket_nothing_is_created(api: FakeApi, s3: Any, tmp_path: Path) -> None:
    s3.delete_bucket(Bucket="results")
    with pytest.raises(OutputError, match=f"cannot write {RESULTS}/.matbench/leases/"):
        target(tmp_path).start(tmp_path / "log", go_on)
    assert api.endpoints == {}


def test_what_can_not_be_torn_down_stays_in_the_bucket(
    api: FakeApi, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    target(place_of(RESULTS)).start(tmp_path / "log", go_on)
    monkeypatch.delenv("HF_TOKEN")
    assert main(CLEANUP) == 2
    assert "may still cost money" in capsys.readouterr().err
    assert len(kept(s3)) == 1


def test_a_broken_lease_in_the_bucket_is_named(s3: Any, capsys: pytest.CaptureFixture[str]) -> None:
    s3.put_object(Bucket="results", Key="night/.matbench/leases/x.json", Body=b"{")
    assert main(CLEANUP) == 2
    assert "x.json is broken; look at https://endpoints.huggingface.co" in " ".join(capsys.readouterr().err.split())
