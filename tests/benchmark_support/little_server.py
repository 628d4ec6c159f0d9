"""A little HTTP server for tests of targets: answers 200 on /health and embeds nothing well, and fails on demand.

It dies so many seconds after the first request of a load.

``python little_server.py PORT [--not-ready] [--die-after SECONDS] [--workers] [--no-listen] [--exit STATUS]``
"""

from __future__ import annotations

import argparse
import http.server
import json
import os
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes
    ready = True
    die_after: float | None = None

    def _count_down(self) -> None:
        """Begin to count with the first request of a load: how long a start takes says nothing."""
        if self.die_after is not None:
            threading.Timer(self.die_after, os._exit, [3]).start()
            type(self).die_after = None

    def do_GET(self) -> None:
        if self.path != "/health":
            self._count_down()
        self.send_response(200 if self.ready else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        self._count_down()
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        time.sleep(0.01)
        content = json.dumps({"data": [{"embedding": [1.0, 2.0]} for _ in body["input"]]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--not-ready", action="store_true")
    parser.add_argument("--no-listen", action="store_true")
    parser.add_argument("--die-after", type=float)
    parser.add_argument("--exit", type=int)
    parser.add_argument("--workers", action="store_true")
    options = parser.parse_args()
    print(f"little server on {options.port}", flush=True)
    if options.exit is not None:
        print("no weights found", file=sys.stderr)
        sys.exit(options.exit)
    if options.no_listen:
        time.sleep(600)
    Handler.ready, Handler.die_after = not options.not_ready, options.die_after
    server = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    if options.workers and os.fork():  # the parent listens no less, as LitServe's children go on answering
        threading.Event().wait(600)
    server.serve_forever()


if __name__ == "__main__":
    main()
