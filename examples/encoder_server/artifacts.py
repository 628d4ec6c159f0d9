"""Write the files of a test directory, without the names of the machine they were recorded on."""

from __future__ import annotations

import getpass
import importlib.metadata
import json
import os
import platform
import re
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent


def write_text(path: Path, text: str) -> None:
    """Write `path` atomically, its directory created if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, path)


def write_json(path: Path, data: Any) -> None:
    write_text(path, json.dumps(data, separators=(",", ":")) + "\n")


def iso_time(epoch_s: float) -> str:
    return datetime.fromtimestamp(epoch_s, UTC).isoformat(timespec="milliseconds")


def anonymous(text: str) -> str:
    """Return `text` without this machine's paths, host name and user name."""
    names = {
        str(HERE): ".",
        sys.prefix: "venv",
        sys.base_prefix: "python",
        str(Path.home()): "~",
        os.getcwd(): ".",
    }
    for path in sorted(names, key=len, reverse=True):
        if path != "/":
            text = text.replace(path, names[path])
    for name, stand_in in ((socket.gethostname(), "host"), (getpass.getuser(), "user")):
        text = re.sub(rf"\b{re.escape(name)}\b", stand_in, text)
    return text


def machine() -> dict[str, Any]:
    """Describe this machine and the versions that matter: see `000__server/server.json`."""
    packages = ("litserve", "onnxruntime", "onnx", "tokenizers")
    versions = {package: importlib.metadata.version(package) for package in packages}
    # Vendors add suffixes of their own to the kernel's release; what is before them identifies it.
    kernel = re.match(r"[\d.]*\d", platform.release())
    return {
        "versions": versions | {"python": platform.python_version()},
        "cpu_model": _cpu_model(),
        "kernel": f"{platform.system()} {kernel.group() if kernel else platform.release()}",
        "memory_total_bytes": psutil.virtual_memory().total,
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
