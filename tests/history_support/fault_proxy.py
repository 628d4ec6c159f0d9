"""A proxy in front of a genuine server that makes the faults of a real network: busy answers and broken connections."""

from __future__ import annotations

import http.client
import http.server
import socket
import struct
import threading
from types import TracebackType
from typing import Self


class FaultProxy:
    """Use it as a context manager. Faults apply to bulk requests, but for ``instead``.

    Attributes:
        pass_first: so many requests are let through before any fault.
        busy: so many requests are answered with ``busy_status``, without reaching the server.
        busy_status: 429 or 503.
        reset_before, reset_after: so many connections are reset before, or after, the server did its work.
        instead: answers with status 200 to requests whose method and path hold the key, without reaching the server.
        seen: how many requests came.
        bodies: their bodies, if ``keep_bodies``.
    """

    def __init__(self, port: int) -> None:
        self.busy, self.busy_status, self.reset_before, self.reset_after = 0, 429, 0, 0
        self.pass_first = 0
        self.instead: dict[str, bytes] = {}
        self.seen = 0
        self.authorizations: list[str | None] = []
        proxy, lock = self, threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are two writes

            def _any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                is_bulk = "_bulk" in self.path
                with lock:
                    proxy.seen += is_bulk
                    proxy.authorizations.append(self.headers.get("Authorization"))
                    fault = proxy._next_fault() if is_bulk else ""
                if fault == "busy":
                    self._answer(proxy.busy_status, b'{"error": {"type": "busy", "reason": "too many requests"}}')
                    return
                if fault == "reset before":
                    self._reset()
                    return
                request = f"{self.command} {self.path}"
                said = next((content for part, content in proxy.instead.items() if part in request), None)
                if said is not None:
                    self._answer(200, said)
                    return
                upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection")}
                upstream.request(self.command, self.path, body, headers)
                answer = upstream.getresponse()
                content = answer.read()
                upstream.close()
                if fault == "reset after":
                    self._reset()
                    return
                self._answer(answer.status, content)

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _any

            def _answer(self, status: int, content: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def _reset(self) -> None:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()

            def finish(self) -> None:
                try:
                    super().finish()
                except OSError:
                    self.close_connection = True

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def _next_fault(self) -> str:
        if self.pass_first:
            self.pass_first -= 1
            return ""
        for name in ("busy", "reset_before", "reset_after"):
            left = getattr(self, name)
            if left:
                setattr(self, name, left - 1)
                return name.replace("_", " ")
        return ""

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
