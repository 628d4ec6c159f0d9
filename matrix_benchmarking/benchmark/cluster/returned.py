"""Runs that came back whole: unpacked, looked at, and moved to their places."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

from ...errors import MatbenchError, SettingsError, os_reason
from ...settings import SETTINGS_FILE, check_settings, read_settings_file
from .. import run_directory
from ..run_directory import Point
from .on_worker import JOBS


def keep(root: Path, path: Path, archive: bytes, point: Point | None) -> bool:
    """Put the run in *archive* at *path*, as :func:`run_directory.keep` does.

    Raises:
        MatbenchError: it isn't the run of *point* (None: of a search), it isn't finished, or it can't be written.
    """
    place = root / JOBS / f"returned-{'__'.join(path.parts)[-150:]}"
    shutil.rmtree(place, ignore_errors=True)
    try:
        place.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
            packed.extractall(place, filter="data")
        settings, repeat = check_settings(read_settings_file(str(place / SETTINGS_FILE)) or {})
        is_other = point is not None and run_directory.point_key(settings, repeat) != point.key
        if is_other or run_directory.exit_code(place) is None:
            raise MatbenchError(f"what came back for {path} is not its finished run")
        return run_directory.keep(root, path, place)
    except (tarfile.TarError, SettingsError) as error:
        raise MatbenchError(f"what came back for {path} can't be unpacked: {error}") from error
    except OSError as error:
        raise MatbenchError(f"what came back for {path} can't be written: {os_reason(error)}") from error
    finally:
        shutil.rmtree(place, ignore_errors=True)
