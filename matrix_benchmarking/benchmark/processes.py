"""Processes that never outlive the benchmark, each below a guard, and the end of those whose guard was killed.

A guard (``guard.py``) ends whatever its command started, unless it is killed itself. Every process below one carries
:data:`MARK` in its environment: who the benchmark is, by which it can be told that it is gone, and a number for the
command.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import MatbenchError, os_reason

GUARD = Path(__file__).with_name("guard.py")
SLOWEST_END_S = 10.0  # what the guard takes beyond the grace: TERM, then KILL
POLL_S = 0.05
START_S = 2.0  # what the guard takes at most until the command is there


class ProcessError(MatbenchError):
    """A command that can't be started."""


def environment(extra: Mapping[str, str] | None = None, without: str | None = None) -> dict[str, str]:
    """Our environment but for what begins with *without*, this virtual environment's programs first; and *extra*."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    ours = {name: value for name, value in os.environ.items() if without is None or not name.startswith(without)}
    return {**ours, "PATH": path, **(extra or {})}


def which(program: str, directory: Path | None = None) -> str:
    """The path of *program*, looked for in this virtual environment first; ProcessError where there is none."""
    if os.sep in program:
        path = (directory or Path()) / program
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.absolute())
        raise ProcessError(f"'{path}' {'is not executable' if path.is_file() else 'does not exist'}")
    found = shutil.which(program, path=environment()["PATH"])
    if found is None:
        raise ProcessError(f"there is no program '{program}': install it, or check the command's spelling")
    return found


def told_status(status: int) -> str:
    """The exit *status* in words: of a killed command, which is 128 + the signal's number, with that signal."""
    with contextlib.suppress(ValueError):
        return f"exit status {status} ({signal.Signals(status - 128).name})"
    return f"exit status {status}"


class GuardedProcess:
    """A running command that ends with us, however we end. Its program is looked for in this virtual environment first.

    Args:
        output: file that gets its standard output, and its standard error unless *errors* is given.
        without_variables: variables of ours that begin so are kept from the command.
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
        self.grace_s, self._mark, self._is_over = grace_s, new_mark(), False
        try:
            with contextlib.ExitStack() as stack:
                stdout = stack.enter_context(output.open("ab"))
                stderr = stack.enter_context(errors.open("ab")) if errors else subprocess.STDOUT
                self._guard = subprocess.Popen(
                    [sys.executable, "-I", "-S", str(GUARD), str(grace_s), cores, program, *command[1:]],
                    cwd=directory,
                    env={**environment(extra_environment, without_variables), **self._mark},
                    stdin=subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:  # a ValueError: a NUL in a word or a variable
            reason = os_reason(error) if isinstance(error, OSError) else str(error)
            raise ProcessError(f"cannot start '{command[0]}': {reason}") from error

    def poll(self) -> int | None:
        """The exit status, 128 + the signal's number for a killed command; None while it runs."""
        status = self._guard.poll()
        if status is None:
            return None
        self._let_go()
        if status < 0 and not self._is_over:  # somebody killed the guard, which ends workers no more
            self._is_over = not _end(lambda found: found == self._mark[MARK])[1]
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

        found = []
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in psutil.Process(self._guard.pid).children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    found += [process.pid] if process.status() != psutil.STATUS_ZOMBIE else []
        return found

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


MARK = "MATBENCH_STARTED_BY"
TERM_S, KILL_S = 3.0, 5.0
_FORM = re.compile(r"(?P<us>\d+-(?P<pid>\d+)-\d+-\d+):\w+")
_DEAD = "ZX"


def new_mark() -> dict[str, str]:
    """The variables that mark one command of this process, and keep what it starts from overwriting them."""
    # Servers that rename themselves (vLLM's engine does) write over their environment, unless setproctitle is told so.
    return {MARK: f"{_identity(os.getpid())}:{secrets.token_hex(4)}", "SPT_NOENV": "1"}


def end_leftovers() -> list[str]:
    """End what benchmarks of this user started that are gone themselves; a sentence for each of them."""
    gone, left = _end(_is_of_one_that_is_gone)
    sentences = []
    for benchmark in sorted({_benchmark(mark) for mark, _ in gone.values()}):
        named = [f"{pid} ({name})" for pid, (mark, name) in sorted(gone.items()) if _benchmark(mark) == benchmark]
        there = [str(pid) for pid in left if _benchmark(gone[pid][0]) == benchmark]
        end = f"{', '.join(there)} could not be ended: end it by hand" if there else "ended"
        sentences.append(f"of process {benchmark}, which is gone: {', '.join(named)}; {end}")
    return sentences


def _end(is_meant: Callable[[str], bool]) -> tuple[dict[int, tuple[str, str]], list[int]]:
    """End the processes whose mark is meant: what they were (mark and name, by id), and which of them are left."""
    ended: dict[int, tuple[str, str]] = {}
    # KILL more than once, for what was forked while the first went round.
    for number, patience_s in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, 1.0), (signal.SIGKILL, KILL_S)):
        for pid, mark in _marked(is_meant):
            ended.setdefault(pid, (mark, _name(pid)))
            _send(pid, mark, number)
        deadline = time.monotonic() + patience_s
        # A process that ends loses its environment before it lets go of its port.
        while any(True for _ in _marked(is_meant)) or any(_is_there(pid) for pid in ended):
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_S)
        else:
            return ended, []
    return ended, [pid for pid, _ in _marked(is_meant) if pid in ended]


def _marked(is_meant: Callable[[str], bool]) -> Iterable[tuple[int, str]]:
    """The processes of this user with such a mark; neither this one nor those that it was started by."""
    ours = set(_lineage())
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in ours:
            mark = _mark(int(name))
            if mark is not None and is_meant(mark):
                yield int(name), mark


def _mark(pid: int) -> str | None:
    with contextlib.suppress(OSError):  # it has ended, or is not ours
        place = Path(f"/proc/{pid}")
        if place.stat().st_uid == os.geteuid():
            _, found, after = (b"\0" + (place / "environ").read_bytes()).partition(f"\0{MARK}=".encode())
            return after.partition(b"\0")[0].decode("ascii", "replace") if found else None
    return None


def _send(pid: int, mark: str, number: signal.Signals) -> None:
    """Signal *pid*, if that is still the process with the *mark*: the id may be another's by now."""
    with contextlib.suppress(OSError):
        descriptor = os.pidfd_open(pid)
        try:
            if _mark(pid) == mark:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _is_of_one_that_is_gone(mark: str) -> bool:
    """True only if it is certain: nobody has its process id, or one has that started at another time.

    Of another user's benchmark, or one in another container, that can't be said from here.
    """
    found = _FORM.fullmatch(mark)
    if found is None or found["us"].split("-")[::3] != _identity(os.getpid()).split("-")[::3]:
        return False
    try:
        return _identity(int(found["pid"])) != found["us"]
    except OSError:  # gone, or not shown
        return not _answers(int(found["pid"]))


def _answers(pid: int) -> bool:
    """False only if the system says that there is no such process; /proc may hide one."""
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True


def _identity(pid: int) -> str:
    """User, process id, start (ticks since the boot; "gone" for a dead one) and the namespace of the process id.

    Raises:
        OSError: there is no such process, or it isn't shown.
    """
    state, *fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    start = "gone" if state in _DEAD else fields[18]
    return f"{os.geteuid()}-{pid}-{start}-{os.stat('/proc/self/ns/pid').st_ino}"


def _is_there(pid: int) -> bool:
    """False for one that is gone, or dead and not yet buried."""
    with contextlib.suppress(OSError):
        return "-gone-" not in _identity(pid)
    return False


def _benchmark(mark: str) -> int:
    return int(mark.split("-")[1])


def _lineage() -> Iterable[int]:
    """This process, its parent, and so on."""
    pid = os.getpid()
    while pid:
        yield pid
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:
            return


def _name(pid: int) -> str:
    """The program and its script, for a sentence; no other argument, since some hold secrets."""
    with contextlib.suppress(OSError):
        program, *arguments = Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
        words = [program, *[word for word in arguments[:1] if word and not word.startswith("-")]]
        return " ".join(Path(word).name for word in words)[:80]
    return "unknown"
