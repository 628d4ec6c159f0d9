"""``matbench`` for tests that run it by the hundred in shells: forked from one process that has imported it already.

A start takes most of a second of a core, nearly all of it imports, and tells nothing that `test_cli.py` doesn't.
`commands` gives a folder for the head of PATH. Its ``matbench`` hands arguments, directory, environment and streams to
the waiting process, over a socket, passes an interrupt on, and ends with the status of the fork that does the work.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

IMPORTED = (
    *("dash", "dash_ag_grid", "pandas", "plotly.express", "pydantic", "rich.console", "rich.table"),
    *("scipy.interpolate", "scipy.spatial", "scipy.special", "sqlite3", "waitress", "xml.etree.ElementTree", "yaml"),
    *("matrix_benchmarking.cli", "matrix_benchmarking.analyze.report", "matrix_benchmarking.benchmark"),
    *("matrix_benchmarking.history", "matrix_benchmarking.plotting.app.server", "matrix_benchmarking.store"),
    "matbench_projects.encoder_bench.visualizations",
)
# It imports the modules below socket and signal: half of what a small command takes was its start.
CLIENT = """#!{python} -IS
import _signal, _socket, marshal, os, sys
interruptible = _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN
waiting = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
waiting.connect({address!r})
asked = marshal.dumps([sys.argv, os.getcwd(), dict(os.environ), interruptible])
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in (0, 1, 2))
waiting.sendmsg([asked], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
fork = int(waiting.recv(16))
if interruptible:
    _signal.signal(_signal.SIGINT, lambda *_: os.kill(fork, _signal.SIGINT))
status = waiting.recv(16)
waiting.recv(1)  # nothing: it has ended
sys.exit(int(status or 70))
"""


@contextlib.contextmanager
def commands(folder: Path) -> Iterator[Path]:
    """*folder* with a ``matbench`` that starts at once, as long as the context is open."""
    address = folder / "socket"
    process = subprocess.Popen([sys.executable, __file__, str(address)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"waiting\n"
        (folder / "matbench").write_text(CLIENT.format(python=sys.executable, address=str(address)))
        (folder / "matbench").chmod(0o755)
        yield folder
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def wait(address: str) -> None:
    """Answer each connection with a process of its own, which returns from here to do what it was asked."""
    gc.disable()
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()  # no fork has to look through it
    gc.enable()
    sys.path[0] = str(Path(sys.executable).parent)  # as the installed command has it
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(16)
        print("waiting", flush=True)
        while True:
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):  # the forks that have ended, and what they took, are ours
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if os.fork() == 0:
                break
            connection.close()
    end(answer(connection))


def end(status: int) -> NoReturn:
    """End a fork as multiprocessing ends its own: to take all apart takes longer."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    os._exit(status)


def answer(connection: socket.socket) -> int:
    """Do what is asked in the place and with the streams of who asks; gives the status, which is told there, too."""
    asked, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    sys.argv, directory, environment, interruptible = marshal.loads(asked)
    signal.signal(signal.SIGINT, signal.default_int_handler if interruptible else signal.SIG_IGN)
    connection.send(str(os.getpid()).encode())
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", errors="backslashreplace")  # noqa: SIM115
    from matrix_benchmarking.cli import main

    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    connection.send(str(status).encode())
    return status


if __name__ == "__main__":
    wait(sys.argv[1])
