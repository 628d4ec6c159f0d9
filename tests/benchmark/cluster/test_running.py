"""What a benchmark on several machines does where nothing goes wrong but a point."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from benchmark_support import little_server
from benchmark_support.machines import Machines, starter

from matrix_benchmarking.cli import main

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.xdist_group("cluster")


def write(command: str, **content: object) -> None:
    script = {"shell": True, "command": command}
    Path("b.yaml").write_text(yaml.safe_dump({"expe": {"a": {"n": [1, 2]}}, "script_tpl": script, **content}))


def words(cluster: str) -> list[str]:
    return ["benchmark", "b.yaml", "--results-dirname=r", f"--cluster={cluster}"]


def test_the_plan_says_what_goes_where_and_a_failed_point_comes_back_with_its_log(
    machines: Machines, place: Path, capsys: Capture
):
    machines.worker("small")
    machines.worker("big", resources="gpu:l4=1")
    write("echo on $MATBENCH_HOST; echo broken >&2; exit $(({n} - 1))", requires={"gpu": "l4"})
    planned_for = words(f"{{scheduler: {machines.address!r}, results: return}}")
    assert main(planned_for) == 0
    planned = capsys.readouterr().out
    assert f"On {machines.address}, one point at a time on a host; runs go back to this machine:" in planned
    assert "small: 0 points\n" in planned
    assert "big: 2 points of round 1 for its gpu:l4\n" in planned
    assert not Path("r").exists() or not list(Path("r").glob("*"))
    assert main([*planned_for, "--run"]) == 1
    assert "[2/2] a/n_2__repeat_0 on big: " in capsys.readouterr().err
    logs = [Path("r", "a", f"n_{n}__repeat_0", "000__script") for n in (1, 2)]
    assert [(log / "stdout.log").read_text() for log in logs] == ["on big\n", "on big\n"]
    assert (logs[1] / "stderr.log").read_text() == "broken\n"
    assert not list(Path("r", ".matbench").glob("jobs/*"))


def test_two_workers_that_are_one_host_measure_one_point_at_a_time(machines: Machines, place: Path, capsys: Capture):
    machines.worker("a")
    machines.worker("second", environment={"MATBENCH_HOST": "a"})
    write(f"mkdir {place}/point && sleep 0.5 && rmdir {place}/point", unused_settings=["n"])
    assert main([*words(machines.address), "--run"]) == 0
    said = capsys.readouterr()
    assert "r: 2 points measured" in said.out
    assert "a has 2 workers, of which 1 will have nothing to do, as points don't share a host" in said.err


def test_a_host_that_is_slower_than_its_equal_is_named_in_the_end(machines: Machines, capsys: Capture):
    machines.worker("quick", "slow")
    command = "[ $MATBENCH_HOST = quick ] || sleep 0.4"
    script = {"shell": True, "command": command, "duration_s": 3}  # by which a host is dealt a whole round
    write("", expe={"a": {"n": [*range(8)], "repeat": 2}}, script_tpl=script, unused_settings=["n"])
    assert main([*words(machines.address), "--run"]) == 0
    named = re.findall(r"(\w+) was slower than its equals at [78] of 8 points, by \d\d% in", capsys.readouterr().err)
    assert named == ["slow"]


LOAD = """
import os, sys, time, urllib.request
ends = time.time() + 1
while time.time() < ends:
    urllib.request.urlopen(sys.argv[1] + "/health")
print(os.environ["MATBENCH_HOST"])
"""


def test_target_load_and_monitor_of_a_point_are_on_its_host_and_what_they_leave_comes_back(machines: Machines):
    machines.worker("a")
    target = {"process": {"command": [sys.executable, little_server.__file__, "{port}"]}}
    load = {"command": [sys.executable, "-c", LOAD, "{url}"]}
    write("", expe={"a": {"n": 1}}, script_tpl=None, target=target, load=load)
    assert main([*words(f"{{scheduler: {machines.address!r}, results: return}}"), "--run"]) == 0
    run = Path("r", "a", "repeat_0")
    assert "little server on " in (run / "000__server" / "server.log").read_text()
    assert (run / "000__script" / "stdout.log").read_text() == "a\n"
    seen = json.loads((run / "001__monitor" / "utilization.json").read_text())
    assert seen["processes"].keys() == {"script", "server"}
    assert len(seen["time"]) == len(seen["cpus_load"]) > 4


def test_everything_goes_through_tls_with_the_certificates_of_dasks_configuration(place: Path, capsys: Capture):
    openssl = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=matbench -keyout key.pem -out cert.pem"
    subprocess.run(openssl.split(), check=True, capture_output=True)
    tls = {"DASK_DISTRIBUTED__COMM__TLS__CA_FILE": str(place / "cert.pem")}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__CERT"] = str(place / "cert.pem")
        tls[f"DASK_DISTRIBUTED__COMM__TLS__{role}__KEY"] = str(place / "key.pem")
    write("true {n}")
    with Machines(place / "logs", "tls") as machines:
        machines.scheduler(tls)
        machines.worker("a", environment=tls)
        run = [*words(machines.address), "--run"]
        assert main(run) == 2
        assert " wants certificates: name them in Dask's configuration" in capsys.readouterr().err
        with starter(*run, directory=place, environment=tls) as process:
            said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "r: 2 points measured" in said
