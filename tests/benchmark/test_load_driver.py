"""Load drivers: any command on a real target, those that a workload brings, and how a file finds its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from requirements import missing

from matrix_benchmarking.benchmark.environment import without_path
from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
SERVER = Path(__file__).resolve().parents[1] / "benchmark_support" / "little_server.py"
TARGET = {"process": {"command": [sys.executable, str(SERVER), "{port}"]}}

K6_SCRIPT = """
import http from 'k6/http';
export const options = { vus: Number(__ENV.USERS), duration: '1s' };
export default function () { http.get(`${__ENV.MATBENCH_URL}/health`); }
export function handleSummary(data) { return { 'summary.json': JSON.stringify(data) }; }
"""

WORKLOAD = """
from matrix_benchmarking.benchmark.load_driver import LoadDriver, LoadSection
from matrix_benchmarking.benchmark.processes import GuardedProcess
from matrix_benchmarking.benchmark.run_directory import Outcome, write_json
from matrix_benchmarking.config import Section
from matrix_benchmarking.workload import BaseStore, Workload

class Load(LoadSection):
    words: list[str]

class Check(Section):
    share: float

class Echo(LoadDriver):
    sections = {"load": Load, "check": Check}
    finds_throughput, most_failed = True, 0.1

    def run(self, run):
        words = self.plan.load_of(run.point).words
        log = run.directory / "said.txt"
        status = run.measure("echo", lambda: GuardedProcess(["echo", *words], directory=run.directory, output=log))
        vus = run.point.settings["vus"]
        if vus == 4:
            return Outcome(1, problem="too many")
        return Outcome(status, throughput=50.0 + vus, error_rate=0.125 if vus == 3 else 0.0)

workload = Workload(name="said", store=BaseStore(parse_once=print), load_drivers={"echo": lambda: Echo})
"""


@pytest.fixture(autouse=True)
def directory(tmp_path, monkeypatch) -> Path:
    for name in [name for name in os.environ if name.startswith("MATBENCH_") and "TEST" not in name]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*options: str, **content: Any) -> int:
    content = {"expe": {"a": {"vus": 2}}, "path_tpl": "vus_{vus}", **content}
    Path("b.yaml").write_text(yaml.safe_dump(content))
    return main(["benchmark", "b.yaml", "--results-dirname=r", *options])


def read(name: str) -> Any:
    return json.loads(Path("r/vus_2", name).read_text())


def epoch(name: str) -> float:
    return datetime.fromisoformat(read("test_start_end.json")[name]).timestamp()


def needs(program: str) -> None:
    if shutil.which(program) is None and not Path(sys.executable).with_name(program).exists():
        missing(f"{program}, a load generator")


@pytest.mark.xdist_group("load")
def test_a_load_generator_drives_the_target_and_leaves_its_file():
    needs("ab")
    command = ["ab", "-q", "-n", "400", "-c", "{vus}", "-e", "percentiles.csv", "{url}/health"]
    cores = sorted(os.sched_getaffinity(0))[-1:]
    load = {"command": command, "warm_up": ["ab", "-q", "-n", "20", "{url}/health"], "cpus": cores}
    assert run("--run", target=TARGET, load={**load, "results": ["percentiles.csv"]}) == 0
    assert "Percentage served" in Path("r/vus_2/percentiles.csv").read_text()
    assert "Complete requests:      400" in Path("r/vus_2/000__script/stdout.log").read_text()
    window = read("001__monitor/utilization.json")["load_window"]
    assert (epoch("start"), epoch("end")) == pytest.approx((window["start"], window["end"]), abs=0.002)
    assert {"script", "server"} >= read("001__monitor/utilization.json")["processes"].keys()
    recorded = read("000__script/command.json")
    assert recorded["cpus"] == cores
    assert recorded["competes_with_server"] is True
    assert read("000__server/server.json")["local"] is True


@pytest.mark.xdist_group("load")
def test_a_foreign_k6_script_is_driven_like_any_other_command(directory):
    needs("k6")
    (directory / "own.js").write_text(K6_SCRIPT)
    load = {
        "command": ["k6", "run", "--quiet", "--address=127.0.0.1:0", "--env=USERS={vus}", "own.js"],
        "directory": ".",
        "results": ["summary.json"],
    }
    assert run("--run", target=TARGET, load=load) == 0
    assert read("summary.json")["metrics"]["http_reqs"]["values"]["count"] > 10
    assert not Path("summary.json").exists()  # it would count for the next point


def test_a_warm_up_of_the_command_itself_is_not_in_the_window():
    begun = time.time()
    load = {"command": [sys.executable, "-c", "import time; time.sleep(1.2)"], "warm_up_s": "{warm_up}"}
    assert run("--run", load=load, common_settings={"warm_up": 0.7}) == 0
    window = read("001__monitor/utilization.json")["load_window"]
    assert 0.3 < window["end"] - window["start"] < window["end"] - begun - 0.7
    assert min(read("001__monitor/utilization.json")["time"]) >= window["start"]


@pytest.mark.parametrize(
    ("load", "problem"),
    [
        (
            {"command": "true", "warm_up": "sh -c 'echo no weights; exit 7'"},
            "warm-up failed with exit status 7: no weigh",
        ),
        ({"command": "true", "results": ["*.json"]}, "the command left no file '*.json'"),
        ({"command": "sleep 60", "timeout_s": 0.3}, "ran longer than 0.3 s"),
        ({"command": "sh -c 'echo refused >&2; exit 3'"}, "failed with exit status 3: refused"),
    ],
)
def test_what_goes_wrong_fails_the_point_with_a_sentence(load, problem, capsys: Capture):
    assert run("--run", load=load) == 1
    assert problem in capsys.readouterr().err
    assert read("outcome.json")["problem"]


def test_a_file_of_an_earlier_run_is_not_this_ones(directory, capsys: Capture):
    (directory / "summary.json").write_text("{}")
    os.utime("summary.json", (1, 1))
    assert run("--run", load={"command": "true", "directory": ".", "results": ["summary.json"]}) == 1
    assert "left no file 'summary.json'" in capsys.readouterr().err


def test_a_target_that_dies_fails_the_point(capsys: Capture):
    target = {"process": {"command": [*TARGET["process"]["command"], "--die-after=0.8"]}}
    asks = "import sys, time, urllib.request; urllib.request.urlopen(sys.argv[1]); time.sleep(20)"
    assert run("--run", target=target, load={"command": [sys.executable, "-c", asks, "{url}"]}) == 1
    assert "the server ended with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"load": {"command": "echo {url}"}}, "the command names {url}, and the file has no target"),
        ({"load": {"command": "echo", "results": ["../x"]}}, "'../x' is no file below the directory"),
        ({"load": {"command": []}}, "load.command is empty"),
        ({"load": {"command": "echo", "comand": 1}}, "load.comand is not a known key: did you mean 'command'?"),
        ({"load": {"driver": "k5"}}, "b.yaml:5: load.driver: there is no load driver 'k5': known: command, k6"),
        ({"load": {"driver": "command"}}, "load.command: is missing"),
        ({"script_tpl": {"command": "echo"}, "answers": {}}, "the file has answers and no load"),
        ({"expe": {"a": {"vus": {"search": {}}}}, "load": {"command": "echo"}}, "a command tells none"),
        ({"workload": "said.py", "load": {"words": [1]}, "target": TARGET}, "load.words[0]: expected text"),
        (
            {"workload": "said.py", "load": {"words": []}, "checks": {}},
            "checks is not a known key: did you mean 'check'?",
        ),
        ({"workload": "said.py", "load": {"words": []}}, "a load and no target"),
    ],
)
def test_a_file_that_cannot_be_carried_out_is_a_sentence(directory, content, sentence, capsys: Capture):
    (directory / "said.py").write_text(WORKLOAD)
    assert run(**content) == 2
    assert sentence in capsys.readouterr().err


def test_a_workload_brings_a_driver_with_sections_of_its_own(directory):
    (directory / "said.py").write_text(WORKLOAD)
    load = {"words": ["{vus}", "users"]}
    assert run("--run", workload="said.py", target=TARGET, load=load, check={"share": 0.5}) == 0
    assert Path("r/vus_2/said.txt").read_text() == "2 users\n"
    assert epoch("start") <= epoch("end")
    assert run("--generate=points.jsonl", workload="said.py", target=TARGET, load=load) == 0
    assert json.loads(Path("points.jsonl").read_text())["load"] == {"words": ["2", "users"]}


def test_a_search_is_done_with_its_answer_and_measured_again_without_one(directory, capsys: Capture):
    (directory / "said.py").write_text(WORKLOAD)
    content = {"workload": "said.py", "target": TARGET, "load": {"words": []}, "path_tpl": "{vus}/{repeat}"}

    def search(*options: str, **limits: int) -> tuple[int, str, str]:
        status = run(*options, expe={"a": {"vus": {"search": limits}}}, **content)
        said = capsys.readouterr()
        return status, said.out, said.err

    status, out, err = search("--run", max=4)
    (found,) = json.loads(Path("r/searches.json").read_text())["searches"]
    assert (status, found["vus"], found["failed_at"]) == (1, 2, 3)
    assert "53.0 requests/s, 12.5 % failed\n" in err
    assert err.endswith("2 points failed; as what a search has measured they aren't run again\n")
    content["target"] = {"url": "http://127.0.0.1:9"}  # which nobody answers
    for options in ((), ("--run",)):
        status, out, err = search(*options, max=4)
        assert status == 0
        assert "another target.process.command, target.url than now" in err
        assert f"search a: {found['reason']}\n" in out
    content["target"] = TARGET
    shutil.rmtree("r")
    status, out, err = search("--run", start=4, max=4)
    assert (status, "2 points failed; they are run again with" in err) == (1, True)
    assert "1 search of about 16 runs, on 1 target" in search(start=4, max=4)[1]
    assert "Everything is done." in search("--keep-failed", start=4, max=4)[1]


def test_searches_that_are_left_are_counted(directory, capsys: Capture):
    (directory / "said.py").write_text(WORKLOAD)
    content = {"workload": "said.py", "target": TARGET, "load": {"words": []}, "path_tpl": "{vus}/{repeat}"}
    run("--run", "--max-duration=0.001s", expe={"a": {"vus": {"search": {"max": 4}}}}, **content)
    assert "r: 0 points measured, 1 × search left." in capsys.readouterr().out


def test_any_command_may_stand_in_the_file_of_a_workload_with_a_driver():
    assert run("--run", workload="encoder_bench", load={"command": "echo {vus}", "monitor": False}) == 0
    assert Path("r/vus_2/000__script/stdout.log").read_text() == "2\n"
    assert not Path("r/vus_2/001__monitor").exists()


@pytest.mark.parametrize(
    ("then", "now", "is_same"),
    [
        ("/data/a/run.py", "/srv/b/run.py", True),
        ("--out=/data/a/x", "--out=/srv/x", True),
        ("./tools/load.sh", "./proj/tools/load.sh", True),
        ("~/a/load.sh", "/srv/load.sh", True),
        ("file:///mnt/day1/x", "file:///mnt/day2/x", True),
        ("-I/opt/a/x", "-I/opt/b/x", True),
        ("out:/data/r1/x", "out:/data/r2/x", True),
        ("1/2", "9/2", False),
        ("http://hostA:1/x/run", "http://hostB:1/x/run", False),
        ("scripts/old/run.py", "scripts/new/run.py", False),
    ],
)
def test_of_an_absolute_path_alone_the_directory_may_be_another_one(then: str, now: str, is_same: bool) -> None:
    assert (without_path(then) == without_path(now)) is is_same
