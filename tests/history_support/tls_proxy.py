"""nginx in front of a server: TLS with a private authority, and basic authentication."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from requirements import missing

USER, PASSWORD = "ann", "pässword: top-secret"
_CONFIGURATION = """
{user}daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {directory}/body;
  proxy_temp_path {directory}/proxy;
  fastcgi_temp_path {directory}/fastcgi;
  uwsgi_temp_path {directory}/uwsgi;
  scgi_temp_path {directory}/scgi;
  client_max_body_size 100m;
  server {{
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {directory}/server.pem;
    ssl_certificate_key {directory}/server.key;
    auth_basic "history";
    auth_basic_user_file {directory}/users;
    location / {{ proxy_pass http://127.0.0.1:{upstream}; proxy_read_timeout 120s; }}
    location /search/ {{ proxy_pass http://127.0.0.1:{upstream}/; }}
  }}
}}
"""


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/local/sbin:" + (os.environ.get("PATH", "")))
    if found is None:
        missing(f"{name}; apt-get install {name}")
    return found


class TLSProxy:
    """Use it as a context manager.

    Attributes:
        url: https, with the certificate of 127.0.0.1.
        ca_certs: the authority's certificate.
        other_ca_certs: that of another authority.
    """

    def __init__(self, directory: Path, upstream: int) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.url = f"https://127.0.0.1:{self._port}"
        self.ca_certs = str(self._authority("authority"))
        self.other_ca_certs = str(self._authority("other"))
        self._certificate()
        self._user()
        configuration = _CONFIGURATION.format(
            user="user root;\n" if os.getuid() == 0 else "",  # else it can't read our temporary files
            directory=directory,
            port=self._port,
            upstream=upstream,
        )
        (directory / "nginx.conf").write_text(configuration)

    def __enter__(self) -> Self:
        command = [_program("nginx"), "-c", str(self._directory / "nginx.conf"), "-p", str(self._directory)]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self._process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1):
                return self
            time.sleep(0.05)
        self._process.kill()
        raise RuntimeError(f"nginx did not start: {self._process.communicate()[1].decode()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate(timeout=20)

    def _openssl(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [_program("openssl"), *arguments],
            cwd=self._directory,
            input=stdin,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def _authority(self, name: str) -> Path:
        subject = ["-subj", f"/CN=matbench tests {name}", "-days", "2", "-nodes"]
        self._openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-keyout", f"{name}.key", "-out", f"{name}.pem"),
            *subject,
            *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        )
        return self._directory / f"{name}.pem"

    def _certificate(self) -> None:
        self._openssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out", "server.csr"),
            *("-subj", "/CN=matbench tests"),
        )
        (self._directory / "extensions").write_text("subjectAltName=IP:127.0.0.1\n")
        self._openssl(
            *("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key"),
            *("-CAcreateserial", "-days", "2", "-extfile", "extensions", "-out", "server.pem"),
        )

    def _user(self) -> None:
        hashed = self._openssl("passwd", "-apr1", "-stdin", stdin=f"{PASSWORD}\n").strip()
        (self._directory / "users").write_text(f"{USER}:{hashed}\n")
