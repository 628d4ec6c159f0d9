"""A job: some points of a plan, described so that a process on another host measures them by a campaign of its own.

``python -m matrix_benchmarking.benchmark.cluster.job [--check] JOB.json`` is that process. What happens goes to
standard output, a JSON object a line. It describes data alone: nothing of it is pickled.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pydantic
import yaml

from ... import bucket
from ... import workload as workloads
from ...bucket import BucketPath
from ...cluster.workers import host_name
from ...errors import MatbenchError, OutputError, WorkloadError
from ...workload_file import source_digest
from .. import environment, processes
from .. import file as files
from ..campaign import Campaign, Listener
from ..load_driver import Limits
from ..plan import Group, Plan, price_of
from ..run_directory import FoundRun, Outcome, Point, write_text

SLOT_S = 120.0
"""How long a job waits for a host on which another one, of a starter that is gone, comes to its end."""
RUNS = "runs"


class Job(pydantic.BaseModel):
    """What a host is to measure.

    Attributes:
        file: the benchmark file, as it would be written, the values given on the command line put in.
        base, directory: what its paths are relative to, and where the command was called.
        root: the results directory; None where the host chooses one of its own, from which runs go to the *bucket* or
            return to the starter.
        digest: of the workload's source; None where the file names none.
        prices: in USD per hour, as they were given.
        campaign: the id of this start on this host, a block.
        group: what is measured, with its target's settings filled in.
        found: runs that are finished, of the searches alone.
        repeat: the command line that measures a point again, its filter left out.
    """

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    name: str
    file: dict[str, Any]
    base: Path
    directory: Path
    root: Path | None
    bucket: str | None
    digest: str | None
    prices: dict[str, float]
    campaign: str = ""
    group: Group | None = None
    found: list[FoundRun] = []
    repeat: list[str] = []
    stop_on_error: bool = False
    max_usd: float | None = None
    max_duration_s: float | None = None
    points_per_host: int = 1

    @property
    def returns(self) -> bool:
        """Whether runs come back to the starter."""
        return self.root is None and self.bucket is None


def workload_digest(name: str | None) -> str | None:
    """The digest of the source of the workload *name* on this machine; None for none. WorkloadError: it isn't here."""
    return None if name is None else source_digest(workloads.load(name).source).hex()


def plan_of(job: Job, beside: Path) -> Plan:
    """The plan on this host; the file is written to *beside*. MatbenchError: it can't be carried out here."""
    host, name = host_name(), job.file.get("workload")
    try:
        here = workload_digest(name)
    except WorkloadError as error:
        raise MatbenchError(f"{host} hasn't the workload: {error}") from error
    if here != job.digest:
        raise MatbenchError(
            f"{host} has another version of the workload '{name}': its source has the digest {(here or 'none')[:12]}, "
            f"and that of the starter {(job.digest or 'none')[:12]}: bring both to the same state"
        )
    if not job.base.is_dir():
        raise MatbenchError(f"{host} lacks {job.base}, where the benchmark file is and what it starts")
    write_text(beside, yaml.safe_dump(job.file, sort_keys=False, allow_unicode=True))
    found = {Point("", run.settings, run.repeat).key: run for run in job.found}
    price = price_of(None if name is None else workloads.load(name), job.prices)
    root, results = job.root or beside.parent, BucketPath(job.bucket) if job.bucket is not None else None
    try:
        return Plan(files.read(beside), job.base, root, price_of=price, found=found, results=results)
    except MatbenchError as error:
        raise MatbenchError(f"{host} can't measure it: {error}") from error


@contextlib.contextmanager
def slot_of_host(points_per_host: int, wait_s: float = SLOT_S) -> Iterator[None]:
    """Hold one of the host's places for a point, which the system frees if we die. MatbenchError: none gets free."""
    deadline = time.monotonic() + wait_s
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as place:
        while True:
            for number in range(points_per_host):
                with contextlib.suppress(OSError):  # taken
                    place.bind(f"\0matbench-{os.geteuid()}-{host_name()}-{number}")
                    yield
                    return
            if time.monotonic() > deadline:
                raise MatbenchError(f"{host_name()} is busy with points of another benchmark")
            time.sleep(0.2)


class Told(Listener):
    """Tells the worker, by lines on standard output, what happens."""

    def tell(self, **event: Any) -> None:
        print(json.dumps(event, ensure_ascii=False), flush=True)

    def starts(self, what: str) -> None:
        self.tell(starts=what)

    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None:
        self.tell(ended=str(path), outcome=dataclasses.asdict(outcome))

    def note(self, sentence: str) -> None:
        self.tell(note=sentence)


def measure(job: Job, place: Path, told: Told) -> None:
    with slot_of_host(job.points_per_host):
        for sentence in processes.end_leftovers():
            told.note(f"left behind on {host_name()} by an earlier run: {sentence}")
        plan = plan_of(job, place / "benchmark.yaml")
        limits, groups = Limits(job.max_duration_s, job.max_usd), [job.group] if job.group is not None else []
        campaign = Campaign(
            plan, limits, told, job.repeat, job.stop_on_error, groups=groups, id=job.campaign, staged=place / RUNS
        )
        told.tell(report=dataclasses.asdict(campaign.run()))


def main(arguments: Sequence[str]) -> int:
    place, told = Path(arguments[-1]), Told()
    try:
        job = Job.model_validate_json(place.read_bytes())
        if "--check" in arguments:
            plan = plan_of(job, place.with_name("benchmark.yaml"))
            plan.driver(plan, Limits(), told.rate)  # which looks for its programs
            if plan.bucket is not None:
                bucket.require(plan.bucket, host_name())
            told.tell(machine=environment.describe())
        else:
            measure(job, place.parent, told)
    except MatbenchError as error:
        told.tell(problem=str(error), full=isinstance(error, OutputError))
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
