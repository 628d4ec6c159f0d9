"""What every target promises, whatever its kind."""

from __future__ import annotations

import http.server
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark.campaign import make_target
from matrix_benchmarking.benchmark.targets import Target, TargetError

SERVER = Path(__file__).resolve().parents[1] / "benchmark_support" / "little_server.py"
SECRET = "hf_secret_token"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def running() -> Iterator[str]:
    """A server that is already running."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["url", "process", "hf_endpoint"])
def make(request, running, api, tmp_path, monkeypatch) -> Callable[..., Target]:
    """Makes a target of the kind: one that works, or one that can't be started."""
    monkeypatch.setattr("matrix_benchmarking.benchmark.hf_endpoint.POLL_S", 0.02)
    monkeypatch.setenv("KEY", SECRET)

    def _make(works: bool = True) -> Target:
        url = {"url": running if works else "http://127.0.0.1:9", "api_key_env": "KEY"}
        command = [sys.executable, str(SERVER), "{port}", *([] if works else ["--exit", "3"])]
        api.final_state = "running" if works else "failed"
        content = {
            "url": url,
            "process": {"command": command},
            "hf_endpoint": {"repository": "a/b", "instance_type": "c", "namespace": "team"},
        }[request.param]
        return make_target(schema.Target(**{request.param: content}), tmp_path, tmp_path, 0.8)

    return _make


def go_on() -> None:
    """Nothing stops the start."""


def test_once_started_it_answers_and_after_stop_it_can_be_stopped_again(make, tmp_path):
    target = make()
    endpoint = target.start(tmp_path / "log", go_on)
    assert not endpoint.url.endswith("/")
    request = urllib.request.Request(f"{endpoint.url}/health", headers=dict(endpoint.headers))
    assert urllib.request.urlopen(request, timeout=60).status == 200
    target.check()
    target.stop()
    target.stop()
    assert list(target.process_ids()) == []


def test_one_that_cannot_be_started_says_so_and_can_be_stopped(make, tmp_path):
    target = make(works=False)
    with pytest.raises(TargetError) as caught:
        target.start(tmp_path / "log", go_on)
    assert SECRET not in str(caught.value)
    target.stop()


def test_one_that_was_never_started_can_be_stopped(make):
    make().stop()


def test_giving_up_goes_through_and_leaves_nothing(make, tmp_path, api):
    def give_up() -> None:
        raise KeyboardInterrupt

    target = make()
    with pytest.raises(KeyboardInterrupt):
        target.start(tmp_path / "log", give_up)
    assert list(target.process_ids()) == []
    assert api.endpoints == {}


def test_nothing_secret_is_described_or_logged(make, tmp_path):
    target = make()
    endpoint = target.start(tmp_path / "log", go_on)
    target.stop()
    assert SECRET not in repr(endpoint.description)
    log = tmp_path / "log"
    assert not log.exists() or SECRET not in log.read_text()


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://user:pass@127.0.0.1:1", "holds credentials"),
        ("127.0.0.1:8000", "not of the form"),
        ("ftp://127.0.0.1", "not of the form"),
        ("http://[::1", "no URL"),
        ("http://127.0.0.1:9", "can't be reached"),
    ],
)
def test_a_url_that_cannot_be_used_is_a_sentence(tmp_path, url, sentence):
    with pytest.raises(TargetError, match=sentence) as caught:
        make_target(schema.Target(url=url), tmp_path, tmp_path, None).start(tmp_path / "log", go_on)
    assert "pass" not in str(caught.value)
