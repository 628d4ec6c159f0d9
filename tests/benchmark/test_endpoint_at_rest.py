"""An endpoint that exists is used with the user's word, woken where it rests, and left as it was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from matrix_benchmarking.benchmark import file, schema
from matrix_benchmarking.benchmark.hf_endpoint import HFEndpoint, cleanup
from matrix_benchmarking.benchmark.leases import read_leases
from matrix_benchmarking.benchmark.plan import Plan
from matrix_benchmarking.benchmark.targets import TargetError
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import ConfigError


def existing(results: Path, **changes: Any) -> HFEndpoint:
    return HFEndpoint(schema.ExistingEndpointTarget(name="theirs", **changes), results, 0.8)


def go_on() -> None:
    """Nothing stops the start."""


def done_to(api: Any) -> list[str]:
    return [path.rpartition("/")[2] for method, path in api.calls if method in ("POST", "DELETE")]


@pytest.mark.parametrize(
    ("state", "done"),
    [
        ("running", []),
        ("initializing", []),
        ("paused", ["resume", "pause"]),
        ("scaledToZero", ["scale-to-zero"]),  # a request woke it
    ],
)
def test_it_answers_whatever_its_state_and_is_left_in_it(api, tmp_path, state, done):
    api.exists("theirs", state)
    target = existing(tmp_path)
    started = target.start(tmp_path / "log", go_on)
    assert started.url == f"{api.url}/served/theirs"
    assert api.endpoints["theirs"]["state"] == "running"
    assert len(read_leases(tmp_path)) == (len(done) > 0)  # what was woken is ours to lay to rest
    target.check()
    target.stop()
    target.stop()
    assert done_to(api) == done
    assert api.endpoints["theirs"]["state"] == ("running" if not done else state)
    assert read_leases(tmp_path) == []


def test_what_is_known_of_it_is_recorded_and_its_environment_is_not(api, tmp_path):
    api.exists("theirs", "running")
    started = existing(tmp_path, namespace="team").start(tmp_path / "log", go_on)
    assert started.description == {
        "kind": "hf_endpoint",
        "existing": True,
        "name": "theirs",
        "repository": "a/b",
        "framework": "pytorch",
        "instance_type": "nvidia-l4",
        "instance_size": "x1",
        "vendor": "aws",
        "region": "eu-west-1",
    }


@pytest.mark.parametrize(("state", "word"), [("paused", "paused"), ("scaledToZero", "scaled to zero")])
def test_after_a_benchmark_that_was_killed_the_cleanup_lays_it_to_rest(api, tmp_path, state, word):
    api.exists("theirs", state)
    existing(tmp_path).start(tmp_path / "log", go_on)
    (sentence,) = cleanup(tmp_path)
    assert sentence.startswith(f"{word} endpoint 'theirs'")
    assert api.endpoints["theirs"]["state"] == state


def test_giving_up_while_it_wakes_lays_it_to_rest_again(api, tmp_path):
    api.exists("theirs", "paused")
    api.polls_to_run = 10**9
    with pytest.raises(TargetError, match="was not ready after 0 s"):
        existing(tmp_path, ready_timeout_s=0.3).start(tmp_path / "log", go_on)
    assert api.endpoints["theirs"]["state"] == "paused"


@pytest.mark.parametrize(
    ("name", "state", "sentence"),
    [
        ("thiers", "running", "the endpoint 'theirs' can't be used: there is no endpoint 'theirs' in team"),
        ("theirs", "failed", "the endpoint 'theirs' is failed: out of capacity"),
    ],
)
def test_one_that_is_not_there_or_has_failed_is_said_and_left(api, tmp_path, name, state, sentence):
    api.exists(name, state)
    with pytest.raises(TargetError, match=sentence):
        existing(tmp_path).start(tmp_path / "log", go_on)
    assert (done_to(api), read_leases(tmp_path)) == ([], [])


def test_one_that_may_not_be_resumed_is_said_at_once(api, tmp_path):
    api.exists("theirs", "paused")
    api.is_resumable = False
    with pytest.raises(TargetError, match=r"'theirs' is paused and can't be resumed: .*(quota|403)"):
        existing(tmp_path).start(tmp_path / "log", go_on)
    assert api.endpoints["theirs"]["state"] == "paused"


def test_one_that_goes_to_rest_between_points_is_woken(api, tmp_path, monkeypatch):
    api.exists("theirs", "running")
    target = existing(tmp_path)
    target.start(tmp_path / "log", go_on)
    api.endpoints["theirs"]["state"] = "scaledToZero"
    monkeypatch.setattr(target, "_next_check", 0.0)
    target.check()
    assert api.endpoints["theirs"]["state"] == "running"
    api.endpoints["theirs"]["state"] = "paused"  # by somebody who meant it
    monkeypatch.setattr(target, "_next_check", 0.0)
    with pytest.raises(TargetError, match="is paused"):
        target.check()


def test_one_of_ours_may_scale_to_zero_and_is_woken(api, tmp_path):
    spec = {"repository": "a/b", "instance_type": "c", "min_replica": 0, "scale_to_zero_timeout": 15}
    target = HFEndpoint(schema.HFEndpointTarget(ready_timeout_s=20, **spec), tmp_path, 0.8)
    api.final_state, wake = "scaledToZero", api._wake
    api._wake = lambda name: (setattr(api, "final_state", "running"), wake(name))
    target.start(tmp_path / "log", go_on)
    assert "scaledToZero: GET /health answers 503" in (tmp_path / "log").read_text()
    assert api.bodies[0]["compute"]["scaling"] == {"minReplica": 0, "maxReplica": 1, "scaleToZeroTimeout": 15}
    target.stop()
    assert api.endpoints == {}


FILE: dict[str, Any] = {
    "expe": {"a": {"vus": [1, 2], "batch_size": 32, "hw_type": "nvidia-l4"}},
    "script_tpl": "test {url} != {vus}",
}


def test_a_campaign_uses_it_once_for_all_points(api, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    api.exists("theirs", "paused")
    Path("b.yaml").write_text(yaml.safe_dump({**FILE, "target": {"existing_hf_endpoint": {"name": "theirs"}}}))
    assert main(["benchmark", "b.yaml", "--results-dirname=r", "--run", "--price=nvidia-l4=1", "--max-usd=1"]) == 0
    assert done_to(api) == ["resume", "pause"]
    (server, _) = [json.loads(path.read_text()) for path in Path("r").glob("**/server.json")]
    assert (server["existing"], server["repository"]) == (True, "a/b")


def test_a_batch_size_a_server_makes_an_endpoint_for_each(api, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    endpoint = {"repository": "a/b", "env": {"INFINITY_BATCH_SIZE": "{batch_size}", "INFINITY_PORT": 7997}}
    content = {**FILE, "expe": {"a": {"batch_size": [32, 64], "hw_type": "nvidia-l4", "vus": 1}}}
    Path("b.yaml").write_text(yaml.safe_dump({**content, "target": {"hf_endpoint": endpoint}}))
    assert main(["benchmark", "b.yaml", "--results-dirname=r", "--run"]) == 0
    asked = [body["model"]["env"] for body in api.bodies]
    assert asked == [{"INFINITY_BATCH_SIZE": size, "INFINITY_PORT": "7997"} for size in ("32", "64")]


def test_the_documented_recipes_for_infinity_run(api, tmp_path, repository, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs" / "benchmarking.md").read_text()
    recipe = yaml.safe_load(page.partition("one for each batch size:\n\n```yaml\n")[2].partition("```")[0])
    Path("b.yaml").write_text(yaml.safe_dump({**FILE, "expe": {"a": {"vus": 1}}, **recipe}))
    assert main(["run", "b.yaml", "--results-dirname=r", "--max-usd=1"]) == 0
    assert [body["model"]["env"]["INFINITY_BATCH_SIZE"] for body in api.bodies] == ["32", "64"]
    assert {body["compute"]["scaling"]["scaleToZeroTimeout"] for body in api.bodies} == {15}
    assert api.endpoints == {}
    api.exists("mine", "scaledToZero")
    found = yaml.safe_load(page.partition("Or one of yours: `target: ")[2].partition("`")[0])
    Path("b.yaml").write_text(yaml.safe_dump({**FILE, "target": found}))
    assert main(["run", "b.yaml", "--results-dirname=found", "--max-usd=1"]) == 0
    assert api.endpoints["mine"]["state"] == "scaledToZero"


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ({"existing_hf_endpoint": {}}, "target.existing_hf_endpoint.name: is missing"),
        (
            {"existing_hf_endpoint": {"name": "x", "env": {"A": 1}}},
            "target.existing_hf_endpoint.env is not a known key",
        ),
        ({"hf_endpoint": {"repository": "a/b", "scale_to_zero_timeout": "soon"}}, "scale_to_zero_timeout: expected"),
        ({"hf_endpoint": {"repository": "a/b", "scale_to_zero_timeout": 0}}, "scale_to_zero_timeout: expected"),
        ({"hf_endpoint": {"repository": "a/b", "scale_to_zero_timout": 9}}, "did you mean 'scale_to_zero_timeout'?"),
        ({"hf_endpoint": {"repository": "a/b", "env": [1]}}, "target.hf_endpoint.env: expected"),
        ({"existing_hf_endpoint": {"name": "x"}, "url": "http://x"}, "exactly one of url, process, hf_endpoint and"),
        ({"existing_hf_endpoint": {"name": "of-{vus}"}}, "target names {vus}"),
    ],
)
def test_what_is_wrong_in_the_file_is_a_sentence(tmp_path, target, sentence):
    path = tmp_path / "b.yaml"
    path.write_text(yaml.safe_dump({**FILE, "target": target}))
    with pytest.raises(ConfigError) as caught:
        Plan(file.read(path), tmp_path, tmp_path / "r")
    assert sentence in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
