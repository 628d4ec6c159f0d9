"""Finds by a mark in its environment what a benchmark started, where nobody is left who would end it.

A guard (:mod:`.guard`) ends whatever its command started, unless it is killed itself: then the command's workers live
on. Every process below a guard carries :data:`MARK`: who the benchmark is, by which it can be told that it is gone, and
a number for the command.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path

MARK = "MATBENCH_STARTED_BY"
TERM_S, KILL_S, POLL_S = 3.0, 5.0, 0.05
_FORM = re.compile(r"(?P<us>\d+-(?P<pid>\d+)-\d+-\d+):\w+")
_DEAD = "ZX"


def new_mark() -> dict[str, str]:
    """The variables that mark one command of this process, and keep what it starts from overwriting them."""
    # Servers that rename themselves (vLLM's engine does) write over their environment, unless setproctitle is told so.
    return {MARK: f"{_identity(os.getpid())}:{secrets.token_hex(4)}", "SPT_NOENV": "1"}


def end_marked(mark: str) -> list[int]:
    """End all processes with exactly this *mark*; gives those that are left."""
    return _end(lambda found: found == mark)[1]


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
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
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
