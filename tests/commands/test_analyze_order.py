"""Which version is the newest: by ``analyze_lts``, ``compare`` and ``visualize`` on runs that have no times."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from builders import rate_workload, write_test

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
WORKLOAD = rate_workload("nightly", "commit")
COMMITS = [
    *("9f3c1ab", "0b7d2e4", "c41a9f0", "7e05d1b", "f2b8c36", "1d94e7a", "a6310fc", "58c2b9d", "e0f7134", "3ab5d82"),
    *("d87e01c", "64f9a2b", "b13c5e7", "2e6d8f1"),
]
HISTORY = "--history=sqlite:///kept.db"
ANALYZE = ["analyze_lts", "--workload=nightly.py", HISTORY]


@pytest.fixture(autouse=True)
def kept(directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A history of fourteen commits without times, uploaded at once, the last two 15 % slower."""
    monkeypatch.setenv("XDG_STATE_HOME", str(directory / "state"))
    (directory / "nightly.py").write_text(WORKLOAD, encoding="utf-8")
    noise = np.random.default_rng(3).normal(1.0, 0.01, (len(COMMITS), 2, 3))
    for night, commit in enumerate(COMMITS):
        for size in (1, 2):
            for repeat in range(3):
                if (size, night) == (2, 13):
                    continue
                rate = (85.0 if night >= 12 else 100.0) * noise[night, size - 1, repeat]
                settings = {"commit": commit, "size": size, "repeat": repeat}
                test = directory / "runs" / f"{commit}_{size}_{repeat}"
                write_test(test, settings, files={"rate.json": json.dumps(rate)})
    assert main(["upload_lts", "--workload=nightly.py", "--results-dirname=runs", HISTORY]) == 0
    Path("commits.txt").write_text("\n".join(COMMITS), encoding="utf-8")
    capsys.readouterr()


def answer(capsys: Capture, *options: str) -> dict[str, tuple[str | None, str | None, list[str]]]:
    """By series the last good and the first bad version, and the notes; the newest version under the empty name."""
    main([*ANALYZE, "--report-dest=out", *options])
    capsys.readouterr()
    report = json.loads(Path("out/regression.json").read_text(encoding="utf-8"))
    found = {
        one["name"]: (one["last_good_version"], one["first_bad_version"], one["notes"]) for one in report["series"]
    }
    return {"": (report["newest"], report["order"], []), **found}


@pytest.mark.parametrize("source", ["--results-dirname=runs", "--history=sqlite:///kept.db"])
def test_versions_that_nothing_puts_in_order_are_exit_status_2(source: str, capsys: Capture) -> None:
    assert main(["analyze_lts", "--workload=nightly.py", source]) == 2
    said = capsys.readouterr().err
    assert "the order of commit is unknown: nothing says which of " in said
    assert "name the order by --order FILE (one version a line, the oldest first) or --order git:DIR" in said


def test_the_order_of_a_file_finds_the_night_that_got_slower(capsys: Capture) -> None:
    found = answer(capsys, "--order=commits.txt")
    assert found[""][:2] == ("2e6d8f1", "Versions in the order of the file commits.txt.")
    assert found["size 1"][:2] == ("64f9a2b", "b13c5e7")


def test_a_filter_changes_neither_the_newest_version_nor_the_blame(capsys: Capture) -> None:
    whole = answer(capsys, "--order=commits.txt")
    for size in (1, 2):
        part = answer(capsys, "--order=commits.txt", f"--filters=size={size}")
        assert part[""] == whole[""]
        assert list(part.values())[1] == whole[f"size {size}"]
    assert whole["size 2"][2] == ["no value at 2e6d8f1, the newest version: judged up to b13c5e7"]


def test_a_filter_that_names_versions_has_a_newest_one_of_its_own(capsys: Capture) -> None:
    assert answer(capsys, "--order=commits.txt", f"--filters=commit={':'.join(COMMITS[:9])}")[""][0] == COMMITS[8]


def test_the_order_may_stand_in_the_configuration(directory: Path, capsys: Capture) -> None:
    (directory / "config.yaml").write_text("matbench: {order: commits.txt}", encoding="utf-8")
    assert answer(capsys)[""][0] == "2e6d8f1"


def test_a_file_that_lacks_a_version_is_exit_status_2(capsys: Capture) -> None:
    Path("commits.txt").write_text("\n".join(COMMITS[:-1]), encoding="utf-8")
    assert main([*ANALYZE, "--order=commits.txt"]) == 2
    said = capsys.readouterr().err
    assert "the file commits.txt has no place for 1 of the 14 versions: 2e6d8f1" in said
    assert "add a line for each, where it belongs" in said


def test_compare_needs_no_order_and_says_which_is_newer_where_there_is_one(capsys: Capture) -> None:
    old_and_new = ["compare", "b13c5e7", "64f9a2b", "--workload=nightly.py", HISTORY]
    assert main(old_and_new) == 0
    assert "newer" not in capsys.readouterr().out
    assert main([*old_and_new, "--order=commits.txt"]) == 0
    assert "Versions in the order of the file commits.txt. b13c5e7 is the newer one." in capsys.readouterr().out


def test_two_directories_have_no_order_to_give(capsys: Capture) -> None:
    Path("others").mkdir()
    assert main(["compare", "runs", "others", "--workload=nightly.py", "--order=commits.txt"]) == 2
    assert "--order puts versions in order, and A and B are directories" in capsys.readouterr().err


def test_the_pages_say_where_the_order_is_from_or_that_there_is_none(capsys: Capture) -> None:
    pages = [
        "visualize",
        "--workload=nightly.py",
        HISTORY,
        "--generate=report: KPI history",
        "--generate=Regression analysis",
    ]
    assert main([*pages, "--report-dest=without"]) == 0
    assert main([*pages, "--report-dest=with", "--order=commits.txt", "--filters=size=1"]) == 0
    for page in ("kpi-history.html", "regression-analysis.html"):
        assert "The order of commit is unknown" in Path("without", page).read_text(encoding="utf-8")
        said = Path("with", page).read_text(encoding="utf-8")
        assert "Versions in the order of the file commits.txt." in said


def test_uploads_without_times_night_by_night_are_an_order(capsys: Capture) -> None:
    nights = "--history=sqlite:///nights.db"
    for commit in COMMITS:
        upload = ["upload_lts", "--workload=nightly.py", "--results-dirname=runs", f"--filters=commit={commit}", nights]
        assert main(upload) == 0
    whole = answer(capsys, nights)
    assert whole[""][:2] == ("2e6d8f1", "Versions in the order in which the history first saw them.")
    assert whole["size 1"][:2] == ("64f9a2b", "b13c5e7")
    for size in (1, 2):
        part = answer(capsys, nights, f"--filters=size={size}")
        assert (part[""], list(part.values())[1]) == (whole[""], whole[f"size {size}"])


def test_the_unattended_analysis_takes_the_order_of_the_configuration(capsys: Capture) -> None:
    block = "{lts: {opensearch: {regression_analyses: {enabled: true, fail_test_on_regression: true}}}, "
    parse = ["parse", "--workload=nightly.py", "--results-dirname=runs"]
    Path("config.yaml").write_text(f"matbench: {block} history: 'sqlite:///kept.db'}}", encoding="utf-8")
    assert main(parse) == 2
    assert "the order of commit is unknown" in capsys.readouterr().err
    Path("config.yaml").write_text(
        f"matbench: {block} history: 'sqlite:///kept.db', order: commits.txt}}", encoding="utf-8"
    )
    assert main(parse) == 1
    assert "Versions in the order of the file commits.txt." in capsys.readouterr().err
