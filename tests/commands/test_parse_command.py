"""``matbench parse`` on a small tree: what it writes, and where."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pandas
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from matrix_benchmarking.cli import main
from matrix_benchmarking.plotting.static_html import plotly_script

Parse = Callable[..., int]
Capture = pytest.CaptureFixture[str]


def test_without_outputs_it_prints_the_best_configuration(parse: Parse, capsys: Capture) -> None:
    assert parse() == 0
    out = capsys.readouterr().out
    assert "batch_size" in out
    assert "\x1b" not in out


def test_it_writes_all_outputs_of_one_parse(parse: Parse, directory: Path, capsys: Capture) -> None:
    outputs = ["--output-matrix=m.json", "--output-lts=new/lts.json", "--output-openmetrics=k.txt"]
    assert parse(*outputs, "--output-table=t.parquet") == 0
    assert len(json.loads(Path("m.json").read_text())) == 3
    assert [p["results"]["rate"] for p in json.loads(Path("new/lts.json").read_text())] == [1.5, 3.0, 4.5]
    assert len(pandas.read_parquet("t.parquet")) == 3
    (family,) = text_string_to_metric_families(Path("k.txt").read_text())
    assert {sample.value for sample in family.samples} == {1.5, 3.0, 4.5}
    assert capsys.readouterr().out


@pytest.mark.parametrize("pretty", ["--pretty", "--pretty=True", "--pretty=1", "--pretty=yes"])
def test_pretty_can_be_said_in_several_ways(parse: Parse, pretty: str) -> None:
    assert parse("--output-lts=lts.json", pretty) == 0
    assert '\n  "metadata": {\n' in Path("lts.json").read_text()


@pytest.mark.parametrize("pretty", ["--pretty=False", "--pretty=no"])
def test_pretty_can_be_denied(parse: Parse, pretty: str) -> None:
    assert parse("--output-lts=lts.json", pretty) == 0
    assert '\n  "metadata"' not in Path("lts.json").read_text()


@pytest.mark.parametrize("option", ["--output-matrix", "--output_lts"])
def test_a_dash_is_standard_output_and_then_nothing_else_is_there(parse: Parse, option: str, capsys: Capture) -> None:
    assert parse(option, "-") == 0
    assert len(json.loads(capsys.readouterr().out)) == 3


def test_two_outputs_to_one_place_are_refused(parse: Parse, capsys: Capture) -> None:
    assert parse("--output-lts=-", "--output-matrix=-") == 2
    assert parse("--output-lts=x", "--output-matrix=x") == 2
    assert "two outputs are to be written to standard output (-)" in capsys.readouterr().err


def test_strict_problems_are_all_named_and_nothing_is_written(
    parse: Parse, directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    new_test(directory / "results/bad", batch_size=4, rate=1.0, exit_code="3")
    new_test(directory / "results/unfinished", batch_size=5, rate=1.0, exit_code=None)
    (new_test(directory / "results/broken", batch_size=6, rate=1.0) / "rate.json").write_text('{"rate": ')
    Path("lts.json").write_text("old")
    assert parse("--output-lts=lts.json", "--output-matrix=m.json") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    said = captured.err
    assert "matbench: no LTS payloads were written: " in said
    assert "  bad: the test failed with exit code 3\n" in said
    assert "  unfinished: did not finish: there is no exit code\n" in said
    assert "  broken: rate.json: " in said
    assert Path("lts.json").read_text() == "old"
    assert not Path("m.json").exists()
    assert sorted(path.name for path in directory.iterdir()) == ["lts.json", "results", "tiny.py"]


@pytest.mark.parametrize(
    ("name", "is_importable"),
    [("mine", False), ("mine", True), ("mine/", False), ("mine/workload", False), ("mine.workload", False)],
)
def test_the_directory_of_a_workload_in_a_file_leads_to_the_file(
    name: str, is_importable: bool, directory: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / "mine").mkdir()
    (directory / "tiny.py").rename(directory / "mine" / "workload.py")
    elsewhere = [path for path in sys.path if path not in ("", ".", str(directory))]
    monkeypatch.setattr(sys, "path", [*([str(directory)] if is_importable else []), *elsewhere])
    monkeypatch.delitem(sys.modules, "mine", raising=False)  # of another test's directory
    assert main(["parse", f"--workload={name}", "--results-dirname=results"]) == 2
    expected = f"matbench: workload '{name}' not found: did you mean the file 'mine/workload.py'?\n"
    assert capsys.readouterr().err == expected


def test_an_id_of_a_plots_file_that_is_not_here_says_where_it_was_looked_for(capsys: Capture) -> None:
    arguments = ["visualize", "--workload=tiny.py", "--results-dirname=results", "--generate-id=nightly"]
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        "matbench: --generate-id nightly: there is no data/plots.yaml here that could list it; name the file with "
        "--plots-file, or a report with --generate\n"
    )


def test_what_went_missing_in_silence_are_strict_problems_too(
    parse: Parse, directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    lost = new_test(directory / "results/lost", batch_size=4, rate=1.0)
    bare = new_test(directory / "results/bare", batch_size=5, rate=1.0)
    assert parse("--output-lts=lts.json") == 0
    Path("lts.json").unlink()
    (lost / "settings.yaml").unlink()
    (bare / "rate.json").unlink()
    assert parse("--output-lts=lts.json") == 1
    said = capsys.readouterr().err
    assert "  lost: has exit_code and no settings.yaml" in said
    assert "  bare: known from its cache alone: its artifacts are not here\n" in said
    assert not Path("lts.json").exists()
    assert parse() == 0
    captured = capsys.readouterr()
    assert "warning: lost: has exit_code and no settings.yaml" in captured.err
    assert "warning: bare: known from its cache alone" in captured.err
    assert "2 runs can't take part" in " ".join(captured.out.split())


def test_filters_leave_failed_tests_out_of_a_strict_parse(
    parse: Parse, directory: Path, new_test: Callable[..., Path]
) -> None:
    new_test(directory / "results/bad", batch_size=4, rate=1.0, exit_code="3")
    assert parse("--output-lts=lts.json", "--filters=batch_size=1:3") == 0
    assert len(json.loads(Path("lts.json").read_text())) == 2


def test_failed_tests_are_warnings_of_a_lenient_parse(
    parse: Parse, directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    for number in range(20):
        new_test(directory / f"results/bad_{number:02}", batch_size=4, rate=1.0, exit_code="3")
    assert parse("--output-matrix=m.json") == 0
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 11
    assert said[-1] == "warning: … and 10 more"


def test_a_person_is_told_what_was_written(parse: Parse, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert parse("--output-matrix=m.json", "--output-table=t.csv") == 0
    assert "Written: m.json, t.csv." in capsys.readouterr().err


def test_control_characters_of_a_strange_tree_do_not_reach_the_terminal(
    parse: Parse, directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    new_test(directory / "results/\x1b[31m[bold]x", batch_size="[red]\x1b[2J", rate=9.0, exit_code="1")
    assert parse() == 0
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "\\x1b[31m[bold]x: failed with exit code 1" in captured.err


def test_clean_removes_the_caches_and_stops(parse: Parse, directory: Path, capsys: Capture) -> None:
    before = sorted(directory.rglob("*"))
    assert parse("--output-matrix=-") == 0
    assert sorted(directory.rglob("*")) != before
    capsys.readouterr()
    assert parse("--clean") == 0
    assert sorted(directory.rglob("*")) == before
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "removed 3 cache files of results\n")


def test_a_table_of_an_unknown_kind_is_refused_before_parsing(parse: Parse, directory: Path, capsys: Capture) -> None:
    assert parse("--output-table=t.xlsx") == 2
    assert "'t.xlsx' ends in neither" in capsys.readouterr().err
    assert not list(directory.rglob(".matbench*"))


@pytest.mark.parametrize("option", ["--output-matrix", "--output-lts", "--output-table"])
def test_an_output_that_cannot_be_written_is_one_sentence(parse: Parse, option: str, capsys: Capture) -> None:
    Path("file").write_text("x")
    assert parse(option, "file/out.csv") == 2
    said = capsys.readouterr().err
    assert said.startswith("matbench: cannot write ")
    assert said.endswith("file/out.csv: {} is not a directory\n".format(Path("file").resolve()))


def test_a_link_stays_a_link_and_a_device_a_device(parse: Parse, directory: Path) -> None:
    Path("link.json").symlink_to("real.json")
    os.mkfifo("pipe")
    reader = subprocess.Popen(["cat", "pipe"], stdout=subprocess.PIPE)
    assert parse("--output-lts=link.json", "--output-matrix=pipe") == 0
    assert Path("link.json").is_symlink()
    assert len(json.loads(Path("real.json").read_text())) == 3
    assert len(json.loads(reader.communicate()[0])) == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(parse: Parse, capsys: Capture) -> None:
    assert parse("--output-lts=/dev/full") == 2
    assert capsys.readouterr().err == "matbench: cannot write to /dev/full: No space left on device\n"


def test_prices_of_options_win_over_those_of_the_file_name_by_name(parse: Parse) -> None:
    Path("config.yaml").write_text("matbench: {prices: {aws/a: 1.0, aws/cpu-1: 2.0}}")
    assert parse("--output-matrix=m.json", "--price=aws/cpu-1=3", "--price", "cpu-1=4.5") == 0
    for entry in json.loads(Path("m.json").read_text()):
        assert entry["results"]["prices"] == {"aws/a": 1.0, "aws/cpu-1": 3.0, "cpu-1": 4.5}


def test_prices_of_the_environment_are_separated_by_commas(parse: Parse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATBENCH_PRICE", "aws/a=1,gcp/b=2.5")
    assert parse("--output-matrix=m.json") == 0
    assert json.loads(Path("m.json").read_text())[0]["results"]["prices"] == {"aws/a": 1.0, "gcp/b": 2.5}


@pytest.mark.parametrize("price", ["aws/a", "=1", "aws/a=-1", "aws/a=nan", "aws/a=", "/a=1", "aws/a=inf"])
def test_a_price_of_another_form_is_refused(parse: Parse, price: str, capsys: Capture) -> None:
    assert parse(f"--price={price}") == 2
    assert f"'{price}' is not [VENDOR/]HW_TYPE=USD_PER_HOUR" in capsys.readouterr().err


def test_the_schema_accepts_the_file_that_parse_writes(parse: Parse) -> None:
    assert main(["generate-lts-schema", "--workload=tiny.py", "--file=schema.json"]) == 0
    assert parse("--output-lts=lts.json") == 0
    schema = json.loads(Path("schema.json").read_text())
    payloads = json.loads(Path("lts.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    for document in (payloads, *payloads):
        validator.validate(document)


def test_the_schema_goes_to_standard_output_unless_a_file_is_named(capsys: Capture) -> None:
    assert main(["generate_lts_schema", "--workload=tiny.py"]) == 0
    assert json.loads(capsys.readouterr().out)["title"].startswith("LTS payload of tiny")


def test_a_huge_setting_is_cut_wherever_people_read_it_and_whole_in_every_output(
    directory: Path, new_test: Callable[..., Path], capsys: Capture
) -> None:
    huge = "a" * 3_000_000
    for rate, letter in enumerate("ab", start=1):
        new_test(directory / "huge" / letter, batch_size=huge.replace("a", letter), rate=rate)
    arguments = ["--workload=tiny.py", "--results-dirname=huge"]
    assert main(["parse", *arguments, "--output-matrix=m.json"]) == 0
    assert main(["visualize", *arguments, "--generate", "--report-dest=pages", "--single-file"]) == 0
    assert main(["check", *arguments]) == 0
    assert main(["parse", *arguments, "--filters=batch_size=x"]) == 2
    captured = capsys.readouterr()
    assert "(3,000,000 characters, " in captured.out
    assert len(captured.out + captured.err) < 20_000
    assert len(Path("pages/index.html").read_text()) - len(plotly_script()) < 1_000_000
    assert json.loads(Path("m.json").read_text())[0]["settings"]["batch_size"] == huge


def test_what_a_parser_quotes_of_a_file_is_cut(directory: Path, new_test: Callable[..., Path], capsys: Capture) -> None:
    new_test(directory / "huge" / "a", batch_size=["a" * 3_000_000], rate=1.5)
    new_test(directory / "huge" / "b", batch_size=1, rate="r" * 3_000_000)
    new_test(directory / "huge" / "c", batch_size=1, rate=1)
    (directory / "huge" / "c" / "settings.yaml").write_text(f"? {'n' * 3_000_000}\n: 1\n")
    Path("tiny.py").write_text(Path("tiny.py").read_text().replace("dict(test", "float(results.rate), dict(test"))
    assert main(["parse", "--workload=tiny.py", "--results-dirname=huge"]) == 0
    captured = capsys.readouterr()
    assert "could not convert" in captured.err
    assert "the name nnn" in captured.err
    assert len(captured.out + captured.err) < 20_000


@pytest.mark.parametrize("code", ["0", "3", ""])
def test_code_of_a_workload_that_calls_exit_ends_nothing_but_itself(
    code: str, directory: Path, parse: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    source = (directory / "tiny.py").read_text()
    leave = f"    if lts.results.rate > 4:\n        raise SystemExit({code})\n    return lts.results.rate"
    (directory / "tiny.py").write_text(source.replace("    return lts.results.rate", leave))
    assert parse("--output-matrix=matrix.json") == 0
    assert len(json.loads((directory / "matrix.json").read_text())) == 3
    assert parse("--output-lts=lts.json") == 0
    assert parse() == 0
    assert f"(1 × rate is unknown: not in this test's results: sys.exit({code}) was called)" in capsys.readouterr().out
    leave = f"    if results.rate > 4:\n        raise SystemExit({code})\n    results.prices"
    (directory / "tiny.py").write_text(source.replace("    results.prices", leave))
    assert parse("--output-lts=lts.json") == 1
    assert (
        f"run_3: parse_once stopped after it read 'rate.json': sys.exit({code}) was called" in capsys.readouterr().err
    )
    (directory / "tiny.py").write_text(f"{source}\nraise SystemExit({code})\n")
    assert parse() == 2
    assert f"sys.exit({code}) (tiny.py, line" in capsys.readouterr().err
