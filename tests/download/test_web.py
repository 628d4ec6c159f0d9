"""Trees behind listings of web servers: real ones, and ones that want more of us than they should."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from download_support.web import Answer, Web, directory_server, links, nasty_server

from matrix_benchmarking.download import wanted

CACHE = ".matbench_encoder_bench.cache"

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def web(tree: Path) -> Iterator[Web]:
    """http.server on the tree."""
    with directory_server(tree) as running:
        yield running


@pytest.mark.parametrize("slash", ["", "/"])
def test_a_listed_tree_is_fetched_whole(slash, web, tree, download, files) -> None:
    assert download(web.url.rstrip("/") + slash, "--mode=all", workload=None) == 0
    assert files("here") == files(tree)
    assert all(Path("here", name).read_bytes() == (tree / name).read_bytes() for name in files(tree))


def test_a_second_call_fetches_nothing(web, download, capsys: Capture) -> None:
    assert download(web.url, "--mode=all") == 0
    web.requests.clear()
    assert download(web.url, "--mode=all") == 0
    assert web.gets() == []
    assert "Fetched 0 files" in capsys.readouterr().out


def test_what_changed_there_or_is_missing_here_is_fetched_again_and_nothing_else(web, tree, download) -> None:
    assert download(web.url, "--mode=all") == 0
    changed, removed, cut = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.json"))[:3]
    content = (tree / changed).read_bytes()
    (tree / changed).write_bytes(content[::-1])
    os.utime(tree / changed, (2e9, 2e9))
    Path("here", removed).unlink()
    Path("here", cut).write_bytes(b"{")
    web.requests.clear()
    assert download(web.url, "--mode=all") == 0
    assert sorted(web.gets()) == sorted(f"/{name}" for name in (changed, removed, cut))
    assert all(Path("here", name).read_bytes() == (tree / name).read_bytes() for name in (changed, removed, cut))


def test_a_connection_serves_many_files(tree, download) -> None:
    with directory_server(tree, "HTTP/1.1") as kept:
        assert download(kept.url, "--mode=all", "--jobs=2") == 0
        assert download(kept.url, "--mode=all", "--jobs=2") == 0  # asks for the head of each file
        assert {method for method, _ in kept.requests} == {"GET", "HEAD"}
        assert kept.connections <= 4


def test_for_caches_the_test_directories_are_not_searched(web, download) -> None:
    assert download(web.url, "--mode=cache_only") == 0
    assert len(web.gets()) == 3 * 5
    assert not [path for _, path in web.requests if "__k6__run" in path]


def test_odd_names_survive_the_way_through_urls(tree, web, download, files) -> None:
    odd = {"a b.txt", "100%.txt", "ümlaut.txt", "q?x=1.txt", "h#ash.txt", "semi;colon&amp.txt", "%41.txt", "a:b.txt"}
    for name in odd:
        (tree / name).write_text(name)
    assert download(web.url, "--mode=all") == 0
    assert odd <= files("here")
    assert all(Path("here", name).read_text() == name for name in odd)


def test_links_that_lead_elsewhere_are_not_followed(download, files, directory) -> None:
    with directory_server(directory) as other:
        pages = {
            "/runs/": links(
                "?C=N;O=D", "?C=M&amp;O=A", "../", "/", "/other/", "//127.0.0.1:1/runs/x", f"{other.url}runs/x",
                "ftp://127.0.0.1/x", "javascript:alert(1)", "mailto:a@b", "#top", "./", ".", "deep/er/x", "",
                "..%2f..%2fescaped", "%2e%2e/", "%2e%2e%2fx", "a%2fb", "a%5cb", "nul%00", "line%0abreak", "esc%1b[31m",
                "http://[broken", "..\\x", "/runs/../../x", "good.txt", "/runs/also%20good.txt?", "x" * 300,
            ),
            "/runs/good.txt": Answer("good", Content_Type="text/plain"),
            "/runs/also%20good.txt": Answer("also", Content_Type="text/plain"),
        }  # fmt: skip
        with nasty_server(pages) as nasty:
            assert download(f"{nasty.url}runs", "--mode=all") == 0
        assert other.requests == []
    assert sorted(nasty.requests) == [("GET", f"/runs/{path}") for path in ("", "also%20good.txt", "good.txt")]
    assert files("here") == {"good.txt", "also good.txt"}
    assert {path.name for path in directory.parent.iterdir()} <= {"work", "cache", "home"}
    assert {path.name for path in directory.iterdir()} == {"here"}


def test_a_loop_of_listings_ends(download, capsys: Capture) -> None:
    class Everywhere(dict):  # type: ignore[type-arg]
        def get(self, path: str, otherwise: Answer) -> Answer:
            return links("loop/", "x") if path.endswith("/") else Answer("x")

    with nasty_server(Everywhere()) as nasty:
        assert download(nasty.url, "--mode=all") == 0
    assert len([path for _, path in nasty.requests if path.endswith("/")]) == 51
    assert "more than 50 directories deep" in capsys.readouterr().err


def test_the_number_of_entries_is_bounded(download, files, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setattr(wanted, "MAX_ENTRIES", 100)
    with nasty_server({"/": links(*(f"file-{number}" for number in range(101)))}) as nasty:
        assert download(nasty.url, "--mode=all") == 2
    assert "more than 100 entries" in capsys.readouterr().err
    assert not files("here")


def test_an_endless_listing_is_given_up(download, monkeypatch, capsys: Capture) -> None:
    from matrix_benchmarking.download import http

    monkeypatch.setattr(http, "MAX_LISTING_BYTES", 1 << 16)
    with nasty_server({"/": links(*(f"file-{number}" for number in range(10_000)))}) as nasty:
        assert download(nasty.url, "--mode=all") == 2
    assert "its listing is longer than" in capsys.readouterr().err


def test_what_drips_is_given_up_and_what_comes_slowly_is_not(download, files, monkeypatch, capsys) -> None:
    from matrix_benchmarking.download import fetch, http

    for module in (fetch, http):
        monkeypatch.setattr(module, "LISTING_S", 1)
    monkeypatch.setattr(fetch, "LEAST_BYTES", 30)
    pages = {
        "/": links("slow/", "dripping", "x"),
        "/slow/": Answer("<html>" * 1000, pause_s=0.05),
        "/dripping": Answer("y" * 1000, pause_s=0.1),
        "/x": Answer("y" * 2500, pause_s=0.001),
    }
    with nasty_server(pages) as nasty:
        assert download(nasty.url, "--mode=all") == 2
        assert sum(path == "/slow/" for _, path in nasty.requests) == 1
        assert download(f"{nasty.url}slow/", "--mode=all", to="other") == 2
    captured = capsys.readouterr().err
    assert "'slow': left out, its listing was not whole after 1 s" in captured
    assert re.search(r"'dripping': only \d+ bytes of it came in 1 s", captured)
    assert "/slow/: its listing was not whole after 1 s" in captured
    assert files("here") == {"x"}


def test_a_directory_whose_listing_is_elsewhere_is_left_out(download, files, capsys: Capture) -> None:
    pages = {
        "/": links("a/", "x"),
        "/a/": Answer(status=302, Location="/secret/"),
        "/secret/": links("y"),
        "/x": Answer("x"),
        "/secret/y": Answer("y"),
    }
    with nasty_server(pages) as nasty:
        assert download(nasty.url, "--mode=all") == 0
    assert files("here") == {"x"}
    assert "its listing leads elsewhere" in capsys.readouterr().err


def test_the_address_itself_may_be_redirected(download, files) -> None:
    pages = {"/old/": Answer(status=301, Location="/new/"), "/new/": links("x"), "/new/x": Answer("x")}
    with nasty_server(pages) as nasty:
        assert download(f"{nasty.url}old/", "--mode=all") == 0
    assert files("here") == {"x"}


def test_nginx_s_json_listing_is_read(download, files) -> None:
    rows = [
        {"name": "sub", "type": "directory", "mtime": "Wed, 18 Nov 2026 10:00:00 GMT"},
        {"name": "x", "type": "file", "mtime": "Wed, 18 Nov 2026 10:00:00 GMT", "size": 1},
        {"name": "../up", "type": "file"},
        {"name": "..", "type": "directory"},
    ]
    pages = {
        "/": Answer(json.dumps(rows), Content_Type="application/json"),
        "/sub/": Answer("[]", Content_Type="application/json"),
        "/x": Answer("x"),
    }
    with nasty_server(pages) as nasty:
        assert download(nasty.url, "--mode=all") == 0
    assert files("here") == {"x"}


@pytest.mark.parametrize("body", ["{}", "[1]", '[{"name": 1}]', "[", "[" * 100_000])
def test_other_json_is_no_listing(body, download, capsys: Capture) -> None:
    with nasty_server({"/": Answer(body, Content_Type="application/json")}) as nasty:
        assert download(nasty.url, "--mode=all") == 2
    assert "not a directory listing" in capsys.readouterr().err


def test_what_fails_for_the_moment_is_tried_again(download, files) -> None:
    left = {"/": 2, "/x": 3}

    def flaky(path: str, answer: Answer):  # type: ignore[no-untyped-def]
        def respond(handler: object) -> Answer:
            left[path] -= 1
            return answer if left[path] < 0 else Answer(status=503)

        return respond

    with nasty_server({"/": flaky("/", links("x")), "/x": flaky("/x", Answer("x"))}) as nasty:
        assert download(nasty.url, "--mode=all") == 0
    assert files("here") == {"x"}


@pytest.mark.parametrize(
    ("answer", "sentence", "attempts"),
    [
        (Answer(status=503), "HTTP 503, 4 times", 4),
        (Answer(status=500), "HTTP 500, 4 times", 4),
        (Answer(status=404), "not there (HTTP 404)", 1),
        (Answer(status=403), "HTTP 403): credentials for it belong in ~/.netrc", 1),
        (Answer(status=410), "HTTP 410", 1),
        (Answer("half", length=8), "4 times", 4),
        (Answer(b"\x1f\x8b", Content_Encoding="gzip"), "the server compresses it", 1),
        (Answer(status=302, Location="file:///etc/passwd"), "redirects to one that can't", 1),
        (Answer(status=302, Location="/bad"), "redirects in a circle", 10),
    ],
)
def test_a_file_that_fails_does_not_stop_the_others(answer, sentence, attempts, download, files, capsys) -> None:
    with nasty_server({"/": links("a", "bad", "c"), "/a": Answer("a"), "/bad": answer, "/c": Answer("c")}) as nasty:
        assert download(nasty.url, "--mode=all") == 2
    assert files("here") == {"a", "c"}
    said = capsys.readouterr()
    assert "'bad'" in said.err
    assert sentence in said.err
    assert "Traceback" not in said.err
    assert "Fetched 2 files" in said.out
    assert len([path for _, path in nasty.requests if path == "/bad"]) == attempts


def test_a_server_that_is_not_there_is_named(download, capsys: Capture) -> None:
    with nasty_server({}) as gone:
        pass
    assert download(gone.url, "--mode=all") == 2
    assert "127.0.0.1 can't be reached: Connection refused" in capsys.readouterr().err


def test_a_page_that_is_no_listing_is_an_error(download, capsys: Capture) -> None:
    with nasty_server({"/": Answer("<html>Please log in</html>"), "/x/": Answer("x", Content_Type="text/csv")}) as web:
        assert download(web.url, "--mode=all") == 2
        assert "there is no file in it" in capsys.readouterr().err
        assert download(f"{web.url}x", "--mode=all") == 2
        assert "neither a directory listing nor an archive" in capsys.readouterr().err


def test_credentials_come_from_netrc_and_go_nowhere_else(directory, download, files, monkeypatch, capsys) -> None:
    expected = "Basic " + base64.b64encode(b"jane:sesame").decode()

    def protected(answer: Answer):  # type: ignore[no-untyped-def]
        return lambda handler: answer if handler.headers.get("Authorization") == expected else Answer(status=401)

    with nasty_server({"/": protected(links("x")), "/x": protected(Answer("x"))}) as nasty:
        assert download(nasty.url, "--mode=all") == 2
        assert "HTTP 401): credentials for it belong in ~/.netrc" in capsys.readouterr().err
        (directory / "netrc").write_text("machine 127.0.0.1 login jane password sesame\n")
        (directory / "netrc").chmod(0o600)
        monkeypatch.setenv("NETRC", "netrc")
        assert download(nasty.url, "--mode=all") == 0
    assert files("here") == {"x"}
    assert "sesame" not in Path("here/.matbench/download.json").read_text()
    assert "sesame" not in "".join(capsys.readouterr())


def test_many_files_are_fetched_at_a_time_but_no_more_than_jobs(download) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def slow(handler: object) -> Answer:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.05)
        with lock:
            running -= 1
        return Answer("x")

    pages = {"/": links(*(f"x{number}" for number in range(30))), **{f"/x{number}": slow for number in range(30)}}
    with nasty_server(pages) as nasty:
        assert download(nasty.url, "--mode=all", "--jobs=3") == 0
    assert most == 3


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of our own for 127.0.0.1, with its key, in one file."""
    path = tmp_path_factory.mktemp("tls") / "own.pem"
    openssl = shutil.which("openssl")
    if openssl is None:
        from requirements import missing

        missing("openssl; apt-get install openssl")
    subprocess.run(
        [str(openssl), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(path), "-out", f"{path}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


def matbench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """matbench in a process of its own, whose TLS library reads the environment anew."""
    command = [sys.executable, "-m", "matrix_benchmarking", "download", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | environment, timeout=60)


def test_tls_is_verified_and_an_own_authority_can_be_named(certificate, download, files, capsys: Capture) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with nasty_server({"/": links("x"), "/x": Answer("x")}, context) as nasty:
        assert download(nasty.url, "--mode=all") == 2
        assert "certificate can't be verified" in capsys.readouterr().err
        assert not files("here")
        done = matbench(f"--url={nasty.url}", "--mode=all", "--results-dirname=here", SSL_CERT_FILE=str(certificate))
    assert done.returncode == 0, done.stderr
    assert files("here") == {"x"}


def test_a_redirection_away_from_tls_is_refused(certificate, files) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with nasty_server({"/x": Answer("plain")}) as plain:
        pages = {"/": links("x"), "/x": Answer(status=302, Location=f"{plain.url}x")}
        with nasty_server(pages, context) as nasty:
            done = matbench(
                f"--url={nasty.url}", "--mode=all", "--results-dirname=here", SSL_CERT_FILE=str(certificate)
            )
    assert done.returncode == 2
    assert "not encrypted" in done.stderr
    assert not files("here")
