"""One load on one target: warm-up, load under the eyes of the monitor, and the check of the answers."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import answers, monitor, processes, schema
from .environment import anonymous
from .expand import Point
from .load import k6, timeseries
from .load.inputs import Input
from .load.tasks import TASKS, Task
from .run_directory import Outcome, write_json, write_text
from .targets.base import Endpoint, Target
from .targets.process import cores
from .times import start_end

SERVER_DIRECTORY = "000__server"
K6_DIRECTORY, ANSWERS_DIRECTORY = "002__k6__run", "003__fidelity"
SAMPLES_FILE, WARM_UP_LOG = ".samples.csv", "warm_up.log"
THRESHOLD_CROSSED = 99
RATE_INTERVAL_S = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class LoadRun:
    """The load of one point.

    Attributes:
        point, load: what is measured, settings filled in.
        inputs: the inputs as k6 reads them; *source*, *count* and *digest* say what they are.
        base: the directory that paths of the benchmark file are relative to.
        endpoint, target: what is loaded.
        directory: the test directory.
        k6_program, k6_version: the load generator.
        on_rate: gets the throughput of each second, in inputs per second.
        keep_on: is called all the time, and raises to give up.
    """

    point: Point
    load: schema.Load
    inputs: Path
    source: Path
    count: int
    digest: str
    base: Path
    endpoint: Endpoint
    target: Target
    directory: Path
    k6_program: str
    k6_version: str
    on_rate: Callable[[float], None]
    keep_on: Callable[[], None]

    def write_server(self) -> None:
        """Write what is known of the target."""
        description = {"url": self.endpoint.url, **self.endpoint.description, "local": self._is_local}
        write_json(self.directory / SERVER_DIRECTORY / "server.json", description)

    def warm_up(self) -> None:
        """Put on a load that nobody counts."""
        duration_s = float(self.load.warm_up_s)
        if duration_s <= 0:
            return
        log = self.directory / K6_DIRECTORY / WARM_UP_LOG
        users = k6.Closed(int(self.load.vus), duration_s)
        load = self._k6_load(users, "warm-up")
        process = self._start(load, log, None, None)
        try:
            status = process.wait(load.longest_s, self._still_there)
        finally:
            process.stop()
        if status not in (0, THRESHOLD_CROSSED):
            raise k6.K6Error(f"the warm-up failed: {_last_line(log.read_text(encoding='utf-8', errors='replace'))}")
        log.unlink(missing_ok=True)

    def load_it(self) -> Outcome:
        """Put the load on, and write what k6 and the monitor saw of it."""
        output = self.directory / K6_DIRECTORY
        samples, summary, log = output / SAMPLES_FILE, output / "summary.json", output / "k6.log"
        load = self._k6_load(self._users(), "load")
        recorded = k6.recorded(load, self.k6_version, self.source, self.count, self.digest)
        competes = {"cpus": self._k6_cores, "competes_with_server": self._competes}
        write_json(output / "load_generator.json", recorded | competes)
        started = time.time()
        try:
            with self._on_the_cores_of_k6():
                process = self._start(load, log, samples, summary)
                try:
                    watched = {"k6": process.first_ids(), "server": self.target.process_ids()}
                    with monitor.Monitor(watched) as watch:
                        status = process.wait(load.longest_s, _Pulse(self._still_there, samples, self._report))
                finally:
                    process.stop()
            content = _read_json(summary)
            window = k6.load_window(content, started, time.time())
            write_json(self.directory / monitor.DIRECTORY / monitor.FILE, watch.utilization(window))
            write_json(self.directory / "test_start_end.json", start_end(window["start"], window["end"]))
            if samples.exists():
                series = timeseries.time_series(timeseries.read_samples(samples), window)
                write_json(output / "timeseries.json", series)
        finally:
            samples.unlink(missing_ok=True)
        text = anonymous(log.read_text(encoding="utf-8", errors="replace"), self.endpoint.headers.values())
        write_text(log, k6.shortened(text))
        return _outcome(status, content, text)

    def check_answers(self, asked: Sequence[Input], reference: answers.ReferenceAnswers | None, keep: int) -> None:
        """Ask some inputs again, as many at a time as under load, and compare the answers."""
        if not asked or self.load.task not in TASKS:
            return
        given = answers.ask(
            self.endpoint.url,
            self._route,
            self._task,
            self.load.model,
            [each.input for each in asked],
            inputs_per_request=self._inputs_per_request,
            concurrency=int(self.load.vus),
            headers=self.endpoint.headers,
            timeout_s=float(self.load.request_timeout_s),
        )
        is_classification = self._task.name == "classification"
        check = answers.compare(given, [each.label for each in asked], reference, is_classification)
        write_json(self.directory / ANSWERS_DIRECTORY / "fidelity.json", check)
        if keep:
            write_json(self.directory / ANSWERS_DIRECTORY / "answers.json", answers.kept(given, keep))

    def _k6_load(self, users: k6.Model, phase: str) -> k6.K6Load:
        # Each run begins at another input, so that no cache of the server's knows them all.
        place = zlib.crc32(repr((sorted(self.point.all_settings.items(), key=str), phase)).encode())
        return k6.K6Load(
            task=self._task,
            url=self.endpoint.url,
            route=self._route,
            model=self.load.model,
            inputs=self.inputs,
            inputs_per_request=self._inputs_per_request,
            users=users,
            request_timeout_s=float(self.load.request_timeout_s),
            headers=self.endpoint.headers,
            offset=place % self.count,
            script=self.base / self.load.script if self.load.script else None,
        )

    def _users(self) -> k6.Model:
        vus, duration_s = int(self.load.vus), float(self.load.duration_s)
        if self.load.rate is not None:
            return k6.Open(float(self.load.rate), duration_s, vus)
        if self.load.requests is not None:
            return k6.SharedIterations(vus, int(self.load.requests), duration_s)
        return k6.Closed(vus, duration_s)

    def _start(
        self, load: k6.K6Load, log: Path, samples: Path | None, summary: Path | None
    ) -> processes.GuardedProcess:
        return processes.GuardedProcess(
            k6.command(load, self.k6_program, samples),
            directory=self.directory,
            output=log,
            extra_environment=k6.environment(load, summary),
            without_variables=k6.OWN_VARIABLES,
            cpus=self._k6_cores,
            grace_s=5.0,
        )

    def _still_there(self) -> None:
        self.keep_on()
        self.target.check()

    def _report(self, answered_requests: int) -> None:
        self.on_rate(answered_requests * self._inputs_per_request / RATE_INTERVAL_S)

    @property
    def _task(self) -> Task:
        return TASKS.get(self.load.task) or Task(self.load.task, "/")

    @property
    def _route(self) -> str:
        return self.load.route or self._task.route

    @property
    def _inputs_per_request(self) -> int:
        return int(self.load.inputs_per_request or self.point.settings.get("inputs_per_request") or 1)

    @property
    def _k6_cores(self) -> list[int] | None:
        return cores(self.load.cpus)

    @property
    def _is_local(self) -> bool:
        """Whether what the monitor sees of this machine says anything of the server."""
        host = urllib.parse.urlsplit(self.endpoint.url).hostname or ""
        return bool(self.target.process_ids()) or host in ("localhost", "127.0.0.1", "::1")

    @property
    def _competes(self) -> bool:
        if not self._is_local:
            return False
        usable = os.sched_getaffinity(0)
        of_server = set(self.endpoint.description.get("cpus") or usable)
        return bool(of_server & set(self._k6_cores or usable))

    @contextlib.contextmanager
    def _on_the_cores_of_k6(self) -> Iterator[None]:
        """Keep this thread, and the monitor that it starts, from the cores that are the server's alone."""
        before = os.sched_getaffinity(0)
        if self._k6_cores:
            os.sched_setaffinity(0, self._k6_cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


class _Pulse:
    """Called while k6 runs: goes on to *keep_on*, and once a second tells how many requests were answered in it."""

    def __init__(self, keep_on: Callable[[], None], samples: Path, report: Callable[[int], None]) -> None:
        self._keep_on, self._samples, self._report = keep_on, samples, report
        self._read, self._due = 0, time.monotonic() + RATE_INTERVAL_S

    def __call__(self) -> None:
        self._keep_on()
        if time.monotonic() < self._due:
            return
        self._due += RATE_INTERVAL_S
        with contextlib.suppress(OSError), self._samples.open("rb") as stream:
            stream.seek(self._read)
            content = stream.read()
            self._read += len(content)
            if self._read:  # k6 writes once a second; before the first time nothing is known
                self._report(content.count(b"\nanswered_inputs,"))


def _outcome(status: int | None, summary: Any, log: str) -> Outcome:
    """How the load ended: k6's own status, and whether anything was answered at all."""
    if status is None:
        return Outcome(1, problem="k6 did not end in time and was stopped")
    try:
        headline = k6.headline(summary)
    except ValueError as error:
        return Outcome(status or 1, problem=f"k6 wrote no usable summary ({error}): {_last_line(log)}")
    if headline.answered_inputs == 0:
        requests = f"{headline.requests:,} requests" if headline.requests != 1 else "1 request"
        return Outcome(1, 0.0, None, f"none of {requests} was answered right")
    problem = None
    if status == THRESHOLD_CROSSED:
        problem = "a threshold of the k6 script was crossed"
    elif status:
        problem = f"k6 failed with exit status {status}"
    return Outcome(status, headline.throughput, headline.p95_ms, problem)


def _last_line(log: str) -> str:
    return (log.strip().splitlines() or ["no output"])[-1][:200]


def _read_json(path: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
