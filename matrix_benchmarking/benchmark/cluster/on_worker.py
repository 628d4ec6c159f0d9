"""What runs on a Dask worker: a guarded process that measures a job, and the way back of what it measured.

Dask carries text there and plain values back. The process ends when the worker does, when its scheduler or its starter
is gone, and when the job is cancelled.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...cluster.workers import host_name
from ...errors import MatbenchError, OutputError, SettingsError, failing, os_reason
from ...files import read_regular
from ...settings import SETTINGS_FILE, check_settings, read_settings_file
from .. import run_directory
from ..campaign import TARGETS_DIRECTORY
from ..processes import GuardedProcess
from ..run_directory import OWN_DIRECTORY, Point, write_text
from . import job as jobs
from .job import Job

JOBS = f"{OWN_DIRECTORY}/jobs"
MODULE = "matrix_benchmarking.benchmark.cluster.job"
GRACE_S = 60.0
"""What a job may take to stop its target: a paid one has to be confirmed gone."""
FORWARD_S = 0.3
LOG_BYTES = 4096
MOST_RETURNED_BYTES = 1 << 30
ASIDE, LOGS = f"{run_directory.SET_ASIDE}/**/*", f"{TARGETS_DIRECTORY}/*"
END_BYTES, MOST_LEFT_BYTES = 1 << 20, 16 << 20
"""What comes back of a file that was set aside, and of all of them."""

Event = dict[str, Any]


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

    Returns:
        ``events``, all of them; ``problem``, why the host can't go on, if so; ``ends``, whether that is because the
        worker ends; ``runs``, where they return, the finished ones by path, each a tar archive; ``left``, where the
        starter doesn't see it, one of what tells why the rest isn't finished.
    """
    from distributed import get_worker

    job, worker = Job.model_validate_json(text), get_worker()
    own = job.root or _own_root(job.campaign)
    place = own / JOBS / job.name
    problem, ends, said, runs, left = None, False, list[Event](), dict[str, bytes](), b""
    before = {*own.glob(ASIDE), *own.glob(LOGS)} if job.root is None else set()
    try:
        place.mkdir(parents=True)
        here = job.model_copy(update={"root": own})
        said, status, log = _run(here, place, [], lambda event: worker.log_event(topic, {"job": job.name, **event}))
        ended = next((event for event in said if "report" in event or "problem" in event), {})
        if not ended:
            problem = f"measuring ended with exit status {status}{log and f': {log}'}"
        elif "problem" in ended:
            problem = ended["problem"]
        set_aside(own, place)
        if job.returns:
            for path, archive in _packed(own, [event["ended"] for event in said if "ended" in event]):
                runs[path] = archive  # those that fit, where others don't
        if job.root is None:
            has_started = "report" in ended and not ended["report"]["not_started"]
            left = _packed_ends(own, {*own.glob(ASIDE), *(() if has_started else own.glob(LOGS))} - before)
    except _Cancelled:
        set_aside(own, place)
        problem, ends = "its worker ends", True
    except OSError as error:
        problem = f"{error.filename or own}: {os_reason(error)}"
    except MatbenchError as error:
        problem = str(error)
    finally:
        for each in [place, *(own / path for path in runs)]:
            shutil.rmtree(each, ignore_errors=True)
    if ends and job.root is None:  # nobody may be there to have it forgotten
        with contextlib.suppress(OSError):  # another job is at work
            (own / JOBS).rmdir()
            forget(job.campaign)
    return {"events": said, "problem": problem, "ends": ends, "runs": runs, "left": left}


def forget(campaign: str) -> None:
    """Remove what this host kept of a campaign whose runs returned: inputs, and the answers of a reference."""
    shutil.rmtree(_own_root(campaign), ignore_errors=True)


def _own_root(campaign: str) -> Path:
    return Path(tempfile.gettempdir()) / f"matbench-{os.geteuid()}" / campaign


def is_free(points_per_host: int) -> bool:
    """True as soon as no job of an earlier start runs on this host; waits for it."""
    with contextlib.suppress(MatbenchError), jobs.slot_of_host(points_per_host, GRACE_S):
        return True
    return False


def _run(job: Job, place: Path, options: list[str], hear: Any) -> tuple[list[Event], int | None, str]:
    """The events of the process, its exit status, and the end of what it wrote to standard error."""
    description, said, log = place / "job.json", place / "said.jsonl", place / "log.txt"
    write_text(description, job.model_dump_json(by_alias=True))
    directory = job.directory if job.directory.is_dir() else Path(tempfile.gettempdir())
    command = [sys.executable, "-m", MODULE, *options, str(description)]
    process = GuardedProcess(command, directory=directory, output=said, errors=log, grace_s=GRACE_S)
    is_wanted, events = _wanted(), list[Event]()
    due = 0.0

    def keep_on() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + FORWARD_S
            for event in _told(said, len(events)):
                events.append(event)
                hear(event)
            if not is_wanted():
                raise _Cancelled("cancelled")

    try:
        status = process.wait(None, keep_on)
    finally:
        process.stop()
    events += _told(said, len(events))
    return events, status, log.read_text(errors="replace")[-LOG_BYTES:].strip()


def _wanted() -> Any:
    """Whether the task that runs here is still wanted: not cancelled, its scheduler and its client still there."""
    from distributed import Status, get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing" and worker.status == Status.running

    return is_wanted


def _told(said: Path, known: int) -> Iterator[Event]:
    """The events after the first *known* ones; a line that isn't whole yet is left for later."""
    for line in said.read_text(encoding="utf-8", errors="replace").split("\n")[:-1][known:]:
        try:
            event = json.loads(line)
        except ValueError:
            event = {"note": line}  # something printed
        yield event if isinstance(event, dict) else {"note": line}


def keep_returned(root: Path, path: Path, archive: bytes, point: Point | None) -> None:
    """Put the run in *archive*, which :func:`measure` gave, at *path*, as :func:`run_directory.keep` does.

    Raises:
        MatbenchError: it isn't the run of *point* (None: of a search), it isn't finished, or it can't be written.
    """
    place = root / JOBS / f"returned-{'__'.join(path.parts)[-150:]}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        _unpack(archive, place)
        settings, repeat = check_settings(read_settings_file(str(place / SETTINGS_FILE)) or {})
        is_other = point is not None and run_directory.point_key(settings, repeat) != point.key
        if is_other or run_directory.exit_code(place) is None:
            raise MatbenchError(f"what came back for {path} is not its finished run")
        run_directory.keep(root, path, place)
    except (tarfile.TarError, SettingsError) as error:
        raise MatbenchError(f"what came back for {path} can't be unpacked: {error}") from error
    except OSError as error:
        raise MatbenchError(f"what came back for {path} can't be written: {os_reason(error)}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)


def keep_left(root: Path, host: str, archive: bytes) -> Path:
    """Set aside what *archive*, which :func:`measure` gave on *host*, has; gives where. OutputError: it can't be."""
    place = root / run_directory.SET_ASIDE / run_directory.name_aside(Path(host))
    with failing(f"what came back from {host} can't be written", OutputError):
        _unpack(archive, place)
    return place


def _unpack(archive: bytes, place: Path) -> None:
    place.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        packed.extractall(place, filter="data")


def set_aside(own: Path, place: Path) -> None:
    """Keep what the job began and didn't finish, for who wants to know why."""
    runs = place / jobs.RUNS
    for settings in sorted(runs.glob(f"**/{SETTINGS_FILE}")):
        with contextlib.suppress(MatbenchError):
            run_directory.set_aside(own, settings.parent, settings.parent.relative_to(runs))


def _packed(own: Path, paths: list[str]) -> Iterator[tuple[str, bytes]]:
    left = MOST_RETURNED_BYTES
    for path in paths:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
            archive.add(own / path, arcname=".")
        left -= stream.tell()
        if left < 0:
            raise MatbenchError(
                f"the runs of {host_name()} take more than {MOST_RETURNED_BYTES >> 30} GiB, too much to return: have "
                "the machines share the results directory"
            )
        yield path, stream.getvalue()


def _packed_ends(own: Path, paths: set[Path]) -> bytes:
    """An archive of the ends of those *paths* that are files, the smallest first; empty where there is none."""
    files = [path for path in paths if path.is_file() and not path.is_symlink()]
    stream, room = io.BytesIO(), MOST_LEFT_BYTES
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(files, key=lambda path: path.stat().st_size):
            content = read_regular(path, END_BYTES, is_end=True)
            if (room := room - len(content)) < 0:
                break
            member = tarfile.TarInfo("/".join(path.relative_to(own / OWN_DIRECTORY).parts[1:]))
            member.size, member.mtime = len(content), path.stat().st_mtime
            archive.addfile(member, io.BytesIO(content))
    return stream.getvalue() if files else b""
