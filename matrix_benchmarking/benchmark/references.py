"""Reference answers: those of a chosen engine, asked once, one input at a time, and kept in the results directory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from . import answers
from .expand import Point
from .limits import Limits
from .load.inputs import Input
from .load.tasks import TASKS
from .plan import Plan, target_key
from .run_directory import OWN_DIRECTORY
from .schema import Reference
from .server_log import ServerLog
from .targets import make_target

DIRECTORY = f"{OWN_DIRECTORY}/references"


class References:
    """The reference answers of a plan's points.

    Args:
        plan: the plan, whose file may say what the answers are compared with.
        limits: whose meter runs while a reference engine does.
    """

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self._plan, self._limits = plan, limits
        self._known: dict[str, answers.ReferenceAnswers] = {}

    def of(self, point: Point, inputs: Sequence[Input]) -> answers.ReferenceAnswers | None:
        """The reference of *point*, which :meth:`prepare` has asked; None where the file names none."""
        wanted = self._reference()
        return None if wanted is None or not inputs else self._known[self._key(wanted, point, inputs)]

    def prepare(self, point: Point, inputs: Sequence[Input], keep_on: Callable[[], None]) -> None:
        """Read the reference of *point*, or start its engine and ask.

        Raises:
            MatbenchError: the file can't be used, or the reference engine can't be started or doesn't answer right.
        """
        wanted = self._reference()
        if wanted is None or not inputs:
            return
        key = self._key(wanted, point, inputs)
        if key in self._known:
            return
        texts = [each.input for each in inputs]
        if wanted.file is not None:
            self._known[key] = answers.read_reference(self._plan.base / wanted.file, texts)
            return
        path = self._plan.root / DIRECTORY / f"{key[:16]}.json"
        if not path.exists():
            self._ask(wanted, point, inputs, path, keep_on)
        self._known[key] = answers.read_reference(path, texts)

    def _reference(self) -> Reference | None:
        return self._plan.file.answers.reference if self._plan.file.answers else None

    def _key(self, wanted: Reference, point: Point, inputs: Sequence[Input]) -> str:
        """A digest of all that the reference answers depend on."""
        texts = hashlib.sha256("\0".join(each.input for each in inputs).encode()).hexdigest()
        if wanted.file is not None:
            parts = [wanted.file, texts]
        else:
            engine = self._engine(wanted, point)
            load = self._plan.load_of(engine)
            parts = [target_key(self._plan.target_of(engine)), load.task, load.model, load.route or "", texts]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _engine(self, wanted: Reference, point: Point) -> Point:
        return Point(point.experiment, {**point.settings, **(wanted.settings or {})}, 0)

    def _ask(
        self, wanted: Reference, point: Point, inputs: Sequence[Input], path: Path, keep_on: Callable[[], None]
    ) -> None:
        engine = self._engine(wanted, point)
        spec, load = self._plan.target_of(engine), self._plan.load_of(engine)
        assert spec is not None
        price = self._plan.usd_per_hour(spec, engine.settings)
        target = make_target(spec, self._plan.base, self._plan.root, price)
        task = TASKS[load.task]
        try:
            self._limits.start_meter(price)
            endpoint = target.start(ServerLog(self._plan.root / DIRECTORY).path, keep_on)
            asked = answers.ask(
                endpoint.url,
                load.route or task.route,
                task,
                load.model,
                [each.input for each in inputs],
                inputs_per_request=1,
                concurrency=1,
                headers=endpoint.headers,
                timeout_s=float(load.request_timeout_s),
            )
        finally:
            target.stop()
            self._limits.stop_meter()
        name = ", ".join(f"{name} {value}" for name, value in (wanted.settings or {}).items())
        answers.write_reference(path, name, load.task, load.model, [each.input for each in inputs], asked)
