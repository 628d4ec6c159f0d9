"""Where a run took place: processor, GPUs, kernel, versions; and texts without this machine's names in them."""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import socket
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..version import __version__
from .gpus import Gpus


def describe() -> dict[str, Any]:
    """The machine, as it is recorded in ``environment.json``."""
    return {
        "cpu_model": cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory_total_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": kernel(),
        "gpus": Gpus().describe(),
        "versions": {"matbench": __version__, "python": platform.python_version()},
    }


def kernel() -> str:
    # Vendors add suffixes of their own to the release; what is before them identifies it.
    release = re.match(r"[\d.]*\d", platform.release())
    return f"{platform.system()} {release.group() if release else platform.release()}"


def cpu_model() -> str | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("model name", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or None


def anonymous(text: str, secrets: Iterable[str] = ()) -> str:
    """*text* without this machine's paths, host name and user name, and without *secrets*."""
    for secret in secrets:
        text = text.replace(secret, "***")
    names = {sys.prefix: "venv", sys.base_prefix: "python", os.getcwd(): ".", str(Path.home()): "~"}
    for path in sorted(names, key=len, reverse=True):
        if path != "/":
            text = text.replace(path, names[path])
    for name, stand_in in ((socket.gethostname(), "host"), (_user(), "user")):
        if len(name) > 1:
            text = re.sub(rf"\b{re.escape(name)}\b", stand_in, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
