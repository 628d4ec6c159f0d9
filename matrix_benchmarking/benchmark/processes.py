"""Processes that never outlive the benchmark: each command runs below a guard (:mod:`.guard`).

Gets a command and where its output goes; gives a handle that is polled, waited for and stopped.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import MatbenchError, os_reason
from . import leftovers

GUARD = Path(__file__).with_name("guard.py")
SLOWEST_END_S = 10.0  # what the guard takes beyond the grace: TERM, then KILL
POLL_S = 0.05
START_S = 2.0  # what the guard takes at most until the command is there


class ProcessError(MatbenchError):
    """A command that can't be started."""


def environment(extra: Mapping[str, str] | None = None, without: str | None = None) -> dict[str, str]:
    """Our environment with the programs of this virtual environment before all others, and *extra*.

    Variables of ours that begin with *without* are left out.
    """
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    ours = {name: value for name, value in os.environ.items() if without is None or not name.startswith(without)}
    return {**ours, "PATH": path, **(extra or {})}


def which(program: str, directory: Path | None = None) -> str:
    """The path of *program*, looked for in this virtual environment first.

    Raises:
        ProcessError: there is none.
    """
    if os.sep in program:
        path = (directory or Path()) / program
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.absolute())
        raise ProcessError(f"'{path}' {'is not executable' if path.is_file() else 'does not exist'}")
    found = shutil.which(program, path=environment()["PATH"])
    if found is None:
        raise ProcessError(f"there is no program '{program}': install it, or check the command's spelling")
    return found


class GuardedProcess:
    """A running command that ends with us, however we end.

    Args:
        command: the command and its arguments; its program is looked for in this virtual environment first.
        directory: where it runs.
        output: file that gets its standard output, and its standard error unless *errors* is given.
        errors: file for its standard error.
        extra_environment: environment variables beside our own.
        without_variables: variables of ours that begin so are kept from the command.
        cpus: cores that it may use; all where None.
        grace_s: how long it may take to end by itself after an interrupt.

    Raises:
        ProcessError: there is no such program or directory, or the output can't be written.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        output: Path,
        errors: Path | None = None,
        extra_environment: Mapping[str, str] | None = None,
        without_variables: str | None = None,
        cpus: Sequence[int] | None = None,
        grace_s: float = 5.0,
    ) -> None:
        if not directory.is_dir():
            raise ProcessError(f"the directory '{directory}' of the command does not exist")
        check_cores(cpus)
        program = which(command[0], directory)
        cores = ",".join(map(str, cpus or ()))
        guarded = [sys.executable, "-I", "-S", str(GUARD), str(grace_s), cores, program, *command[1:]]
        self.grace_s = grace_s
        self._mark = leftovers.new_mark()
        self._is_over = False
        try:
            with contextlib.ExitStack() as stack:
                stdout = stack.enter_context(output.open("ab"))
                stderr = stack.enter_context(errors.open("ab")) if errors else subprocess.STDOUT
                self._guard = subprocess.Popen(
                    guarded,
                    cwd=directory,
                    env={**environment(extra_environment, without_variables), **self._mark},
                    stdin=subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
        except OSError as error:
            raise ProcessError(f"cannot start '{command[0]}': {os_reason(error)}") from error
        except ValueError as error:  # a NUL in a word or a variable
            raise ProcessError(f"cannot start '{command[0]}': {error}") from error

    def poll(self) -> int | None:
        """The exit status, 128 + the signal's number for a killed command; None while it runs."""
        status = self._guard.poll()
        if status is None:
            return None
        self._let_go()
        if status < 0 and not self._is_over:  # somebody killed the guard, which ends workers no more
            self._is_over = not leftovers.end_marked(self._mark[leftovers.MARK])
        return 128 - status if status < 0 else status

    def wait(self, timeout_s: float | None, keep_on: Callable[[], None] = lambda: None) -> int | None:
        """The exit status; None if the command runs longer than *timeout_s*. *keep_on* may raise to give up."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while deadline is None or time.monotonic() < deadline:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._guard.wait(POLL_S)
                return self.poll()
            keep_on()
        return self.poll()

    def process_ids(self) -> list[int]:
        """The living processes of the command, its main one first."""
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            below = psutil.Process(self._guard.pid).children(recursive=True)
            return [process.pid for process in below if _is_alive(process)]
        return []

    def first_ids(self) -> list[int]:
        """As :meth:`process_ids`, once the guard has started the command, a moment after itself."""
        deadline = time.monotonic() + START_S
        ids = self.process_ids()
        while not ids and self.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
            ids = self.process_ids()
        return ids

    def stop(self) -> bool:
        """End the command and all that it started; True if nothing of it is left. May be called twice."""
        self._let_go()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._guard.wait(self.grace_s + SLOWEST_END_S)
        status = self.poll()
        return status is not None and (self._guard.returncode >= 0 or self._is_over)

    def _let_go(self) -> None:
        """Close the guard's input, which tells it to end the command."""
        if self._guard.stdin is not None:
            with contextlib.suppress(OSError):
                self._guard.stdin.close()


def check_cores(cpus: Sequence[int] | None) -> None:
    """Raise ProcessError for cores that this process may not use."""
    allowed = os.sched_getaffinity(0)
    absent = sorted(set(cpus or ()) - allowed)
    if absent:
        there = ", ".join(map(str, sorted(allowed)))
        raise ProcessError(f"core {absent[0]} is not one that may be used here (there are {there})")


def _is_alive(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
