"""A genuine PostgreSQL for the tests: a cluster of its own, started, crashed, started again on the same data."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from requirements import missing

PASSWORD = "top-secret"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",  # a crash of the server loses nothing all the same: the system lives on
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "40",
    "jit": "off",
    "autovacuum": "off",
    "logging_collector": "off",
}


def programs() -> Path:
    """Where ``initdb`` and ``pg_ctl`` are: the newest that Debian installed, else on the PATH."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: int(path.parent.parent.name))
    found = str(installed[-1]) if installed else shutil.which("pg_ctl")
    if found is None:
        missing("PostgreSQL; apt-get install postgresql")
    return Path(found).parent


class PostgreSQLServer:
    """A cluster on loopback that trusts everybody but the role ``secret``, which has :data:`PASSWORD`."""

    def __init__(self) -> None:
        self._programs = programs()
        # Not below TMPDIR, which may be closed to all but root: the server is another user's.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/tmp"
        self._directory = Path(tempfile.mkdtemp(prefix="matbench-pg-", dir=place))
        self._data = self._directory / "data"
        self._user: dict[str, str | int] = {}
        if os.getuid() == 0:  # which PostgreSQL refuses to be run by
            owner = _unprivileged()
            os.chown(self._directory, owner.pw_uid, owner.pw_gid)
            self._user = {"user": owner.pw_uid, "group": owner.pw_gid}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"postgresql://matbench@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it, made where it is new, and wait until it answers."""
        if not self._data.exists():
            flags = ["--auth=trust", "--username=matbench", "--no-sync", "--encoding=UTF8", "--no-locale"]
            self._run("initdb", "--pgdata", str(self._data), "--no-instructions", *flags)
            access = self._data / "pg_hba.conf"
            access.write_text("host all secret 127.0.0.1/32 scram-sha-256\n" + access.read_text())
        options = [f"-c {name}={value}" for name, value in SETTINGS.items()]
        options += [f"-p {self.port}", f"-k {self._directory}"]
        log = str(self._directory / "log")
        self._run(
            "pg_ctl", "start", "--wait", "--pgdata", str(self._data), "--log", log, "--options", " ".join(options)
        )

    def crash(self) -> None:
        """End it at once, without a word to anybody."""
        self._run("pg_ctl", "stop", "--mode=immediate", "--pgdata", str(self._data))

    def stop(self) -> None:
        """End it, and remove what it left."""
        if (self._data / "postmaster.pid").exists():
            self.crash()
        shutil.rmtree(self._directory)

    def _run(self, program: str, *arguments: str) -> None:
        with (self._directory / f"{program}.out").open("ab") as said:
            command = [str(self._programs / program), *arguments]
            done = subprocess.run(
                command, stdout=said, stderr=said, cwd=self._directory, check=False, timeout=60, **self._user
            )
        if done.returncode:
            logs = (
                path.read_text(errors="replace")[-2000:] for path in self._directory.glob("*[!a]") if path.is_file()
            )
            raise RuntimeError(f"{program} failed:\n{''.join(logs)}")


def _unprivileged() -> pwd.struct_passwd:
    names = {each.pw_name: each for each in pwd.getpwall()}
    return names.get("postgres") or names.get("nobody") or missing("a user who is not root, to run PostgreSQL")
