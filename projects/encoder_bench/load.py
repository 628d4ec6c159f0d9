"""encoder_bench's load driver: reference answers, a warm-up, k6 under the monitor, whether the answers are right."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import pydantic
from pydantic import Field

from matrix_benchmarking.benchmark import processes, schema
from matrix_benchmarking.benchmark.campaign import make_target
from matrix_benchmarking.benchmark.environment import anonymous
from matrix_benchmarking.benchmark.load_driver import (
    Limits,
    LoadDriver,
    LoadSection,
    PlanOfPoints,
    PointRun,
    Window,
    check_extra,
)
from matrix_benchmarking.benchmark.plan import target_key
from matrix_benchmarking.benchmark.run_directory import OWN_DIRECTORY, Outcome, Point, ServerLog, write_json, write_text
from matrix_benchmarking.benchmark.targets import Endpoint, cores
from matrix_benchmarking.config import Section
from matrix_benchmarking.errors import ConfigError, did_you_mean
from matrix_benchmarking.filters import Scalar

from . import answers, k6
from .inputs import Input, InputsFile, digest, name_of, read_source, write_inputs
from .k6 import TASKS, Task
from .visualizations.models import MOST_FAILED

LoadSeconds = Annotated[float, Field(ge=1)] | schema.Template
"""k6 runs nothing for less than a second."""

WarmUpSeconds = Literal[0] | LoadSeconds
Rate = Annotated[float, Field(gt=0)] | schema.Template


class Load(LoadSection):
    """How a point is loaded: by ``vus`` virtual users for a time or a number of requests, or at a rate.

    Attributes:
        task: ``embedding``, ``classification`` or ``vision_embedding``.
        route: where requests are posted to; the task's usual route where left out.
        model: name of the model in the requests.
        inputs: file of texts (one a line), .jsonl of ``{"input": …, "label": …}``, directory of images, or ``{file: …,
            column: …, label: …}``, a .parquet, .csv or .jsonl; ``hf://datasets/owner/name/path`` is fetched.
        inputs_per_request: texts or images in a request.
        vus: virtual users, each with one request in flight; with a rate, the most that may be used.
        duration_s: how long the load is, not counting the warm-up; at least a second.
        requests: a fixed number of requests, shared by the virtual users, in at most ``duration_s``.
        rate: requests per second, sent whether or not earlier ones were answered (the open model).
        warm_up_s: uncounted load before it; none with 0.
        request_timeout_s: a request that takes longer has failed.
        cpus: the cores that k6 may use.
        script: an own k6 script instead of ours; it gets the same environment.
    """

    task: str = "{task}"
    route: str | None = None
    model: str = "{model}"
    inputs: str | InputsFile
    inputs_per_request: schema.Count | None = None
    vus: schema.Count = "{vus}"
    duration_s: LoadSeconds = 30.0
    requests: schema.Count | None = None
    rate: Rate | None = None
    warm_up_s: WarmUpSeconds = 5.0
    request_timeout_s: schema.Seconds = 60.0
    cpus: schema.Cores | None = None
    script: str | None = None

    def check(self) -> None:
        if self.script is None and self.task not in TASKS:
            raise ConfigError(f"load.task: there is no task '{self.task}': {did_you_mean(self.task, TASKS)}")
        if self.rate is not None and self.requests is not None:
            raise ConfigError("load has both rate and requests: which of them ends it?")

    def expected_s(self) -> float:
        return float(self.duration_s) + float(self.warm_up_s) + OVERHEAD_S


class Reference(Section):
    """What the answers are compared with: a file of answers, or the engine at these settings.

    Attributes:
        settings: settings that, put over those of a point, give the reference engine, as {image: onnx-fp32}.
        file: answers kept before.
    """

    settings: dict[str, Scalar] | None = None
    file: str | None = None

    @pydantic.model_validator(mode="after")
    def _exactly_one(self) -> Reference:
        if (self.settings is None) == (self.file is None):
            raise ValueError("exactly one of settings and file")
        return self


class Answers(Section):
    """Whether the answers are right.

    Attributes:
        reference: what they are compared with.
        inputs: how many of the load's inputs are asked for it; none with 0.
        keep: how many of the answers are kept in the test directory.
    """

    reference: Reference | None = None
    inputs: Annotated[int, Field(ge=0)] = 64
    keep: Annotated[int, Field(ge=0)] = 4


INPUTS_DIRECTORY, REFERENCES_DIRECTORY = f"{OWN_DIRECTORY}/inputs", f"{OWN_DIRECTORY}/references"
K6_DIRECTORY, ANSWERS_DIRECTORY = "002__k6__run", "003__fidelity"
SAMPLES_FILE, WARM_UP_LOG, GENERATOR_FILE = ".samples.csv", "warm_up.log", "load_generator.json"
THRESHOLD_CROSSED = 99
RATE_INTERVAL_S = 1.0
OVERHEAD_S = 1.5


class K6Driver(LoadDriver):
    """Measures points with k6."""

    sections: ClassVar = {"load": Load, "answers": Answers}
    finds_throughput = True
    unit = "inputs/s"
    most_failed = MOST_FAILED

    def __init__(self, plan: PlanOfPoints, limits: Limits, on_rate: Callable[[float], None]) -> None:
        super().__init__(plan, limits, on_rate)
        check_extra()
        self.k6 = k6.find_k6()
        self.versions = {"k6": k6.k6_version(self.k6)}
        self._inputs: dict[str | InputsFile, tuple[Sequence[Input], str]] = {}
        self._answers = _answers(plan)
        self._references = _References(plan, limits, self._answers.reference)
        for point in plan.samples():
            load = load_of(plan, point)
            self.inputs(load)
            processes.check_cores(cores(load.cpus))
            if load.script is not None and not (plan.base / load.script).is_file():
                raise k6.K6Error(f"the k6 script {plan.base / load.script} does not exist")

    @classmethod
    def reads(cls, plan: PlanOfPoints) -> Collection[str]:
        return () if getattr(plan.load, "inputs_per_request", None) else ("inputs_per_request",)

    def prepare(self, point: Point, keep_on: Callable[[], None]) -> None:
        """Ask the reference engine of the point, where its answers are not known yet."""
        self._references.prepare(point, self._asked(load_of(self.plan, point)), keep_on)

    def run(self, run: PointRun) -> Outcome:
        load = load_of(self.plan, run.point)
        loaded = _LoadRun(self, run, load)
        outcome = loaded.load_it()
        if outcome.exit_code == 0:
            asked = self._asked(load)
            loaded.check_answers(asked, self._references.of(run.point, asked), self._answers.keep)
            run.still_there()
        return outcome

    def inputs(self, load: Load) -> tuple[Sequence[Input], str]:
        """The inputs of *load*, read once, and their digest."""
        if load.inputs not in self._inputs:
            found = read_source(load.inputs, self.plan.base)
            self._inputs[load.inputs] = found, digest(found)
        return self._inputs[load.inputs]

    def _asked(self, load: Load) -> Sequence[Input]:
        """Those that are asked again, to see whether the answers are right."""
        return self.inputs(load)[0][: self._answers.inputs]


class _LoadRun:
    """The load of one point on its target."""

    def __init__(self, driver: K6Driver, run: PointRun, load: Load) -> None:
        assert run.endpoint is not None
        self._driver, self._run, self._load, self._endpoint = driver, run, load, run.endpoint
        self._cores = cores(load.cpus)
        self._task = _task(load)
        self._planned = _planned(load, run.point, driver.plan.base)
        self._inputs_per_request = self._planned.inputs_per_request

    def load_it(self) -> Outcome:
        """Warm up, put the load on, and write what k6 saw."""
        output = self._run.directory / K6_DIRECTORY
        output.mkdir()
        self._warm_up(output / WARM_UP_LOG)
        samples, summary, log = output / SAMPLES_FILE, output / "summary.json", output / "k6.log"
        load = self._k6_load("load", self._planned)
        inputs, known_by = self._driver.inputs(self._load)
        recorded = k6.recorded(load, self._driver.versions["k6"], name_of(self._load.inputs), len(inputs), known_by)
        competes = {"cpus": self._cores, "competes_with_server": self._run.competes(self._cores)}
        write_json(output / GENERATOR_FILE, recorded | competes)
        windows: list[Window] = []

        def window(started: float, ended: float) -> Window:
            windows.append(k6.load_window(_read_json(summary), started, ended))
            return windows[0]

        try:
            status = self._run.measure(
                "k6",
                lambda: self._start(load, log, samples, summary),
                cpus=self._cores,
                timeout_s=load.longest_s,
                window=window,
                tick=_Pulse(self._run.still_there, samples, self._report),
            )
            if samples.exists():
                write_json(output / "timeseries.json", k6.time_series(k6.read_samples(samples), windows[0]))
        finally:
            samples.unlink(missing_ok=True)
        text = anonymous(log.read_text(encoding="utf-8", errors="replace"), self._endpoint.headers.values())
        write_text(log, k6.shortened(text))
        return _outcome(status, _read_json(summary), text)

    def check_answers(self, asked: Sequence[Input], reference: answers.ReferenceAnswers | None, keep: int) -> None:
        """Ask some inputs again, as many at a time as under load, and compare the answers."""
        if not asked or self._load.task not in TASKS:
            return
        given = _ask(self._endpoint, self._load, asked, self._inputs_per_request, int(self._load.vus))
        is_classification = self._task.name == "classification"
        check = answers.compare(given, [each.label for each in asked], reference, is_classification)
        write_json(self._run.directory / ANSWERS_DIRECTORY / "fidelity.json", check)
        if keep:
            write_json(self._run.directory / ANSWERS_DIRECTORY / "answers.json", answers.kept(given, keep))

    def _warm_up(self, log: Path) -> None:
        """Put on a load that nobody counts."""
        duration_s = float(self._load.warm_up_s)
        if duration_s <= 0:
            return
        warm_up = dataclasses.replace(self._planned, duration_s=duration_s, requests=None, rate=None)
        load = self._k6_load("warm-up", warm_up)
        process = self._start(load, log, None, None)
        try:
            status = process.wait(load.longest_s, self._run.still_there)
        finally:
            process.stop()
        if status not in (0, THRESHOLD_CROSSED):
            how = "did not end in time" if status is None else f"failed with {processes.told_status(status)}"
            raise k6.K6Error(f"the warm-up {how}: {_last_line(log.read_text(encoding='utf-8', errors='replace'))}")
        log.unlink(missing_ok=True)

    def _k6_load(self, phase: str, load: k6.K6Load) -> k6.K6Load:
        driver = self._driver
        inputs, known_by = driver.inputs(self._load)
        file = driver.plan.root / INPUTS_DIRECTORY / f"{known_by[:16]}.jsonl"
        if not file.exists():
            write_inputs(inputs, file)
        # Each run begins at another input, so that no cache of the server's knows them all.
        place = zlib.crc32(repr((sorted(self._run.point.all_settings.items(), key=str), phase)).encode())
        url, headers, offset = self._endpoint.url, self._endpoint.headers, place % len(inputs)
        return dataclasses.replace(load, url=url, headers=headers, inputs=file, offset=offset)

    def _start(
        self, load: k6.K6Load, log: Path, samples: Path | None, summary: Path | None
    ) -> processes.GuardedProcess:
        return processes.GuardedProcess(
            k6.command(load, self._driver.k6, samples),
            directory=self._run.directory,
            output=log,
            extra_environment=k6.environment(load, summary),
            without_variables=k6.OWN_VARIABLES,
            cpus=self._cores,
            grace_s=5.0,
        )

    def _report(self, answered_requests: int) -> None:
        self._driver.on_rate(answered_requests * self._inputs_per_request / RATE_INTERVAL_S)


class _References:
    """The answers with which those of a plan's points are compared: from a file, or of an engine, which is asked once,
    one input at a time, its answers kept in the results directory.
    """

    def __init__(self, plan: PlanOfPoints, limits: Limits, wanted: Reference | None) -> None:
        self._plan, self._limits, self._wanted = plan, limits, wanted
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
            load = load_of(self._plan, engine)
            parts[:1] = [target_key(self._plan.target_of(engine)), load.task, load.model, load.route or ""]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _engine(self, point: Point) -> Point:
        assert self._wanted is not None
        return Point(point.experiment, {**point.settings, **(self._wanted.settings or {})}, 0)

    def _ask(self, point: Point, inputs: Sequence[Input], path: Path, keep_on: Callable[[], None]) -> None:
        assert self._wanted is not None
        engine = self._engine(point)
        spec, load = self._plan.target_of(engine), load_of(self._plan, engine)
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


def load_of(plan: PlanOfPoints, point: Point) -> Load:
    """The point's load, its settings filled in."""
    load = plan.load_of(point)
    assert isinstance(load, Load)
    return load


def _planned(load: Load, point: Point, base: Path) -> k6.K6Load:
    """The *load* of *point* as k6 gets it, but for what is known only when it is run."""
    task = _task(load)
    return k6.K6Load(
        task=task,
        url="",
        route=load.route or task.route,
        model=load.model,
        inputs=Path(),
        inputs_per_request=int(load.inputs_per_request or point.settings.get("inputs_per_request") or 1),
        vus=int(load.vus),
        duration_s=float(load.duration_s),
        requests=None if load.requests is None else int(load.requests),
        rate=None if load.rate is None else float(load.rate),
        request_timeout_s=float(load.request_timeout_s),
        script=base / load.script if load.script else None,
    )


def _answers(plan: PlanOfPoints) -> Answers:
    found = plan.section("answers")
    return found if isinstance(found, Answers) else Answers()


def _task(load: Load) -> Task:
    return TASKS.get(load.task) or Task(load.task, "/")


def _ask(
    endpoint: Endpoint, load: Load, inputs: Sequence[Input], inputs_per_request: int, concurrency: int
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


def _outcome(status: int | None, summary: object, log: str) -> Outcome:
    """How the load ended: k6's own status, and whether anything was answered at all."""
    if status is None:
        return Outcome(1, problem="k6 did not end in time and was stopped")
    try:
        headline = k6.headline(summary)
    except ValueError as error:
        how = f"failed with {processes.told_status(status)} and " if status else ""
        return Outcome(status or 1, problem=f"k6 {how}wrote no usable summary ({error}): {_last_line(log)}")
    if headline.answered_inputs == 0:
        requests = f"{headline.requests:,} requests" if headline.requests != 1 else "1 request"
        return Outcome(1, 0.0, None, f"none of {requests} was answered right")
    problem = None
    if status == THRESHOLD_CROSSED:
        problem = "a threshold of the k6 script was crossed"
    elif status:
        problem = f"k6 failed with {processes.told_status(status)}"
    return Outcome(status, headline.throughput, headline.p95_ms, problem, error_rate=headline.error_rate)


def _last_line(log: str) -> str:
    return (log.strip().splitlines() or ["no output"])[-1][:200]


def _read_json(path: Path) -> Mapping[str, object] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
