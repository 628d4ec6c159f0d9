"""Two hosts that are reached by ssh: an OpenSSH server each, on loopback, with keys made for the test."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmark_support.machines import BESIDE, REPOSITORY, wait_until
from requirements import missing

SERVER = """
ListenAddress 127.0.0.1:{port}
HostKey {place}/host_key
PidFile none
AuthorizedKeysFile {place}/user_key.pub
AuthenticationMethods publickey
StrictModes no
UsePAM no
SetEnv MATBENCH_HOST={name} PYTHONPATH={repository} {beside}
"""
CLIENT = """
Host {name}
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {place}/user_key
  UserKnownHostsFile {place}/known_hosts
"""


@contextlib.contextmanager
def ssh_hosts(place: Path, *names: str, command: str = "") -> Iterator[dict[str, str]]:
    """The environment of somebody who reaches the hosts of these *names* by ssh, without being asked anything.

    *command* is what they do, whatever they are asked for.
    """
    server = shutil.which("sshd", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if server is None:
        missing("an ssh server; apt-get install openssh-server")
    if getpass.getuser() == "root":
        Path("/run/sshd").mkdir(exist_ok=True)  # an empty directory that the server wants, and its service makes
    (place / ".ssh").mkdir(parents=True)
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / key], check=True)
    known = {"place": place, "repository": REPOSITORY, "user": getpass.getuser()}
    known["beside"] = f'{BESIDE}="{os.environ.get(BESIDE, "")}"'
    host_key = (place / "host_key.pub").read_text()
    with contextlib.ExitStack() as stack:
        for name in names:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            forced = f"ForceCommand {command}\n" if command else ""
            (place / f"{name}.conf").write_text(SERVER.format(name=name, port=port, **known) + forced)
            with (place / ".ssh" / "config").open("a") as config, (place / "known_hosts").open("a") as hosts:
                config.write(CLIENT.format(name=name, port=port, **known))
                hosts.write(f"[127.0.0.1]:{port} {host_key}")
            log = stack.enter_context((place / f"{name}.log").open("wb"))
            process = subprocess.Popen([server, "-D", "-e", "-f", place / f"{name}.conf"], stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            wait_until(lambda port=port: _answers(port), f"the ssh server of {name}")
        yield {"HOME": str(place)}


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False
