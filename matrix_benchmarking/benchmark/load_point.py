"""Points that are measured by a load: which inputs, which reference, and what becomes of each point."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from . import processes, schema
from .expand import Point
from .limits import Limits
from .load import k6
from .load.inputs import Input, digest, read_inputs, write_inputs
from .load_run import K6_DIRECTORY, LoadRun
from .plan import Plan
from .references import References
from .run_directory import OWN_DIRECTORY, Outcome
from .targets.base import Endpoint, Target, TargetError
from .targets.process import cores

INPUTS_DIRECTORY = f"{OWN_DIRECTORY}/inputs"


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
        self._plan, self._on_rate = plan, on_rate
        self._k6 = k6.find_k6()
        self.k6_version = k6.k6_version(self._k6)
        self._inputs: dict[Path, Sequence[Input]] = {}
        self._references = References(plan, limits)
        for point in (*plan.points, *(case.point(case.range.start, 0) for case in plan.searches)):
            load = plan.load_of(point)
            self.inputs(load)
            processes.check_cores(cores(load.cpus))
            if load.script is not None and not (plan.base / load.script).is_file():
                raise k6.K6Error(f"the k6 script {plan.base / load.script} does not exist")

    def prepare(self, point: Point, keep_on: Callable[[], None]) -> None:
        """Ask the reference engine of the point, where its answers are not known yet."""
        self._references.prepare(point, self.asked(self._plan.load_of(point)), keep_on)

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
        load = self._plan.load_of(point)
        run = LoadRun(
            point=point,
            load=load,
            inputs=self._file_of(load),
            source=self._plan.base / load.inputs,
            count=len(self.inputs(load)),
            digest=digest(self.inputs(load)),
            base=self._plan.base,
            endpoint=endpoint,
            target=target,
            directory=directory,
            k6_program=self._k6,
            k6_version=self.k6_version,
            on_rate=self._on_rate,
            keep_on=keep_on,
        )
        run.write_server()
        (directory / K6_DIRECTORY).mkdir()
        try:
            run.warm_up()
            outcome = run.load_it()
            if outcome.exit_code == 0:
                asked = self.asked(load)
                run.check_answers(asked, self._references.of(point, asked), self._answers.keep)
                target.check()
        except TargetError as error:
            return Outcome(1, problem=str(error))
        return outcome

    def inputs(self, load: schema.Load) -> Sequence[Input]:
        """The inputs of *load*, read once."""
        path = self._plan.base / load.inputs
        if path not in self._inputs:
            self._inputs[path] = read_inputs(path)
        return self._inputs[path]

    def asked(self, load: schema.Load) -> Sequence[Input]:
        """Those that are asked again, to see whether the answers are right."""
        return self.inputs(load)[: self._answers.inputs]

    @property
    def _answers(self) -> schema.Answers:
        return self._plan.file.answers or schema.Answers()

    def _file_of(self, load: schema.Load) -> Path:
        """The inputs of *load* as k6 reads them."""
        inputs = self.inputs(load)
        path = self._plan.root / INPUTS_DIRECTORY / f"{digest(inputs)[:16]}.jsonl"
        if not path.exists():
            write_inputs(inputs, path)
        return path
