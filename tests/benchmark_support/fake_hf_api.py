"""A local server that speaks the part of the Inference Endpoints API (v2) which huggingface_hub uses, and serves the
endpoints themselves: a paid service can't be had in a test."""

from __future__ import annotations

import http.server
import json
import threading
from types import TracebackType
from typing import Any, Self

PATCH = """
from huggingface_hub import constants, hf_api
constants.INFERENCE_ENDPOINTS_ENDPOINT, constants.ENDPOINT = {url!r} + "/v2", {url!r}
hf_api.HfApi.endpoint = {url!r}
"""
"""A `sitecustomize` by which a process asks it, and not the service."""
TOKEN = "hf_secret_token"
NAMESPACE = "team"
STAMP = "2026-01-01T00:00:00.000Z"


class FakeApi:
    """The service; use it as a context manager.

    Attributes:
        endpoints: those that exist, by name; ``polls`` counts how often each was looked at.
        calls: (method, path) of each call, in order.
        polls_to_run: how many looks an endpoint takes to run.
        final_state: what it becomes then.
        hidden: those that are answered with 404, as a token without rights is, and that are still there.
        is_resumable: whether resuming works; the quota may be used up.
        failures: statuses to answer with, by method, each once, before anything else happens.
    """

    def __init__(self) -> None:
        self.endpoints: dict[str, dict[str, Any]] = {}
        self.calls: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []
        self.polls_to_run, self.final_state = 2, "running"
        self.failures: dict[str, list[int]] = {}
        self.gateway_failures = 1
        self.deletion_works = self.is_resumable = True
        self.hidden: set[str] = set()
        self.message = "out of capacity"
        api = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are two writes

            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else {}
                status, content = api.handle(self.command, self.path, body, self.headers.get("Authorization"))
                payload = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_DELETE = answer

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, method: str) -> int:
        return sum(called == method for called, path in self.calls if path.startswith("/v2/") and "pause" not in path)

    def handle(self, method: str, path: str, body: dict[str, Any], authorization: str | None) -> tuple[int, Any]:
        self.calls.append((method, path))
        if authorization != f"Bearer {TOKEN}":
            return 401, {"error": "Invalid credentials"}
        if path == "/api/whoami-v2":
            return 200, {"type": "user", "name": NAMESPACE}
        if path.startswith("/served/"):
            return self._served(path.split("/")[2])
        if self.failures.get(method):
            return self.failures[method].pop(0), {"error": self.message}
        parts = path.removeprefix("/v2/endpoint/").split("/")
        if method == "POST" and len(parts) == 1:
            return self._create(body)
        if len(parts) == 1:
            return 200, {"items": [self._raw(name) for name in self.endpoints]}
        name = parts[1]
        if name in self.hidden or name not in self.endpoints:
            return 404, {"error": "not found"}
        if method == "POST":
            if parts[2] == "resume" and not self.is_resumable:
                return 403, {"error": "quota exceeded"}
            states = {"pause": "paused", "scale-to-zero": "scaledToZero", "resume": "pending"}
            self.endpoints[name] |= {"state": states[parts[2]], "polls": 0}
        elif method == "DELETE":
            if self.deletion_works:
                del self.endpoints[name]
            return 200, {}
        else:
            self._advance(name)
        return 200, self._raw(name)

    def _create(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.bodies.append(body)
        if body["name"] in self.endpoints:
            return 409, {"error": "name is taken"}
        self.endpoints[body["name"]] = {"state": "pending", "polls": 0, "body": body}
        return 200, self._raw(body["name"])

    def exists(self, name: str, state: str) -> None:
        """Somebody's endpoint, in this state."""
        body = {"model": {"repository": "a/b"}, "compute": {"instanceType": "nvidia-l4", "instanceSize": "x1"}}
        body["provider"] = {"vendor": "aws", "region": "eu-west-1"}
        body["model"]["env"] = {"SECRET": "theirs"}  # type: ignore[assignment]
        self.endpoints[name] = {"state": state, "polls": 0, "body": body}

    def _served(self, name: str) -> tuple[int, Any]:
        self._wake(name)
        if self.gateway_failures > 0:
            self.gateway_failures -= 1
            return 503, {}
        return 200, {"data": [{"embedding": [0.6, 0.8]}]}

    def _wake(self, name: str) -> None:
        """Any request wakes one that is scaled to zero."""
        if self.endpoints.get(name, {}).get("state") == "scaledToZero":
            self.endpoints[name] |= {"state": "initializing", "polls": 0}
            self.gateway_failures = 1

    def _advance(self, name: str) -> None:
        endpoint = self.endpoints[name]
        if endpoint["state"] not in ("pending", "initializing"):
            return
        endpoint["polls"] += 1
        endpoint["state"] = self.final_state if endpoint["polls"] >= self.polls_to_run else "initializing"

    def _raw(self, name: str) -> dict[str, Any]:
        endpoint = self.endpoints[name]
        model = endpoint["body"].get("model", {})
        status = {"state": endpoint["state"], "createdAt": STAMP, "updatedAt": STAMP, "message": self.message}
        if endpoint["state"] in ("running", "scaledToZero"):
            status["url"] = f"{self.url}/served/{name}"
        return {
            "name": name,
            "type": "protected",
            "healthRoute": "/health",
            "model": {"repository": "m", "framework": "pytorch", "revision": None, "task": None, **model},
            **{part: endpoint["body"][part] for part in ("compute", "provider") if part in endpoint["body"]},
            "status": status,
        }
