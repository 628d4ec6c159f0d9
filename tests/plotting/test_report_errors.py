"""What the error report says of why tests failed, and how little of a strange directory it reads."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Any

from matrix_benchmarking.analyze.study import Study
from matrix_benchmarking.matrix import Entry, Matrix, Problem
from matrix_benchmarking.plotting import report_errors
from matrix_benchmarking.plotting.catalogue import catalogue_of
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.workload import Workload


def failed(directory: Path, name: str, code: int | None = 1, engine: str = "int8", **files: bytes) -> Entry:
    """A failed test with log files, ``__`` in whose names is a dot."""
    location = directory / name
    location.mkdir(parents=True)
    for file, content in files.items():
        (location / file.replace("__", ".")).write_bytes(content)
    return Entry(
        settings={"engine": engine, "name": name},
        repeat=0,
        location=location,
        name=name,
        exit_code=code,
        finished=code is not None,
    )


def page(workload: Workload, *entries: Entry, unfinished: tuple[Entry, ...] = ()) -> str:
    catalogue = catalogue_of(Study(Matrix(entries, unfinished=unfinished), workload))
    return StaticHTML().render(catalogue.page("report: Error report").do_plot(*catalogue.arguments()))


def text(shown: str) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", shown))


def test_failures_are_one_where_exit_code_and_last_line_are(workload: Workload, tmp_path: Path) -> None:
    shown = text(
        page(
            workload,
            failed(tmp_path, "a", stderr__log=b"started\nout of memory after 12 s\n\n"),
            failed(tmp_path, "b", stderr__log=b"out of memory after 13 s"),
            failed(tmp_path, "c", code=2, stderr__log=b"out of memory after 13 s"),
            failed(tmp_path, "d", run__log=b""),
            unfinished=(
                failed(tmp_path, "e", code=None, k6__log=b"killed"),
                dataclasses.replace(failed(tmp_path, "f", code=None), problems=(Problem("settings: …"),)),
            ),
        )
    )
    assert "1 out of memory after 12 s 2 tests a b" in shown
    assert "2 out of memory after 13 s c" in shown
    assert "1 no log d" in shown
    assert "did not finish killed e" in shown
    assert "can&#x27;t be read no log f" in shown
    assert "stderr.log started out of memory after 12 s" in shown


def test_a_log_is_text_whatever_is_in_it(workload: Workload, tmp_path: Path) -> None:
    hostile = b"<script>alert(1)</script> \xff\xfe \x1b[31m\nlast </pre><script>alert(2)</script>"
    shown = page(workload, failed(tmp_path, "a", stderr__log=hostile))
    assert "<script" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\xff\\xfe" in shown


def test_only_the_end_of_a_log_is_read(tmp_path: Path) -> None:
    lines = "".join(f"line {number}\n" for number in range(100_000))
    entry = failed(tmp_path, "a", run__log=lines.encode(), long__log=b"x" * 1_000_000)
    by_file = report_errors.tails(entry.location)
    assert by_file["run.log"] == [f"line {number}" for number in range(99_980, 100_000)]
    assert [len(line) for line in by_file["long.log"]] == [report_errors.LONGEST_LINE + 1]


def test_nothing_but_regular_files_in_the_test_directory_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_text("secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.log").write_text("secret")
    location = failed(tmp_path, "a").location
    (location / "link.log").symlink_to(tmp_path / "secret.log")
    (location / "directory").symlink_to(tmp_path / "outside")
    (location / "stdout.log").symlink_to("/dev/zero")
    os.mkfifo(location / "pipe.log")
    (location / "folder.log").mkdir()
    (location / "notes.txt").write_text("not a log")
    assert report_errors.tails(location) == {}
    assert report_errors.tails(location / "missing") == {}


def test_errors_come_first_then_the_last_artifact_directory(tmp_path: Path) -> None:
    location = failed(tmp_path, "a", stdout__log=b"out", stderr__log=b"err").location
    for directory in ("000__server", "002__k6__run"):
        (location / directory).mkdir()
        (location / directory / "x.log").write_text(directory)
    assert [*report_errors.tails(location)] == [
        "stderr.log",
        "stdout.log",
        "002__k6__run/x.log",
        "000__server/x.log",
    ]


def test_a_setting_that_fails_more_often_than_chance_is_named(workload: Workload, tmp_path: Path) -> None:
    good: list[Any] = [failed(tmp_path, f"good-{n}", code=0, engine="fp32") for n in range(20)]
    shown = text(page(workload, *good, *(failed(tmp_path, f"bad-{n}") for n in range(5))))
    assert "All 5 failed tests have engine=int8; of the 5 with it all failed." in shown
    assert "No single value of a setting is among the failed tests more often" in text(
        page(workload, good[0], failed(tmp_path, "one"))
    )


def test_of_a_thousand_failed_tests_the_first_logs_are_read(workload: Workload, tmp_path: Path) -> None:
    tests = [failed(tmp_path, f"t-{n}", stderr__log=b"line\n" * 1000 + b"died\n") for n in range(1000)]
    shown = text(page(workload, *tests))
    assert "The logs of the first 300 of 1000 tests were read." in shown
    assert "1 died 300 tests" in shown
    assert "And those of 275 more tests" in shown
