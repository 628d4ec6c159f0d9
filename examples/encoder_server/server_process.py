"""Start the example server in a process group of its own, make sure that it is the one that answers, and stop it.

LitServe forks workers that can outlive their parent and go on answering `/health`; so whose the listening port is, and
whether everything has ended, is asked of the whole group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
import psutil

READY_TIMEOUT_S = 90.0
HERE = Path(__file__).resolve().parent


class ServerError(Exception):
    """The server did not start, was not ours, died or did not stop; the message says which."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class ServerProcess:
    """A running server; use it as a context manager.

    Args:
        arguments: options of `server.py`, without `--port`.
        cpus: cores that the server and its workers may use.
        log: file that gets what the server prints.
    """

    def __init__(self, arguments: Sequence[str], cpus: Sequence[int], log: Path) -> None:
        self.port = free_port()
        cores = ",".join(str(cpu) for cpu in cpus)
        options = [*arguments, "--port", str(self.port)]
        self.command = ["taskset", "--cpu-list", cores, "python", "server.py", *options]
        self._log = log

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        executable = [sys.executable if word == "python" else word for word in self.command]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                executable, cwd=HERE, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def members(self) -> list[psutil.Process]:
        """Return the living processes of the server's group."""
        return [process for process in psutil.process_iter() if self._is_member(process)]

    def check_alive(self) -> None:
        if self._process.poll() is not None:
            raise ServerError(f"The server ended by itself with exit status {self._process.returncode}.")

    def stop(self) -> None:
        """Interrupt the main process, which is the clean way; then end whatever is left of the group."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        for remedy in (None, signal.SIGTERM, signal.SIGKILL):
            if remedy is not None:
                self._signal_group(remedy)
            if _wait(lambda: self._process.poll() is not None and not self.members(), timeout_s=5.0):
                return
        raise ServerError(f"Processes of the server's group {self._process.pid} could not be ended.")

    def _signal_group(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)

    def _is_member(self, process: psutil.Process) -> bool:
        try:
            in_group = os.getpgid(process.pid) == self._process.pid
            return in_group and process.status() != psutil.STATUS_ZOMBIE
        except (ProcessLookupError, psutil.NoSuchProcess):
            return False

    def _wait_until_ready(self) -> None:
        if not _wait(self._answers, READY_TIMEOUT_S):
            raise ServerError(f"The server was not ready after {READY_TIMEOUT_S:.0f} s.")
        owners = {
            connection.pid
            for connection in psutil.net_connections(kind="tcp4")
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == self.port
        }
        if not owners & {process.pid for process in self.members()}:
            raise ServerError(f"Port {self.port} is answered by a process that is not of the server's group.")

    def _answers(self) -> bool:
        self.check_alive()
        try:
            return httpx.get(f"{self.url}/health", timeout=2.0).status_code == 200
        except httpx.TransportError:
            return False


def _wait(condition: Callable[[], bool], timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return condition()
