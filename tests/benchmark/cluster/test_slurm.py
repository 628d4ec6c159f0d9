"""The page for people with a Slurm account, against a real Slurm with two nodes on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import yaml
from benchmark_support.machines import REPOSITORY, starter, wait_until
from benchmark_support.nursery import Fork
from benchmark_support.slurm import slurm
from wheels import built_wheel, dependencies

from matrix_benchmarking.recorded import read_block

PAGE = Path(REPOSITORY) / "docs" / "cluster.md"
pytestmark = pytest.mark.xdist_group("cluster that is started")


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


def test_the_page_leads_from_an_installation_to_a_finished_matrix(
    account: dict[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
):
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert "pip install 'matrix-benchmarking[cluster,benchmark]'" in block
    wheel = built_wheel(tmp_path_factory.mktemp("wheel"))  # the packages that it needs are those of this environment
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_FIND_LINKS": str(wheel.parent)}
    others = str(dependencies(tmp_path_factory.mktemp("others") / "packages"))
    output = said(f"{block}command -v matbench", tmp_path, {**account, **offline, "PYTHONPATH": others})
    assert f"\n{tmp_path}/venv/bin/matbench\n" in output
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
    output = refused(tmp_path, account, gres="gpu:h100:1")
    assert "the workers on Slurm can't be started: sbatch: error: " in output
    assert "Traceback" not in output


def test_points_that_require_a_gpu_are_measured_by_jobs_that_have_it(account: dict[str, str], tmp_path: Path):
    script = {"shell": True, "command": f"scontrol show job $SLURM_JOB_ID > {tmp_path}/job-{{n}}"}
    cluster = {"slurm": {"memory": "1GB", "gres": "gpu:l4:1", "cores": 2, "account": "team"}}
    file = {"expe": {"a": {"n": [1, 2]}}, "script_tpl": script, "unused_settings": ["n"], "cluster": cluster}
    (tmp_path / "b.yaml").write_text(yaml.safe_dump({**file, "requires": {"gpu": "l4"}}))
    output = said("matbench benchmark b.yaml --results-dirname=r --run", tmp_path, account)
    assert "r: 2 points measured" in output
    for n in (1, 2):
        job = (tmp_path / f"job-{n}").read_text()
        for words in ("NodeList=n2", "NumCPUs=2", "Account=team", "gpu:l4:1"):
            assert words in job, job
    logs = "".join(path.read_text() for path in (tmp_path / "r/.matbench/workers").glob("*.err"))
    assert "tls://" in logs
    assert "tcp://" not in logs
    (tmp_path / "b.yaml").write_text(yaml.safe_dump({**file, "requires": {"gpu": "h100"}}))
    output = said("matbench benchmark b.yaml --results-dirname=other --run", tmp_path, account, status=2)
    assert "gpu:h100" in output, output


def refused(place: Path, account: dict[str, str], **slurm: str) -> str:
    """What is said of a benchmark that doesn't begin."""
    cluster = {"slurm": {"memory": "1GB", **slurm}, "start_timeout_s": 7}
    file = {"expe": {"a": {"n": 1}}, "script_tpl": "true {n}", "cluster": cluster}
    (place / "b.yaml").write_text(yaml.safe_dump(file))
    output = said("matbench benchmark b.yaml --results-dirname=r --run", place, account, status=2)
    assert not list((place / "r").glob("**/settings.yaml"))
    return output


def test_a_job_whose_walltime_ends_in_a_point(account: dict[str, str], tmp_path: Path):
    """A job's walltime ends in a point."""
    with waiting(tmp_path, account, n=[1, 2]) as process:
        wait_until(lambda: jobs_at(tmp_path), "the first point begins")
        said(f"scontrol update JobId={jobs_at(tmp_path)[0]} EndTime=now+1", tmp_path, account)
        wait_until(lambda: len(jobs_at(tmp_path)) == 2, "another job measures it again", 120)
        (tmp_path / "go").touch()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "its worker is gone; a/n_1__repeat_0 is measured again" in output
    assert "r: 2 points measured" in output
    assert len(list(tmp_path.glob("at-*"))) == 3
    assert len(list((tmp_path / "r" / "a").glob("*/exit_code"))) == 2


def test_a_point_that_takes_longer_than_any_job_is_left_out_with_what_to_do(account: dict[str, str], tmp_path: Path):
    with waiting(tmp_path, account, n=[1]) as process:
        for number in range(1, 4):
            wait_until(lambda number=number: len(jobs_at(tmp_path)) == number, "a job measures it")
            said(f"scancel {jobs_at(tmp_path)[-1]}", tmp_path, account)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 2, output
    assert "a/repeat_0 is left out: it took 3 workers with it; if it takes longer than a job's walltime " in output
    assert "(00:05:00), raise that" in output


def waiting(place: Path, account: dict[str, str], n: list[int]) -> AbstractContextManager[Fork]:
    """A benchmark on one job of Slurm at a time, whose points wait for ``go``."""
    command = f"touch {place}/at-{{n}}-$SLURM_JOB_ID; until [ -e {place}/go ]; do sleep 0.1; done"
    script = {"shell": True, "command": command}
    cluster = {"slurm": {"memory": "1GB", "walltime": "00:05:00"}}
    file = {"expe": {"a": {"n": n}}, "script_tpl": script, "unused_settings": ["n"], "cluster": cluster}
    (place / "b.yaml").write_text(yaml.safe_dump(file))
    soon = {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s"}
    words = ["benchmark", "b.yaml", "--results-dirname=r", "--run"]
    return starter(*words, directory=place, environment={**account, **soon})


def jobs_at(place: Path) -> list[int]:
    """The jobs that have begun the first point."""
    return sorted(int(path.name.rpartition("-")[2]) for path in place.glob("at-1-*"))
