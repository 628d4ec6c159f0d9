"""The page for people with a Slurm account, against a real Slurm with two nodes on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from benchmark_support.machines import REPOSITORY
from benchmark_support.slurm import slurm

from matrix_benchmarking.recorded import read_block

PAGE = Path(REPOSITORY) / "docs" / "cluster.md"
pytestmark = pytest.mark.xdist_group("load")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of somebody with an account, and with matbench installed."""
    with slurm(tmp_path_factory.mktemp("slurm") / "slurm") as environment:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        ours = {name: value for name, value in os.environ.items() if not name.startswith("MATBENCH_")}
        yield {**ours, **environment, "PATH": path}


def said(command: str, directory: Path, account: dict[str, str], status: int = 0) -> str:
    words = ["bash", "-ec", command]
    done = subprocess.run(words, cwd=directory, env=account, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_page_leads_from_an_installation_to_a_finished_matrix(account: dict[str, str], tmp_path: Path):
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    installation, _, rest = block.partition("matbench new")
    assert installation.endswith("pip install 'matrix-benchmarking[cluster,benchmark]'\n")
    output = said("matbench new" + rest, tmp_path, account)
    assert "On Slurm, queue normal, one point at a time on a host" in output
    assert "worker 1: 8 points of round 1, 3" in output
    assert "results/hash_bench: 12 points measured" in output
    assert "Highest throughput: " in output
    results = tmp_path / "results" / "hash_bench"
    runs = [path.parent for path in results.glob("1.0.0/**/exit_code")]
    assert [(run / "exit_code").read_text() for run in runs] == 12 * ["0\n"]
    assert len({read_block(run)[0].campaign for run in runs}) == 2, "each host is a block"
    assert set(re.findall(r"/12\] \S+ on (n\d): done", output)) == {"n1", "n2"}
    assert not list((results / ".matbench" / "workers").glob(".dask-jobqueue*")), "a key was left behind"
    assert not said("squeue --noheader", tmp_path, account).strip(), "a job was left behind"


def test_a_queue_that_never_starts_is_said_with_what_slurm_says(account: dict[str, str], tmp_path: Path):
    """The queue never starts."""
    output = refused(tmp_path, account, queue="closed")
    assert "no worker came within 7 s from Slurm, queue closed; its jobs: " in output
    assert " PENDING (PartitionDown): see why" in output


def test_a_job_that_slurm_takes_never_is_said_at_once(account: dict[str, str], tmp_path: Path):
    """Slurm takes no such job."""
    output = refused(tmp_path, account, gres="gpu:l4:1")
    assert "the workers on Slurm can't be started: sbatch: error: " in output
    assert "Traceback" not in output


def refused(place: Path, account: dict[str, str], **slurm: str) -> str:
    """What is said of a benchmark that doesn't begin."""
    cluster = {"slurm": {"memory": "1GB", **slurm}, "start_timeout_s": 7}
    file = {"expe": {"a": {"n": 1}}, "script_tpl": "true {n}", "cluster": cluster}
    (place / "b.yaml").write_text(yaml.safe_dump(file))
    output = said("matbench benchmark b.yaml --results-dirname=r --run", place, account, status=2)
    assert not list((place / "r").glob("**/settings.yaml"))
    return output
