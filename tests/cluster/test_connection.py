"""What is said of the machines that somebody named, and how what is started there is spoken with."""

from __future__ import annotations

from pathlib import Path

import pytest

from matrix_benchmarking.cluster import connected
from matrix_benchmarking.named_cluster import NamedCluster, Slurm


@pytest.mark.parametrize(
    ("gres", "has"),
    [
        (None, {}),
        ("gpu", {"gpu": 1.0}),
        ("gpu:2", {"gpu": 2.0}),
        ("gpu:l4", {"gpu": 1.0, "gpu:l4": 1.0}),
        ("gpu:l4:2,license:1", {"gpu": 2.0, "gpu:l4": 2.0, "license": 1.0}),
    ],
)
def test_a_worker_has_what_its_job_asked_slurm_for(gres: str | None, has: dict[str, float]):
    assert Slurm(gres=gres).resources == has


@pytest.mark.xdist_group("cluster")
def test_workers_on_this_machine_speak_tls(tmp_path: Path):
    said: list[str] = []
    with connected(NamedCluster(local=1), tmp_path, said.append) as cluster:
        addresses = [cluster.client.scheduler.address, *cluster.workers()]
    assert not said
    assert len(addresses) == 2
    assert all(address.startswith("tls://") for address in addresses)
