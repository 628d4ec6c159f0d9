"""A real local S3 server, moto's, in a process of its own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from requirements import missing


@contextlib.contextmanager
def s3_server(log: Path) -> Iterator[str]:
    """The endpoint of a moto server, which ends with the block."""
    for library in ("moto", "s3fs", "boto3"):
        try:
            __import__(library)
        except ImportError:
            missing(f"{library}; run `make test`, which installs it")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with log.open("wb") as stream:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        pages = {**os.environ, "MOTO_S3_DEFAULT_MAX_KEYS": "100"}  # of a list: Amazon's have 1,000
        process = subprocess.Popen(command, env=pages, stdout=stream, stderr=stream)
    try:
        endpoint = f"http://127.0.0.1:{port}"
        _wait_for(endpoint, process)
        yield endpoint
    finally:
        process.terminate()
        process.wait(timeout=10)


def emptied(endpoint: str, monkeypatch: pytest.MonkeyPatch, bucket: str = "results") -> Any:
    """A client of the emptied server with one *bucket*, and the environment in which matbench reaches it."""
    import boto3

    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset", method="POST")).close()
    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "sesame",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=bucket)
    return client


def _wait_for(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(f"{endpoint}/moto-api/", timeout=5).close()
            return
        assert process.poll() is None, "the S3 server ended"
        time.sleep(0.1)
    raise AssertionError("the S3 server doesn't answer")
