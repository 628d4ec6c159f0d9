"""``matbench benchmark`` with scripts: the plan, a run, what goes wrong, and going on after a kill."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from interruptible import interruptible

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]

BENCHMARK = """
workload: tiny.py
expe:
  hash:
    size: [1, 2]
    colour: [red, blue]
    repeat: 2
script_tpl: [sh, -c, "{code}", "{size}", "{colour}"]
derived:
  colour:
    red: {code: %s}
    blue: {code: %s}
"""
WORKS = """printf '{"rate": %d}' $0 > rate.json; echo $1"""
FAILS = "echo no such colour >&2; exit 1"


@pytest.fixture
def benchmark(directory: Path) -> Callable[..., int]:
    """``matbench benchmark`` on a file of eight points, with further options; gives the exit status."""
    write(directory)
    return lambda *options: main(["benchmark", "benchmark.yaml", "--results-dirname=measured", *options])


def write(directory: Path, red: str = WORKS, blue: str = WORKS, extra: str = "") -> None:
    (directory / "benchmark.yaml").write_text(BENCHMARK % (json.dumps(red), json.dumps(blue)) + extra, encoding="utf-8")


def finished(results: str = "measured") -> list[Path]:
    return sorted(path.parent for path in Path(results).glob("**/exit_code") if ".matbench" not in path.parts)


def test_without_run_the_plan_is_printed_and_nothing_started(benchmark, capsys: Capture) -> None:
    assert benchmark() == 0
    out = capsys.readouterr().out
    assert "8 of 8 points to run" in out
    assert "size, colour" in out
    assert "--run" in out
    assert not Path("measured").exists()


def test_a_run_makes_one_test_directory_a_point_that_parse_reads(benchmark, capsys: Capture) -> None:
    assert benchmark("--run") == 0
    captured = capsys.readouterr()
    assert "8 points measured" in captured.out
    assert captured.err.count("[8/8]") == 1
    assert len(finished()) == 8
    assert main(["parse", "--results-dirname=measured", "--workload=tiny.py", "--output-matrix=m.json"]) == 0
    entries = json.loads(Path("m.json").read_text())
    assert sorted((e["settings"]["size"], e["settings"]["colour"], e["repeat"]) for e in entries) == sorted(
        (size, colour, repeat) for size in (1, 2) for colour in ("red", "blue") for repeat in (0, 1)
    )
    assert all(e["results"]["rate"] == e["settings"]["size"] for e in entries)


def test_run_is_short_for_it(benchmark, capsys: Capture) -> None:
    assert main(["run", "benchmark.yaml", "--results-dirname=measured"]) == 0
    assert "8 points measured" in capsys.readouterr().out
    assert main(["run", "absent.yaml"]) == 2
    assert "absent.yaml" in capsys.readouterr().err


def test_a_point_keeps_its_outputs_its_environment_and_the_command_that_repeats_it(benchmark, capsys: Capture) -> None:
    assert benchmark("--run", "--filters=size=1,colour=red,repeat=1") == 0
    (point,) = finished()
    assert (point / "000__script" / "stdout.log").read_text() == "red\n"
    assert (point / "000__script" / "stderr.log").read_text() == ""
    environment = json.loads((point / "environment.json").read_text())
    assert {"cpu_model", "kernel", "gpus", "versions", "command"} <= environment.keys()
    assert "matbench" in environment["versions"]
    times = json.loads((point / "test_start_end.json").read_text())
    assert times["start"] < times["end"]
    repeat = environment["command"].removeprefix("matbench ")
    assert main(shlex.split(repeat)) == 0
    again = [path.parent for path in Path("repeated").glob("**/exit_code")]
    assert len(again) == 1
    assert (again[0] / "settings.yaml").read_text() == (point / "settings.yaml").read_text()


def test_a_command_without_a_server_needs_nothing_of_the_extra_a_monitored_one_does(
    directory, benchmark, monkeypatch, capsys: Capture
) -> None:
    for name in ("psutil", "httpx"):
        monkeypatch.setitem(sys.modules, name, None)
    assert benchmark("--run", "--filters=size=1,colour=red,repeat=0") == 0
    (run,) = finished()
    assert json.loads((run / "environment.json").read_text())["memory_total_bytes"] > 2**20
    (directory / "benchmark.yaml").write_text("expe: {a: {x: 1}}\nscript_tpl: {command: 'true', monitor: true}\n")
    assert benchmark("--run", "--results-dirname=watched") == 2
    assert "running a benchmark needs httpx: pip install 'matrix-benchmarking[benchmark]'" in capsys.readouterr().err


def test_a_setting_of_the_file_is_given_another_value_which_every_later_command_repeats(
    directory, benchmark, monkeypatch, capsys: Capture
) -> None:
    write(directory, extra='common_settings: {version: "1.0"}\n')
    point = "--filters=size=1,colour=red,repeat=0"
    assert benchmark("--setting=version=1.10", point) == 0
    assert "--setting=version=1.10 --filters" in capsys.readouterr().out
    assert benchmark("--setting=version=1.10", point, "--run") == 0
    (run,) = finished()
    assert yaml.safe_load((run / "settings.yaml").read_text())["version"] == "1.10"
    assert "--setting=version=1.10" in json.loads((run / "environment.json").read_text())["command"]
    monkeypatch.setenv("MATBENCH_SETTING", "version=1.10")
    assert benchmark(point) == 0
    assert "Everything is done" in capsys.readouterr().out
    assert benchmark("--setting=version") == 2
    assert "is not NAME=VALUE, as in version=1.4.0" in capsys.readouterr().err


def test_what_was_typed_is_in_every_later_command(directory, benchmark, monkeypatch, capsys: Capture) -> None:
    write(directory, extra="common_settings: {hw_type: big box}\n")
    monkeypatch.setenv("MATBENCH_STOP_ON_ERROR", "1")
    script = "sh -c 'exit {size}' {colour}"
    typed = [f"--script-tpl={script}", "--path-tpl={size}/{colour}/{repeat}", "--price=big box=1.25"]
    limits = ["--max-usd=3", "--max-duration=30m", "--keep-failed"]
    assert benchmark(*typed, *limits) == 0
    said = shlex.join([*typed, "--max-usd=3", "--max-duration=1800", "--keep-failed=True", "--run"])
    assert f"Run it: matbench benchmark benchmark.yaml --results-dirname=measured {said}" in capsys.readouterr().out
    assert benchmark(*typed, *limits, "--run") == 1
    err = capsys.readouterr().err
    assert f"go on with: matbench benchmark benchmark.yaml --results-dirname=measured {said}" in err
    assert err.endswith("--max-duration=1800 --run\n")  # by which what failed is run again
    (point,) = finished()
    assert shlex.join([*typed, "--run"]) in json.loads((point / "environment.json").read_text())["command"]
    assert benchmark("--script-tpl=true {size} {colour}", typed[-1], "--run", "--filters=size=2") == 0
    said = "Next: matbench parse --results-dirname=measured --workload=tiny.py '--price=big box=1.25'"
    assert said in capsys.readouterr().out


def test_what_is_finished_is_not_run_again(benchmark, capsys: Capture) -> None:
    assert benchmark("--run", "--filters=size=1") == 0
    before = {path: (path / ".uuid").read_text() for path in finished()}
    capsys.readouterr()
    assert benchmark() == 0
    assert "4 of 8 points to run" in capsys.readouterr().out
    assert benchmark("--run") == 0
    assert len(finished()) == 8
    assert {path: (path / ".uuid").read_text() for path in before} == before
    assert benchmark() == 0
    assert "Everything is done" in capsys.readouterr().out


def test_what_another_command_measured_is_said_and_not_measured_again(directory, benchmark, capsys: Capture) -> None:
    assert benchmark("--run") == 0
    (directory / "benchmark.yaml").write_text((directory / "benchmark.yaml").read_text() + "\n# a remark\n")
    assert benchmark() == 0
    assert "another command" not in capsys.readouterr().err
    write(directory, blue=WORKS.replace("rate", "speed"))
    assert benchmark("--run") == 0
    said = capsys.readouterr()
    assert "0 points measured" in said.out
    assert said.err == (
        "warning: 4 done points were measured with another command than now, such as "
        "'hash/size_1/colour_blue__repeat_0': move them away to have them measured again\n"
    )


def test_a_command_in_another_place_is_the_same(directory, benchmark, capsys: Capture) -> None:
    command = '[sh, -c, "{code}", "{size}", "{colour}", "--log={test_dir}/x", /old/tool]'
    text = (directory / "benchmark.yaml").read_text().replace('[sh, -c, "{code}", "{size}", "{colour}"]', command)
    (directory / "benchmark.yaml").write_text(text)
    assert benchmark("--run") == 0
    (directory / "benchmark.yaml").write_text(text.replace("/old/", "/new/"))
    assert benchmark() == 0
    assert "another command" not in capsys.readouterr().err


def test_what_is_finished_is_recognised_wherever_it_lies(benchmark) -> None:
    assert benchmark("--run", "--filters=size=1") == 0
    assert benchmark("--run", "--path-tpl=elsewhere/{size}_{colour}_{repeat}") == 0
    assert len(finished()) == 8
    assert len(list(Path("measured/elsewhere").iterdir())) == 4


def test_failed_points_exit_with_1_keep_their_reason_and_are_run_again(directory, benchmark, capsys: Capture) -> None:
    write(directory, blue=FAILS)
    assert benchmark("--run") == 1
    err = capsys.readouterr().err
    assert "no such colour" in err
    assert "4 points failed; they are run again with: matbench benchmark" in err
    assert len(finished()) == 8
    write(directory)
    assert benchmark("--run") == 0
    assert len(finished()) == 8
    assert len(list(Path("measured/.matbench/set_aside").iterdir())) == 4


def blocks() -> dict[str, tuple[str, int | None]]:
    """Campaign and round of each finished run, by its settings."""
    found = {}
    for path in finished():
        content = json.loads((path / "block.json").read_text())
        assert content.pop("version") == 1
        found[" ".join((path / "settings.yaml").read_text().split())] = (content["campaign"], content["round"])
    return found


def test_each_run_records_the_campaign_and_the_round_that_measured_it(benchmark) -> None:
    assert benchmark("--run") == 0
    recorded = blocks()
    assert len({campaign for campaign, _ in recorded.values()}) == 1
    assert all(number == 1 + int(settings[-1]) for settings, (_, number) in recorded.items())
    assert sorted(number for _, number in recorded.values()) == [1] * 4 + [2] * 4
    options = ("--results-dirname=measured", "--workload=tiny.py", "--output-lts=lts.json")
    assert main(["parse", *options]) == 0
    metadata = [payload["metadata"] for payload in json.loads(Path("lts.json").read_text())]
    assert sorted((each["campaign"], each["round"]) for each in metadata) == sorted(recorded.values())
    assert all(each["round"] == 1 + each["repeat"] for each in metadata)
    assert not {"campaign", "round"} & set(metadata[0]["settings"])


def test_points_measured_later_are_another_campaign_whose_rounds_are_its_own(directory, benchmark) -> None:
    write(directory, blue=FAILS)
    assert benchmark("--run", "--filters=size=1") == 1
    failed = blocks()
    assert sorted(number for _, number in failed.values()) == [1, 1, 2, 2]
    write(directory)
    assert benchmark("--run", "--filters=size=1,repeat=1") == 0
    assert benchmark("--run") == 0
    recorded = blocks()
    first = {campaign for campaign, _ in failed.values()}
    assert [settings for settings, (campaign, _) in recorded.items() if campaign in first] == [
        settings for settings in failed if "red" in settings
    ]
    later = [(campaign, number) for campaign, number in recorded.values() if campaign not in first]
    second = recorded["size: 1 colour: blue repeat: 1"]
    assert second[1] == 1  # the first pass of its own start, which had nothing of repeat 0 to do
    third = sorted(number for campaign, number in later if campaign != second[0])
    assert third == [1, 1, 1, 2, 2]
    assert len({campaign for campaign, _ in later}) == 2


def test_grouped_points_are_a_campaign_without_rounds(directory, benchmark) -> None:
    write(directory, extra="order: grouped\n")
    assert benchmark("--run") == 0
    assert {number for _, number in blocks().values()} == {None}
    assert len({campaign for campaign, _ in blocks().values()}) == 1


def test_a_script_cannot_say_what_its_run_was_measured_together_with(directory, benchmark) -> None:
    forges = "echo {} > $MATBENCH_TEST_DIR/block.json"
    write(directory, red=forges, blue=forges)
    assert benchmark("--run", "--filters=size=1") == 0
    assert sorted(number for _, number in blocks().values()) == [1, 1, 2, 2]


def test_failed_points_may_be_kept(directory, benchmark, capsys: Capture) -> None:
    write(directory, blue=FAILS)
    assert benchmark("--run") == 1
    assert benchmark("--run", "--keep-failed") == 0
    assert not Path("measured/.matbench/set_aside").exists()


def test_stop_on_error_stops_after_the_first_failure(directory, benchmark, capsys: Capture) -> None:
    write(directory, red=FAILS, blue=FAILS, extra="stop_on_error: true\n")
    assert benchmark("--run") == 1
    assert len(finished()) == 1
    assert "7 left" in capsys.readouterr().out


def test_a_flag_goes_before_the_environment_and_that_before_the_file(
    directory, benchmark, monkeypatch, capsys: Capture
) -> None:
    write(directory, extra="filters: size=1,colour=red,repeat=0\n")
    assert benchmark() == 0
    assert "1 of 1 points" in capsys.readouterr().out
    monkeypatch.setenv("MATBENCH_FILTERS", "size=1,colour=red")
    assert benchmark() == 0
    assert "2 of 2 points" in capsys.readouterr().out
    assert benchmark("--filters=size=1") == 0
    assert "4 of 4 points" in capsys.readouterr().out


def test_the_file_may_be_named_by_the_environment(benchmark, monkeypatch, capsys: Capture) -> None:
    monkeypatch.setenv("MATBENCH_BENCHMARK_FILE", "benchmark.yaml")
    assert main(["benchmark"]) == 0
    assert "into results/benchmark" in capsys.readouterr().out


def test_generate_writes_the_points_and_runs_nothing(benchmark, capsys: Capture) -> None:
    assert benchmark("--generate") == 0
    points = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(points) == 8
    assert points[0]["settings"] == {"size": 1, "colour": "red", "repeat": 0}
    assert points[0]["command"][-2:] == ["1", "red"]
    assert points[0]["directory"] == "hash/size_1/colour_red__repeat_0"
    assert not Path("measured").exists()
    assert benchmark("--generate=points.jsonl") == 0
    assert len(Path("points.jsonl").read_text().splitlines()) == 8


def test_the_file_may_ask_for_the_points_to_be_written(directory, benchmark, capsys: Capture) -> None:
    write(directory, extra="generate: points.jsonl\n")
    assert benchmark() == 0
    assert len(Path("points.jsonl").read_text().splitlines()) == 8
    assert not Path("measured").exists()
    assert benchmark("--run", "--filters=size=1,colour=red") == 0
    assert len(finished()) == 2


def test_a_time_limit_stops_in_good_order(directory, benchmark, capsys: Capture) -> None:
    slow = "sleep 0.4"
    write(directory, red=slow, blue=slow)
    assert benchmark("--run", "--max-duration=0.9s") == 0
    captured = capsys.readouterr()
    assert "time limit" in captured.err
    assert "go on with: matbench benchmark" in captured.err
    assert 1 <= len(finished()) <= 3


def test_a_script_that_runs_too_long_is_ended(directory, benchmark, capsys: Capture) -> None:
    (directory / "benchmark.yaml").write_text("expe: {a: {x: 1}}\nscript_tpl: {command: sleep 60, timeout_s: 0.3}\n")
    assert benchmark("--run") == 1
    assert "ran longer than 0.3 s" in capsys.readouterr().err
    assert Path("measured/a/repeat_0/exit_code").read_text() == "124\n"


def test_settings_never_become_shell_code(directory, benchmark) -> None:
    content = {
        "expe": {"a": {"word": ["$(touch hacked)", "; touch hacked", "it's"]}},
        "script_tpl": {"command": "echo {word} > said", "shell": True},
        "path_tpl": "{word}",
    }
    (directory / "benchmark.yaml").write_text(yaml.safe_dump(content))
    assert benchmark("--run") == 0
    assert sorted(path.read_text() for path in Path("measured").glob("*/said")) == [
        "$(touch hacked)\n",
        "; touch hacked\n",
        "it's\n",
    ]
    assert not list(Path().glob("**/hacked"))


def test_a_command_without_a_shell_gets_settings_as_single_words_and_as_environment(directory, benchmark) -> None:
    content = {
        "expe": {"a": {"text": ["two words"], "batch-size": 3}},
        "script_tpl": "sh -c 'echo \"$1\" $MATBENCH_SETTING_BATCH_SIZE' sh {text}",
    }
    (directory / "benchmark.yaml").write_text(yaml.safe_dump(content))
    assert benchmark("--run") == 0
    assert Path("measured/a/repeat_0/000__script/stdout.log").read_text() == "two words 3\n"


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ("expe: {a: {x: 1}}", [], "neither load (on a target) nor script_tpl"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo {y}", ["--run"], "names a setting 'y'"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo {y}", [], "names a setting 'y'"),
        ("expe: {a: {x: []}}\nscript_tpl: echo", [], "expe.a.x"),
        ("expe: {}\nscript_tpl: echo", [], "expe"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo\nfoo: 1", [], "foo is not a known key"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo\nderived: {y: {}}", [], "derived.y is no setting"),
        ("expe: {a: {x: [1, 2]}}\nscript_tpl: echo\npath_tpl: same", [], "two points the directory"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo", ["--filters=x=2"], "no test has x=2"),
        (
            "expe: {a: {hw_type: l4}}\nscript_tpl: echo",
            ["--price=l40=1"],
            "no run is on hardware 'l40': did you mean 'l4'",
        ),
        ("expe: {a: {x: 1}}\nscript_tpl: echo", ["--expe-to-run=b"], "there is no experiment 'b'"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo", ["--max-duration=soon"], "not a duration"),
        ("expe: {a: {x: 1}}\nscript_tpl: echo", ["--max-usd=0"], "max-usd"),
        ("expe: {a: {x: 1}}\nload: {inputs: texts.txt}", [], "a load and no target"),
        ("expe: {a: {vus: {search: {}}}}\nscript_tpl: echo", [], "a search needs a load"),
        ("expe: {a: {x: 1}}\nscript_tpl: ''", [], "script_tpl is empty"),
        ("expe: {a: {x: 1}}\nscript_tpl: []", [], "script_tpl is empty"),
        ('expe: {a: {x: 1}}\nscript_tpl: "echo \'x"', [], "no closing quotation"),
        (
            "expe: {a: {vus: 1}}\ntarget: {url: http://x}\n"
            "load: {task: embedding, model: m, inputs: t, rate: 1, requests: 2}",
            [],
            "both rate and requests",
        ),
        (
            "expe: {a: {vus: x}}\ntarget: {url: http://x}\nload: {task: embedding, model: m, inputs: t}",
            [],
            "load.vus: expected a whole number or a setting in braces",
        ),
        (
            "expe: {a: {vus: 1}}\ntarget: {url: http://x}\nload: {task: embeding, model: m, inputs: t}",
            [],
            "did you mean 'embedding'?",
        ),
    ],
)
def test_a_file_that_cannot_be_carried_out_exits_with_2(
    directory, benchmark, content, options, sentence, capsys
) -> None:
    (directory / "benchmark.yaml").write_text(content)
    assert benchmark(*options) == 2
    err = capsys.readouterr().err
    assert sentence in err
    assert "Traceback" not in err


def test_a_command_that_is_not_there_is_a_failed_point_with_a_sentence(directory, benchmark, capsys: Capture) -> None:
    (directory / "benchmark.yaml").write_text("expe: {a: {x: 1}}\nscript_tpl: no-such-program {x}")
    assert benchmark("--run") == 1
    assert "there is no program 'no-such-program'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("rm -rf $MATBENCH_TEST_DIR", "removed its test directory"),
        ("rm settings.yaml", "removed its test directory"),
        ("echo 'x' > settings.yaml; echo 7 > exit_code", None),
    ],
)
def test_a_script_cannot_make_its_run_unrecognisable(directory, benchmark, script, problem, capsys) -> None:
    content = {"expe": {"a": {"x": 1}}, "script_tpl": {"command": script, "shell": True}}
    (directory / "benchmark.yaml").write_text(yaml.safe_dump(content))
    assert benchmark("--run") == (1 if problem else 0)
    assert problem is None or problem in capsys.readouterr().err
    assert Path("measured/a/repeat_0/settings.yaml").read_text() == "x: 1\nrepeat: 0\n"
    assert Path("measured/a/repeat_0/exit_code").read_text() == ("1\n" if problem else "0\n")


def test_a_nul_in_a_setting_is_a_failed_point_with_a_sentence(directory, benchmark, capsys: Capture) -> None:
    (directory / "benchmark.yaml").write_text('expe: {a: {x: "a\\0b"}}\nscript_tpl: echo {x}')
    assert benchmark("--run") == 1
    assert "embedded null byte" in capsys.readouterr().err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_not_matter(directory, benchmark, closed, repository) -> None:
    options = "--results-dirname=measured --filters=size=1,repeat=0 --run"
    program = f"{sys.executable} -m matrix_benchmarking benchmark benchmark.yaml {options}"
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    assert (
        subprocess.run(["sh", "-c", f"{program} {closed}"], cwd=directory, env=environment, check=False).returncode == 0
    )
    assert len(finished()) == 2


def test_no_file_at_all_is_a_sentence(directory, capsys: Capture) -> None:
    assert main(["benchmark"]) == 2
    assert "no benchmark file given" in capsys.readouterr().err
    assert main(["benchmark", "absent.yaml"]) == 2
    assert "absent.yaml" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_a_sentence(directory, benchmark, capsys: Capture) -> None:
    Path("measured").write_text("a file")
    assert benchmark("--run") == 2
    assert "measured" in capsys.readouterr().err


def test_a_finished_run_of_other_settings_is_never_overwritten(directory, benchmark, capsys: Capture) -> None:
    assert benchmark("--run") == 0
    before = {path: (path / ".uuid").read_text() for path in finished()}
    write(directory, extra="common_settings: {version: 2}\n")
    assert benchmark("--run") == 2
    assert "add {version} to path_tpl" in capsys.readouterr().err
    assert {path: (path / ".uuid").read_text() for path in finished()} == before


def test_two_benchmarks_do_not_share_a_results_directory(directory, benchmark, capsys: Capture) -> None:
    slow = "exec sleep 20"
    write(directory, red=slow, blue=slow)
    first = run_apart(directory)
    try:
        assert wait_for(lambda: list(Path("measured").glob("**/settings.yaml")))
        assert benchmark("--run") == 2
        assert f"another benchmark (process {first.pid} on " in capsys.readouterr().err
    finally:
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=20)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_the_point_as_interrupted_and_says_how_to_go_on(directory, benchmark, number) -> None:
    slow = "echo $$ > pid; exec sleep 30"
    write(directory, red=slow, blue=slow)
    process = run_apart(directory)
    assert wait_for(lambda: [path for path in Path("measured").glob("**/pid") if path.read_text()])
    pid = int(next(Path("measured").glob("**/pid")).read_text())
    process.send_signal(number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Interrupted; go on with: matbench benchmark benchmark.yaml" in err
    assert not Path(f"/proc/{pid}").exists()
    (point,) = [path.parent for path in Path("measured").glob("**/settings.yaml")]
    assert not (point / "exit_code").exists()
    assert (point / "interrupted").exists()
    write(directory)
    assert benchmark("--run") == 0
    assert len(finished()) == 8


def test_a_job_in_the_background_ignores_an_interrupt_and_ends_in_order_when_it_is_told_to(
    directory, benchmark
) -> None:
    slow = "exec sleep 30"
    write(directory, red=slow, blue=slow)

    def as_a_shell_starts_it() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = run_apart(directory, as_a_shell_starts_it)
    assert wait_for(lambda: list(Path("measured").glob("**/settings.yaml")))
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Interrupted; go on with: matbench benchmark benchmark.yaml" in err


def test_killed_again_and_again_it_completes_the_matrix_with_each_point_once(directory, benchmark) -> None:
    short = "sleep 0.15"
    write(directory, red=short, blue=short)
    for attempt in range(4):
        process = run_apart(directory)
        assert wait_for(lambda: list(Path("measured").glob("**/settings.yaml")))
        time.sleep(0.2 * attempt)
        process.kill()
        process.communicate()
    assert benchmark("--run") == 0
    settings = [(path / "settings.yaml").read_text() for path in finished()]
    assert len(settings) == len(set(settings)) == 8


def test_what_a_killed_campaign_measured_stays_its_own_and_the_rest_is_another(directory, benchmark) -> None:
    write(directory, blue="touch started; exec sleep 30")
    process = run_apart(directory)
    assert wait_for(lambda: list(Path("measured").glob("**/started")))
    process.kill()
    process.communicate()
    before = blocks()
    assert [number for _, number in before.values()] == [1]
    write(directory)
    assert benchmark("--run") == 0
    after = blocks()
    assert after.items() >= before.items()
    assert len({campaign for campaign, _ in after.values()}) == 2
    assert sorted(number for settings, (_, number) in after.items() if settings not in before) == [1, 1, 1, 2, 2, 2, 2]


def run_apart(directory: Path, prepare: Callable[[], None] = interruptible) -> subprocess.Popen[str]:
    program = "import sys; from matrix_benchmarking.cli import main; sys.exit(main())"
    repository = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", program, "benchmark", "benchmark.yaml", "--results-dirname=measured", "--run"]
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    return subprocess.Popen(
        command, cwd=directory, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=prepare
    )


def wait_for(condition: Callable[[], object], timeout_s: float = 20.0) -> bool:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


LABELLED = """
workload: encoder_bench
common_settings: {task: embedding, version: %s}
expe: {all: {vus: [1, 2], batch_size: [8, %s], repeat: 2}}
script_tpl: "true {vus} {batch_size}"
"""


@pytest.mark.parametrize(
    ("version", "batch_size", "refused"),
    [
        ("1.4.0", "16", None),
        ("'1.4'", "16", "version=1.4: expected a version of three numbers such as 1.4.0"),
        ("1.4.0", "many", "batch_size=many: "),
    ],
)
def test_a_setting_that_no_payload_takes_is_said_before_anything_runs(
    directory: Path, version: str, batch_size: str, refused: str | None, capsys: Capture
) -> None:
    (directory / "labelled.yaml").write_text(LABELLED % (version, batch_size), encoding="utf-8")
    assert main(["benchmark", "labelled.yaml"]) == 0
    said = [line for line in capsys.readouterr().err.splitlines() if "strict payloads" in line]
    if refused is None:
        assert said == []
    else:
        (line,) = said
        assert line.startswith(f"warning: {refused}")


@pytest.mark.parametrize(("count", "said"), [(1, "1 search of about"), (2, "2 searches of about")])
def test_a_plan_counts_its_searches(directory: Path, count: int, said: str, capsys: Capture) -> None:
    expe = {"all": {"vus": {"search": {"start": 1, "max": 8}}, "image": ["a", "b"][:count]}}
    load = {"inputs": "texts.txt", "duration_s": 1}
    file = {"workload": "encoder_bench", "expe": expe, "target": {"url": "http://127.0.0.1:9"}, "load": load}
    file["common_settings"] = {"task": "embedding", "model": "m", "batch_size": 1}
    file["unused_settings"] = ["image"]
    Path("texts.txt").write_text("a text", encoding="utf-8")
    Path("search.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    assert main(["benchmark", "search.yaml"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ({"usd_per_hour": 3.6}, "cost: unknown, as the time is"),
        ({}, "cost: unknown (give --price HW_TYPE=USD_PER_HOUR)"),
    ],
)
def test_a_plan_says_which_part_of_its_cost_is_unknown(
    directory: Path, price: dict, said: str, capsys: Capture
) -> None:
    target = {"url": "http://127.0.0.1:9", **price}
    file = {"expe": {"a": {"x": 1}}, "target": target, "load": {"command": "true {url} {x}"}}
    (directory / "b.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
    assert main(["benchmark", "b.yaml"]) == 0
    assert said in capsys.readouterr().out


def test_a_price_of_several_vendors_is_unknown_where_no_setting_says_whose(directory: Path, capsys: Capture) -> None:
    target = {"url": "http://127.0.0.1:9"}
    file = {"expe": {"a": {"hw_type": "l4"}}, "target": target, "load": {"command": "true {url}", "duration_s": 3600}}
    (directory / "b.yaml").write_text(yaml.safe_dump({**file, "unused_settings": ["hw_type"]}), encoding="utf-8")
    prices = ["--price=aws/l4=1", "--price=gcp/l4=2"]
    for more, said in ((), "unknown"), (["--price=l4=1.5"], "about 1.50 USD"):
        assert main(["benchmark", "b.yaml", *prices, *more]) == 0
        assert f"cost: {said}" in capsys.readouterr().out
    assert main(["benchmark", "b.yaml", *prices[:1]]) == 0
    assert "cost: about 1.00 USD" in capsys.readouterr().out


def test_what_points_require_is_said_to_count_on_a_cluster_alone(directory, benchmark, capsys: Capture) -> None:
    write(directory, extra="requires: {gpu: l4}\n")
    assert benchmark() == 0
    assert "requires (gpu) is for a cluster: without one this machine measures" in capsys.readouterr().err


def test_done_runs_whose_settings_have_other_names_are_said(directory, benchmark, capsys: Capture) -> None:
    assert benchmark("--run") == 0
    text = (directory / "benchmark.yaml").read_text()
    capsys.readouterr()
    for size, now, said in (
        (
            "bytes",
            text.replace("size", "bytes"),
            "of the done runs 8 have size and lack bytes, unlike",
        ),
        (
            "size",
            text.replace("    size:", "    version: 1\n    size:"),
            "of the done runs 8 lack version, unlike",
        ),
    ):
        (directory / "benchmark.yaml").write_text(now)
        assert benchmark(f"--path-tpl=new/{{{size}}}/{{colour}}/{{repeat}}") == 0
        assert said in capsys.readouterr().err
    (directory / "benchmark.yaml").write_text(text.replace("[1, 2]", "[3, 4]"))
    assert benchmark() == 0
    assert capsys.readouterr().err == ""


def test_a_command_that_was_killed_is_said_with_its_signal(directory, benchmark, capsys: Capture) -> None:
    write(directory, blue="kill -9 $$")
    assert benchmark("--run", "--filters=size=1,repeat=0") == 1
    assert "failed (the command failed with exit status 137 (SIGKILL))" in capsys.readouterr().err
