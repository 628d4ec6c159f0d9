"""Machines that are not fit for a benchmark: one sentence each, before anything is measured."""

from __future__ import annotations

import os
import re
import shutil
import sysconfig
from pathlib import Path

import pytest
import yaml
from benchmark_support.machines import REPOSITORY, Machines
from download_support.web import directory_server
from requirements import missing

from matrix_benchmarking.cli import main
from matrix_benchmarking.cluster import connection

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.xdist_group("cluster")

WORKLOAD = """
from matrix_benchmarking.store import BaseStore
from matrix_benchmarking.workload import Workload
workload = Workload(name="mine", store=BaseStore(parse_once=lambda results, test_dir: None))  # {version}
"""


def refused(address: str, capsys: Capture, **content: object) -> list[str]:
    """What is said, a sentence a line, of a benchmark that doesn't begin on the cluster at *address*."""
    script = {"expe": {"a": {"n": [1, 2]}}, "script_tpl": "true {n}", **content}
    Path("b.yaml").write_text(yaml.safe_dump(script))
    assert main(["benchmark", "b.yaml", "--results-dirname=r", f"--cluster={address}", "--run"]) == 2
    left = {path.name for path in Path("r").glob("**/*")} - {".matbench", "lock", "jobs", "workers"}
    assert not left, "something was begun"
    return capsys.readouterr().err.splitlines()


def test_a_scheduler_that_nobody_reaches(place: Path, capsys: Capture):
    """No scheduler answers."""
    (said,) = refused("tcp://127.0.0.1:1", capsys)
    assert "no Dask scheduler answers at tcp://127.0.0.1:1 (" in said


def test_a_cluster_of_the_configuration_is_the_one_that_is_asked(place: Path, capsys: Capture):
    Path("config.yaml").write_text("matbench: {cluster: 'tcp://127.0.0.1:2'}")
    Path("b.yaml").write_text("expe: {a: {n: 1}}\nscript_tpl: 'true {n}'")
    assert main(["benchmark", "b.yaml", "--results-dirname=r", "--run"]) == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:2 (" in capsys.readouterr().err


def test_something_else_than_a_scheduler(place: Path, capsys: Capture, monkeypatch):
    """Something else answers."""
    monkeypatch.setattr(connection, "ANSWER_S", 1.0)
    with directory_server(place) as web:
        address = f"tcp://{web.url.removeprefix('http://').strip('/')}"
        (said,) = refused(address, capsys)
    assert f"at {address}" in said
    assert "Dask scheduler" in said


def test_a_scheduler_of_another_version(place: Path, capsys: Capture):
    """The scheduler, or a worker, has another Dask."""
    with Machines(place / "logs") as machines:
        machines.scheduler(
            code="import distributed.versions; distributed.versions.version = lambda package: '2024.1.0'"
        )
        (said,) = refused(machines.address, capsys)
    assert f"the scheduler {machines.address} has distributed 2024.1.0, and this machine 20" in said


def test_workers_are_refused_by_name_each_for_its_own_reason(
    machines: Machines, place: Path, capsys: Capture, monkeypatch
):
    """A worker lacks the workload, or has another version."""
    for version in (1, 2):
        (place / f"v{version}").mkdir()
        (place / f"v{version}" / "mine.py").write_text(WORKLOAD.format(version=version))
    monkeypatch.syspath_prepend(str(place / "v1"))
    machines.worker("lacks")
    machines.worker("other", environment={"PYTHONPATH": f"{place}/v2:{REPOSITORY}"})
    machines.worker("fit", environment={"PYTHONPATH": f"{place}/v1:{REPOSITORY}"})
    lines = refused(machines.address, capsys, workload="mine")
    assert len(lines) == 2
    assert any("lacks hasn't the workload" in line for line in lines)
    assert any("other has another version of the workload 'mine': its source has the digest" in line for line in lines)
    assert not any("fit" in line.split() for line in lines)


@pytest.fixture
def bare(place: Path) -> dict[str, str]:
    """The environment of a Python that has all packages of this one, and no matbench."""
    (place / "bare").mkdir()
    for package in Path(sysconfig.get_path("purelib")).iterdir():
        if "matrix_benchmarking" not in package.name and package.suffix != ".pth":
            (place / "bare" / package.name).symlink_to(package)
    return {"PYTHONPATH": str(place / "bare")}


def test_a_worker_without_matbench_is_named_and_lives_on(machines: Machines, bare: dict[str, str], capsys: Capture):
    """A worker has no matbench, or another."""
    machines.worker("a", environment=bare, options=("-S", "-P"))
    (said,) = refused(machines.address, capsys)
    assert "the worker on a (tcp://127.0.0.1:" in said
    assert ") has no matbench: " in said
    assert "pip install 'matrix-benchmarking[cluster,benchmark]==" in said
    assert machines.address, "the worker is there no more"


@pytest.mark.parametrize(
    ("name", "module"), [("matbench", "matrix_benchmarking.version"), ("distributed", "distributed")]
)
def test_a_worker_of_another_version_is_named_and_none_that_is_alike(
    machines: Machines, capsys: Capture, name: str, module: str
):
    machines.worker("alike")
    machines.worker("other", code=f"import {module} as module; module.__version__ = '2024.1.0'")
    (said,) = refused(machines.address, capsys)
    assert re.search(rf"the worker on other \(tcp://\S+\) has {name} 2024.1.0, and this machine \d", said)


def test_a_scheduler_without_matbench(place: Path, bare: dict[str, str], capsys: Capture):
    """The scheduler has no matbench."""
    with Machines(place / "logs") as machines:
        machines.scheduler(bare, options=("-S", "-P"))
        machines.worker("a")
        (said,) = refused(machines.address, capsys)
    assert f"the scheduler {machines.address} has no matbench" in said


def test_what_points_require_and_no_worker_has(machines: Machines, capsys: Capture):
    """Nobody has what points require."""
    machines.worker("a", resources="gpu:a10=1")
    (said,) = refused(machines.address, capsys, requires={"gpu": "l4"})
    assert "points require gpu:l4=1, and no worker has it: start one with --resources gpu:l4=1" in said


def test_a_results_directory_that_is_not_shared(machines: Machines, place: Path, capsys: Capture):
    """The results directory isn't shared."""
    if os.geteuid() != 0:
        pytest.skip("not run as root: a directory that only one process sees has to be mounted")
    (place / "r").mkdir()
    mount = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {place}/r && exec "$@"', "sh")
    machines.worker("far", before=mount)
    (said,) = refused(machines.address, capsys)
    assert "the directory is not shared with far: " in said
    assert "cluster: {results: return}" in said


def test_a_clock_that_differs(machines: Machines, capsys: Capture):
    """A clock differs by more than 2 s."""
    if shutil.which("faketime") is None:
        missing("faketime")
    machines.worker("a", before=("faketime", "-f", "+90s"), environment={"FAKETIME_DONT_FAKE_MONOTONIC": "1"})
    (said,) = refused(machines.address, capsys)
    assert re.search(r"the clock of a is (8\d|90) s ahead of this machine's", said), "but for the answer's way"
