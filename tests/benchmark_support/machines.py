"""A real Dask scheduler and workers on loopback, each worker with a host name of its own, to be killed in turn."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import psutil
from benchmark_support.nursery import Fork, fork

REPOSITORY = str(Path(__file__).parents[2])
BESIDE = "PYTEST_XDIST_WORKER"
"""Tells tests that run at the same time apart."""


def wait_until(is_so: Callable[[], object], what: str, timeout_s: float = 120.0) -> None:
    """Wait for something that happens in its own time; that it takes too long is a failure of what is waited for."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline, f"not within {timeout_s:.0f} s: {what}"
        time.sleep(0.1)


class Machines:
    """Use it as a context manager. *place* gets the logs."""

    def __init__(self, place: Path, scheme: str = "tcp") -> None:
        self._place, self._processes = place, dict[str, subprocess.Popen[bytes] | Fork]()
        place.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._address = f"{scheme}://127.0.0.1:{self._port}"

    @property
    def address(self) -> str:
        """The scheduler's, once all workers that were started are known to it."""
        for name in self._processes.keys() - {"scheduler"}:
            wait_until(lambda name=name: "Registered to" in self._log(name), f"the worker on {name}")
        return self._address

    def scheduler(
        self, environment: Mapping[str, str] | None = None, *, code: str = "", options: tuple[str, ...] = ()
    ) -> None:
        """Start the scheduler; *code* is run before it."""
        words = [f"--host={self._address.rpartition(':')[0]}", f"--port={self._port}", "--no-dashboard"]
        self._start("scheduler", "distributed.cli.dask_scheduler", words, environment or {}, options, code)
        wait_until(lambda: "Scheduler at" in self._log("scheduler"), "the scheduler")

    def worker(
        self,
        *hosts: str,
        environment: Mapping[str, str] | None = None,
        resources: str = "",
        before: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        code: str = "",
    ) -> None:
        """Start a worker on each of the *hosts*; *code* is run before it."""
        for host in hosts:
            words = [self._address, "--nthreads=1", "--no-nanny", "--no-dashboard", "--memory-limit=0"]
            words += [f"--local-directory={self._place}", *([f"--resources={resources}"] if resources else [])]
            mine = {"MATBENCH_HOST": host, **(environment or {})}
            self._start(host, "distributed.cli.dask_worker", words, mine, options, code, before)

    def kill_worker(self, host: str) -> None:
        """The worker alone: what it started finds out by itself."""
        with contextlib.suppress(psutil.Error):
            self._processes[host].kill()
        self._processes.pop(host).wait()

    def lose(self, host: str) -> None:
        """All processes on *host* at once, as a machine that is switched off."""
        with contextlib.suppress(psutil.Error):  # it may have ended
            self._processes[host].kill()
        for pid in started_on(host):
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()
        self._processes.pop(host).wait()

    def pause(self, host: str) -> list[int]:
        """All processes on *host*, which do nothing until they :meth:`go_on`, as a machine that is suspended."""
        found = [self._processes[host].pid, *started_on(host)]
        for pid in found:
            with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since it was found
                psutil.Process(pid).suspend()
        return found

    def go_on(self, paused: list[int]) -> None:
        for pid in paused:
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(pid).resume()

    def stop_scheduler(self) -> None:
        self.kill_worker("scheduler")

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, *_: object) -> None:
        for name in list(self._processes):
            if name == "scheduler":
                self.kill_worker(name)
            else:
                self.lose(name)

    def _start(
        self,
        name: str,
        module: str,
        words: list[str],
        environment: Mapping[str, str],
        options: tuple[str, ...],
        code: str = "",
        before: tuple[str, ...] = (),
    ) -> None:
        """Fork it where it is like any other, else start it anew, as its paths want it."""
        ours = {key: value for key, value in os.environ.items() if not key.startswith("MATBENCH_")}
        all_of_it = {**ours, "PYTHONPATH": REPOSITORY, **environment}
        log = self._place / f"{name}.log"
        if not (options or code or before or any(map(_is_for_a_start, environment.items()))):
            self._processes[name] = fork([module, *words], all_of_it, log)
            return
        main = f"from {module} import main; main()"
        with log.open("wb") as stream:
            self._processes[name] = subprocess.Popen(
                [*before, sys.executable, *options, "-c", f"{code}\n{main}", *words],
                env=all_of_it,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _log(self, name: str) -> str:
        log = self._place / f"{name}.log"
        text = log.read_text(errors="replace") if log.exists() else ""
        assert self._processes[name].poll() is None, text[-2000:]
        return text


@contextlib.contextmanager
def starter(*words: str, directory: Path, environment: Mapping[str, str] | None = None) -> Iterator[Fork]:
    """``matbench`` with these *words* in a process of its own, which is killed where it still runs at the end."""
    all_of_it = {**os.environ, "PYTHONPATH": REPOSITORY, **(environment or {})}
    process = fork(["matrix_benchmarking.cli", *words], all_of_it, directory / "starter.log", directory)
    try:
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        process.wait()


def started_on(host: str) -> list[int]:
    """The processes that were started by the worker on *host*, but for those of tests that run beside this one."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            its = process.environ()
            is_ours = (its.get("MATBENCH_HOST"), its.get(BESIDE, "")) == (host, os.environ.get(BESIDE, ""))
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


def _is_for_a_start(variable: tuple[str, str]) -> bool:
    """True of what a process has to be started with; a ``sitecustomize`` is for those that it starts itself."""
    name, value = variable
    others = [path for path in value.split(os.pathsep) if path != REPOSITORY] if name == "PYTHONPATH" else []
    return any(os.listdir(path) != ["sitecustomize.py"] for path in others)
