"""Workers that matbench starts itself: on this machine, and by ssh on two hosts that are real ssh servers."""

from __future__ import annotations

import contextlib
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import yaml
from benchmark_support.machines import Machines, started_on, starter, wait_until
from benchmark_support.sshd import ssh_hosts

from matrix_benchmarking.recorded import read_block

pytestmark = pytest.mark.xdist_group("cluster that is started")

SSH = "{ssh: [n1, n2]}"


def words(cluster: str, command: str) -> list[str]:
    """A benchmark of four points, whose *command* knows ``$T``, the directory of the test."""
    script = {"shell": True, "command": f"T={Path.cwd()}; {command}"}
    Path("b.yaml").write_text(
        yaml.safe_dump({"expe": {"a": {"n": [1, 2, 3, 4]}}, "script_tpl": script, "unused_settings": ["n"]})
    )
    return ["benchmark", "b.yaml", "--results-dirname=r", "--run", f"--cluster={cluster}"]


def finished() -> list[Path]:
    """The runs that are there, in order, all of which succeeded."""
    found = sorted(path.parent for path in Path("r").glob("**/exit_code") if ".matbench" not in path.parts)
    assert {(run / "exit_code").read_text() for run in found} <= {"0\n"}
    return found


@pytest.fixture
def account(place: Path) -> Iterator[dict[str, str]]:
    with ssh_hosts(place / "home", "n1", "n2") as environment:
        yield environment


MEETS = "touch $T/at-{n}; until [ $(ls $T/at-* | wc -l) -ge 2 ]; do sleep 0.05; done"
"""A point that ends only where another one is measured at the same time."""


def test_workers_on_this_machine_measure_beside_each_other_as_far_as_points_per_host_says(place: Path):
    with starter(*words("{local: 2, points_per_host: 2}", MEETS), directory=place) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "r: 4 points measured" in said
    assert len(finished()) == 4


def test_workers_on_this_machine_end_with_the_one_who_started_them(place: Path):
    run = words("{local: 2}", "touch $T/begun; sleep 60")
    with starter(*run, directory=place, environment={"TMPDIR": str(place)}) as process:
        wait_until((place / "begun").exists, "a point begins")
        ours = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        wait_until(lambda: not any(each.is_running() for each in ours), "all that it started ends")
    assert not finished()


@pytest.mark.parametrize("cluster", ["{{local: 1}}", "{{scheduler: '{address}', results: return}}"])
def test_nothing_that_dask_pickled_is_kept(machines: Machines, place: Path, cluster: str):
    (place / "temporary").mkdir()
    environment = {"TMPDIR": str(place / "temporary")}
    machines.worker("a", environment=environment)
    run = [*words(cluster.format(address=machines.address), "echo {n}"), "--filters=n=1"]
    with starter(*run, directory=place, environment=environment) as process:
        said, _ = process.communicate(timeout=120)
    assert "r: 1 point measured" in said
    files = [path for path in place.rglob("*") if path.is_file()]
    assert not [path for path in files if re.search(rb"\x80[\x02-\x05][\x95(c}\]]", path.read_bytes())]
    kept = [path for path in place.rglob("dask*") if path.parent != place / "logs"]
    assert not kept, "nothing but where a worker that others started works"


def test_by_ssh_each_host_is_a_block_and_nothing_stays_there(account: dict[str, str], place: Path):
    with starter(*words(SSH, MEETS), directory=place, environment=account) as process:
        said, _ = process.communicate(timeout=120)
    assert process.returncode == 0, said
    assert "r: 4 points measured" in said
    assert len({read_block(run)[0].campaign for run in finished()}) == 2
    assert said.count("whoever reaches the scheduler's port on this machine, or a worker's, can run code as you") == 1
    wait_until(lambda: not started_on("n1") + started_on("n2"), "the workers end")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_by_ssh_what_runs_elsewhere_ends_with_the_one_who_started_it(account: dict[str, str], place: Path, number: int):
    with starter(*words(SSH, "touch $T/at-{n}; sleep 60"), directory=place, environment=account) as process:
        wait_until(lambda: len(list(place.glob("at-*"))) == 2, "two points begin")
        process.send_signal(number)
        process.communicate(timeout=60)
    wait_until(lambda: not started_on("n1") + started_on("n2"), "the workers end")
    assert not finished()


def test_a_host_that_ssh_does_not_reach_or_that_lets_nobody_in_is_said_before_anything_is_measured(
    account: dict[str, str], place: Path
):
    said = refused("{ssh: [n1, nowhere.invalid], start_timeout_s: 10}", place, account)
    assert "the workers on ssh to n1, nowhere.invalid can't be started: " in said
    wait_until(lambda: not started_on("n1"), "the worker that was started nevertheless ends")
    (place / "home" / "user_key.pub").write_text("")
    said = refused("{ssh: [n1]}", place, account)
    assert "the workers on ssh to n1 can't be started: Permission denied" in said


def test_a_host_without_our_python_is_said_with_what_it_lacks(place: Path):
    command = 'case "$SSH_ORIGINAL_COMMAND" in uname) uname ;; *) echo no such file >&2; exit 127 ;; esac'
    with ssh_hosts(place / "home", "n1", command=command) as account:
        said = refused("{ssh: [n1]}", place, account)
    assert f"Worker failed to start: is there {sys.executable}, with Dask?" in said


def refused(cluster: str, place: Path, account: dict[str, str]) -> str:
    with starter(*words(cluster, "true {n}"), directory=place, environment=account) as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 2, said
    with contextlib.suppress(FileNotFoundError):
        assert not list(Path("r").glob("**/settings.yaml"))
    lines = [line for line in said.strip().splitlines() if "can run code as you" not in line]
    assert len(lines) == 1, said
    return lines[0]
