"""A real Slurm with two nodes on this machine: Debian's slurm-wlm and munge, with files and ports of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmark_support.machines import wait_until
from requirements import missing

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
AuthInfo=socket={place}/munge.socket
SlurmUser=root
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool.%n
SlurmctldPidFile={place}/slurmctld.pid
SlurmdPidFile={place}/slurmd.%n.pid
SlurmctldLogFile={place}/slurmctld.log
SlurmdLogFile={place}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SchedulerParameters=sched_interval=1
GresTypes=gpu
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=2 RealMemory=4000 Gres=gpu:l4:1
PartitionName=normal Nodes=n1,n2 Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes=n1,n2 MaxTime=60 State=DOWN
"""
PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo")


@contextlib.contextmanager
def slurm(place: Path) -> Iterator[dict[str, str]]:
    """The environment in which Slurm speaks: queues *normal* and *closed*, nodes n1, and n2 with a GPU."""
    if os.geteuid() != 0:
        pytest.skip("not run as root: Slurm's daemons start jobs as their users, which root alone can")
    if not all(shutil.which(program) for program in PROGRAMS):
        missing("Slurm; apt-get install slurm-wlm munge")
    place.mkdir()
    ports = [_free_port() for _ in range(3)]
    configuration = place / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(host=socket.gethostname(), place=place, ports=ports))
    (place / "gres.conf").write_text("NodeName=n2 Name=gpu Type=l4 File=/dev/null\n")
    (place / "state").mkdir()
    (place / "key").write_bytes(os.urandom(128))
    (place / "key").chmod(0o600)
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    munge = [
        "--key-file=key",
        "--socket=munge.socket",
        "--pid-file=munge.pid",
        "--log-file=munge.log",
        "--seed-file=seed",
    ]
    commands = [
        [
            "munged",
            "--force",
            "--foreground",
            *(f"{word.split('=')[0]}={place}/{word.split('=')[1]}" for word in munge),
        ],
        ["slurmctld", "-D", "-f", str(configuration)],
        *(["slurmd", "-D", "-N", node, "-f", str(configuration)] for node in ("n1", "n2")),
    ]
    with contextlib.ExitStack() as stack:
        for command in commands:
            log = stack.enter_context((place / f"{command[0]}.out").open("ab"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            stack.callback(_end, process)
            if command[0] == "munged":
                wait_until((place / "munge.socket").exists, "munged")
        wait_until(lambda: _idle(environment) == 2, "two idle nodes of Slurm")
        yield {"SLURM_CONF": str(configuration)}
        subprocess.run(["scancel", "--user=root"], env=environment, check=False, capture_output=True)
        time.sleep(0.5)


def _idle(environment: dict[str, str]) -> int:
    command = ["sinfo", "--noheader", "--Node", "--partition=normal", "--format=%n %T"]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30).stdout
    return sum(line.split()[1] == "idle" for line in said.splitlines())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
