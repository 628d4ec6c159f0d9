"""Going on after a kill, and the record that knows how far a download came."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from download_support.web import Answer, links, nasty_server
from interruptible import interruptible

from matrix_benchmarking.download_record import is_downloaded

Capture = pytest.CaptureFixture[str]
RECORD = Path("here/.matbench/download.json")
LAST_MODIFIED = "Wed, 18 Nov 2026 10:00:00 GMT"


@contextlib.contextmanager
def running(address: object) -> Iterator[subprocess.Popen[bytes]]:
    """A download in a process of its own, which is gone after the block."""
    command = [sys.executable, "-m", "matrix_benchmarking", "download", f"--url={address}", "--results-dirname=here"]
    with subprocess.Popen(
        [*command, "--mode=all"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=interruptible
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Halting:
    """A server of ten small files and a big one, of which it sends half and then waits."""

    def __init__(self) -> None:
        self.half_sent, self.go_on = threading.Event(), threading.Event()
        self.small = {f"small-{number}": b"s" * number for number in range(1, 11)}
        self.big = os.urandom(200_000)

    @property
    def pages(self):  # type: ignore[no-untyped-def]
        small = {f"/{name}": Answer(content, Last_Modified=LAST_MODIFIED) for name, content in self.small.items()}
        return {"/": links(*self.small, "big"), "/big": self._send_big, **small}

    def _send_big(self, handler) -> Answer:  # type: ignore[no-untyped-def]
        if handler.command == "GET" and not self.go_on.is_set():
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(self.big)))
            handler.end_headers()
            handler.wfile.write(self.big[: len(self.big) // 2])
            handler.wfile.flush()
            self.half_sent.set()
            self.go_on.wait(30)
        return Answer(self.big, Last_Modified=LAST_MODIFIED)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_after_an_end_in_the_middle_only_the_rest_is_fetched_and_no_half_file_is_left(how, download, files) -> None:
    server = Halting()
    with nasty_server(server.pages) as nasty:
        with running(nasty.url) as process:
            assert server.half_sent.wait(30)
            wait_for(lambda: len(files("here") & server.small.keys()) == 10)
            process.send_signal(how)
            process.communicate(timeout=10)  # though the server is silent
        assert not Path("here/big").exists()
        server.go_on.set()
        assert process.returncode == (130 if how == signal.SIGINT else -how)
        left = files("here") - server.small.keys()
        assert len(left) == (0 if how == signal.SIGINT else 1)
        assert is_downloaded(Path("here"))
        nasty.requests.clear()
        assert download(nasty.url, "--mode=all") == 0
        assert nasty.gets() == ["/big"]
    assert files("here") == {"big", *server.small}
    assert Path("here/big").read_bytes() == server.big


def wait_for(condition) -> None:  # type: ignore[no-untyped-def]
    for _ in range(300):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it didn't come to that")


def test_two_downloads_do_not_work_in_one_destination(tree, download, capsys: Capture) -> None:
    server = Halting()
    with nasty_server(server.pages) as nasty, running(nasty.url):
        assert server.half_sent.wait(30)
        assert download(tree) == 2
        assert "another download (process" in capsys.readouterr().err
        server.go_on.set()


def test_a_file_that_was_being_replaced_when_the_download_was_killed_is_fetched_again(tree, download) -> None:
    """The record says that the old content is here no more than the new one."""
    assert download(tree, "--mode=all") == 0
    name = next(tree.rglob("summary.json")).relative_to(tree).as_posix()
    old = (tree / name).read_bytes()
    (tree / name).write_bytes(old[::-1])
    record = json.loads(RECORD.read_text())
    record["trees"][0]["complete"] = False
    record["trees"][0]["files"][name] = {}
    RECORD.write_text(json.dumps(record))
    assert download(tree, "--mode=all") == 0
    assert Path("here", name).read_bytes() == old[::-1]


def test_the_record_names_address_mode_and_files_with_a_version(tree, download, files) -> None:
    assert download(tree, "--mode=important") == 0
    record = json.loads(RECORD.read_text())
    assert record["format"] == 1
    (kept,) = record["trees"]
    assert (kept["address"], kept["mode"], kept["workload"]) == (str(tree), "important", "encoder_bench")
    assert kept["complete"] is True
    assert kept["files"].keys() == files("here")
    for name, state in kept["files"].items():
        status = (tree / name).stat()
        assert state == {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "fetched": True}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"format": 2, "trees": []}', "is of format 2, this matbench reads 1: use a newer one"),
        ('{"format": 1, "trees": [{"address": 1}]}', "is damaged"),
        ("{", "is damaged"),
        ("", "is damaged"),
    ],
)
def test_a_record_that_cannot_be_used_is_a_sentence(content, sentence, tree, download, capsys: Capture) -> None:
    assert download(tree) == 0
    RECORD.write_text(content)
    assert download(tree) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert RECORD.read_text() == content


def test_a_directory_knows_whether_a_download_brought_it(tree, directory, download) -> None:
    assert not is_downloaded(tree)
    assert download(tree, to="there/here") == 0
    assert is_downloaded(Path("there/here"))
    assert is_downloaded(Path("there/here/batch_8"))
    assert is_downloaded(Path("there") / "here" / next(tree.rglob("exit_code")).parent.relative_to(tree))
    assert not is_downloaded(Path("there"))
    Path("there/here/own_runs").mkdir()
    assert not is_downloaded(Path("there/here/own_runs"))
    assert not is_downloaded(Path("nowhere"))


def test_an_interrupted_call_of_another_mode_is_no_completed_one(tree, directory, download, files) -> None:
    import zipfile

    with zipfile.ZipFile("tree.zip", "w") as archive:
        for name in files(tree):
            archive.write(tree / name, name)
    assert download("tree.zip", "--mode=cache_only") == 0
    assert download("tree.zip", "--mode=all") == 0
    assert files("here") == files(tree)
