"""``matbench`` for tests that run it by the hundred in shells: forked from one process that has imported it already.

A start takes most of a second of a core, nearly all of it imports, and tells nothing that `test_cli.py` doesn't.
`commands` gives a folder for the head of PATH. Its ``matbench`` hands arguments, directory, environment and streams to
the waiting process, over a socket, and ends with the status of the fork that does the work.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

IMPORTED = ("matrix_benchmarking.cli", "matrix_benchmarking.store", "matrix_benchmarking.plotting", "pandas",
            "plotly.express", "pydantic", "rich.console", "rich.table", "scipy.special", "yaml")  # fmt: skip
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as waiting:
    waiting.connect({address!r})
    asked = json.dumps([sys.argv, os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(waiting, [asked], [0, 1, 2])
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
    for name in IMPORTED:
        importlib.import_module(name)
    sys.path[0] = str(Path(sys.executable).parent)  # as the installed command has it
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(16)
        print("waiting", flush=True)
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                break
            connection.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.exit(answer(connection))


def answer(connection: socket.socket) -> int:
    """Do what is asked in the place and with the streams of who asks; gives the status, which is told there, too."""
    asked, streams, _, _ = socket.recv_fds(connection, 1 << 20, 3)
    sys.argv, directory, environment = json.loads(asked)
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
    connection.send(str(status).encode())
    return status


if __name__ == "__main__":
    wait(sys.argv[1])
