"""A job: some points of a plan, described so that a process on another host measures them by a campaign of its own.

``python -m matrix_benchmarking.benchmark.cluster.job [--check] JOB.json`` is that process. What happens goes to
standard output, a JSON object a line. A Dask worker guards it and brings back what it measured. It ends when the worker
does, when its scheduler or its starter is gone, and when the job is cancelled. Nothing is pickled but plain values.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pydantic
import yaml

from ... import bucket
from ... import workload as workloads
from ...bucket import BucketPath
from ...cluster.workers import host_name
from ...errors import ConfigError, MatbenchError, WorkloadError, os_reason
from ...workload_code import source_digest
from .. import environment, processes, run_directory
from .. import file as files
from ..campaign import TARGETS_DIRECTORY, Campaign, Listener
from ..load_driver import Limits
from ..plan import Group, Plan, price_of
from ..run_directory import FoundRun, Outcome, Point, write_text
from .returning import JOBS, RUNS, forget, own_root, pack, packed_ends, set_aside

if TYPE_CHECKING:
    from ...named_cluster import NamedCluster

SLOT_S = 120.0
"""How long a job waits for a host on which another one, of a starter that is gone, comes to its end."""
GRACE_S = 60.0
"""What a job may take to stop its target: a paid one has to be confirmed gone."""
RETURN_S = 60.0
"""How long a finished run waits for its starter to fetch some of it."""
FORWARD_S = 0.3
LOG_BYTES = 4096
ASIDE, LOGS = f"{run_directory.SET_ASIDE}/**/*", f"{TARGETS_DIRECTORY}/*"

Event = dict[str, Any]


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


def draft_of(plan: Plan, named: NamedCluster, prices: Mapping[str, float]) -> Job:
    """What all jobs of *plan* have in common. ConfigError: it can't be measured on a cluster."""
    is_shared = named.results == "share" and plan.bucket is None
    if named.results == "return" and plan.bucket is not None:
        raise ConfigError(
            f"cluster: {{results: return}}, but {plan.bucket} gets each run from who measured it: leave it out"
        )
    if plan.target is not None and plan.target.is_paid and not is_shared and plan.bucket is None:
        raise ConfigError(
            "a paid target on a cluster needs a results directory that all machines share, or a bucket: there lies the "
            "lease by which it is torn down from anywhere"
        )
    return Job(
        name="draft",
        file=plan.file.model_dump(mode="json", by_alias=True, exclude_unset=True),
        base=plan.base,
        directory=Path.cwd(),
        root=plan.root if is_shared else None,
        bucket=None if plan.bucket is None else str(plan.bucket),
        digest=workload_digest(plan.file.workload),
        prices=dict(prices),
        points_per_host=named.points_per_host,
    )


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


def _measure(job: Job, place: Path, told: Told) -> None:
    with slot_of_host(job.points_per_host):
        for sentence in processes.end_leftovers():
            told.note(f"left behind on {host_name()} by an earlier run: {sentence}")
        plan = plan_of(job, place / "benchmark.yaml")
        limits, groups = Limits(job.max_duration_s, job.max_usd), [job.group] if job.group is not None else []
        campaign = Campaign(
            plan, limits, told, job.repeat, job.stop_on_error, groups=groups, id=job.campaign, staged=place / RUNS
        )
        report = campaign.run()
        if report.broken is not None:
            raise MatbenchError(report.broken)
        told.tell(report=dataclasses.asdict(report))


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
            _measure(job, place.parent, told)
    except MatbenchError as error:
        told.tell(problem=str(error))
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    return 0


class _Cancelled(MatbenchError):
    """Nobody waits for the job any more."""


def check(text: str) -> Event:
    """What this host is, if it can measure what the job *text* is about; MatbenchError says why it can't."""
    job = Job.model_validate_json(text)
    try:
        with tempfile.TemporaryDirectory(prefix="matbench-") as place:
            said, _, log = _run(job, Path(place), ["--check"], lambda event: None)
    except (MatbenchError, OSError) as error:
        raise MatbenchError(f"{host_name()}: {error}") from error
    found = next((event for event in reversed(said) if "problem" in event or "machine" in event), {})
    if "machine" not in found:
        raise MatbenchError(found.get("problem", f"{host_name()}: looking whether it can measure failed: {log}"))
    machine: Event = found["machine"]
    return machine


def measure(text: str, topic: str) -> Event:
    """Measure the job *text*; events go to *topic* as they come.

    Where runs return, the starter fetches each as soon as it is finished, and this ends when it has them.

    Returns:
        ``events``, all of them; ``problem``, why the host can't go on, if so; ``ends``, whether that is because the
        worker ends; ``left``, of what tells why the rest isn't finished and the starter doesn't see, a tar archive.
    """
    from distributed import get_worker

    job, worker = Job.model_validate_json(text), get_worker()
    own = job.root or own_root(job.campaign)
    place = own / JOBS / job.name
    problem, ends, said, left, archives = None, False, list[Event](), b"", list[Path]()
    before = {*own.glob(ASIDE), *own.glob(LOGS)} if job.root is None else set()

    def hear(event: Event) -> None:
        if job.returns and "ended" in event:
            archives.append(pack(own, event["ended"]))
        worker.log_event(topic, {"job": job.name, **event})

    try:
        place.mkdir(parents=True)
        said, status, log = _run(job.model_copy(update={"root": own}), place, [], hear)
        ended = next((event for event in said if "report" in event or "problem" in event), {})
        if not ended:
            problem = f"measuring ended with {processes.told_status(status or 0)}{log and f': {log}'}"
        elif "problem" in ended:
            problem = ended["problem"]
        set_aside(own, place)
        if job.root is None:
            has_started = "report" in ended and not ended["report"]["not_started"]
            left = packed_ends(own, {*own.glob(ASIDE), *(() if has_started else own.glob(LOGS))} - before)
    except _Cancelled:
        set_aside(own, place)
        problem, ends = "its worker ends", True
    except OSError as error:
        problem = f"{error.filename or own}: {os_reason(error)}"
    except MatbenchError as error:
        problem = str(error)
    if not _are_fetched(archives):
        problem, ends = "its worker ends", True
        for archive in archives:
            archive.unlink(missing_ok=True)
    shutil.rmtree(place, ignore_errors=True)
    if ends and job.root is None:  # nobody may be there to have it forgotten
        with contextlib.suppress(OSError):  # another job is at work
            (own / JOBS).rmdir()
            forget(job.campaign)
    return {"events": said, "problem": problem, "ends": ends, "left": left}


def is_free(points_per_host: int) -> bool:
    """True as soon as no job of an earlier start runs on this host; waits for it."""
    with contextlib.suppress(MatbenchError), slot_of_host(points_per_host, GRACE_S):
        return True
    return False


def _run(
    job: Job, place: Path, options: list[str], hear: Callable[[Event], object]
) -> tuple[list[Event], int | None, str]:
    """The events of the process, its exit status, and the end of what it wrote to standard error.

    It is ended where the task that runs here is no longer wanted: cancelled, or its scheduler or its client is gone.
    """
    description, said, log = place / "job.json", place / "said.jsonl", place / "log.txt"
    write_text(description, job.model_dump_json(by_alias=True))
    directory = job.directory if job.directory.is_dir() else Path(tempfile.gettempdir())
    command = [sys.executable, "-m", __name__, *options, str(description)]
    process = processes.GuardedProcess(command, directory=directory, output=said, errors=log, grace_s=GRACE_S)
    events, due, is_wanted = list[Event](), 0.0, _is_wanted()

    def listen() -> None:
        for event in _told(said, len(events)):
            events.append(event)
            hear(event)

    def keep_on() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + FORWARD_S
            listen()
            if not is_wanted():
                raise _Cancelled("cancelled")

    try:
        status = process.wait(None, keep_on)
    finally:
        process.stop()
    listen()
    return events, status, log.read_text(errors="replace")[-LOG_BYTES:].strip()


def _is_wanted() -> Callable[[], bool]:
    """Tells whether somebody still waits for the task that runs here."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing" and worker.status == Status.running

    return is_wanted


def _are_fetched(archives: Sequence[Path]) -> bool:
    """Return once the starter has *archives*, or takes none for a while; False where nobody waits for them any more."""
    is_wanted, left, latest = _is_wanted(), len(archives), time.monotonic() + RETURN_S
    while (there := sum(archive.exists() for archive in archives)) and time.monotonic() < latest:
        if not is_wanted():
            return False
        if there < left:
            left, latest = there, time.monotonic() + RETURN_S
        time.sleep(0.05)
    return True


def _told(said: Path, known: int) -> Iterator[Event]:
    """The events after the first *known* ones; a line that isn't whole yet is left for later."""
    for line in said.read_text(encoding="utf-8", errors="replace").split("\n")[:-1][known:]:
        try:
            event = json.loads(line)
        except ValueError:
            event = {"note": line}  # something printed
        yield event if isinstance(event, dict) else {"note": line}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
