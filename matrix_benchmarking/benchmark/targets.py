"""What is benchmarked: the port of a target; a URL that answers already, and a process that is started and stopped."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import MatbenchError, os_reason
from . import processes, schema
from .schema import fill, named_in

TIMEOUT_S, VERSIONS_TIMEOUT_S, POLL_S, LOG_LINES = 10.0, 60.0, 0.1, 5
SERVER_FILE = "000__server/server.json"


class TargetError(MatbenchError):
    """A target that could not be started, is not ours, died or can't be stopped; the sentence says which."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A target that answers at *url*, which has no trailing slash.

    Attributes:
        headers: sent with each request, such as ``Authorization``; never recorded.
        description: what is recorded of it in ``server.json``: kind, command, versions …; no secrets.
    """

    url: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    description: Mapping[str, Any] = dataclasses.field(default_factory=dict)


class Target(abc.ABC):
    """What is benchmarked. :meth:`stop` may be called at any time, also after a failed start, and twice."""

    @abc.abstractmethod
    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        """Start it and wait until it answers; what it prints goes to *log*. TargetError says why it doesn't.

        *keep_on* is called at least once a second while waiting; it raises to give up.
        """

    def check(self) -> None:  # noqa: B027 - of a server at a URL that shows in the load
        """Raise TargetError if it has died."""

    def process_ids(self) -> Sequence[int]:
        """Its living processes on this machine, for the monitor; empty where it runs elsewhere."""
        return ()

    def stop(self) -> None:  # noqa: B027 - a server at a URL was running before, and goes on
        """End it, and all that it started. TargetError: something of it is left; the sentence says what to do."""


class UrlTarget(Target):
    """A server at a URL: nothing to start, nothing to stop."""

    def __init__(self, spec: schema.UrlTarget) -> None:
        self._spec = spec

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        import httpx

        url, headers = _checked(self._spec.url), bearer(self._spec.api_key_env)
        keep_on()
        try:  # any status will do
            httpx.get(url, headers=headers, timeout=TIMEOUT_S, trust_env=False)
        except httpx.HTTPError as error:
            in_time = f"no answer within {TIMEOUT_S:.0f} s" if isinstance(error, httpx.TimeoutException) else ""
            raise TargetError(f"{url} can't be reached: {in_time or str(error) or type(error).__name__}") from error
        return Endpoint(url=url, headers=headers, description={"kind": "url"})


def bearer(variable: str | None) -> dict[str, str]:
    """The header with the key that the environment *variable* holds; none where none is named."""
    if variable is None:
        return {}
    key = os.environ.get(variable, "").strip()
    if not key:
        raise TargetError(f"the environment variable {variable}, which should hold the server's key, is not set")
    return {"Authorization": f"Bearer {key}"}


def _checked(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        has_credentials, host = "@" in parts.netloc, parts.hostname
    except ValueError as error:
        raise TargetError(f"the target's url is no URL: {error}") from error
    if has_credentials:
        raise TargetError("the target's url holds credentials: put the key in an environment variable, api_key_env")
    if parts.scheme not in ("http", "https") or not host:
        raise TargetError(f"the target's url '{url}' is not of the form http://host:port")
    return url.rstrip("/")


class ProcessTarget(Target):
    """A server process; in its *spec* ``{port}`` may still stand, and paths are relative to *base*."""

    def __init__(self, spec: schema.ProcessTarget, base: Path) -> None:
        self._spec, self._port = spec, 0
        self._directory = base / spec.directory if spec.directory else base
        self._process: processes.GuardedProcess | None = None

    def start(self, log: Path, keep_on: Callable[[], None]) -> Endpoint:
        spec = self._spec
        self._log, self._said_before = log, log.stat().st_size if log.exists() else 0
        self._port = self._choose_port()
        command, cpus = fill(spec.command, {"port": self._port}), cores(spec.cpus)
        started = time.monotonic()
        try:
            self._process = processes.GuardedProcess(
                command,
                directory=self._directory,
                output=log,
                extra_environment=fill(spec.environment, {"port": self._port}),
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
            raise TargetError(f"the server ended with {processes.told_status(status)}{self._last_words()}")

    def process_ids(self) -> Sequence[int]:
        return self._process.process_ids() if self._process else ()

    def stop(self) -> None:
        if self._process is not None and not self._process.stop():
            raise TargetError(f"the server's processes {list(self.process_ids())} could not be ended: end them by hand")

    def _choose_port(self) -> int:
        """The fixed port, or one that nobody listens on at this moment."""
        host, fixed = self._spec.host, self._spec.port
        if fixed is None and "port" not in named_in(self._spec.command) | named_in(self._spec.environment):
            raise TargetError("the server's command has no {port}, and no fixed port is given: which one is it?")
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(fixed is not None))
            try:
                probe.bind((host, int(fixed or 0)))
            except OSError as error:
                owner = f", by process {owners}" if fixed is not None and (owners := _owner(int(fixed))) else ""
                raise TargetError(
                    f"port {fixed} of {host} can't be used: {os_reason(error).lower()}{owner}; stop that, or leave the "
                    "port out for a free one"
                ) from error
            return int(probe.getsockname()[1])

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

        try:
            with contextlib.closing(http.client.HTTPConnection(self._spec.host, self._port, timeout=2.0)) as connection:
                connection.request("GET", self._spec.ready)
                status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            return False, f"GET {self._spec.ready} failed ({type(error).__name__})"
        return 200 <= status < 300, f"GET {self._spec.ready} answers {status}"

    def _last_words(self) -> str:
        """The end of what the server said since this start, for the sentence on what went wrong."""
        with contextlib.suppress(OSError):
            said = self._log.read_bytes()[self._said_before :].decode("utf-8", "replace")
            lines = said.strip().splitlines()[-LOG_LINES:]
            if lines:
                return ". Its last lines:\n    " + "\n    ".join(line[:200] for line in lines)
        return ""


def cores(value: list[int] | str | None) -> list[int] | None:
    """``[0, 1]``, ``"0,1"`` or ``"0-3"`` as numbers of cores; None, and nothing, mean all."""
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
    """What *command* prints of the server's versions: a JSON object, or one line for the server itself."""
    if not command:
        return {}
    how: dict[str, Any] = {"cwd": directory, "env": processes.environment(), "stdin": subprocess.DEVNULL}
    how |= {"capture_output": True, "text": True, "timeout": VERSIONS_TIMEOUT_S, "check": True}
    try:
        answer = subprocess.run([processes.which(command[0], directory), *command[1:]], **how)
    except (processes.ProcessError, OSError, subprocess.SubprocessError) as error:
        raise TargetError(f"the command for the server's versions failed: {error}") from error
    text: str = answer.stdout.strip()
    with contextlib.suppress(ValueError, RecursionError):
        if isinstance(content := json.loads(text), dict):
            return content
    return {"server": text[:200]}


def _listeners(port: int) -> set[int]:
    """Ids of the processes that listen on *port*; empty if none does, or we may not see whose it is."""
    import psutil

    listening = [each for each in psutil.net_connections(kind="tcp") if each.status == psutil.CONN_LISTEN]
    return {each.pid for each in listening if each.laddr and each.laddr.port == port and each.pid is not None}


def _owner(port: int) -> str:
    import psutil

    with contextlib.suppress(psutil.Error):
        return ", ".join(f"{pid} ({psutil.Process(pid).name()})" for pid in sorted(_listeners(port)))
    return ""
