"""What comes back of a job from a host that shares no directory with its starter.

Its finished runs return one by one while it goes on, and in the end what tells why others aren't finished.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from ...errors import MatbenchError, OutputError, SettingsError, failing, os_reason
from ...files import read_regular
from ...settings import SETTINGS_FILE, check_settings, read_settings_file
from .. import run_directory
from ..run_directory import OWN_DIRECTORY, Point

JOBS, RETURNS, RUNS = f"{OWN_DIRECTORY}/jobs", f"{OWN_DIRECTORY}/returns", "runs"
PART_BYTES = 16 << 20
"""So much of a run returns at once."""
END_BYTES, MOST_LEFT_BYTES = 1 << 20, 16 << 20
"""What comes back of a file that was set aside, and of all of them."""


def pack(own: Path, path: str) -> Path:
    """The archive in which the finished run at *path* waits for its starter, and no longer at its place.

    Raises:
        OSError: there is no room for it, or the run can't be read.
    """
    archive = own / RETURNS / f"{_flat(path)}.tar"
    archive.parent.mkdir(parents=True, exist_ok=True)
    try:
        with tarfile.open(archive, "w") as packed:  # to compress it would disturb what is measured next
            packed.add(own / path, arcname=".")
    except OSError:
        archive.unlink(missing_ok=True)
        raise
    shutil.rmtree(own / path)
    return archive


async def fetch(campaign: str, path: str, start: int) -> bytes:
    """A part of the archive of the run at *path*, from its byte *start* on, beside the task that runs here.

    At its end it is empty; then the starter has the run, and this host no longer. MatbenchError: it can't be read.
    """
    import asyncio  # Dask has it; a job would wait for it

    archive = own_root(campaign) / RETURNS / f"{_flat(path)}.tar"
    with failing(f"the archive of {path} can't be read", MatbenchError):
        return await asyncio.to_thread(_part, archive, start)


def _part(archive: Path, start: int) -> bytes:
    with archive.open("rb") as file:
        file.seek(start)
        part = file.read(PART_BYTES)
    if not part:
        archive.unlink()
    return part


def _flat(path: str) -> str:
    """A name for *path*, which is relative."""
    return path.replace("/", "__").encode()[-150:].decode(errors="ignore")


def forget(campaign: str) -> None:
    """Remove what this host kept of a campaign whose runs returned: inputs, and the answers of a reference."""
    shutil.rmtree(own_root(campaign), ignore_errors=True)


def own_root(campaign: str) -> Path:
    return Path(tempfile.gettempdir()) / f"matbench-{os.geteuid()}" / campaign


def keep_returned(root: Path, path: str, parts: Iterable[bytes], point: Point | None) -> list[str]:
    """Put the run that comes in *parts*, by :func:`fetch`, at *path*, as :func:`run_directory.keep` does.

    Returns:
        What was left out of it: pipes, and links that lead out of it.

    Raises:
        MatbenchError: it isn't the run of *point* (None: of a search), it isn't finished, or it can't be written; or
            what *parts* raise.
    """
    place = root / JOBS / f"returned-{_flat(path)}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place.parent) as archive:
            archive.writelines(parts)
            archive.seek(0)
            left_out = _unpack(archive, place)
        settings, repeat = check_settings(read_settings_file(str(place / SETTINGS_FILE)) or {})
        is_other = point is not None and run_directory.point_key(settings, repeat) != point.key
        if is_other or run_directory.exit_code(place) is None:
            raise MatbenchError(f"what came back for {path} is not its finished run")
        run_directory.keep(root, Path(path), place)
    except (tarfile.TarError, SettingsError) as error:
        raise MatbenchError(f"what came back for {path} can't be unpacked: {error}") from error
    except OSError as error:
        raise MatbenchError(f"what came back for {path} can't be written: {os_reason(error)}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
    return left_out


def keep_left(root: Path, host: str, archive: bytes) -> Path:
    """Set aside what *archive*, which :func:`measure` gave on *host*, has; gives where. OutputError: it can't be."""
    place = root / run_directory.SET_ASIDE / run_directory.name_aside(Path(host))
    with failing(f"what came back from {host} can't be written", OutputError):
        _unpack(io.BytesIO(archive), place)
    return place


def _unpack(archive: IO[bytes], place: Path) -> list[str]:
    """The names of what is left out: pipes, and links that lead out of *place*."""
    left_out = []

    def harmless(member: tarfile.TarInfo, path: str) -> tarfile.TarInfo | None:
        try:
            return tarfile.data_filter(member, path)
        except tarfile.FilterError:
            left_out.append(member.name)
            return None

    place.mkdir(parents=True)
    with tarfile.open(fileobj=archive, mode="r|*") as packed:
        packed.extractall(place, filter=harmless)
    return left_out


def set_aside(own: Path, place: Path) -> None:
    """Keep what the job began and didn't finish, for who wants to know why."""
    runs = place / RUNS
    for settings in sorted(runs.glob(f"**/{SETTINGS_FILE}")):
        with contextlib.suppress(MatbenchError):
            run_directory.set_aside(own, settings.parent, settings.parent.relative_to(runs))


def packed_ends(own: Path, paths: set[Path]) -> bytes:
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
