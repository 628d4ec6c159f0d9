"""The public layout: run directories ``<timestamp>_<name>_<strategy>_<repetition>_<speed>`` with a folder ``fold_all``.

It is that of the data-loading benchmark of the htc package (IMSY-DKFZ/htc, PyTorch Conference 2023). The speed is
``unlimited`` or a number of MB/s, also as Docker's ``--device-read-bps`` takes it (``1000mb``). A run that still goes
on is called ``running_…``. There are no exit codes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matrix_benchmarking.errors import SettingsError
from matrix_benchmarking.store import FoundTest, Listing

FOLD = "fold_all"
UNFINISHED = "running_"
_UNITS = {"": 1.0, "k": 1e-3, "m": 1.0, "g": 1e3}
_SPEED = r"unlimited|\d+(?:\.\d+)?(?:[kmg]?b?)?"
# Names may hold underscores, so a name is read from its end: what is before the last three parts belongs to the name.
_RUN = re.compile(
    rf"(?P<timestamp>\d[\d-]*(?:_\d+(?:-\d+)+)?)_(?P<name>.+)_(?P<strategy>[^_]+)_(?P<repetition>\d+)_(?P<speed>{_SPEED})",
    re.IGNORECASE,
)


class RunDirectories:
    """Recognises run directories by their names, and reads settings from them."""

    looks_for = f"directories <timestamp>_<name>_<strategy>_<repetition>_<speed> with a folder {FOLD}"
    important_files = (f"{FOLD}/timings.feather", f"{FOLD}/system_log*.json")

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        name = listing.path.name
        if FOLD not in listing.directories or not _RUN.fullmatch(name.removeprefix(UNFINISHED)):
            return ()
        return (FoundTest(listing.path, finished=not name.startswith(UNFINISHED)),)

    def settings_files(self, test: Path, root: Path) -> Sequence[Path]:
        return ()

    def read_settings(self, test: Path, root: Path) -> dict[str, Any]:
        return settings_of(test.name)

    def read_exit_code(self, test: Path) -> int | None:
        return None


def settings_of(directory: str) -> dict[str, Any]:
    """The settings in the name of a run directory; the timestamp is none of them.

    Raises:
        SettingsError: the name is of another form.
    """
    found = _RUN.fullmatch(directory.removeprefix(UNFINISHED))
    if found is None:
        raise SettingsError(f"'{directory}' is not <timestamp>_<name>_<strategy>_<repetition>_<speed>")
    return {
        "name": found["name"],
        "strategy": found["strategy"],
        "io_speed": io_speed(found["speed"]),
        "repeat": int(found["repetition"]),
    }


def io_speed(text: str) -> int | float | str:
    """``unlimited``, or a speed in MB/s: ``1000``, ``1000mb`` and ``1gb`` are the same."""
    lowered = text.lower()
    if lowered == "unlimited":
        return lowered
    number = lowered.removesuffix("b")
    unit = number[-1:] if number[-1:] in "kmg" else ""
    speed = float(number.removesuffix(unit)) * _UNITS[unit]
    return int(speed) if speed.is_integer() else speed
