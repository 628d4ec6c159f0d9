"""A tree that the workers of a cluster parse."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmark_support.machines import REPOSITORY, Machines

from matrix_benchmarking.cli import main
from matrix_benchmarking.cluster import connected
from matrix_benchmarking.cluster.workers import ClusterExecutor
from matrix_benchmarking.errors import ClusterError, MatbenchError
from matrix_benchmarking.named_cluster import NamedCluster
from matrix_benchmarking.workload import load

Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    with Machines(tmp_path / "logs") as found:
        found.scheduler()
        yield found


def test_a_cluster_parses_a_tree_to_the_same_matrix_as_this_machine(
    machines: Machines, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    machines.worker("a", "b")
    monkeypatch.setenv("MATBENCH_STORE_IGNORE_CACHE", "true")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(REPOSITORY, "data", "samples", "openssl_speed"), tmp_path / "tree")
    words = ["parse", "--results-dirname=tree", f"--workload={REPOSITORY}/examples/minimal_workload.py"]
    assert main([*words, "--output-matrix=here.json"]) == 0
    assert main([*words, "--output-matrix=there.json", f"--cluster={machines.address}"]) == 0
    assert (tmp_path / "here.json").read_bytes() == (tmp_path / "there.json").read_bytes()


def test_a_worker_that_does_not_see_the_tree_is_named(machines: Machines, tmp_path: Path, capsys: Capture):
    if os.geteuid() != 0:
        pytest.skip("not run as root: a directory that only one process sees has to be mounted")
    shutil.copytree(Path(REPOSITORY, "data", "samples", "openssl_speed"), tmp_path / "tree")
    mount = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {tmp_path}/tree && exec "$@"', "sh")
    machines.worker("a")
    machines.worker("far", before=mount)
    words = ["parse", f"--results-dirname={tmp_path}/tree", f"--workload={REPOSITORY}/examples/minimal_workload.py"]
    assert main([*words, f"--cluster={machines.address}"]) == 2
    assert "the directory is not shared with far: " in capsys.readouterr().err


def test_a_parse_that_waits_for_a_worker_says_so_once(machines: Machines, tmp_path: Path, capsys: Capture):
    shutil.copytree(Path(REPOSITORY, "data", "samples", "openssl_speed"), tmp_path / "tree")
    words = ["parse", f"--results-dirname={tmp_path}/tree", f"--workload={REPOSITORY}/examples/minimal_workload.py"]
    assert main([*words, f"--cluster={{scheduler: {machines.address!r}, start_timeout_s: 7}}"]) == 2
    said = capsys.readouterr()
    assert said.err.count(f"waiting for a worker from {machines.address}\n") == 1
    assert not said.out


def test_what_a_worker_could_not_do_is_a_sentence(tmp_path: Path):
    with connected(NamedCluster(local=1), tmp_path, print) as cluster:
        executor = ClusterExecutor(cluster)
        assert executor.submit(os.strerror, 2).result() == "No such file or directory"
        with pytest.raises(ClusterError, match="a worker of this machine could not go on: TypeError: "):
            executor.submit(os.strerror, "x").result()
        with pytest.raises(MatbenchError, match="workload"):
            executor.submit(load, "nothing").result()
