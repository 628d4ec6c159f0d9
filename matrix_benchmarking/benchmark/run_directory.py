"""The life of a test directory: begun, finished by its exit code, or set aside when it is to be run again.

A run without an exit code did not come to its end. Nothing is deleted: what is run again is moved to
``.matbench/set_aside``, which no parse looks into.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs
import yaml

from .. import bucket
from ..bucket import BucketPath
from ..errors import MatbenchError, OutputError, SettingsError, failing, os_reason
from ..files import atomic_write, read_regular
from ..filters import Scalar
from ..matrix import typed
from ..plausible import is_number
from ..recorded import BLOCK_FILE, VERSION, RecordedBlock
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE, check_settings, read_settings_file
from .environment import anonymous

OWN_DIRECTORY = ".matbench"
"""What a benchmark keeps in a results directory for itself; no parse looks into it."""

SET_ASIDE = f"{OWN_DIRECTORY}/set_aside"
OUTCOME_FILE, INTERRUPTED_FILE = "outcome.json", "interrupted"
OUTCOME_VERSION = 1
ROOM_BYTES = 16 << 20
"""A disk with less room is full: the command that found it full may have removed its file."""
UTILIZATION = "001__monitor/utilization.json"


PointKey = tuple[frozenset[tuple[str, tuple[str, object]]], int]


def point_key(settings: Mapping[str, Scalar], repeat: int) -> PointKey:
    """What identifies a point: its settings, with their types, and its repeat."""
    return frozenset((name, typed(value)) for name, value in settings.items()), repeat


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """One run that is wanted: its settings (without ``repeat``), and which repeat it is."""

    experiment: str
    settings: Mapping[str, Scalar]
    repeat: int

    @property
    def key(self) -> PointKey:
        return point_key(self.settings, self.repeat)

    @property
    def all_settings(self) -> dict[str, Scalar]:
        return {**self.settings, "repeat": self.repeat}


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """How a point ended, and what is known of it."""

    exit_code: int
    throughput: float | None = None  # what was answered right per second
    p95_ms: float | None = None  # 95th percentile of the latency of the answered requests
    problem: str | None = None  # why it failed, a sentence
    wall_s: float | None = None  # how long the whole point took
    error_rate: float | None = None  # share of what was sent that was not answered right
    measured_with: Mapping[str, str] | None = None  # digests by name of what the file said of how it is measured


def outcome_of_driver(given: object) -> Outcome:
    """The outcome that a load driver has *given*; a failure that says what is wrong with one that can't be."""
    if not isinstance(given, Outcome):
        return Outcome(1, problem=f"the load driver gave {given!r:.50}, and no Outcome")
    if type(given.exit_code) is not int:
        return Outcome(1, problem=f"the load driver's exit_code is {given.exit_code!r:.50}, and no whole number")
    for name in ("throughput", "p95_ms", "error_rate"):
        value = getattr(given, name)
        if value is not None and not (is_number(value) and value >= 0):
            return Outcome(1, problem=f"the load driver's {name} is {value!r:.50}, and no number of at least 0")
    return given


@dataclasses.dataclass(frozen=True, slots=True)
class FoundRun:
    """A test directory that is there: where, with which settings, and its exit code if it has one."""

    path: Path
    settings: Mapping[str, Any]
    repeat: int
    exit_code: int | None
    outcome: Outcome | None

    @property
    def done(self) -> bool:
        return self.exit_code == 0


def scan(root: Path) -> dict[PointKey, FoundRun]:
    """All runs below *root* by their settings; of several with the same ones, one that succeeded.

    MatbenchError: settings that can't be read, since nothing tells then whether a point is done.
    """
    found: dict[PointKey, FoundRun] = {}
    for directory, settings in _walk(root, {}):
        try:
            checked, repeat = check_settings(settings)
            run = FoundRun(directory, checked, repeat, exit_code(directory), read_outcome(directory))
        except SettingsError as error:
            raise MatbenchError(f"{directory}: {error}; mend it or move the directory away") from error
        key = point_key(checked, repeat)
        if key not in found or (run.done and not found[key].done):
            found[key] = run
    return found


def place_of(results: Path) -> Path:
    """The directory *results*; of those in a bucket, one of this machine for what a benchmark keeps beside them."""
    if not isinstance(results, BucketPath):
        return results
    name = hashlib.blake2b(str(results).encode(), digest_size=10).hexdigest()
    return Path(platformdirs.user_state_dir("matbench")) / "buckets" / name


def scan_bucket(results: BucketPath) -> dict[PointKey, FoundRun]:
    """As :func:`scan`, of runs in a bucket; of each the small files that say which it is are read."""
    known, own = {SETTINGS_FILE, EXIT_CODE_FILE, OUTCOME_FILE}, f"{OWN_DIRECTORY}/"
    with tempfile.TemporaryDirectory() as place, bucket.opened(results, MatbenchError) as files:
        names = [name for name in bucket.listed(files, results)[0].names if not name.startswith(own)]
        bucket.fetch(files, results, {name: Path(place, name) for name in names if name.rpartition("/")[2] in known})
        found = scan(Path(place))
    root = place_of(results)
    return {key: dataclasses.replace(run, path=root / run.path.relative_to(place)) for key, run in found.items()}


def send(results: BucketPath, path: Path, run: Path) -> bool:
    """As :func:`keep`, to a bucket, where the exit code comes last; *run* is here no more then."""
    place, aside = results / path, results / SET_ASIDE / name_aside(path)
    with bucket.opened(results, OutputError, "write") as files:
        before = [*bucket.listed(files, place)[0].names]
        is_there = EXIT_CODE_FILE in before and files.cat(str(place / EXIT_CODE_FILE)).strip() == b"0"
        if before and not is_there:
            old = [str(place / name) for name in before]
            files.copy(old, [str(aside / name) for name in before])
            files.rm(old)
        place = aside if is_there else place
        names = [
            str(each.relative_to(run)) for each in run.rglob("*") if each.is_file() and each.name != EXIT_CODE_FILE
        ]
        files.put([str(run / name) for name in names], [str(place / name) for name in names])
        files.put_file(str(run / EXIT_CODE_FILE), str(place / EXIT_CODE_FILE))
    shutil.rmtree(run, ignore_errors=True)
    return not is_there


def begin(root: Path, path: Path, point: Point) -> Path:
    """Make the test directory *path* for *point*; what is there already is set aside."""
    directory = root / path
    if directory.exists():
        set_aside(root, directory)
    with failing(f"cannot make {directory}", OutputError):
        directory.mkdir(parents=True)
    write_text(directory / ".uuid", f"{uuid.uuid4()}\n")
    write_settings(directory, point)
    return directory


def write_settings(directory: Path, point: Point) -> None:
    """Write ``settings.yaml``: what the run is recognised by."""
    write_text(directory / SETTINGS_FILE, yaml.safe_dump(point.all_settings, sort_keys=False, width=10_000))


def write_block(directory: Path, block: RecordedBlock) -> None:
    """Write ``block.json``: which runs the run was measured together with."""
    write_json(directory / BLOCK_FILE, {"version": VERSION, "campaign": block.campaign, "round": block.round})


def finish(directory: Path, outcome: Outcome) -> None:
    """Write how the point ended; the exit code comes last, and makes it a finished one."""
    write_json(directory / OUTCOME_FILE, {"version": OUTCOME_VERSION, **dataclasses.asdict(outcome)})
    write_text(directory / EXIT_CODE_FILE, f"{outcome.exit_code}\n")


def require_room(directory: Path) -> None:
    """Raise OutputError where the disk of *directory* is full, or that of a command's temporary files.

    A quota shows only where room is asked for.
    """
    for place in (directory, Path(os.environ.get("TMPDIR") or "/tmp")):  # noqa: S108 - as commands choose it
        try:
            with tempfile.TemporaryFile(dir=place) as stream:
                os.posix_fallocate(stream.fileno(), 0, ROOM_BYTES)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise OutputError(f"the disk of {place} is full: {os_reason(error)}") from error


def interrupt(directory: Path, reason: str) -> None:
    """Say in the directory why the point has no exit code; a full disk is no reason to fail once more."""
    with contextlib.suppress(OutputError):
        write_text(directory / INTERRUPTED_FILE, f"{reason}\n")


def keep(root: Path, path: Path, staged: Path) -> bool:
    """Move the finished run *staged* to its *path* at once, where another may have come before.

    False: one that succeeded is there already, and *staged* was set aside, so that each point is there once.
    """
    place = root / path
    while True:
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            os.rename(staged, place)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise OutputError(f"cannot move {staged} to {place}: {os_reason(error)}") from error
            is_there = exit_code(place) == 0
            set_aside(root, staged if is_there else place)
            if is_there:
                return False
        else:
            return True


def set_aside(root: Path, directory: Path, path: Path | None = None) -> Path:
    """Move *directory*, whose *path* in the results may be another, out of the way; gives its new place."""
    place = root / SET_ASIDE / name_aside(path or directory.relative_to(root))
    with failing(f"cannot move {directory} aside", OutputError):
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(directory, place)
    return place


def name_aside(path: Path) -> str:
    """A new name for *path* among what is set aside."""
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    return f"{'__'.join(path.parts)[-150:]}__{stamp}_{uuid.uuid4().hex[:6]}"


def read_outcome(directory: Path) -> Outcome | None:
    """What :func:`finish` wrote; None for a run that something else made, or a newer matbench."""
    try:
        content = json.loads(read_regular(directory / OUTCOME_FILE))
        if content.pop("version") != OUTCOME_VERSION:
            return None
        return Outcome(**content)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def write_text(path: Path, text: str) -> None:
    with atomic_write(path) as stream:
        stream.write(text.encode("utf-8"))


def write_json(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, separators=(",", ":"), ensure_ascii=False) + "\n")


def _walk(directory: Path, inherited: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """The directories that have a settings file, each with its settings and those above it."""
    try:
        items = sorted(os.scandir(directory), key=lambda item: item.name)
    except FileNotFoundError:
        return
    except OSError as error:
        raise MatbenchError(f"{directory} can't be read: {os_reason(error)}") from error
    settings = inherited
    if any(item.name == SETTINGS_FILE for item in items):
        try:
            settings = {**inherited, **(read_settings_file(f"{directory}/{SETTINGS_FILE}") or {})}
        except SettingsError as error:
            raise MatbenchError(f"{directory}: {error}; mend it or move the directory away") from error
        yield directory, settings
    if any(item.name == EXIT_CODE_FILE for item in items):
        return
    for item in items:
        if item.is_dir(follow_symlinks=False) and not item.name.startswith("."):
            yield from _walk(Path(item.path), settings)


def exit_code(directory: Path) -> int | None:
    """The exit code; None where there is none, or none that was written to its end."""
    try:
        return int(read_regular(directory / EXIT_CODE_FILE, 64))
    except (OSError, ValueError):
        return None


LONGEST_BYTES = 64 * 1024


class ServerLog:
    """A log file in *directory*, and how far it was copied."""

    def __init__(self, directory: Path) -> None:
        with failing(f"cannot write to {directory}", OutputError):
            directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=directory, prefix="server_", suffix=".log", delete=False) as stream:
                self.path = Path(stream.name)
        self._copied = 0

    def copy_to(self, place: Path, secrets: Sequence[str]) -> None:
        """Write what came since the last copy to *place*, its middle left out where it is long."""
        with self.path.open("rb") as stream:
            stream.seek(self._copied)
            content = stream.read()
        self._copied += len(content)
        if len(content) > LONGEST_BYTES:
            half = LONGEST_BYTES // 2
            left_out = f"\n… {len(content) - 2 * half:,} bytes left out …\n".encode()
            content = content[:half] + left_out + content[-half:]
        write_text(place, anonymous(content.decode("utf-8", "replace"), secrets))
