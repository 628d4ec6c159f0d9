"""A program of its own: runs one command, and ends it with everything that it started once nobody holds our input.

``python guard.py GRACE_S CPUS COMMAND…``: the benchmark holds the other end of our standard input. When it closes that
end, or is killed in whatever way, the command's main process is interrupted, then all that is left of it gets TERM,
then KILL. As a subreaper we inherit processes whose parent died, so none gets away by forking twice or by a session of
its own. We exit with the command's status once nothing is left of it. Standard library only: this starts often.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TERM_S, KILL_S, POLL_S = 3.0, 5.0, 0.02
NOT_FOUND, NOT_EXECUTABLE, SIGNALLED = 127, 126, 128


def main(arguments: list[str]) -> int:
    grace_s, cpus, *command = arguments
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # Whoever interrupts the benchmark means the benchmark, which then lets go of our input.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

    def prepare() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if cpus:
            os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(",")})

    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=prepare)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    except subprocess.SubprocessError:
        print(f"{command[0]}: the cores {cpus} are not all there", file=sys.stderr)
        return NOT_EXECUTABLE
    _wait_for_the_end(child, awake)
    _end(child, float(grace_s))
    status = child.returncode if child.returncode is not None else SIGNALLED + signal.SIGKILL
    return status if status >= 0 else SIGNALLED - status


def _wait_for_the_end(child: subprocess.Popen[bytes], awake: int) -> None:
    """Return when the command's main process has ended, or when our input is closed."""
    while child.poll() is None:
        readable, _, _ = select.select([sys.stdin.fileno(), awake], [], [], 1.0)
        if awake in readable:
            os.read(awake, 4096)
        if sys.stdin.fileno() in readable and not os.read(sys.stdin.fileno(), 4096):
            return


def _end(child: subprocess.Popen[bytes], grace_s: float) -> None:
    if child.poll() is None:
        child.send_signal(signal.SIGINT)
        _until_nothing_is_left(child, grace_s)
    # KILL more than once, for what was forked while the first went round.
    for number, patience_s in ((signal.SIGTERM, TERM_S), (signal.SIGKILL, 1.0), (signal.SIGKILL, KILL_S)):
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        _until_nothing_is_left(child, patience_s)


def _until_nothing_is_left(child: subprocess.Popen[bytes], patience_s: float) -> None:
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        child.poll()
        descendants = _descendants()
        for pid in descendants:
            with contextlib.suppress(ChildProcessError):
                if pid != child.pid:
                    os.waitpid(pid, os.WNOHANG)
        if child.returncode is not None and not descendants:
            return
        time.sleep(POLL_S)


def _descendants() -> list[int]:
    """Our children, theirs and so on; a dead one that nobody has collected yet is among them only if it is ours."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stream:
                    state, parent = stream.read().rpartition(")")[2].split()[:2]
                if state != "Z" or int(parent) == os.getpid():
                    children.setdefault(int(parent), []).append(int(name))
    found, waiting = list[int](), [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
