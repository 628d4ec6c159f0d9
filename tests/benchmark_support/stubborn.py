"""Commands that leave a worker behind, and whether it lives."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

FORKING = """
import os, sys, time
if os.fork() == 0:  # a grandchild in a session of its own, whose parent dies
    os.setsid()
    if os.fork():
        os._exit(0)
open(sys.argv[1] + f"/{os.getpid()}", "w").close()
time.sleep(600)
"""
STUBBORN = f"""
import signal
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
{FORKING}
"""


def eventually(condition: Callable[[], object], timeout_s: float = 15.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def living(marks: Path) -> list[int]:
    """The processes that left their number in *marks* and are alive."""
    ids = [int(mark.name) for mark in marks.iterdir()]
    return [pid for pid in ids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
