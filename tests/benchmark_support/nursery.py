"""Dask's scheduler and workers, forked from a process that has imported them: imports take a second of a core."""

from __future__ import annotations

import atexit
import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

IMPORTED = ("distributed.cli.dask_scheduler", "distributed.cli.dask_worker", "distributed.http.scheduler.info")
IMPORTED += ("matrix_benchmarking.benchmark.cluster.job", "matrix_benchmarking.store")


class Fork:
    """What a test needs of a process, in subprocess's words."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self.pid = pid

    def poll(self) -> int | None:
        return None if self._process.is_running() else 0

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        while self._process.is_running():
            time.sleep(0.01)


@functools.cache
def _nursery() -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    atexit.register(process.kill)
    return process


def fork(words: list[str], environment: Mapping[str, str], log: Path) -> Fork:
    """Call the ``main`` of the module of Dask that *words* begin with."""
    nursery = _nursery()
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    nursery.stdin.write(json.dumps([words, dict(environment), str(log), os.getcwd()]) + "\n")
    nursery.stdin.flush()
    return Fork(int(nursery.stdout.readline()))


def _wait() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while line := sys.stdin.readline():
        pid = os.fork()
        if not pid:
            _become(*json.loads(line))
        print(pid, flush=True)


def _become(words: list[str], environment: dict[str, str], log: str, directory: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number, name, flags in ((0, os.devnull, os.O_RDONLY), (1, log, os.O_WRONLY | os.O_CREAT)):
        opened = os.open(name, flags, 0o644)
        os.dup2(opened, number)
        os.close(opened)
    os.dup2(1, 2)
    sys.argv = words
    importlib.import_module(words[0]).main()
    os._exit(0)


if __name__ == "__main__":
    _wait()
