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
from typing import Any

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


async def fetch(campaign: str, path: str, start: int) -> bytes:
    """A part of the finished run at *path* as a tar archive, from its byte *start* on, beside the task that runs here.

    At the end of the archive it is empty; then the starter has the run, and this host no longer.
    """
    import asyncio  # Dask has it; a job would wait for it

    return await asyncio.to_thread(_part, own_root(campaign), path, start)


def _part(own: Path, path: str, start: int) -> bytes:
    run, archive = own / path, own / RETURNS / f"{_flat(path)}.tar.gz"
    if start == 0:
        archive.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive, "w:gz", compresslevel=1) as packed:
            packed.add(run, arcname=".")
    with archive.open("rb") as file:
        file.seek(start)
        part = file.read(PART_BYTES)
    if not part:
        archive.unlink()
        shutil.rmtree(run)
    return part


def _flat(path: str) -> str:
    """A name for *path*, which is relative."""
    return path.replace("/", "__")[-150:]


def forget(campaign: str) -> None:
    """Remove what this host kept of a campaign whose runs returned: inputs, and the answers of a reference."""
    shutil.rmtree(own_root(campaign), ignore_errors=True)


def own_root(campaign: str) -> Path:
    return Path(tempfile.gettempdir()) / f"matbench-{os.geteuid()}" / campaign


def keep_returned(root: Path, path: str, parts: Iterable[bytes], point: Point | None) -> None:
    """Put the run that comes in *parts*, by :func:`fetch`, at *path*, as :func:`run_directory.keep` does.

    Raises:
        MatbenchError: it isn't the run of *point* (None: of a search), it isn't finished, or it can't be written; or
            what *parts* raise.
    """
    place, rest = root / JOBS / f"returned-{_flat(path)}", iter(parts)
    shutil.rmtree(place, ignore_errors=True)
    try:
        _unpack(_Parts(rest), place)
        for _ in rest:  # what fills the archive's last block
            pass
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


def keep_left(root: Path, host: str, archive: bytes) -> Path:
    """Set aside what *archive*, which :func:`measure` gave on *host*, has; gives where. OutputError: it can't be."""
    place = root / run_directory.SET_ASIDE / run_directory.name_aside(Path(host))
    with failing(f"what came back from {host} can't be written", OutputError):
        _unpack(io.BytesIO(archive), place)
    return place


def _unpack(archive: Any, place: Path) -> None:
    place.mkdir(parents=True)
    with tarfile.open(fileobj=archive, mode="r|gz") as packed:
        packed.extractall(place, filter="data")


class _Parts:
    """The bytes of *parts*, one after the other, as a file."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self._parts, self._rest = iter(parts), b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        read, self._rest = self._rest[:size], self._rest[size:]
        return read


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
