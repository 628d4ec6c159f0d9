"""Web servers on the loopback interface for tests of downloads: real listings, and whatever a nasty one says."""

from __future__ import annotations

import contextlib
import functools
import http.server
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path


class Web:
    """A server that is running.

    Attributes:
        url: its address, ending with ``/``.
        requests: method and path of each request so far.
        connections: how many were made.
    """

    def __init__(self, server: http.server.ThreadingHTTPServer, scheme: str) -> None:
        self.url = f"{scheme}://127.0.0.1:{server.server_port}/"
        self.requests: list[tuple[str, str]] = []
        self.connections = 0

    def gets(self) -> list[str]:
        """The paths of the files that were fetched, listings left out."""
        return [path for method, path in self.requests if method == "GET" and not path.endswith("/")]


class Answer:
    """What a nasty server answers: status, body and headers; ``length`` overrides the Content-Length.

    With ``pause_s`` it waits so long before each byte of the body.
    """

    def __init__(
        self,
        body: bytes | str = b"",
        status: int = 200,
        *,
        length: int | None = None,
        pause_s: float = 0.0,
        **headers: str,
    ) -> None:
        self.pause_s = pause_s
        self.body = body.encode() if isinstance(body, str) else body
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self.headers.setdefault("Content-Type", "text/html")
        self.headers["Content-Length"] = str(len(self.body) if length is None else length)


def links(*targets: str) -> Answer:
    """A listing with these links, as they are."""
    return Answer("<html><body>" + "".join(f'<a href="{target}">x</a>\n' for target in targets))


Pages = Mapping[str, "Answer | Callable[[http.server.BaseHTTPRequestHandler], Answer]"]


@contextlib.contextmanager
def directory_server(directory: Path, protocol: str = "HTTP/1.0") -> Iterator[Web]:
    """Python's own http.server on *directory*, with its listings; with HTTP/1.1 connections stay open."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        protocol_version = protocol

        def setup(self) -> None:
            web.connections += 1
            super().setup()

        def log_message(self, *arguments: object) -> None:
            pass

        def parse_request(self) -> bool:
            good = super().parse_request()
            if good:
                web.requests.append((self.command, self.path))
            return good

    with _running(functools.partial(Handler, directory=str(directory))) as web:
        yield web


@contextlib.contextmanager
def nasty_server(pages: Pages, tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """A server that answers what *pages* say for each path, and 404 elsewhere."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            web.requests.append((self.command, self.path))
            answer = pages.get(self.path.partition("?")[0], Answer("nothing here", 404))
            if not isinstance(answer, Answer):
                answer = answer(self)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                step = 1 if answer.pause_s else len(answer.body) or 1
                for start in range(0, len(answer.body), step):
                    time.sleep(answer.pause_s)
                    self.wfile.write(answer.body[start : start + step])

        do_HEAD = do_GET

    with _running(Handler, tls) as web:
        yield web


@contextlib.contextmanager
def _running(
    handler: Callable[..., http.server.BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None
) -> Iterator[Web]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.handle_error = lambda *arguments: None  # type: ignore[method-assign] # clients that hang up are expected
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield Web(server, "https" if tls else "http")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
