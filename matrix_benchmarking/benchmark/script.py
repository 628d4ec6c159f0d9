"""A point that is measured by an arbitrary command: settings as arguments and environment, its outputs kept."""

from __future__ import annotations

import contextlib
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError
from ..filters import Scalar, exact
from . import processes, schema
from .environment import anonymous, start_end
from .expand import Point
from .file import fill, fill_model
from .run_directory import UTILIZATION, Outcome, write_json
from .targets.servers import Endpoint, Target

if TYPE_CHECKING:
    from .monitor import Monitor

DIRECTORY = "000__script"
TIMED_OUT = 124


class ScriptRunner:
    """Runs the *script*, settings not filled in yet, of each point; *context* gives what its templates may name."""

    def __init__(self, script: schema.Script, base: Path, context: Callable[[Point], Mapping[str, Scalar]]) -> None:
        self._script, self._base, self._context = script, base, context

    def prepare(self, point: Point, keep_on: Callable[[], None]) -> None:
        """Nothing needs to be there before the target starts."""

    def run(
        self,
        point: Point,
        directory: Path,
        endpoint: Endpoint | None,
        target: Target | None,
        keep_on: Callable[[], None],
    ) -> Outcome:
        url = endpoint.url if endpoint else None
        context = self._context(point)
        script = fill_model(self._script, context, "script_tpl", keep=("url", "test_dir"))
        command = command_of(self._script, context, url=url, test_dir=directory)
        output = directory / DIRECTORY
        output.mkdir()
        started = time.time()
        process = processes.GuardedProcess(
            command,
            directory=(self._base / script.directory).resolve() if script.directory else directory,
            output=output / "stdout.log",
            errors=output / "stderr.log",
            extra_environment=variables(point.all_settings, directory, url, target.process_ids() if target else ()),
        )
        watch: Monitor | None = None
        try:
            with contextlib.ExitStack() as stack:
                if script.monitor:
                    from .monitor import Monitor  # psutil is of an extra, which a plan and a command alone don't need

                    # The command's children are seen in the cores alone.
                    watched = {"script": process.first_ids(), "server": target.process_ids() if target else []}
                    watch = stack.enter_context(Monitor(watched))
                status = process.wait(None if script.timeout_s is None else float(script.timeout_s), keep_on)
        finally:
            process.stop()
        ended = time.time()
        if watch is not None:
            write_json(directory / UTILIZATION, watch.utilization({"start": started, "end": ended}))
        problem = None
        if status is None:
            status, problem = TIMED_OUT, f"the command ran longer than {script.timeout_s} s and was ended"
        elif status:
            problem = f"the command failed with exit status {status}{_last_line(output / 'stderr.log')}"
        said = {"command": [anonymous(word) for word in command], "shell": script.shell, "duration_s": ended - started}
        write_json(output / "command.json", said)
        write_json(directory / "test_start_end.json", start_end(started, ended))
        return Outcome(status, problem=problem)


def command_of(
    script: schema.Script, settings: Mapping[str, Scalar], url: str | None = None, test_dir: Path | None = None
) -> list[str]:
    """The command of a point, its *settings* filled in.

    In a line for a shell they are quoted, so that no setting is ever more than a word.
    """
    later = {"url": url, "test_dir": test_dir}
    context = {**settings, **{name: str(value) for name, value in later.items() if value is not None}}
    keep = {"url", "test_dir"} - context.keys()
    if script.shell:
        line = script.command if isinstance(script.command, str) else " ".join(script.command)
        quoted = {name: shlex.quote(exact(value)) for name, value in context.items()}
        return ["/bin/sh", "-c", str(fill(line, quoted, keep))]
    filled: list[str] = fill(_words(script.command), context, keep)
    return filled


def _words(command: list[str] | str) -> list[str]:
    try:
        words = shlex.split(command) if isinstance(command, str) else command
    except ValueError as error:
        raise ConfigError(f"script_tpl '{command}': {error}".lower()) from error
    if not words:
        raise ConfigError("script_tpl is empty: which command is to be run?")
    return words


def variables(
    settings: Mapping[str, Scalar], directory: Path, url: str | None, processes_of_target: Sequence[int] = ()
) -> dict[str, str]:
    """Environment variables of a script: ``MATBENCH_SETTING_<NAME>`` for each setting, the test directory, the URL, and
    the ids of the target's processes, where they are on this machine.
    """
    named = {f"MATBENCH_SETTING_{re.sub(r'[^A-Za-z0-9_]', '_', n).upper()}": exact(v) for n, v in settings.items()}
    known = {"MATBENCH_URL": url, "MATBENCH_TARGET_PROCESSES": ",".join(map(str, processes_of_target))}
    return {**named, "MATBENCH_TEST_DIR": str(directory), **{name: value for name, value in known.items() if value}}


def _last_line(log: Path) -> str:
    lines: Sequence[str] = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f": {anonymous(lines[-1])[:200]}" if lines else ""
