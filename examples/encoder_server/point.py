"""One run of the benchmark matrix: its settings, its measurement and its test directory."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import psutil
import yaml
from artifacts import anonymous, iso_time, machine, write_json, write_text
from fidelity import measure_fidelity
from load import K6Run, k6_version
from model import MODEL_NAME
from monitor import Monitor
from numpy.typing import NDArray
from server import VERSION
from server_process import ServerError, ServerProcess


@dataclass(frozen=True)
class Hardware:
    """Which cores the server and k6 may use, and how many threads ONNX Runtime has."""

    server_cpus: tuple[int, ...]
    threads: int
    k6_cpus: tuple[int, ...]

    @property
    def competes(self) -> bool:
        return bool(set(self.server_cpus) & set(self.k6_cpus))


HARDWARE = {
    "cpu-1": Hardware(server_cpus=(0,), threads=1, k6_cpus=(1,)),
    "cpu-2": Hardware(server_cpus=(0, 1), threads=2, k6_cpus=(0, 1)),
}


@dataclass(frozen=True)
class Point:
    """The coordinates of one run."""

    hw_type: str
    image: str
    batch_size: int
    vus: int
    repeat: int

    def again(self, repeat: int) -> Point:
        return dataclasses.replace(self, repeat=repeat)

    def directory(self, root: Path) -> Path:
        run = f"vus_{self.vus}__repeat_{self.repeat}"
        return root / self.hw_type / self.image / f"batch_{self.batch_size}" / run

    def settings(self) -> dict[str, str | int]:
        fixed = {"task": "embedding", "model": MODEL_NAME, "vendor": "local", "engine": "onnxruntime"}
        return fixed | dataclasses.asdict(self) | {"version": VERSION}


@dataclass(frozen=True)
class Plan:
    """What all runs of a recording share; times in seconds, reference embeddings of shape (texts, 384)."""

    root: Path
    cache: Path
    load_s: float
    warm_up_s: float
    texts: Sequence[str]
    reference: NDArray[np.float32]


def finished(point: Point, root: Path) -> bool:
    return (point.directory(root) / "exit_code").exists()


def run_point(point: Point, plan: Plan) -> int:
    """Run `point` and write its test directory, `exit_code` last; return the exit code, 0 if all went well."""
    # The recorder itself must not work on a core that is the server's alone.
    os.sched_setaffinity(0, HARDWARE[point.hw_type].k6_cpus)
    directory = point.directory(plan.root).resolve()
    shutil.rmtree(directory, ignore_errors=True)
    write_text(directory / "settings.yaml", yaml.safe_dump(point.settings(), sort_keys=False))
    write_text(directory / ".uuid", f"{uuid.uuid4()}\n")
    server_log = directory / "000__server" / "server.log"
    server_log.parent.mkdir()
    try:
        exit_code, problem = _measure(point, plan, directory), ""
    except (ServerError, httpx.HTTPError) as error:
        exit_code, problem = 1, f"{error}\n"
    write_text(server_log, anonymous(server_log.read_text(encoding="utf-8", errors="replace") + problem))
    write_text(directory / "exit_code", f"{exit_code}\n")
    return exit_code


def _measure(point: Point, plan: Plan, directory: Path) -> int:
    hardware = HARDWARE[point.hw_type]
    arguments = [
        "--image",
        point.image,
        "--max-batch-size",
        str(point.batch_size),
        "--threads",
        str(hardware.threads),
    ]
    cache = ["--cache-dir", str(plan.cache)]
    with ServerProcess([*arguments, *cache], hardware.server_cpus, directory / "000__server" / "server.log") as server:
        _write_server(directory, hardware, [word for word in server.command if word not in cache])
        warm_up = K6Run(server.url, point.vus, plan.warm_up_s, hardware.k6_cpus, summary=None)
        warm_up.finish(warm_up.start())
        exit_code = _load(point, plan, hardware, server, directory)
        server.check_alive()
        fidelity = measure_fidelity(server.url, plan.texts, plan.reference, concurrency=point.vus)
        write_json(directory / "003__fidelity" / "fidelity.json", fidelity)
    return exit_code


def _load(point: Point, plan: Plan, hardware: Hardware, server: ServerProcess, directory: Path) -> int:
    output = directory / "002__k6__run"
    output.mkdir()
    run = K6Run(server.url, point.vus, plan.load_s, hardware.k6_cpus, output / "summary.json")
    started = time.time()
    process = run.start()
    with Monitor({"k6": [psutil.Process(process.pid)], "server": server.members()}) as monitor:
        exit_code, log = run.finish(process)
    window = _load_window(output / "summary.json", started, time.time())
    write_text(output / "k6.log", anonymous(log))
    generator = {
        "command": run.command,
        "k6_version": k6_version(),
        "cpus": hardware.k6_cpus,
        "competes_with_server": hardware.competes,
    }
    write_json(output / "load_generator.json", generator)
    _write_utilization(directory, monitor, window)
    write_json(directory / "test_start_end.json", {name: iso_time(at) for name, at in window.items()})
    return exit_code


def _load_window(summary: Path, started: float, ended: float) -> dict[str, float]:
    """Return start and end of the load, in seconds since the epoch: k6's own account, else the life of its process."""
    try:
        data: dict[str, Any] = json.loads(summary.read_text(encoding="utf-8"))
        start = data["setup_data"]["load_start_ms"] / 1000
        return {"start": start, "end": round(start + data["state"]["testRunDurationMs"] / 1000, 4)}
    except (OSError, KeyError):
        return {"start": round(started, 4), "end": round(ended, 4)}


def _write_server(directory: Path, hardware: Hardware, command: Sequence[str]) -> None:
    description = {"command": command, "cpus": hardware.server_cpus, "threads": hardware.threads}
    write_json(directory / "000__server" / "server.json", description | machine())


def _write_utilization(directory: Path, monitor: Monitor, window: dict[str, float]) -> None:
    utilization = {
        "time": monitor.time,
        "cpus_load": monitor.cpus_load,
        "main_memory": monitor.main_memory,
        "gpus_load": [],
        "gpus_memory": [],
        "processes": monitor.process_load,
        "load_window": window,
    }
    write_json(directory / "001__monitor" / "utilization.json", utilization)
