"""A target that is a command: started, waited for until the port is really its own, and stopped."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ...errors import os_reason
from .. import processes, schema, templates
from .base import Endpoint, TargetError

POLL_S = 0.1
VERSIONS_TIMEOUT_S = 60.0
LOG_LINES = 5


class ProcessTarget:
    """A server process.

    Args:
        spec: the file's description, its settings filled in; ``{port}`` may still stand in the command.
        base: the directory that the description's paths are relative to.
    """

    paid = False

    def __init__(self, spec: schema.ProcessTarget, base: Path) -> None:
        self._spec = spec
        self._directory = base / spec.directory if spec.directory else base
        self._process: processes.GuardedProcess | None = None
        self._port = 0

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        spec = self._spec
        self._log = log
        self._port = self._choose_port()
        command = templates.fill(spec.command, {"port": self._port})
        variables = templates.fill(spec.environment, {"port": self._port})
        cpus = cores(spec.cpus)
        started = time.monotonic()
        try:
            self._process = processes.GuardedProcess(
                command,
                directory=self._directory,
                output=log,
                extra_environment=variables,
                cpus=cpus,
                grace_s=float(spec.stop_timeout_s),
            )
            self._wait_until_ready(keep_on)
        except processes.ProcessError as error:
            raise TargetError(str(error)) from error
        except BaseException:
            self.stop()
            raise
        description = {
            "kind": "process",
            "command": command,
            "cpus": cpus,
            "start_s": round(time.monotonic() - started, 2),
            "versions": versions(spec.versions, self._directory),
        }
        return Endpoint(url=f"http://{spec.host}:{self._port}", description=description)

    def check(self) -> None:
        status = self._process.poll() if self._process else None
        if status is not None:
            raise TargetError(f"the server ended by itself with exit status {status}{self._last_words()}")

    def process_ids(self) -> Sequence[int]:
        return self._process.process_ids() if self._process else ()

    def stop(self) -> None:
        if self._process is not None and not self._process.stop():
            raise TargetError(f"the server's processes {list(self.process_ids())} could not be ended: end them by hand")

    def _choose_port(self) -> int:
        fixed = self._spec.port
        if fixed is None:
            if "port" not in templates.names(self._spec.command) | templates.names(self._spec.environment):
                raise TargetError("the server's command has no {port}, and no fixed port is given: which one is it?")
            return free_port(self._spec.host)
        port = int(fixed)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self._spec.host, port))
            except OSError as error:
                owner = _owner(port)
                raise TargetError(
                    f"port {port} of {self._spec.host} can't be used: {os_reason(error).lower()}"
                    f"{f', by process {owner}' if owner else ''}; stop that, or leave the port out for a free one"
                ) from error
        return port

    def _wait_until_ready(self, keep_on: Callable[[], None]) -> None:
        timeout_s = float(self._spec.ready_timeout_s)
        deadline = time.monotonic() + timeout_s
        answer = "nothing listened on its port"
        while time.monotonic() < deadline:
            self.check()
            keep_on()
            listeners = _listeners(self._port)
            if listeners:
                if not listeners & set(self.process_ids()):
                    raise TargetError(f"port {self._port} is answered by another process than the server")
                ready, answer = self._ask()
                if ready:
                    self.check()
                    return
            time.sleep(POLL_S)
        raise TargetError(f"the server was not ready after {timeout_s:.0f} s: {answer}{self._last_words()}")

    def _ask(self) -> tuple[bool, str]:
        import http.client

        connection = http.client.HTTPConnection(self._spec.host, self._port, timeout=2.0)
        try:
            connection.request("GET", self._spec.ready)
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            return False, f"GET {self._spec.ready} failed ({type(error).__name__})"
        finally:
            connection.close()
        return 200 <= status < 300, f"GET {self._spec.ready} answers {status}"

    def _last_words(self) -> str:
        """The end of the server's log, for the sentence on what went wrong."""
        with contextlib.suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-LOG_LINES:]
            if lines:
                return ". Its last lines:\n    " + "\n    ".join(line[:200] for line in lines)
        return ""


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def cores(value: list[int] | str | None) -> list[int] | None:
    """``[0, 1]``, ``"0,1"`` or ``"0-3"`` as numbers of cores; None, and nothing, mean all.

    Raises:
        TargetError: the text is no list of cores.
    """
    if value is None or isinstance(value, list):
        return value or None
    found: list[int] = []
    for part in filter(None, (part.strip() for part in value.split(","))):
        first, _, last = part.partition("-")
        if not first.isdigit() or not (last or first).isdigit():
            raise TargetError(f"'{value}' is no list of cores, such as 0,1 or 0-3")
        found.extend(range(int(first), int(last or first) + 1))
    return found or None


def versions(command: Sequence[str], directory: Path) -> dict[str, Any]:
    """What *command* prints of the server's versions: a JSON object, or one line for the server itself.

    Raises:
        TargetError: it failed.
    """
    if not command:
        return {}
    try:
        words = [processes.which(command[0], directory), *command[1:]]
        answer = subprocess.run(
            words,
            cwd=directory,
            env=processes.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VERSIONS_TIMEOUT_S,
            check=True,
        )
    except (processes.ProcessError, OSError, subprocess.SubprocessError) as error:
        raise TargetError(f"the command for the server's versions failed: {error}") from error
    text = answer.stdout.strip()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = None
    return content if isinstance(content, dict) else {"server": text[:200]}


def _listeners(port: int) -> set[int]:
    """Ids of the processes that listen on *port*; empty if none does, or we may not see whose it is."""
    import psutil

    return {
        connection.pid
        for connection in psutil.net_connections(kind="tcp")
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port
        if connection.pid is not None
    }


def _owner(port: int) -> str:
    import psutil

    with contextlib.suppress(psutil.Error):
        return ", ".join(f"{pid} ({psutil.Process(pid).name()})" for pid in sorted(_listeners(port)))
    return ""
