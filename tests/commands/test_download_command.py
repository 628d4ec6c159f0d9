"""``matbench download`` as a person meets it: options, lists of addresses, what is printed, exit statuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from matrix_benchmarking.cli import main
from matrix_benchmarking.download_record import is_downloaded

Capture = pytest.CaptureFixture[str]


def download(*options: str) -> int:
    return main(["download", "--results-dirname=here", *options])


def test_what_was_fetched_is_said_and_can_be_parsed(capsys: Capture) -> None:
    assert download("--url=results", "--workload=tiny.py") == 0
    assert capsys.readouterr().out == "Fetched 9 files of 3 tests (0.0 MB): here\n"
    assert main(["parse", "--results-dirname=here", "--workload=tiny.py", "--output-matrix=m.json"]) == 0
    assert download("--url=results", "--workload=tiny.py") == 0
    assert capsys.readouterr().out.endswith("Fetched 0 files of 3 tests (0.0 MB), 9 were here already: here\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--workload=tiny.py"], "no address given: use --url ADDRESS, MATBENCH_URL or matbench.download.url"),
        (["--url=results"], "no workload given: use --workload NAME, MATBENCH_WORKLOAD or matbench.workload in "
         "config.yaml; only --mode all does without one"),
        (["--url=results", "--mode=some", "--workload=tiny.py"], "'some' is not one of 'cache"),
        (["--url=nowhere", "--mode=all"], "nowhere does not exist"),
        (["--url=tiny.py", "--mode=all"], "tiny.py is neither a directory nor an archive"),
        (["--url=nowhere.zip", "--mode=all"], "nowhere.zip: the archive can't be read: No such file or directory"),
        (["--url=https://u:sesame@host/x", "--mode=all"], "holds a user name or password"),
        (["--url=results", "--url-file=urls", "--mode=all"], "both --url and --url-file are given: leave one out"),
        (["--url=results", "--mode=all", "--save-to-artifacts"], "ARTIFACT_DIR is not set"),
        (["--url=results", "--mode=all", "--jobs=0"], "invalid value for '--jobs'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_status_2(options, sentence, monkeypatch, capsys: Capture) -> None:
    monkeypatch.delenv("ARTIFACT_DIR", raising=False)
    assert download(*options) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("matbench: ")
    assert sentence in captured.err
    assert "sesame" not in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not Path("here").exists() or not is_downloaded(Path("here"))


def test_a_destination_must_be_named(capsys: Capture) -> None:
    assert main(["download", "--url=results", "--mode=all"]) == 2
    assert "no results directory given: use --results-dirname DIR" in capsys.readouterr().err


def test_each_address_of_a_list_goes_to_its_directory_and_one_that_fails_stops_none(directory, new_test, capsys):
    new_test(directory / "more" / "run", batch_size=9, rate=9.0)
    Path("urls").write_text(f"results  first\nnowhere  second\n{directory}/more\n")
    assert download("--url-file=urls", "--mode=all") == 2
    captured = capsys.readouterr()
    assert captured.err == f"matbench: {directory}/nowhere: {directory}/nowhere does not exist\n"
    assert captured.out.startswith("Fetched 12 files")
    own = str(directory / "more").strip("/").replace("/", "_")
    assert {path.name for path in Path("here").iterdir()} == {".matbench", "first", own}
    assert main(["parse", "--results-dirname=here", "--workload=tiny.py", "--output-matrix=m.json"]) == 0
    assert is_downloaded(Path("here"))
    assert is_downloaded(Path("here/first"))
    Path("nowhere").mkdir()
    Path("nowhere/x").write_text("x")
    assert download("--url-file=urls", "--mode=all") == 0
    assert "Fetched 1 file (0.0 MB), 12 were here already" in capsys.readouterr().out


def test_the_configuration_gives_what_no_option_gives(capsys: Capture) -> None:
    Path("config.yaml").write_text(
        "matbench:\n  workload: tiny.py\n  test_directory: here\n"
        "  download: {url: results, mode: important, jobs: 2, max_bytes: 100}\n"
    )
    assert main(["download"]) == 2
    assert "more than 100; --max-bytes" in capsys.readouterr().err
    assert main(["download", "--max-bytes=1000000"]) == 0
    assert '"mode": "important"' in Path("here/.matbench/download.json").read_text()


@pytest.mark.parametrize("stronger", ["flag", "environment"])
def test_a_list_wins_over_an_address_of_a_weaker_place(stronger, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("config.yaml").write_text("matbench:\n  download: {url: nowhere}\n")
    Path("urls").write_text("results  listed\n")
    if stronger == "environment":
        monkeypatch.setenv("MATBENCH_URL_FILE", "urls")
        assert download("--mode=all") == 0
    else:
        monkeypatch.setenv("MATBENCH_URL", "nowhere")
        assert download("--mode=all", "--url-file=urls") == 0
    assert Path("here/listed/run_1/rate.json").exists()


def test_what_was_fetched_is_also_put_into_the_artifacts(directory, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setenv("ARTIFACT_DIR", str(directory / "artifacts"))
    assert download("--url=results", "--mode=all", "--save-to-artifacts") == 0
    assert f"Copied to {directory}/artifacts/here\n" in capsys.readouterr().out
    copied = {path.relative_to("artifacts/here") for path in Path("artifacts").rglob("*") if path.is_file()}
    assert copied - {Path(".matbench/download.json")} == {
        path.relative_to("results") for path in Path("results").rglob("*") if path.is_file()
    }


def test_the_configuration_can_ask_for_the_artifacts(directory, monkeypatch, capsys: Capture) -> None:
    Path("config.yaml").write_text("matbench:\n  download: {save_to_artifacts: true}\n")
    monkeypatch.delenv("ARTIFACT_DIR", raising=False)
    assert download("--url=results", "--mode=all") == 2
    assert "ARTIFACT_DIR is not set" in capsys.readouterr().err
    assert not Path("here").exists()


def test_a_destination_in_the_artifacts_is_not_copied_into_itself(directory, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setenv("ARTIFACT_DIR", str(directory))
    assert download("--url=results", "--mode=all", "--save-to-artifacts") == 0
    assert {path.name for path in directory.iterdir()} == {"here", "results", "tiny.py"}


@pytest.mark.parametrize("artifacts", ["here", "here/artifacts"])
def test_artifacts_in_the_destination_are_refused(directory, monkeypatch, artifacts: str, capsys: Capture) -> None:
    monkeypatch.setenv("ARTIFACT_DIR", str(directory / artifacts))
    assert download("--url=results", "--mode=all", "--save-to-artifacts") == 2
    assert "lies in the results directory" in capsys.readouterr().err
    assert not Path("here/here").exists()


@pytest.mark.parametrize("address", ["s3://bucket/x", "s3://b/x.zip"])
def test_a_missing_library_is_named_with_the_way_to_get_it(address, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert download(f"--url={address}", "--mode=all") == 2
    said = capsys.readouterr().err
    assert "needs s3fs: pip install 'matrix-benchmarking[remote]'" in said
    assert said.count(address) == 1


def test_a_local_directory_needs_no_further_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert download("--url=results", "--mode=all") == 0


@pytest.mark.parametrize(("count", "named"), [(25, 25), (1005, 1000)])
def test_everything_that_is_left_out_is_named_up_to_a_thousand(count, named, directory, capsys: Capture) -> None:
    for number in range(count):
        (directory / "results" / "run_1" / f"{number:04}").symlink_to("/etc/passwd")
    assert download("--url=results", "--mode=all") == 0
    warnings = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert [f"run_1/{number:04}" in line for number, line in enumerate(warnings[:named])] == [True] * named
    assert warnings[named:] == (["warning: … and 5 more"] if count > named else [])


def test_each_address_that_fails_is_named(capsys: Capture) -> None:
    Path("urls").write_text("".join(f"nowhere{number:02}\n" for number in range(25)))
    assert download("--url-file=urls", "--mode=all") == 2
    said = capsys.readouterr().err
    assert all(f"nowhere{number:02} does not exist" in said for number in range(25))
