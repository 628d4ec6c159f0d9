"""Results that go to a bucket, from this machine and from several, on a real S3 server of our own (moto's)."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark_support.fake_hf_api import PATCH, TOKEN, FakeApi
from benchmark_support.machines import REPOSITORY, Machines, starter, wait_until
from download_support.bucket import emptied

from matrix_benchmarking import bucket
from matrix_benchmarking.bucket import BucketPath
from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.xdist_group("cluster that is started")

RESULTS = "s3://results/night"


@pytest.fixture
def s3(s3_endpoint: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    return emptied(s3_endpoint, monkeypatch)


def words(command: str, *more: str, results: str = RESULTS) -> list[str]:
    file = {"expe": {"a": {"n": [1, 2, 3]}}, "script_tpl": {"shell": True, "command": command}}
    Path("b.yaml").write_text(yaml.safe_dump({**file, "unused_settings": ["n"]}))
    return ["benchmark", "b.yaml", f"--results-dirname={results}", "--run", *more]


def objects(s3: Any) -> dict[str, bytes]:
    """What is in the bucket, by name."""
    listed = s3.list_objects_v2(Bucket="results").get("Contents", [])
    return {each["Key"]: s3.get_object(Bucket="results", Key=each["Key"])["Body"].read() for each in listed}


def test_a_paid_target_is_torn_down_from_a_machine_that_knows_the_bucket_alone(
    s3: Any, machines: Machines, place: Path, api: FakeApi, capsys: Capture
):
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(PATCH.format(url=api.url))
    ours = {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "XDG_"))}
    there = {**ours, "PYTHONPATH": f"{place}/site:{REPOSITORY}", "HF_TOKEN": TOKEN}
    machines.worker("a", environment=there)
    endpoint = {"repository": "a/b", "instance_type": "nvidia-l4"}
    again = words(f"touch {place}/began; until [ -e {place}/go ]; do sleep 0.1; done", f"--cluster={machines.address}")
    file = yaml.safe_load(Path("b.yaml").read_text())
    Path("b.yaml").write_text(yaml.safe_dump({**file, "target": {"hf_endpoint": endpoint, "usd_per_hour": 0.8}}))
    with starter(*again, directory=place) as process:
        wait_until((place / "began").exists, "a point begins on the endpoint")
        machines.lose("a")
        process.kill()
    assert len(api.endpoints) == 1
    (place / "go").touch()
    machines.worker("b", environment=there)
    assert main(again) == 0  # which tears it down first
    assert "left behind by an earlier run: deleted endpoint" in capsys.readouterr().err
    assert len(exit_codes(s3)) == 3
    assert api.endpoints == {}


def exit_codes(s3: Any) -> dict[str, bytes]:
    """Of the runs that are in their places."""
    found = objects(s3).items()
    return {name: text for name, text in found if name.endswith("/exit_code") and "/.matbench/" not in name}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_runs_go_to_the_bucket_which_says_what_is_done(
    s3: Any, machines: Machines, place: Path, capsys: Capture, elsewhere: bool
):
    if elsewhere:
        machines.worker("a", "b")
    more = [f"--cluster={machines.address}"] if elsewhere else []
    again = words(f"echo of {{n}}; [ {{n}} != 3 ] || [ -e {place}/go ]", *more)
    assert main(again) == 1
    assert f"{RESULTS}: 2 points measured, 1 failed" in capsys.readouterr().out
    runs = {f"night/a/n_{n}__repeat_0/": text for n, text in ((1, b"0\n"), (2, b"0\n"), (3, b"1\n"))}
    assert exit_codes(s3) == {f"{run}exit_code": text for run, text in runs.items()}
    assert {f"{run}settings.yaml" for run in runs} < objects(s3).keys()
    assert objects(s3)["night/a/n_2__repeat_0/000__script/stdout.log"] == b"of 2\n"
    (place / "go").touch()
    assert main(again) == 0
    assert f"{RESULTS}: 1 point measured" in capsys.readouterr().out
    assert set(exit_codes(s3).values()) == {b"0\n"}
    aside = [name for name in objects(s3) if name.startswith("night/.matbench/set_aside/a__n_3__repeat_0__")]
    assert len([name for name in aside if name.endswith("/exit_code")]) == 1
    assert main(again) == 0
    assert f"{RESULTS}: 0 points measured" in capsys.readouterr().out
    assert not list((place / "state").rglob("exit_code")), "a run is here and in the bucket"


def test_what_a_killed_measurement_left_comes_to_the_starter(s3: Any, machines: Machines, place: Path, capsys: Capture):
    (place / "temporary").mkdir()
    machines.worker("a", environment={"TMPDIR": str(place / "temporary")})
    kills = "echo of {n}; [ {n} = 1 ] || kill -9 $(echo $MATBENCH_STARTED_BY | cut -d- -f2); sleep 1"
    assert main(words(kills, f"--cluster={machines.address}")) == 2
    (aside,) = (place / "state").glob("matbench/buckets/*/.matbench/set_aside/a__*")
    assert f"measuring ended with exit status 137 (SIGKILL); what it left is in {aside}; " in capsys.readouterr().err
    (log,) = aside.glob("a__n_2__repeat_0__*/000__script/stdout.log")
    assert log.read_text() == "of 2\n"
    assert list(exit_codes(s3)) == ["night/a/n_1__repeat_0/exit_code"]
    assert not list((place / "temporary").glob("matbench-*/*"))


def test_a_bucket_that_cannot_be_used_is_said_before_anything_is_measured(
    s3: Any, machines: Machines, place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    command = f"touch {place}/begun"
    assert main(words(command, results="s3://nowhere/night")) == 2
    assert "matbench: cannot read s3://nowhere/night: there is no such bucket or prefix" in capsys.readouterr().err
    no_keys = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    machines.worker("a", environment={**no_keys, "HOME": str(place)})
    assert main(words(command, f"--cluster={machines.address}")) == 2
    assert "matbench: a: cannot read s3://results/night: there are no credentials; set " in capsys.readouterr().err
    assert main(words(command, f"--cluster={{scheduler: '{machines.address}', results: return}}")) == 2
    assert "gets each run from who measured it: leave it out" in capsys.readouterr().err
    monkeypatch.setenv("HOME", str(place))
    for name in no_keys:
        monkeypatch.delenv(name)
    assert main(words(command)) == 2
    assert "matbench: cannot read s3://results/night: there are no credentials; set " in capsys.readouterr().err
    assert not (place / "begun").exists()
    assert not objects(s3)


@pytest.fixture
def first(s3: Any, place: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A starter on another machine, as far as the bucket knows, which measures until it is ended."""
    command = [sys.executable, "-m", "matrix_benchmarking", *words(f"touch {place}/begun; sleep 300")]
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "of the other")}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until((place / "begun").exists, process)
        yield process
    finally:
        process.kill()
        process.wait()


def until(holds: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + 60
    while not holds():
        assert process.poll() is None and time.monotonic() < ends
        time.sleep(0.05)


def test_of_two_starters_on_two_machines_the_second_says_so(
    s3: Any, first: subprocess.Popen[bytes], place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    again = words(f"touch {place}/second")
    assert main(again) == 2
    said = capsys.readouterr().err
    assert f"matbench: another benchmark (process {first.pid} on {socket.gethostname()}) works in {RESULTS}: " in said
    first.kill()
    first.wait()
    assert main(again) == 2
    assert "if it was killed, the bucket is free in " in capsys.readouterr().err
    assert not (place / "second").exists()
    monkeypatch.setattr(bucket, "LAPSED_S", 0.0)  # a minute later
    assert main(again) == 0
    assert f"{RESULTS}: 3 points measured" in capsys.readouterr().out
    assert "night/.matbench/lock" not in objects(s3)


def test_a_killed_starter_is_followed_at_once_on_its_own_machine(
    s3: Any, first: subprocess.Popen[bytes], place: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    first.kill()
    first.wait()
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "of the other"))
    assert main(words("true")) == 0
    assert f"{RESULTS}: 3 points measured" in capsys.readouterr().out


def test_a_lock_is_renewed_also_after_an_answer_that_was_lost(s3: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bucket, "RENEWED_S", 0.05)
    said: list[str] = []

    def etag() -> str:
        return str(s3.head_object(Bucket="results", Key="night/lock")["ETag"])

    def changes(before: str) -> None:
        ends = time.monotonic() + 20
        while etag() == before:
            assert time.monotonic() < ends
            time.sleep(0.02)

    with bucket.only_one(BucketPath(RESULTS), "lock", Path("/a"), said.append):
        changes(etag())
        content = s3.get_object(Bucket="results", Key="night/lock")["Body"].read()
        s3.put_object(Bucket="results", Key="night/lock", Body=content[:-1] + b" }")  # its own, and it doesn't know
        changes(etag())
        other = json.dumps({"holder": "1 on b", "machine": "b", "id": "b"}).encode()
        s3.put_object(Bucket="results", Key="night/lock", Body=other)
        time.sleep(0.5)
    assert s3.get_object(Bucket="results", Key="night/lock")["Body"].read() == other, "what is another's was taken"
    assert not said


def test_a_server_without_conditional_writes_is_named(s3: Any, monkeypatch: pytest.MonkeyPatch):
    def refuses(self: Any, **condition: Any) -> None:
        raise OSError(errno.EIO, "not implemented")

    monkeypatch.setattr(bucket._Lock, "_write", refuses)
    said: list[str] = []
    with bucket.only_one(BucketPath(RESULTS), "lock", Path("/a"), said.append):
        pass
    assert said == [f"nothing keeps a second benchmark out of {RESULTS}: the server refuses it: not implemented"]
