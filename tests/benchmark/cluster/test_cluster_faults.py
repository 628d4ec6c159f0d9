"""What may happen to a benchmark on several machines: whatever it is, each point is there exactly once in the end.

Each test is a row of the table in docs/cluster.md.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmark_support.fake_hf_api import PATCH, TOKEN, FakeApi
from benchmark_support.machines import REPOSITORY, Machines, started_on, starter, wait_until
from benchmark_support.nursery import Fork

from matrix_benchmarking.cli import main
from matrix_benchmarking.settings import read_settings_file

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.xdist_group("cluster")


def write(command: str, **content: Any) -> None:
    """A benchmark of four points, whose *command* knows ``$T``, the directory of the test."""
    script = {"shell": True, "command": f"T={Path.cwd()}; {command}"}
    Path("b.yaml").write_text(
        yaml.safe_dump({"expe": {"a": {"n": [1, 2, 3, 4]}}, "script_tpl": script, "unused_settings": ["n"], **content})
    )


WAITS_FOR_GO = "touch $T/at-{n}-$MATBENCH_HOST; until [ -e $T/go ]; do sleep 0.05; done"


def at(host: str = "*") -> list[Path]:
    """Where points have begun, on which host."""
    return sorted(Path().glob(f"at-*-{host}"))


def words(machines: Machines, **more: Any) -> list[str]:
    cluster = yaml.safe_dump({"scheduler": machines.address, "start_timeout_s": 20, **more}, default_flow_style=True)
    return ["benchmark", "b.yaml", "--results-dirname=r", "--run", f"--cluster={cluster.strip()}"]


def measured() -> list[int]:
    """The points in the results directory that are finished, in order; one that is there twice is twice in it."""
    found = [path.parent for path in Path("r").glob("**/exit_code") if ".matbench" not in path.parts]
    assert all((path / "exit_code").read_text() == "0\n" for path in found)
    return sorted(read_settings_file(str(path / "settings.yaml"))["n"] for path in found)  # type: ignore[index]


def ends(process: Fork, status: int = 0) -> str:
    said, _ = process.communicate(timeout=120)
    assert process.returncode == status, said
    return said


def test_workers_that_are_killed_in_turn_each_in_a_point_take_nothing_else_with_them(machines, place):
    """A worker is killed in a point."""
    machines.worker("a", "b", "c", "d")
    write(WAITS_FOR_GO, expe={"a": {"n": [1, 2]}})
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: len(at()) == 2, "two points begin")
        killed = []
        for n, begun in ((1, 3), (2, 4), (1, 4)):  # no host is free for the last one
            host = max(Path().glob(f"at-{n}-*"), key=lambda path: path.stat().st_mtime_ns).name[-1]
            killed.append((host, n))
            machines.kill_worker(host)
            wait_until(lambda host=host: not started_on(host), "what the worker started ends with it")
            wait_until(lambda begun=begun: len(at()) == begun, "its point begins on a host that is free")
        (place / "go").touch()
        said = ends(process)
    assert len(set(killed)) == 3
    for host, n in killed:
        assert f"{host}: its worker is gone; a/n_{n}__repeat_0 is measured again" in said
    assert measured() == [1, 2]


def test_a_machine_that_is_gone_for_good_leaves_its_points_to_the_others(machines, place):
    """A machine is gone for good."""
    machines.worker("a", "b")
    write(WAITS_FOR_GO)
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: len(at()) == 2, "two points begin")
        machines.lose("a")
        (place / "go").touch()
        said = ends(process)
    assert "a: its worker is gone" in said
    assert measured() == [1, 2, 3, 4]
    assert {path.name[-1] for path in place.glob("at-[34]-*")} == {"b"}


def test_a_machine_that_is_silent_and_comes_back_measures_no_point_twice(place: Path):
    """A machine is silent, and comes back."""
    with Machines(place / "logs") as machines:
        machines.scheduler({"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3s"})
        machines.worker("a", "b")
        write(WAITS_FOR_GO)
        with starter(*words(machines), directory=place) as process:
            wait_until(lambda: len(at()) == 2, "two points begin")
            silent = machines.pause("a")
            (place / "go").touch()
            said = ends(process)
        assert "a: its worker is gone" in said
        assert measured() == [1, 2, 3, 4]
        before = {path: path.stat().st_mtime_ns for path in Path("r").glob("a/*/*")}
        machines.go_on(silent)
        wait_until(lambda: not started_on("a"), "what was silent finds out that nobody waits for it")
        assert {path: path.stat().st_mtime_ns for path in Path("r").glob("a/*/*")} == before


def test_the_scheduler_is_gone_and_the_next_start_measures_what_is_left(machines, place, capsys: Capture):
    """The scheduler is gone."""
    machines.worker("a")
    write(f"[ {{n}} = 1 ] || {{{{ {WAITS_FOR_GO}; }}}}")
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: at(), "the second point begins")
        machines.stop_scheduler()
        said = ends(process, 2)
    assert "is gone; what is measured stays, go on with: matbench benchmark b.yaml" in said, said
    wait_until(lambda: not started_on("a"), "the worker ends what it measures")
    (place / "go").touch()
    with Machines(place / "others") as others:
        others.scheduler()
        others.worker("d")
        assert main(words(others)) == 0
    assert "r: 3 points measured" in capsys.readouterr().out
    assert measured() == [1, 2, 3, 4]


def test_the_starter_is_killed_and_started_again(machines, place, capsys: Capture):
    """The starter is killed."""
    machines.worker("a", "b")
    write(f"[ {{n}} = 1 ] || {{{{ {WAITS_FOR_GO}; }}}}")
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: len(at()) == 2 and measured() == [1], "two more points begin")
        process.kill()
    wait_until(lambda: not started_on("a") + started_on("b"), "the workers end what nobody waits for")
    (place / "go").touch()
    assert main(words(machines)) == 0
    assert "r: 3 points measured" in capsys.readouterr().out
    assert measured() == [1, 2, 3, 4]


def test_a_starter_that_is_killed_leaves_nothing_on_a_host_whose_runs_return(machines, place):
    (place / "temporary").mkdir()
    machines.worker("a", environment={"TMPDIR": str(place / "temporary")})
    write(WAITS_FOR_GO)
    with starter(*words(machines, results="return"), directory=place) as process:
        wait_until(lambda: at(), "a point begins")
        process.kill()
    wait_until(lambda: not list((place / "temporary").glob("matbench-*/*")), "the worker has removed what it kept")


def test_what_a_machine_that_is_lost_had_finished_is_back_already(machines, place):
    machines.worker("a")
    command = f"T={place}; [ {{n}} -lt 3 ] || {{{{ {WAITS_FOR_GO}; }}}}"
    write("", script_tpl={"shell": True, "command": command, "duration_s": 1})  # by which all are dealt at once
    with starter(*words(machines, results="return"), directory=place) as process:
        wait_until(lambda: at("a") and measured() == [1, 2], "two of the job's points are back, and the third begins")
        machines.lose("a")
        (place / "go").touch()
        machines.worker("b")
        said = ends(process)
    assert "a: its worker is gone; a/n_3__repeat_0 is measured again" in said
    assert re.findall(r"n_(\d)__repeat_0 on b", said) == ["3", "4"]
    assert measured() == [1, 2, 3, 4]


def test_a_finished_run_that_waits_for_a_starter_that_is_killed_goes_from_its_host(machines, place):
    (place / "temporary").mkdir()
    machines.worker("a", environment={"TMPDIR": str(place / "temporary")})
    write(f"[ {{n}} -gt 1 ] || {{{{ {WAITS_FOR_GO}; }}}}")
    with starter(*words(machines, results="return"), directory=place) as process:
        wait_until(lambda: at(), "a point begins")
        process.send_signal(signal.SIGSTOP)
        (place / "go").touch()
        wait_until(lambda: list((place / "temporary").glob("matbench-*/*/.matbench/returns/*.tar")), "it is finished")
        process.kill()
    wait_until(lambda: not list((place / "temporary").glob("matbench-*/*")), "the worker has removed what it kept")
    assert measured() == []
    assert main(words(machines, results="return")) == 0
    assert measured() == [1, 2, 3, 4]


def test_a_pipe_in_a_run_stays_on_its_host_and_the_rest_comes_back(machines, place, capsys: Capture):
    machines.worker("a")
    write("[ {n} -ne 2 ] || mkfifo pipe")
    assert main(words(machines, results="return")) == 0
    assert "a/n_2__repeat_0: pipes, and links that lead out of it, were left out" in capsys.readouterr().err
    assert measured() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("results", "command"),
    [
        ("return", "head -c 8m /dev/zero > big || true"),
        ("return", "head -c 8m /dev/zero > big || (rm big; exit 1)"),
        ("share", "head -c 8m /dev/zero > $TMPDIR/big || (rm $TMPDIR/big; exit 1)"),
    ],
)
def test_a_host_with_a_full_disk_is_left_out_and_its_points_go_elsewhere(
    machines: Machines, place: Path, results: str, command: str
):
    """A worker's disk is full."""
    if os.geteuid() != 0:
        pytest.skip("not run as root: a disk that can be filled has to be mounted")
    disk = place / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        machines.worker("a", environment={"TMPDIR": str(disk)})
        machines.worker("b")
        write("touch $T/at-{n}-$MATBENCH_HOST; [ $MATBENCH_HOST = b ] || " + command)
        with starter(*words(machines, results=results), directory=place) as process:
            said = ends(process)
    finally:
        machines.lose("a")
        subprocess.run(["umount", "--lazy", disk], check=True)
    assert "No space left on device" in said
    assert len(at("a")) == 1
    assert measured() == [1, 2, 3, 4]


KILLS_WHO_MEASURES = "kill -9 $(echo $MATBENCH_STARTED_BY | cut -d- -f2); sleep 60"


def test_what_a_killed_measurement_left_comes_back_and_nothing_stays_on_its_host(machines, place):
    """The measuring process is killed, not its worker."""
    (place / "temporary").mkdir()
    machines.worker("a", environment={"TMPDIR": str(place / "temporary")})
    write(f"head -c 3m /dev/zero; echo the end; {KILLS_WHO_MEASURES}")
    with starter(*words(machines, results="return"), directory=place) as process:
        said = ends(process, 2)
    (aside,) = Path("r/.matbench/set_aside").glob("a__*")
    assert (
        f"a can't go on: measuring ended with exit status 137 (SIGKILL); what it left is in {aside.absolute()}; "
        in said
    )
    (log,) = aside.glob("a__n_1__repeat_0__*/000__script/stdout.log")
    assert log.stat().st_size == 1 << 20
    assert log.read_bytes().endswith(b"\0the end\n")
    assert not list((place / "temporary").glob("matbench-*/*"))


def test_the_log_of_a_target_that_starts_nowhere_comes_back(machines, place):
    """No host starts the target."""
    (place / "temporary").mkdir()
    machines.worker("a", "b", environment={"TMPDIR": str(place / "temporary")})
    server = "import os; print('first on', os.environ['MATBENCH_HOST'], *range(99), sep=chr(10)); exit(3)"
    write("true {n}", target={"process": {"command": [sys.executable, "-c", f"{server} # {{port}}"]}})
    with starter(*words(machines, results="return"), directory=place) as process:
        said = ends(process, 2)
    for host in ("a", "b"):
        (aside,) = Path("r/.matbench/set_aside").glob(f"{host}__*")
        assert f"{host}: what it left is in {aside.absolute()}\n" in said
        (log,) = aside.iterdir()
        assert log.read_text().startswith(f"first on\n{host}\n")
    assert not list((place / "temporary").glob("matbench-*/*"))


def test_of_two_starters_on_one_results_directory_the_second_says_so(machines, place, capsys: Capture):
    """A second starter on the same results directory."""
    machines.worker("a")
    write(WAITS_FOR_GO)
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: at(), "a point begins")
        assert main(words(machines)) == 2
        assert f"another benchmark (process {process.pid} on " in capsys.readouterr().err
        (place / "go").touch()
        ends(process)
    assert measured() == [1, 2, 3, 4]


def test_a_paid_target_is_torn_down_by_its_lease_from_anywhere(machines, place, api: FakeApi, capsys: Capture):
    """All is gone but a paid target."""
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(PATCH.format(url=api.url))
    machines.worker("a", environment={"PYTHONPATH": f"{place}/site:{REPOSITORY}", "HF_TOKEN": TOKEN})
    endpoint = {"repository": "a/b", "instance_type": "nvidia-l4"}
    write(WAITS_FOR_GO, target={"hf_endpoint": endpoint, "usd_per_hour": 0.8})
    with starter(*words(machines), directory=place) as process:
        wait_until(lambda: at(), "a point begins on the endpoint")
        machines.lose("a")
        process.kill()
    assert len(api.endpoints) == 1
    assert main(["benchmark", "--cleanup", "--results-dirname=r"]) == 0
    assert "deleted endpoint" in capsys.readouterr().out
    assert api.endpoints == {}
    (place / "go").touch()
    machines.worker("b", environment={"PYTHONPATH": f"{place}/site:{REPOSITORY}", "HF_TOKEN": TOKEN})
    assert main(words(machines)) == 0
    assert measured() == [1, 2, 3, 4]
    assert api.endpoints == {}
