"""A local server that speaks the documented part of the Hugging Face Hub's protocol."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

NAMES = ("lab/runs", "derek-thomas/embedding-ie-optimization")
COMMIT = "c0ffee" + "0" * 34


class Hub(BaseHTTPRequestHandler):
    """``/api/datasets/…`` (revision, tree, paths-info) and ``/datasets/…/resolve/…`` of :data:`NAMES`."""

    tree: Path
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        return

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        paths = json.loads(asked)["paths"] if asked.startswith("{") else urllib.parse.parse_qs(asked)["paths"]
        self._json([self._entry(self.tree / path) for path in paths if (self.tree / path).exists()])

    def do_GET(self) -> None:
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        named = re.fullmatch(f"/(?:api/)?datasets/({'|'.join(NAMES)})(?:/(.*))?", path)
        if named is None:
            return self._missing("RepoNotFound", status=401)
        kind, _, rest = (named[2] or "").partition("/")
        revision, _, name = rest.partition("/")
        if revision not in ("", "main", COMMIT):
            return self._missing("RevisionNotFound")
        if kind in ("", "revision"):
            return self._json({"id": named[1], "sha": COMMIT, "siblings": [], "tags": []})
        here = self.tree / name
        if not here.exists() or (kind == "tree" and not here.is_dir()):
            return self._missing("EntryNotFound")
        if kind == "tree":
            return self._json([self._entry(each) for each in sorted(here.iterdir())])
        content, status = here.read_bytes(), 200
        size, extra = len(content), {"ETag": f'"{self._entry(here)["oid"]}"', "X-Repo-Commit": COMMIT}
        if wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, end = int(wanted[1]), min(int(wanted[2] or size), size - 1)
            content, status = content[start : end + 1], 206
            extra["Content-Range"] = f"bytes {start}-{end}/{size}"
        return self._send(status, content, extra)

    def _entry(self, path: Path) -> dict[str, object]:
        name = path.relative_to(self.tree).as_posix()
        if path.is_dir():
            return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
        content = path.read_bytes()
        return {"type": "file", "oid": hashlib.sha1(content).hexdigest(), "size": len(content), "path": name}

    def _missing(self, code: str, status: int = 404) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _json(self, content: object) -> None:
        self._send(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@contextlib.contextmanager
def served(directory: Path) -> Iterator[Path]:
    """The files of each dataset of the Hub that huggingface_hub asks meanwhile."""
    from huggingface_hub import constants, hf_api

    tree = directory / "remote"
    tree.mkdir()
    handler = type("OfTree", (Hub,), {"tree": tree})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", url)
        patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
        patch.setattr(constants, "HF_HUB_CACHE", str(directory / "hub"))
        patch.setattr(hf_api.api, "endpoint", url)
        yield tree
    server.shutdown()
    server.server_close()
