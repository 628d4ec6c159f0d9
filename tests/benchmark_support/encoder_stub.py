"""An encoder server for tests of the load and of the checks, in a thread: right answers, or wrong ones on demand."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

Reply = tuple[int, bytes]


class EncoderStub:
    """Use it as a context manager.

    Args:
        reply: from the decoded body of a request to status and body of the answer.
        delay_s: how long each answer takes.

    Attributes:
        asked: the decoded bodies of all requests, in the order of their arrival.
        headers: their headers.
    """

    def __init__(self, reply: Callable[[Any], Reply], delay_s: float = 0.0) -> None:
        self.asked: list[Any] = []
        self.headers: list[dict[str, str]] = []
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are two writes

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stub.asked.append(body)
                stub.headers.append(dict(self.headers.items()))
                time.sleep(delay_s)
                status, content = reply(body)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def embeddings(body: Any) -> Reply:
    """One embedding an input, which depends on the input."""
    data = [{"index": at, "embedding": [1.0, len(text), 0.5]} for at, text in enumerate(body["input"])]
    return 200, json.dumps({"data": data}).encode()


def several(body: Any) -> Reply:
    """As many vectors as an input has characters, the last of them padding."""
    data = [{"embedding": [*[[1.0, at, 0.5] for at in range(len(text))], [0, 0, 0]]} for text in body["input"]]
    return 200, json.dumps({"data": data}).encode()


def labels(body: Any) -> Reply:
    """Infinity's answer: the label is the input's last character."""
    data = [[{"label": text[-1], "score": 0.9}, {"label": "other", "score": 0.1}] for text in body["input"]]
    return 200, json.dumps({"object": "classify", "data": data}).encode()


def always(status: int, content: str) -> Callable[[Any], Reply]:
    return lambda body: (status, content.encode())
