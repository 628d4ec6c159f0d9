"""Datasets of the Hugging Face Hub: a local server that speaks the documented part of its protocol."""

from __future__ import annotations

import hashlib
import json
import re
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from matrix_benchmarking import store, workload
from matrix_benchmarking.download import hub
from matrix_benchmarking.errors import DownloadError

pytest.importorskip("huggingface_hub")
COMMIT = "c0ffee" + "0" * 34


class Hub(BaseHTTPRequestHandler):
    """``/api/datasets/…`` (revision, tree, paths-info) and ``/datasets/…/resolve/…`` of the dataset ``lab/runs``."""

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
        if not re.match(r"/(api/)?datasets/lab/runs(/|$)", path):
            return self._missing("RepoNotFound", status=401)
        kind, _, rest = path.partition("/lab/runs")[2].strip("/").partition("/")
        revision, _, name = rest.partition("/")
        if revision not in ("", "main", COMMIT):
            return self._missing("RevisionNotFound")
        if kind in ("", "revision"):
            return self._json({"id": "lab/runs", "sha": COMMIT, "siblings": [], "tags": []})
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


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The files of the dataset ``lab/runs``."""
    from huggingface_hub import constants, hf_api

    tree = tmp_path / "remote"
    tree.mkdir()
    handler = type("OfTree", (Hub,), {"tree": tree})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(hf_api.api, "endpoint", url)
    yield tree
    server.shutdown()
    server.server_close()


def test_a_file_of_a_dataset_is_fetched(remote: Path) -> None:
    (remote / "data").mkdir()
    (remote / "data" / "texts.csv").write_text("text\none\n")
    for address in ("hf://datasets/lab/runs/data/texts.csv", "hf://datasets/lab/runs@main/data/texts.csv"):
        assert hub.fetched(address).read_text() == "text\none\n"


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("hf://datasets/lab/other/x.csv", "there is no such dataset, or it isn't public"),
        ("hf://datasets/lab/runs@v9/x.csv", "there is no such revision"),
        ("hf://datasets/lab/runs/x.csv", "there is no such file or directory"),
    ],
)
def test_what_the_hub_does_not_have_is_a_sentence(remote: Path, address: str, sentence: str) -> None:
    with pytest.raises(DownloadError, match=sentence) as raised:
        hub.fetched(address)
    assert "\n" not in str(raised.value)


def test_a_tree_is_downloaded_and_then_only_what_changed(remote, download, foreign_samples, capsys) -> None:
    runs = sorted((foreign_samples / "encoder_analysis").rglob("*.json"))[:3]
    (remote / "embedding").mkdir()
    for run in runs:
        (remote / "embedding" / run.name).write_bytes(run.read_bytes())
    assert download("hf://datasets/lab/runs") == 0
    assert "Fetched 3 files of 3 tests" in capsys.readouterr().out
    assert len(store.parse_tree(workload.load("encoder_bench"), Path("here"))) == 3
    (remote / "embedding" / runs[0].name).write_bytes(runs[0].read_bytes() + b"\n")
    assert download("hf://datasets/lab/runs") == 0
    assert "Fetched 1 file" in capsys.readouterr().out


@pytest.mark.parametrize("address", ["hf://datasets/lab/runs", "hf://datasets/lab/runs/data/results.parquet"])
def test_the_published_table_is_downloaded(remote, download, foreign_samples, address) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rows = [json.loads(path.read_text()) for path in (foreign_samples / "encoder_analysis").rglob("*.json")]
    (remote / "data").mkdir()
    (remote / "data" / "README.md").write_text("what it is")
    pandas.DataFrame(rows).to_parquet(remote / "data" / "results.parquet")
    assert download(address) == 0
    assert len(store.parse_tree(workload.load("encoder_bench"), Path("here"))) == 80
    assert not list(Path("here").rglob("README.md"))


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("hf://datasets/lab/other", "there is no such dataset"),
        ("hf://datasets/lab/runs/nowhere", "there is no such file or directory in the dataset"),
        ("hf://lab/runs", "is not hf://datasets/OWNER/NAME/PATH"),
    ],
)
def test_a_download_that_cannot_be_is_a_sentence(remote, download, capsys, address, sentence) -> None:
    assert download(address) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_a_hub_that_cannot_be_reached_is_a_sentence(remote, download, capsys, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    assert download("hf://datasets/lab/runs") == 2
    assert "the Hub can't be reached" in capsys.readouterr().err
