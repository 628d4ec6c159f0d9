"""A server that speaks Horreum's upload route, for it can't run here."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.parse


class FakeHorreum:
    """Takes runs at ``/api/run/data``, as Horreum does; ``status`` and, unless None, ``said`` are what it answers."""

    def __init__(self, key="HUSR_secret"):
        self.runs, self.status, self.said = [], 202, None
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                parts = urllib.parse.urlsplit(self.path)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                query = dict(urllib.parse.parse_qsl(parts.query))
                status = fake.status
                if self.headers.get("X-Horreum-API-Key") != key:
                    status = 401
                elif parts.path != "/api/run/data" or not {"test", "start", "stop"} <= query.keys():
                    status = 400
                elif query["test"] == "unknown":
                    status = 404
                if status == 202 and fake.said is None:
                    fake.runs.append((query, json.loads(body)))
                self.send_response(status)
                self.end_headers()
                made = str([len(fake.runs)]).encode() if fake.said is None else fake.said
                self.wfile.write(made if status == 202 else b"no such test")

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *error):
        self.server.shutdown()
        self.server.server_close()
