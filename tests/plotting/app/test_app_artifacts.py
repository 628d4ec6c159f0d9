"""Files of a test directory: only from inside the results directory, only as text or as a download."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from matrix_benchmarking.errors import MatbenchError
from matrix_benchmarking.matrix import Entry
from matrix_benchmarking.plotting.app import run_page


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A results directory with one test, a secret beside it, and links that lead out."""
    test = tmp_path / "results" / "test"
    (test / "k6").mkdir(parents=True)
    (test / "k6" / "summary.json").write_text('{"a":1}')
    (test / "page.html").write_text("<script>alert(1)</script>")
    (test / "data.bin").write_bytes(bytes(range(256)))
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "results" / "other").mkdir()
    (tmp_path / "results" / "other" / "log.txt").write_text("of another test")
    (test / "out").symlink_to(tmp_path / "secret.txt")
    (test / "up").symlink_to(tmp_path)
    os.mkfifo(test / "pipe")
    return tmp_path / "results"


def entry(location: Path) -> Entry:
    return Entry(settings={}, repeat=0, location=location, name="test", exit_code=0, test_uuid="1")


def test_the_files_are_listed_by_name_without_what_leads_out(results: Path) -> None:
    found, is_all = run_page.listing(entry(results / "test"), [results])
    assert [(each.name, each.size_bytes) for each in found] == [
        ("data.bin", 256),
        ("k6/summary.json", 7),
        ("page.html", 25),
    ]
    assert is_all


@pytest.mark.parametrize(
    "name",
    [
        "../../secret.txt",
        "../other/log.txt",
        "/etc/passwd",
        "k6/../../../secret.txt",
        "out",
        "up/secret.txt",
        "pipe",
        "k6",
        "",
        ".",
        "absent",
        "summary\0.json",
        "a" * 5000,
    ],
)
def test_nothing_else_can_be_reached(results: Path, name: str) -> None:
    with pytest.raises(MatbenchError, match="there is no file"):
        run_page.locate(entry(results / "test"), name, [results])


def test_a_file_inside_is_found(results: Path) -> None:
    path = run_page.locate(entry(results / "test"), "k6/summary.json", [results])
    assert run_page.beginning_of(path).text == '{\n  "a": 1\n}'


def test_a_test_outside_of_the_results_directory_has_no_files(results: Path, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "secret.txt", Path("/etc")):
        with pytest.raises(MatbenchError, match="no files here"):
            run_page.listing(entry(place), [results])
    with pytest.raises(MatbenchError, match="no files here"):
        run_page.locate(entry(results / "test"), "page.html", [])


def test_a_test_that_is_a_file_has_this_file(results: Path) -> None:
    one = entry(results / "test" / "page.html")
    assert [each.name for each in run_page.listing(one, [results])[0]] == ["page.html"]
    assert run_page.locate(one, "page.html", [results]).name == "page.html"
    with pytest.raises(MatbenchError):
        run_page.locate(one, "data.bin", [results])


def test_a_test_directory_that_is_gone_is_said_to_be(results: Path) -> None:
    with pytest.raises(MatbenchError, match="is gone"):
        run_page.listing(entry(results / "vanished"), [results])


def test_text_is_shown_up_to_its_limit_and_bytes_are_not(results: Path) -> None:
    assert run_page.beginning_of(results / "test" / "data.bin").text is None
    large = results / "large.log"
    large.write_text("x" * (run_page.SHOWN_BYTES + 1))
    shown = run_page.beginning_of(large)
    assert shown.text is not None
    assert (len(shown.text), shown.is_whole) == (run_page.SHOWN_BYTES, False)


def test_json_is_shown_with_every_number_as_it_stands_in_the_file(results: Path) -> None:
    odd = results / "odd.json"
    odd.write_text('{"a": 1.0, "a": 2, "b": [1e999, {}], "c": 12345678901234567890.123, "d": "x,{\\"y:"}')
    assert run_page.beginning_of(odd).text == (
        '{\n  "a": 1.0,\n  "a": 2,\n  "b": [\n    1e999,\n    {}\n  ],\n'
        '  "c": 12345678901234567890.123,\n  "d": "x,{\\"y:"\n}'
    )


def test_json_that_is_none_and_text_that_is_not_utf_8_are_shown_as_they_are(results: Path) -> None:
    broken = results / "broken.json"
    broken.write_bytes(b'{"a": \xff')
    assert run_page.beginning_of(broken).text == '{"a": \ufffd'
    broken.write_text('{"a": NaN}')  # Python writes it, and no other tool reads it
    assert run_page.beginning_of(broken).text == '{"a": NaN}'
    deep = results / "deep.json"
    deep.write_text("[" * 100_000)
    assert run_page.beginning_of(deep).text == "[" * 100_000


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.js", "a.json", "a.log", "A.HTML"])
def test_what_a_browser_could_run_is_sent_as_plain_text(name: str) -> None:
    assert run_page.content_type(Path(name)) == "text/plain"


def test_the_rest_is_a_download() -> None:
    assert run_page.content_type(Path("a.bin")) == "application/octet-stream"


def test_a_directory_of_very_many_files_is_listed_in_part(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_page, "MOST_FILES", 2)
    found, is_all = run_page.listing(entry(results / "test"), [results])
    assert (len(found), is_all) == (2, False)
