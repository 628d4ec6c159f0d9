"""A real local S3 server, moto's, in a process of its own."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def s3_server(log: Path) -> Iterator[str]:
    """The endpoint of a moto server, which ends with the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, stdout=stream, stderr=stream)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _wait_for(endpoint, process)
        yield endpoint
    finally:
        process.terminate()
        process.wait(timeout=10)


def _wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5).close()
            return
        assert process.poll() is None, "the S3 server ended"
        time.sleep(0.1)
    raise AssertionError("the S3 server doesn't answer")
