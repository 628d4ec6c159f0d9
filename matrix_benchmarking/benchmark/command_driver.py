"""The load driver that runs any command for each point."""

from __future__ import annotations

import re
import shlex
import shutil
import time
import urllib.parse
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..config import Section
from ..errors import ConfigError
from ..filters import Scalar, exact
from . import processes
from .environment import anonymous
from .load_driver import Limits, LoadDriver, PlanOfPoints, PointRun, Window, check_extra
from .run_directory import Outcome, Point, write_json
from .schema import Command, Script, fill, named_in
from .targets import cores

DIRECTORY = "000__script"
COMMAND_FILE = "command.json"
TIMED_OUT = 124


class CommandDriver(LoadDriver):
    """Runs a command for each point, and keeps its outputs and the files that it leaves."""

    sections: ClassVar = {"load": Command}
    needs_target = False
    later = ("url", "port", "test_dir")

    def __init__(self, plan: PlanOfPoints, limits: Limits, on_rate: Callable[[float], None]) -> None:
        super().__init__(plan, limits, on_rate)
        self._script = _command(plan.load)
        if plan.target is not None or self._script.monitor:
            check_extra()
        for point in plan.samples():
            processes.check_cores(cores(_command(plan.load_of(point)).cpus))

    @classmethod
    def describe(cls, plan: PlanOfPoints, point: Point) -> dict[str, Any]:
        script = _command(plan.load)
        later = named_in([script.command, script.warm_up]) & {"url", "port"}
        if later and plan.target is None:
            raise ConfigError(f"the command names {{{min(later)}}}, and the file has no target")
        return {"command": command_of(script, plan.context(point))}

    @classmethod
    def reads(cls, plan: PlanOfPoints) -> Collection[str]:
        """A command that names no setting in braces is taken to read its environment, which has them all."""
        script = _command(plan.load)
        settings = {name for point in plan.samples() for name in point.settings}
        if not named_in(script.model_dump()) & settings:
            return settings
        words = str((script.command, script.warm_up))
        return {name for name in settings if _variable(name) in words}

    def run(self, run: PointRun) -> Outcome:
        script, later = _command(self.plan.load_of(run.point)), _known_now(run)
        place = (self.plan.base / script.directory).resolve() if script.directory else run.directory
        output, cpus = run.directory / DIRECTORY, cores(script.cpus)
        output.mkdir()
        timeout_s = None if script.timeout_s is None else float(script.timeout_s)

        def start(words: Sequence[str], log: str, errors: str | None = None) -> processes.GuardedProcess:
            return processes.GuardedProcess(
                words,
                directory=place,
                output=output / log,
                errors=output / errors if errors else None,
                extra_environment=variables(run),
                cpus=cpus,
            )

        context = self.plan.context(run.point)
        if script.warm_up is not None:
            words = command_of(self._script.model_copy(update={"command": self._script.warm_up}), context, later)
            process = start(words, "warm_up.log")
            try:
                problem = _problem(process.wait(timeout_s, run.still_there), timeout_s, output / "warm_up.log")
            finally:
                process.stop()
            if problem is not None:
                return Outcome(1, problem=f"the warm-up {problem}")
        command = command_of(self._script, context, later)
        before, left = _stamps(script.results, place), {}
        began = time.time()

        def window(started: float, ended: float) -> Window:
            nonlocal left
            left = _stamps(script.results, place)  # before we write files of our own
            return {"start": min(started + float(script.warm_up_s), ended), "end": ended}

        status = run.measure(
            "script",
            lambda: start(command, "stdout.log", "stderr.log"),
            cpus=cpus,
            timeout_s=timeout_s,
            window=window,
            monitored=script.monitor,
        )
        said = {"command": [anonymous(word) for word in command], "shell": script.shell}
        said |= {"duration_s": time.time() - began, "cpus": cpus, "competes_with_server": run.competes(cpus)}
        write_json(output / COMMAND_FILE, said)
        run.still_there()  # a server that died is why the command failed
        problem = _problem(status, timeout_s, output / "stderr.log")
        if problem is not None:
            return Outcome(TIMED_OUT if status is None else status, problem=f"the command {problem}")
        written = [each for each in left if before.get(each) != left[each]]
        for pattern in script.results:
            if pattern not in dict(written):
                return Outcome(1, problem=f"the command left no file '{pattern}'")
        for path in {path for _, path in written if place != run.directory}:
            (run.directory / path.relative_to(place)).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, run.directory / path.relative_to(place))
        return Outcome(0)


def command_of(script: Command, settings: Mapping[str, Scalar], later: Mapping[str, str] | None = None) -> list[str]:
    """The command of a point, its *settings* filled in, and what is known only when it runs.

    In a line for a shell they are quoted, so that no setting is ever more than a word.
    """
    context = {**settings, **(later or {})}
    keep = set(CommandDriver.later) - context.keys()
    if script.shell:
        line = script.command if isinstance(script.command, str) else " ".join(script.command)
        quoted = {name: shlex.quote(exact(value)) for name, value in context.items()}
        return ["/bin/sh", "-c", str(fill(line, quoted, keep))]
    filled: list[str] = fill(_words(script), context, keep)
    return filled


def _command(load: Section) -> Command:
    assert isinstance(load, Command)
    return load


def _words(script: Command) -> list[str]:
    command, where = script.command, "script_tpl" if isinstance(script, Script) else "load.command"
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise ConfigError(f"{where} '{command}': {error}".lower()) from error
    if not words:
        raise ConfigError(f"{where} is empty: which command is to be run?")
    return words


def _known_now(run: PointRun) -> dict[str, str]:
    """What stands for :attr:`CommandDriver.later`."""
    known = {"test_dir": str(run.directory)}
    if run.endpoint is not None:
        parts = urllib.parse.urlsplit(run.endpoint.url)
        known |= {"url": run.endpoint.url, "port": str(parts.port or {"http": 80}.get(parts.scheme, 443))}
    return known


def variables(run: PointRun) -> dict[str, str]:
    """A command's environment variables: ``MATBENCH_SETTING_<NAME>`` for each setting, the test directory, the URL, and
    the ids of the target's processes, where they are on this machine.
    """
    settings = run.point.all_settings.items()
    named = {_variable(name): exact(value) for name, value in settings}
    if run.endpoint is not None:
        named["MATBENCH_URL"] = run.endpoint.url
    if run.target is not None and (ids := run.target.process_ids()):
        named["MATBENCH_TARGET_PROCESSES"] = ",".join(map(str, ids))
    return {**named, "MATBENCH_TEST_DIR": str(run.directory)}


def _variable(setting: str) -> str:
    return f"MATBENCH_SETTING_{re.sub(r'[^A-Za-z0-9_]', '_', setting).upper()}"


def _problem(status: int | None, timeout_s: float | None, log: Path) -> str | None:
    """What went wrong, with the last line of the *log*; None for success."""
    if status is None:
        return f"ran longer than {timeout_s} s and was ended"
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if status else []
    said = f": {anonymous(lines[-1])[:200]}" if lines else ""
    return f"failed with {processes.told_status(status)}{said}" if status else None


def _stamps(patterns: Sequence[str], place: Path) -> dict[tuple[str, Path], int]:
    """When the files of each pattern were last changed, by which those of an earlier run are known."""
    found = ((pattern, path) for pattern in patterns for path in sorted(place.glob(pattern)) if path.is_file())
    return {(pattern, path): path.stat().st_mtime_ns for pattern, path in found}
