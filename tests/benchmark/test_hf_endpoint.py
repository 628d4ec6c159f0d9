"""The paid target: created once, and gone afterwards whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from benchmark_support.fake_hf_api import NAMESPACE, TOKEN

from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark.hf_endpoint import HFEndpoint, cleanup
from matrix_benchmarking.benchmark.leases import read_leases
from matrix_benchmarking.benchmark.targets import TargetError
from matrix_benchmarking.errors import MatbenchError


def endpoint(results: Path, **changes: object) -> HFEndpoint:
    spec = {"repository": "sentence-transformers/all-MiniLM-L6-v2", "instance_type": "nvidia-l4"} | changes
    return HFEndpoint(schema.HFEndpointTarget(**spec), results, 0.8)


def go_on() -> None:
    """Nothing stops the start."""


def test_it_is_created_waited_for_and_deleted_once(api, tmp_path):
    target = endpoint(tmp_path)
    started = target.start(tmp_path / "log", go_on)
    assert started.url.startswith(f"{api.url}/served/mb-all-minilm-l6-v2-")
    assert started.headers == {"Authorization": f"Bearer {TOKEN}"}
    assert [lease.namespace for lease in read_leases(tmp_path)] == [NAMESPACE]
    target.check()
    target.stop()
    target.stop()
    assert api.endpoints == {}
    assert (api.count("POST"), api.count("DELETE")) == (1, 1)
    assert read_leases(tmp_path) == []
    log = (tmp_path / "log").read_text()
    assert all(state in log for state in ("initializing", "running", "503"))


def test_what_is_asked_for_is_what_the_file_says(api, tmp_path):
    target = endpoint(tmp_path, framework="custom", vendor="gcp", region="us-east4", instance_size="x2", revision="abc")
    target.start(tmp_path / "log", go_on)
    target.stop()
    (body,) = api.bodies
    assert body["compute"]["instanceType"] == "nvidia-l4"
    assert body["compute"]["instanceSize"] == "x2"
    assert body["provider"] == {"region": "us-east4", "vendor": "gcp"}
    assert body["model"]["repository"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert body["model"]["revision"] == "abc"
    assert len(body["name"]) <= 32


def test_the_lease_is_there_before_the_endpoint_is(api, tmp_path):
    seen = []
    create = api._create
    api._create = lambda body: (seen.append(len(read_leases(tmp_path))), create(body))[1]
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    target.stop()
    assert seen == [1]


def test_it_may_be_paused_instead_of_deleted(api, tmp_path):
    target = endpoint(tmp_path, **{"finally": "pause"})
    target.start(tmp_path / "log", go_on)
    target.stop()
    assert [each["state"] for each in api.endpoints.values()] == ["paused"]
    assert read_leases(tmp_path) == []


@pytest.mark.parametrize("state", ["failed", "updateFailed"])
def test_one_that_fails_is_deleted_and_the_reason_told(api, tmp_path, state):
    api.final_state = state
    with pytest.raises(TargetError, match=f"is {state}: out of capacity"):
        endpoint(tmp_path).start(tmp_path / "log", go_on)
    assert api.endpoints == {}
    assert read_leases(tmp_path) == []


def test_one_that_is_never_ready_is_deleted(api, tmp_path):
    api.polls_to_run = 10**9
    with pytest.raises(TargetError, match="not ready after 0 s: initializing"):
        endpoint(tmp_path, ready_timeout_s=0.3).start(tmp_path / "log", go_on)
    assert api.endpoints == {}


@pytest.mark.parametrize("reason", [KeyboardInterrupt, MatbenchError("the limit is reached")])
def test_giving_up_while_it_starts_deletes_it(api, tmp_path, reason):
    api.polls_to_run = 10**9

    def give_up() -> None:
        if api.endpoints:
            raise reason

    with pytest.raises(reason if isinstance(reason, type) else type(reason)):
        endpoint(tmp_path).start(tmp_path / "log", give_up)
    assert api.endpoints == {}
    assert read_leases(tmp_path) == []


def test_an_endpoint_of_that_name_is_somebody_elses_and_stays(api, tmp_path):
    api.endpoints["theirs"] = {"state": "running", "polls": 9, "body": {}}
    with pytest.raises(TargetError, match="there is an endpoint 'theirs' in team already"):
        endpoint(tmp_path, name="theirs").start(tmp_path / "log", go_on)
    assert "theirs" in api.endpoints
    assert (api.count("POST"), api.count("DELETE")) == (0, 0)
    assert read_leases(tmp_path) == []


def test_a_name_that_was_taken_in_the_last_moment_is_not_deleted(api, tmp_path):
    api.failures["POST"] = [409]
    with pytest.raises(TargetError, match=r"could not be created: .*409"):
        endpoint(tmp_path).start(tmp_path / "log", go_on)
    assert api.count("DELETE") == 0
    assert read_leases(tmp_path) == []


@pytest.mark.parametrize("status", [400, 403, 500])
def test_a_creation_that_fails_is_told_and_leaves_no_lease(api, tmp_path, status):
    api.failures["POST"] = [status]
    with pytest.raises(TargetError, match="out of capacity"):
        endpoint(tmp_path).start(tmp_path / "log", go_on)
    assert read_leases(tmp_path) == []


def test_a_service_that_stumbles_is_asked_again(api, tmp_path):
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    api.failures["DELETE"] = [500, 503]
    target.stop()
    assert api.endpoints == {}
    assert api.count("DELETE") == 3


def test_a_deletion_that_cannot_be_confirmed_keeps_the_lease_and_says_where_to_look(api, tmp_path):
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    api.deletion_works = False
    with pytest.raises(
        TargetError, match=r"may still cost money(.|\n)*endpoints\.huggingface\.co/team(.|\n)*--cleanup"
    ):
        target.stop()
    assert len(read_leases(tmp_path)) == 1
    api.deletion_works = True
    assert "deleted endpoint" in cleanup(tmp_path)[0]
    assert cleanup(tmp_path) == []


def test_a_404_for_one_that_the_namespace_still_lists_is_no_end(api, tmp_path, monkeypatch):
    monkeypatch.setattr("matrix_benchmarking.benchmark.hf_endpoint.BACKOFF_S", 0.0)
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    api.hidden = set(api.endpoints)
    with pytest.raises(TargetError, match="may still cost money"):
        target.stop()
    assert len(read_leases(tmp_path)) == 1
    api.hidden = set()
    assert cleanup(tmp_path) != []
    assert (api.endpoints, read_leases(tmp_path)) == ({}, [])


@pytest.mark.parametrize("answer", [{}, [], None, "gone", {"items": None}])
def test_an_answer_that_is_none_confirms_no_end(api, tmp_path, monkeypatch, answer):
    monkeypatch.setattr("matrix_benchmarking.benchmark.hf_endpoint.BACKOFF_S", 0.0)
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    handle = api.handle
    monkeypatch.setattr(api, "handle", lambda *request: (200, answer))
    with pytest.raises(TargetError, match=r"may still cost money: .* can't be understood"):
        target.stop()
    assert len(read_leases(tmp_path)) == 1
    monkeypatch.setattr(api, "handle", handle)
    cleanup(tmp_path)
    assert (api.endpoints, read_leases(tmp_path)) == ({}, [])


def test_one_that_stops_running_is_noticed(api, tmp_path, monkeypatch):
    target = endpoint(tmp_path)
    target.start(tmp_path / "log", go_on)
    api.endpoints[next(iter(api.endpoints))]["state"] = "failed"
    monkeypatch.setattr(target, "_next_check", 0.0)
    with pytest.raises(TargetError, match="is failed"):
        target.check()
    target.stop()


def test_a_missing_token_and_a_wrong_one_are_sentences(api, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_wrong_token")
    with pytest.raises(TargetError) as caught:
        endpoint(tmp_path).start(tmp_path / "log", go_on)
    assert "hf_wrong_token" not in str(caught.value)
    assert "401" in str(caught.value) or "credentials" in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(TargetError, match="HF_TOKEN"):
        endpoint(tmp_path).start(tmp_path / "log", go_on)


def test_the_token_is_in_no_file_and_no_description(api, tmp_path):
    target = endpoint(tmp_path)
    started = target.start(tmp_path / "log", go_on)
    assert TOKEN not in repr(started.description)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or TOKEN not in path.read_text()
    target.stop()


PROGRAM = """
import sys, time, pathlib
from huggingface_hub import constants
constants.INFERENCE_ENDPOINTS_ENDPOINT = sys.argv[1] + "/v2"
from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark import hf_endpoint
hf_endpoint.POLL_S = 0.02
results = pathlib.Path(sys.argv[2])
spec = schema.HFEndpointTarget(repository="a/b", instance_type="c", namespace="team")
hf_endpoint.HFEndpoint(spec, results, 0.8).start(results / "log", lambda: None)
print("started", flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("starting", [True, False])
def test_after_kill_9_the_cleanup_finds_it(api, tmp_path, repository, starting):
    api.polls_to_run = 10**9 if starting else 2
    command = [sys.executable, "-c", PROGRAM, api.url, str(tmp_path)]
    environment = {**os.environ, "HF_TOKEN": TOKEN, "PYTHONPATH": str(repository)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 30
    if starting:
        while not api.endpoints and time.monotonic() < deadline:
            time.sleep(0.02)
    else:
        assert process.stdout.readline() == b"started\n"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert len(api.endpoints) == 1
    (sentence,) = cleanup(tmp_path)
    assert sentence.startswith("deleted endpoint 'mb-b-")
    assert "USD" in sentence
    assert api.endpoints == {}
    assert cleanup(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is broken"),
        pytest.param("[" * 100_000, "is broken", id="deep"),
        ("[]", "is broken"),
        ('{"version": 2}', "has version 2"),
        ("{}", "has version None"),
    ],
)
def test_a_lease_that_cannot_be_read_is_named(tmp_path, content, sentence):
    place = tmp_path / ".matbench" / "leases"
    place.mkdir(parents=True)
    (place / "x.json").write_text(content)
    with pytest.raises(MatbenchError, match=rf"x\.json.*{sentence}(.|\n)*endpoints\.huggingface\.co"):
        cleanup(tmp_path)


def test_the_cleanup_command_tears_down_and_says_so(api, tmp_path, capsys, monkeypatch):
    from matrix_benchmarking.benchmark import processes
    from matrix_benchmarking.cli import main

    monkeypatch.setattr(processes, "end_leftovers", list)  # of tests that run beside this one
    endpoint(tmp_path).start(tmp_path / "log", go_on)
    assert main(["benchmark", "--cleanup", f"--results-dirname={tmp_path}"]) == 0
    assert "deleted endpoint" in capsys.readouterr().out
    assert api.endpoints == {}
    assert main(["benchmark", "--cleanup", f"--results-dirname={tmp_path}"]) == 0
    assert "nothing is left behind" in capsys.readouterr().out
