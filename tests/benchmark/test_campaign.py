"""Campaigns on real targets: what is shared, what dies, what costs, and what is left behind."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from requirements import missing

from matrix_benchmarking.benchmark import file as files
from matrix_benchmarking.benchmark import measured_with
from matrix_benchmarking.benchmark.plan import Plan
from matrix_benchmarking.cli import main
from projects.encoder_bench import k6

Capture = pytest.CaptureFixture[str]
SERVER = Path(__file__).resolve().parents[1] / "benchmark_support" / "little_server.py"
SETTINGS = {"task": "embedding", "model": "m"}


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("one\ntwo\nthree\n")
    return tmp_path


def write(**content: Any) -> None:
    Path("b.yaml").write_text(yaml.safe_dump(content))


def run(*options: str) -> int:
    return main(["benchmark", "b.yaml", "--results-dirname=r", "--run", *options])


def process(*options: str, **changes: Any) -> dict[str, Any]:
    return {"process": {"command": [sys.executable, str(SERVER), "{port}", *options], **changes}}


def finished() -> list[Path]:
    return sorted(path.parent for path in Path("r").glob("**/exit_code") if ".matbench" not in path.parts)


def test_one_target_serves_all_points_that_share_its_settings():
    script = "import os, urllib.request; print(urllib.request.urlopen('{url}/health').status, '{url}')"
    write(
        expe={"a": {"image": ["x", "y"], "vus": [1, 2, 3], "repeat": 2}},
        target=process(environment={"IMAGE": "{image}"}),
        script_tpl=[sys.executable, "-c", script],
        order="grouped",
    )
    assert run() == 0
    said = {path: (path / "000__script" / "stdout.log").read_text() for path in finished()}
    assert len(said) == 12
    assert len(set(said.values())) == 2
    assert all(text.startswith("200 http://127.0.0.1:") for text in said.values())
    for image in ("x", "y"):
        assert len({text for path, text in said.items() if f"image_{image}" in str(path)}) == 1


def test_what_was_measured_with_something_else_is_said_by_its_name(directory: Path, capsys: Capture):
    (directory / "data.txt").write_text("one")
    load = {"command": "true {x} --in=data.txt", "directory": ".", "monitor": False}

    def said(target: dict[str, Any], **changes: Any) -> str:
        write(expe={"a": {"x": [1, 2]}}, target=target, load={**load, **changes})
        capsys.readouterr()
        assert run() == 0
        return capsys.readouterr().err

    said(process(environment={"THREADS": "1"}))
    # The same: a command in words, how long it may take, another port.
    words = [*load["command"].split()]
    assert said(process(environment={"THREADS": 1}, ready_timeout_s=9), command=words, timeout_s=5) == ""
    two = "2 done points were measured with another {} than now, such as 'a/x_1"
    assert two.format("target.process.command") in said(process("--workers", environment={"THREADS": "1"}))
    environment = process(environment={"THREADS": "2"})
    assert two.format("target.process.environment.THREADS") in said(environment)
    assert two.format("target.process.environment.THREADS, warm_up") in said(environment, warm_up="true")
    (directory / "data.txt").write_text("two")
    assert two.format("content of data.txt") in said(process(environment={"THREADS": "1"}))
    for path in finished():  # as earlier versions wrote it: nothing says how it was measured
        outcome = json.loads((path / "outcome.json").read_text())
        assert outcome.pop("measured_with")
        (path / "outcome.json").write_text(json.dumps(outcome))
    assert said(environment, warm_up="true") == ""


def test_a_server_at_another_address_and_one_that_was_started_are_told_apart():
    def plan(target: object) -> Plan:
        write(expe={"a": {"x": 1}}, target=target, script_tpl="true {url} {x}")
        return Plan(files.read(Path("b.yaml")), Path(), Path("r"))

    targets = (
        {"url": "http://a:1"},
        {"url": {"url": "http://a:1", "api_key_env": "K"}},
        {"url": "http://b:1"},
        process(),
    )
    first, again, elsewhere, started = [plan(each).measured_with(plan(each).points[0]) for each in targets]
    assert first == again
    assert measured_with.differing(first, elsewhere) == ["target.url"]
    assert measured_with.differing(first, started) == ["target.process.command", "target.url"]


def test_a_file_that_the_run_itself_changes_is_no_input(directory: Path, capsys: Capture):
    (directory / "log.txt").write_text("")
    load = {"command": "echo {x} >>log.txt", "directory": ".", "shell": True, "monitor": False}
    write(expe={"a": {"x": [1, 2]}}, load=load)
    assert run() == 0
    capsys.readouterr()
    assert run() == 0
    assert capsys.readouterr().err == ""


def test_what_a_target_or_an_earlier_run_writes_is_no_input(directory: Path, capsys: Capture):
    (directory / "server.log").write_text("")
    (directory / "cache" / "models").mkdir(parents=True)
    script = f"echo $$ >>server.log; exec {sys.executable} {SERVER} {{port}}"
    environment = {"CACHE": str(directory / "cache")}
    target = {"process": {"command": ["sh", "-c", script], "environment": environment}}
    # Its output is the same each time, until another point's is another.
    load = {"command": "echo {x} > out.txt", "directory": ".", "shell": True, "monitor": False}
    for count in (2, 3, 3):
        capsys.readouterr()
        write(expe={"a": {"x": [*range(count)], "repeat": 2}}, target=target, load=load, order="grouped")
        assert run() == 0
        (directory / "cache" / f"{count}").write_text("")
    assert capsys.readouterr().err == ""


def test_a_command_is_the_same_as_a_line_in_several_and_in_words():
    def digest(command: object) -> str:
        write(expe={"a": {"x": 1}}, load={"command": command})
        plan = Plan(files.read(Path("b.yaml")), Path(), Path("r"))
        return plan.measured_with(plan.points[0])["command"]

    first = digest("python -c 'import sys; print(\"a b\")' {x}")
    assert digest(["python", "-c", 'import sys; print("a b")', "{x}"]) == first
    assert digest("python -c\n  'import sys; print(\"a b\")'  {x}\n") == first
    assert digest("python -c 'import sys; print(\"a c\")' {x}") != first


def test_files_of_one_name_in_several_places_are_one_thing_to_look_at(directory: Path):
    for name in "ab":
        (directory / name).mkdir()
        (directory / name / "in.txt").write_text(name)
    command = f"cmp {directory}/a/in.txt {directory}/b/in.txt {{x}}"

    def digests(command: object) -> dict[str, str]:
        write(expe={"a": {"x": 1}}, load={"command": command})
        plan = Plan(files.read(Path("b.yaml")), Path(), Path("r"))
        return plan.measured_with(plan.points[0])

    first = digests(command)
    assert digests(command.split()) == digests([*reversed(command.split())]) | {"command": first["command"]} == first
    for name in "ab":
        before = (directory / name / "in.txt").read_text()
        (directory / name / "in.txt").write_text("another")
        assert measured_with.differing(first, digests(command)) == ["content of in.txt"]
        (directory / name / "in.txt").write_text(before)


def test_interleaved_every_point_is_run_once_before_any_is_repeated_backwards(capsys: Capture):
    write(expe={"a": {"image": ["x", "y"], "repeat": 3}}, script_tpl="true {image}")
    assert run() == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.split("repeat_")[1][0] for line in lines] == ["0", "0", "1", "1", "2", "2"]
    assert [line.split("image_")[1][0] for line in lines] == ["x", "y", "y", "x", "x", "y"]


def test_the_log_of_a_shared_server_is_divided_among_its_points():
    write(
        expe={"a": {"vus": [1, 2]}},
        target=process(),
        script_tpl=[sys.executable, "-c", "import urllib.request; urllib.request.urlopen('{url}/health')"],
    )
    assert run() == 0
    first, second = (path / "000__server" / "server.log" for path in finished())
    assert "little server" in first.read_text()
    assert second.read_text() == ""


def test_a_target_that_cannot_be_started_leaves_out_its_points_and_not_the_others(capsys: Capture):
    write(
        expe={"a": {"status": [3, 4], "repeat": 2, "extra": [{"status": "ok"}]}},
        derived={"status": {"ok": {"option": "--workers"}, "3": {"option": "--exit=3"}, "4": {"option": "--exit=4"}}},
        target=process("{option}", stop_timeout_s=0.3),
        script_tpl="true",
    )
    assert run() == 2
    captured = capsys.readouterr()
    assert "no weights found" in captured.err
    assert "4 points could not be started" in captured.err
    assert len(finished()) == 2


def needs_k6() -> None:
    try:
        k6.find_k6()
    except k6.K6Error as error:
        missing(str(error))


@pytest.mark.xdist_group("load")
def test_a_server_that_dies_in_the_middle_fails_the_point_and_is_started_again_at_most_three_times(capsys: Capture):
    needs_k6()
    write(
        common_settings=SETTINGS,
        expe={"a": {"vus": [1, 2, 3, 4, 5]}},
        target=process("--die-after=1.2"),
        load={"inputs": "texts.txt", "duration_s": 3.0, "warm_up_s": 0},
    )
    assert run() == 2
    err = capsys.readouterr().err
    assert err.count("the server ended with exit status 3") == 3
    assert "it died 3 times" in err
    assert [(path / "exit_code").read_text() for path in finished()] == ["1\n"] * 3
    assert all(json.loads((path / "outcome.json").read_text())["problem"] for path in finished())


@pytest.mark.xdist_group("load")
def test_a_search_treats_a_dead_server_as_an_error_at_that_load(capsys: Capture):
    needs_k6()
    write(
        common_settings=SETTINGS,
        expe={"a": {"vus": {"search": {"start": 1, "max": 8}}}},
        target=process("--die-after=0.6"),
        load={"inputs": "texts.txt", "duration_s": 2.0, "warm_up_s": 0},
    )
    assert run() == 1
    out = capsys.readouterr().out
    assert "the server failed at 1 VU" in out
    (found,) = json.loads(Path("r/searches.json").read_text())["searches"]
    assert f"search a: {found.get('reason') or found['error']}\n" in out  # the closing line says what is kept
    blocks = [json.loads((path / "block.json").read_text()) for path in finished()]
    assert {block["round"] for block in blocks} == {None}  # the measurements of a search follow each other


def test_what_an_answer_is_not_asked_for_is_not_there():
    write(expe={"a": {"x": 1}}, target=process(), script_tpl="true")
    assert run() == 0
    assert not list(Path("r").glob("**/003__fidelity"))


def paid(usd_per_hour: float | None = 3600.0) -> dict[str, Any]:
    """An endpoint for a dollar a second."""
    endpoint = {"repository": "a/b", "instance_type": "c", "namespace": "team"}
    return {"hf_endpoint": endpoint} | ({} if usd_per_hour is None else {"usd_per_hour": usd_per_hour})


def test_a_paid_target_is_started_once_for_all_repeats_and_deleted(api, capsys: Capture):
    write(expe={"a": {"x": [1, 2], "repeat": 2}}, target=paid(), script_tpl="true")
    assert run() == 0
    assert (api.count("POST"), api.count("DELETE"), api.endpoints) == (1, 1, {})
    assert "USD spent" in capsys.readouterr().out


def test_a_paid_target_is_deleted_when_a_point_fails_and_stops_the_run(api):
    write(expe={"a": {"x": [1, 2]}}, target=paid(), script_tpl="false")
    assert run("--stop-on-error") == 1
    assert (api.count("POST"), api.count("DELETE"), api.endpoints) == (1, 1, {})


def test_a_plan_that_costs_more_than_the_limit_is_not_started(api, capsys: Capture):
    script = {"command": "true", "duration_s": 1.0}
    write(expe={"a": {"x": [1, 2]}}, target=paid(), script_tpl=script)
    assert run("--max-usd=100") == 2
    assert "more than the limit of 100" in capsys.readouterr().err
    assert api.calls == []


def test_without_a_price_a_limit_cannot_be_kept_and_nothing_is_started(api, capsys: Capture):
    write(expe={"a": {"x": [1, 2]}}, target=paid(None), script_tpl="true")
    assert run("--max-usd=100") == 2
    assert "usd_per_hour" in capsys.readouterr().err
    assert api.calls == []


def test_money_that_runs_out_interrupts_the_point_and_deletes_the_target(api, capsys: Capture):
    write(expe={"a": {"x": [1, 2]}}, target=paid(), script_tpl="sleep 30")
    assert run("--max-usd=1") == 0
    captured = capsys.readouterr()
    assert "2 left" in captured.out
    assert "the limit is 1" in captured.err
    assert api.endpoints == {}
    assert finished() == []


def test_a_teardown_that_cannot_be_confirmed_exits_with_2_and_says_what_to_do(api, capsys: Capture):
    write(expe={"a": {"x": 1}}, target=paid(), script_tpl="true")
    api.deletion_works = False
    assert run() == 2
    assert "may still cost money" in capsys.readouterr().err
    api.deletion_works = True
    assert main(["benchmark", "b.yaml", "--results-dirname=r", "--cleanup"]) == 0
    assert "deleted endpoint" in capsys.readouterr().out


def test_a_place_where_nothing_can_be_written_is_a_sentence(capsys: Capture):
    write(expe={"a": {"x": 1}}, script_tpl="true")
    assert main(["benchmark", "b.yaml", "--results-dirname=/proc/matbench", "--run"]) == 2
    assert "/proc/matbench" in capsys.readouterr().err


def test_a_file_system_that_takes_no_more_stops_the_run_with_a_sentence_and_keeps_the_state(repository):
    write(expe={"a": {"x": [1, 2, 3]}}, script_tpl="true")
    program = "import sys; from matrix_benchmarking.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "benchmark", "b.yaml", "--results-dirname=r", "--run"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(repository), "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "environment.json: File too large; what is measured stays, go on with: matbench benchmark" in done.stderr
    assert "r: 0 points measured, 3 left." in done.stdout
    assert "Traceback" not in done.stderr
    assert finished() == []
    assert run() == 0
    assert len(finished()) == 3


def test_without_the_extra_the_sentence_names_it(monkeypatch, capsys: Capture):
    write(common_settings=SETTINGS, expe={"a": {"vus": 1}}, target=process(), load={"inputs": "texts.txt"})
    monkeypatch.setitem(sys.modules, "httpx", None)
    assert run() == 2
    assert "pip install 'matrix-benchmarking[benchmark]'" in capsys.readouterr().err


def test_without_k6_a_load_is_not_started(monkeypatch, capsys: Capture, tmp_path):
    write(common_settings=SETTINGS, expe={"a": {"vus": 1}}, target=process(), load={"inputs": "texts.txt"})
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert run() == 2
    assert "there is no k6" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("load", "sentence"),
    [({"cpus": "4096"}, "core 4096 is not one"), ({"script": "absent.js"}, "absent.js does not exist")],
)
def test_a_load_that_cannot_be_put_on_is_said_before_anything_starts(load, sentence, capsys: Capture):
    needs_k6()
    write(common_settings=SETTINGS, expe={"a": {"vus": 1}}, target=process(), load={"inputs": "texts.txt", **load})
    assert run() == 2
    assert sentence in capsys.readouterr().err
    assert finished() == []
