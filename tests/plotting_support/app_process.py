"""The application as a process of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from interruptible import interruptible

REPOSITORY = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def application(*arguments: str, cwd: Path = REPOSITORY, matbench: Path | None = None) -> Iterator[str]:
    """``matbench visualize`` as a person starts it, or by the program *matbench*; gives its address."""
    program = [str(matbench)] if matbench else [sys.executable, "-m", "matrix_benchmarking"]
    command = [*program, "visualize", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=interruptible,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"{line}{process.stdout.read()}"
        yield found.group()
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
