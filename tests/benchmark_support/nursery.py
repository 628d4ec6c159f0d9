"""Dask's scheduler and workers, and who starts a benchmark, forked from a process that has imported them: imports take
a second of a core.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil
from forked import end

IMPORTED = ("distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "distributed.http.scheduler.info")
IMPORTED += ("matrix_benchmarking.benchmark.cluster.dealing", "matrix_benchmarking.benchmark.cluster.job")
IMPORTED += ("matrix_benchmarking.benchmark.cluster.start", "matrix_benchmarking.cli", "matrix_benchmarking.store")
IMPORTED += ("matrix_benchmarking.commands.benchmark", "matrix_benchmarking.commands.benchmark_file", "rich.progress")


class Fork:
    """What a test needs of a process, in subprocess's words."""

    def __init__(self, pid: int, log: Path) -> None:
        self._process, self._log = psutil.Process(pid), log
        self.pid = pid

    def poll(self) -> int | None:
        return None if self._process.is_running() else self.returncode

    @property
    def returncode(self) -> int:
        """Of one that has ended; -9 where it did without a word."""
        told = _status_of(self._log)
        return int(told.read_text()) if told.exists() else -signal.SIGKILL

    def send_signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float = 120.0) -> int:
        ends = time.monotonic() + timeout
        while self._process.is_running():
            assert time.monotonic() < ends, self._log.read_text(errors="replace")[-2000:]
            time.sleep(0.02)
        return self.returncode

    def communicate(self, timeout: float = 120.0) -> tuple[str, None]:
        """All that it wrote, once it has ended."""
        self.wait(timeout)
        return self._log.read_text(), None


def _status_of(log: Path) -> Path:
    return log.with_suffix(".status")


@functools.cache
def _nursery() -> subprocess.Popen[str]:
    command, place = [sys.executable, "-m", "benchmark_support.nursery"], Path(__file__).parents[1]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=place)
    atexit.register(process.kill)
    return process


def fork(words: list[str], environment: Mapping[str, str], log: Path, directory: Path | None = None) -> Fork:
    """Call the ``main`` of the module that *words* begin with."""
    for of_before in (log, _status_of(log)):
        of_before.unlink(missing_ok=True)
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps([words, dict(environment), str(log), str(directory or Path.cwd())]) + "\n")
    nursery.stdin.flush()
    return Fork(int(nursery.stdout.readline()), log)


def _wait() -> None:
    gc.disable()
    for name in IMPORTED:
        importlib.import_module(name)
    gc.enable()
    gc.freeze()  # no fork has to look through it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while line := sys.stdin.readline():
        pid = os.fork()
        if not pid:
            _become(*json.loads(line))
        print(pid, flush=True)


def _become(words: list[str], environment: dict[str, str], log: str, directory: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    importlib.import_module("dask.config").refresh()
    for number, name, flags in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_CREAT)):
        opened = os.open(name, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    if words[0] == "matrix_benchmarking.cli":  # which says so before it imports Dask
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
    sys.argv = words
    status = importlib.import_module(words[0]).main()
    sys.stdout.flush()
    _status_of(Path(log)).write_text(str(status))
    end(status)


if __name__ == "__main__":
    _wait()
