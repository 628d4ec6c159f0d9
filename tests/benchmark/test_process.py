"""The process target: ready, really ours, and gone afterwards."""

from __future__ import annotations

import http.server
import os
import signal
import socket
import sys
import threading
import time
import urllib.request
from pathlib import Path

import psutil
import pytest

from matrix_benchmarking.benchmark import schema
from matrix_benchmarking.benchmark.targets import ProcessTarget, TargetError, cores

SERVER = Path(__file__).resolve().parents[1] / "benchmark_support" / "little_server.py"


def target(*options: str, **changes: object) -> ProcessTarget:
    command = [sys.executable, str(SERVER), "{port}", *options]
    return ProcessTarget(schema.ProcessTarget(command=command, **changes), Path("/"))  # type: ignore[arg-type]


@pytest.fixture
def log(tmp_path):
    return tmp_path / "server.log"


def go_on() -> None:
    """Nothing stops the start."""


def answers(url: str) -> bool:
    try:
        return urllib.request.urlopen(f"{url}/health", timeout=60).status == 200
    except OSError:
        return False


def test_a_server_is_ready_when_start_returns_and_gone_after_stop(log):
    server = target()
    endpoint = server.start(log, go_on)
    try:
        assert answers(endpoint.url)
        server.check()
        assert server.process_ids()
        assert endpoint.description["command"][-1] == endpoint.url.rpartition(":")[2]
    finally:
        server.stop()
    assert not answers(endpoint.url)
    assert not server.process_ids()
    assert "little server" in log.read_text()


def test_workers_that_outlive_their_parent_are_ended_too(log):
    server = target("--workers", stop_timeout_s=0.5)
    endpoint = server.start(log, go_on)
    ids = server.process_ids()
    assert len(ids) == 2
    os.kill(ids[0], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while (server.process_ids() or answers(endpoint.url)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers(endpoint.url)
    time.sleep(0.2)
    with pytest.raises(TargetError, match="the server ended with"):
        server.check()
    server.stop()
    assert not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in ids)


def test_a_server_that_never_becomes_ready_is_ended_and_the_sentence_says_what_it_answered(log):
    server = target("--not-ready", ready_timeout_s=4.0)
    with pytest.raises(TargetError, match=r"not ready after 4 s: GET /health answers 503"):
        server.start(log, go_on)
    assert not server.process_ids()


def test_a_server_that_does_not_listen_is_ended(log):
    server = target("--no-listen", ready_timeout_s=0.8)
    with pytest.raises(TargetError, match="nothing listened on its port"):
        server.start(log, go_on)
    assert not server.process_ids()


def test_a_server_that_ends_at_once_is_quoted(log):
    with pytest.raises(TargetError, match=r"the server ended with exit status 4(.|\n)*no weights found"):
        target("--exit", "4").start(log, go_on)


def test_a_server_that_dies_again_is_not_quoted_with_earlier_words(log):
    log.write_text("an earlier death\n")
    with pytest.raises(TargetError) as raised:
        target("--exit", "4").start(log, go_on)
    assert "no weights found" in str(raised.value)
    assert "an earlier death" not in str(raised.value)


def test_a_port_that_is_taken_is_named_with_its_owner(log):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(TargetError, match=rf"port {port} of 127\.0\.0\.1 can't be used.*{os.getpid()}"):
            target(port=port).start(log, go_on)


def test_another_process_on_the_port_is_not_taken_for_the_server(log):
    class Impostor(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()

        def log_message(self, *arguments):
            pass

    server = target("--no-listen", ready_timeout_s=5)
    impostors = []

    def squat() -> None:
        # Once the port is chosen, and before the server would listen on it, somebody else takes it.
        if not impostors:
            impostors.append(http.server.HTTPServer(("127.0.0.1", server._port), Impostor))
            threading.Thread(target=impostors[0].serve_forever, daemon=True).start()

    with pytest.raises(TargetError, match="answered by another process"):
        server.start(log, squat)
    impostors[0].shutdown()
    impostors[0].server_close()


def test_giving_up_while_it_starts_leaves_nothing_behind(log):
    server = target("--no-listen")

    def give_up() -> None:
        if server.process_ids():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        server.start(log, give_up)
    assert not server.process_ids()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"command": ["no-such-server", "{port}"]}, "there is no program 'no-such-server'"),
        ({"command": ["true", "{port}"], "directory": "no/such"}, "does not exist"),
        ({"command": ["true"]}, r"has no \{port\}, and no fixed port"),
        ({"command": ["true", "{port}"], "cpus": "0,x"}, "no list of cores"),
        ({"command": ["sleep", "{port}"], "versions": ["false"], "ready_timeout_s": 1.0}, "ready|versions"),
    ],
)
def test_what_cannot_be_started_is_a_sentence(log, changes, sentence):
    server = ProcessTarget(schema.ProcessTarget(**changes), Path("/"))
    with pytest.raises(TargetError, match=sentence):
        server.start(log, go_on)


def test_versions_are_what_the_command_says(log):
    say = "import json; print(json.dumps({'engine': '1.2.3'}))"
    server = target(versions=[sys.executable, "-c", say])
    endpoint = server.start(log, go_on)
    server.stop()
    assert endpoint.description["versions"] == {"engine": "1.2.3"}


@pytest.mark.parametrize(("text", "numbers"), [("0,1", [0, 1]), ("0-2,5", [0, 1, 2, 5]), ([3], [3]), ("", None)])
def test_cores_are_written_as_a_list_or_as_taskset_does(text, numbers):
    assert cores(text) == numbers
