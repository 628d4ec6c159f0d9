"""Points that are measured by a load of k6: inputs, reference answers, warm-up, load under the monitor, answers."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import processes, schema
from .campaign import Limits
from .environment import anonymous, start_end
from .expand import Point
from .load import answers, k6
from .load.inputs import TASKS, Input, Task, digest, read_inputs, write_inputs
from .monitor import Monitor
from .plan import Plan, target_key
from .run_directory import OWN_DIRECTORY, UTILIZATION, Outcome, ServerLog, write_json, write_text
from .targets import make_target
from .targets.servers import Endpoint, Target, TargetError, cores

INPUTS_DIRECTORY, REFERENCES_DIRECTORY = f"{OWN_DIRECTORY}/inputs", f"{OWN_DIRECTORY}/references"
SERVER_DIRECTORY, K6_DIRECTORY, ANSWERS_DIRECTORY = "000__server", "002__k6__run", "003__fidelity"
SAMPLES_FILE, WARM_UP_LOG = ".samples.csv", "warm_up.log"
THRESHOLD_CROSSED = 99
RATE_INTERVAL_S = 1.0


class LoadRunner:
    """Measures points with k6.

    Args:
        plan: the plan whose points are measured.
        limits: whose meter runs while a reference engine does.
        on_rate: gets the throughput of each second, in inputs per second.

    Raises:
        MatbenchError: there is no k6, or the inputs, the script or the cores are not there.
    """

    def __init__(self, plan: Plan, limits: Limits, on_rate: Callable[[float], None]) -> None:
        self.plan, self.on_rate = plan, on_rate
        self.k6 = k6.find_k6()
        self.k6_version = k6.k6_version(self.k6)
        self._inputs: dict[Path, tuple[Sequence[Input], str]] = {}
        self._references = _References(plan, limits)
        self._answers = plan.file.answers or schema.Answers()
        for point in plan.samples():
            load = plan.load_of(point)
            self.inputs(load)
            processes.check_cores(cores(load.cpus))
            if load.script is not None and not (plan.base / load.script).is_file():
                raise k6.K6Error(f"the k6 script {plan.base / load.script} does not exist")

    def prepare(self, point: Point, keep_on: Callable[[], None]) -> None:
        """Ask the reference engine of the point, where its answers are not known yet."""
        self._references.prepare(point, self._asked(self.plan.load_of(point)), keep_on)

    def run(
        self,
        point: Point,
        directory: Path,
        endpoint: Endpoint | None,
        target: Target | None,
        keep_on: Callable[[], None],
    ) -> Outcome:
        assert endpoint is not None
        assert target is not None
        load = self.plan.load_of(point)
        run = _LoadRun(self, point, load, directory, endpoint, target, keep_on)
        try:
            outcome = run.load_it()
            if outcome.exit_code == 0:
                asked = self._asked(load)
                run.check_answers(asked, self._references.of(point, asked), self._answers.keep)
                target.check()
        except TargetError as error:
            return Outcome(1, problem=str(error))
        return outcome

    def inputs(self, load: schema.Load) -> tuple[Sequence[Input], str]:
        """The inputs of *load*, read once, and their digest."""
        path = self.plan.base / load.inputs
        if path not in self._inputs:
            found = read_inputs(path)
            self._inputs[path] = found, digest(found)
        return self._inputs[path]

    def _asked(self, load: schema.Load) -> Sequence[Input]:
        """Those that are asked again, to see whether the answers are right."""
        return self.inputs(load)[0][: self._answers.inputs]


class _LoadRun:
    """The load of one point on its target."""

    def __init__(
        self,
        runner: LoadRunner,
        point: Point,
        load: schema.Load,
        directory: Path,
        endpoint: Endpoint,
        target: Target,
        keep_on: Callable[[], None],
    ) -> None:
        self._runner, self._point, self._load, self._directory = runner, point, load, directory
        self._endpoint, self._target, self._keep_on = endpoint, target, keep_on
        self._cores = cores(load.cpus)
        self._task = _task(load)
        self._inputs_per_request = int(load.inputs_per_request or point.settings.get("inputs_per_request") or 1)
        host = urllib.parse.urlsplit(endpoint.url).hostname or ""
        # Whether what the monitor sees of this machine says anything of the server.
        self._is_local = bool(target.process_ids()) or host in ("localhost", "127.0.0.1", "::1")

    def load_it(self) -> Outcome:
        """Warm up, put the load on, and write what is known of the target and what k6 and the monitor saw."""
        description = {"url": self._endpoint.url, **self._endpoint.description, "local": self._is_local}
        write_json(self._directory / SERVER_DIRECTORY / "server.json", description)
        output = self._directory / K6_DIRECTORY
        output.mkdir()
        self._warm_up(output / WARM_UP_LOG)
        samples, summary, log = output / SAMPLES_FILE, output / "summary.json", output / "k6.log"
        load = self._k6_load(self._users(), "load")
        inputs, known_by = self._runner.inputs(self._load)
        source = self._runner.plan.base / self._load.inputs
        recorded = k6.recorded(load, self._runner.k6_version, source, len(inputs), known_by)
        competes = {"cpus": self._cores, "competes_with_server": self._competes()}
        write_json(output / "load_generator.json", recorded | competes)
        started = time.time()
        try:
            with self._on_the_cores_of_k6():
                process = self._start(load, log, samples, summary)
                try:
                    watched = {"k6": process.first_ids(), "server": self._target.process_ids()}
                    with Monitor(watched) as watch:
                        status = process.wait(load.longest_s, _Pulse(self._still_there, samples, self._report))
                finally:
                    process.stop()
            content = _read_json(summary)
            window = k6.load_window(content, started, time.time())
            write_json(self._directory / UTILIZATION, watch.utilization(window))
            write_json(self._directory / "test_start_end.json", start_end(window["start"], window["end"]))
            if samples.exists():
                write_json(output / "timeseries.json", k6.time_series(k6.read_samples(samples), window))
        finally:
            samples.unlink(missing_ok=True)
        text = anonymous(log.read_text(encoding="utf-8", errors="replace"), self._endpoint.headers.values())
        write_text(log, k6.shortened(text))
        return _outcome(status, content, text)

    def check_answers(self, asked: Sequence[Input], reference: answers.ReferenceAnswers | None, keep: int) -> None:
        """Ask some inputs again, as many at a time as under load, and compare the answers."""
        if not asked or self._load.task not in TASKS:
            return
        given = _ask(self._endpoint, self._load, asked, self._inputs_per_request, int(self._load.vus))
        is_classification = self._task.name == "classification"
        check = answers.compare(given, [each.label for each in asked], reference, is_classification)
        write_json(self._directory / ANSWERS_DIRECTORY / "fidelity.json", check)
        if keep:
            write_json(self._directory / ANSWERS_DIRECTORY / "answers.json", answers.kept(given, keep))

    def _warm_up(self, log: Path) -> None:
        """Put on a load that nobody counts."""
        duration_s = float(self._load.warm_up_s)
        if duration_s <= 0:
            return
        load = self._k6_load(k6.Closed(int(self._load.vus), duration_s), "warm-up")
        process = self._start(load, log, None, None)
        try:
            status = process.wait(load.longest_s, self._still_there)
        finally:
            process.stop()
        if status not in (0, THRESHOLD_CROSSED):
            raise k6.K6Error(f"the warm-up failed: {_last_line(log.read_text(encoding='utf-8', errors='replace'))}")
        log.unlink(missing_ok=True)

    def _k6_load(self, users: k6.Model, phase: str) -> k6.K6Load:
        runner, load = self._runner, self._load
        inputs, known_by = runner.inputs(load)
        file = runner.plan.root / INPUTS_DIRECTORY / f"{known_by[:16]}.jsonl"
        if not file.exists():
            write_inputs(inputs, file)
        # Each run begins at another input, so that no cache of the server's knows them all.
        place = zlib.crc32(repr((sorted(self._point.all_settings.items(), key=str), phase)).encode())
        return k6.K6Load(
            task=self._task,
            url=self._endpoint.url,
            route=load.route or self._task.route,
            model=load.model,
            inputs=file,
            inputs_per_request=self._inputs_per_request,
            users=users,
            request_timeout_s=float(load.request_timeout_s),
            headers=self._endpoint.headers,
            offset=place % len(inputs),
            script=runner.plan.base / load.script if load.script else None,
        )

    def _users(self) -> k6.Model:
        vus, duration_s = int(self._load.vus), float(self._load.duration_s)
        if self._load.rate is not None:
            return k6.Open(float(self._load.rate), duration_s, vus)
        if self._load.requests is not None:
            return k6.SharedIterations(vus, int(self._load.requests), duration_s)
        return k6.Closed(vus, duration_s)

    def _start(
        self, load: k6.K6Load, log: Path, samples: Path | None, summary: Path | None
    ) -> processes.GuardedProcess:
        return processes.GuardedProcess(
            k6.command(load, self._runner.k6, samples),
            directory=self._directory,
            output=log,
            extra_environment=k6.environment(load, summary),
            without_variables=k6.OWN_VARIABLES,
            cpus=self._cores,
            grace_s=5.0,
        )

    def _still_there(self) -> None:
        self._keep_on()
        self._target.check()

    def _report(self, answered_requests: int) -> None:
        self._runner.on_rate(answered_requests * self._inputs_per_request / RATE_INTERVAL_S)

    def _competes(self) -> bool:
        usable = os.sched_getaffinity(0)
        of_server = set(self._endpoint.description.get("cpus") or usable)
        return self._is_local and bool(of_server & set(self._cores or usable))

    @contextlib.contextmanager
    def _on_the_cores_of_k6(self) -> Iterator[None]:
        """Keep this thread, and the monitor that it starts, from the cores that are the server's alone."""
        before = os.sched_getaffinity(0)
        if self._cores:
            os.sched_setaffinity(0, self._cores)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)


class _References:
    """The answers with which those of a plan's points are compared: from a file, or of an engine, which is asked once,
    one input at a time, its answers kept in the results directory.
    """

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self._plan, self._limits = plan, limits
        self._wanted = plan.file.answers.reference if plan.file.answers else None
        self._known: dict[str, answers.ReferenceAnswers] = {}

    def of(self, point: Point, inputs: Sequence[Input]) -> answers.ReferenceAnswers | None:
        """The reference of *point*, which :meth:`prepare` has asked; None where the file names none."""
        return self._known[self._key(point, inputs)] if self._wanted and inputs else None

    def prepare(self, point: Point, inputs: Sequence[Input], keep_on: Callable[[], None]) -> None:
        """Read the reference of *point*, or start its engine and ask.

        Raises:
            MatbenchError: the file can't be used, or the reference engine can't be started or doesn't answer right.
        """
        if self._wanted is None or not inputs or (key := self._key(point, inputs)) in self._known:
            return
        texts = [each.input for each in inputs]
        path = self._plan.base / (self._wanted.file or "")
        if self._wanted.file is None:
            path = self._plan.root / REFERENCES_DIRECTORY / f"{key[:16]}.json"
            if not path.exists():
                self._ask(point, inputs, path, keep_on)
        self._known[key] = answers.read_reference(path, texts)

    def _key(self, point: Point, inputs: Sequence[Input]) -> str:
        """A digest of all that the reference answers depend on."""
        assert self._wanted is not None
        parts = [self._wanted.file or "", hashlib.sha256("\0".join(each.input for each in inputs).encode()).hexdigest()]
        if self._wanted.file is None:
            engine = self._engine(point)
            load = self._plan.load_of(engine)
            parts[:1] = [target_key(self._plan.target_of(engine)), load.task, load.model, load.route or ""]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _engine(self, point: Point) -> Point:
        assert self._wanted is not None
        return Point(point.experiment, {**point.settings, **(self._wanted.settings or {})}, 0)

    def _ask(self, point: Point, inputs: Sequence[Input], path: Path, keep_on: Callable[[], None]) -> None:
        assert self._wanted is not None
        engine = self._engine(point)
        spec, load = self._plan.target_of(engine), self._plan.load_of(engine)
        assert spec is not None
        price = self._plan.usd_per_hour(spec, engine.settings)
        target = make_target(spec, self._plan.base, self._plan.root, price)
        try:
            self._limits.start_meter(price)
            endpoint = target.start(ServerLog(self._plan.root / REFERENCES_DIRECTORY).path, keep_on)
            asked = _ask(endpoint, load, inputs, inputs_per_request=1, concurrency=1)
        finally:
            target.stop()
            self._limits.stop_meter()
        name = ", ".join(f"{name} {value}" for name, value in (self._wanted.settings or {}).items())
        answers.write_reference(path, name, load.task, load.model, [each.input for each in inputs], asked)


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


def _task(load: schema.Load) -> Task:
    return TASKS.get(load.task) or Task(load.task, "/")


def _ask(
    endpoint: Endpoint, load: schema.Load, inputs: Sequence[Input], inputs_per_request: int, concurrency: int
) -> list[answers.Answer]:
    task = _task(load)
    return answers.ask(
        endpoint.url,
        load.route or task.route,
        task,
        load.model,
        [each.input for each in inputs],
        inputs_per_request=inputs_per_request,
        concurrency=concurrency,
        headers=endpoint.headers,
        timeout_s=float(load.request_timeout_s),
    )


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
