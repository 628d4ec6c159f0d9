"""The store of training_bench: how its runs are read, in matbench's own layout and in the public one."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping, Sequence
from pathlib import Path

from matrix_benchmarking.errors import ArtifactError, SettingsError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.plausible import of_another_run
from matrix_benchmarking.store import (
    ArtifactPath,
    BaseStore,
    FoundTest,
    Listing,
    NativeLayout,
    TestDirectory,
    ignore_file_not_found,
    parse_test_config,
    parse_test_start_end,
    read_json,
    read_namespace,
    understood,
)

from .. import models
from . import logs, payload

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

    def read_settings(self, test: Path, root: Path) -> dict[str, object]:
        return settings_of(test.name)

    def read_exit_code(self, test: Path) -> int | None:
        return None


def settings_of(directory: str) -> dict[str, object]:
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


WARM_UP_EPOCHS = 2
"""How many epochs don't count unless the option ``warm_up_epochs`` says it."""

artifact_dirnames = types.SimpleNamespace()
artifact_dirnames.MONITOR_DIR = "*__monitor"
artifact_dirnames.FOLD_DIR = "fold_all"

IMPORTANT_FILES = [
    ".uuid",
    "test_start_end.json",
    "timings.feather",
    f"{artifact_dirnames.MONITOR_DIR}/utilization.json",
]
OPTIONAL_FILES = [
    "config.yaml",
    "environment.json",
    "training.json",
    f"{artifact_dirnames.FOLD_DIR}/training.json",
]


def parse_once(results: types.SimpleNamespace, test_dir: TestDirectory) -> None:
    """Read all artifacts; what is missing or damaged becomes None."""
    results.test_config = parse_test_config(test_dir)
    results.times = parse_test_start_end(test_dir)
    results.environment = _read_facts(test_dir / "environment.json")
    fold = test_dir.artifact_paths.FOLD_DIR
    place = test_dir if fold is None else fold
    results.epochs = _parse_timings(place / "timings.feather", results.times)
    results.training = _read_facts(place / "training.json")
    log = test_dir.artifact_paths.MONITOR_DIR / "utilization.json" if fold is None else _last_log(fold)
    results.system_log = None if log is None else _parse_system_log(log)


def parse_always(
    results: types.SimpleNamespace, test_dir: TestDirectory, import_settings: Mapping[str, Scalar]
) -> None:
    """How many epochs are warm-up belongs to the analysis, not to the run."""
    results.warm_up_epochs = max(0, int(test_dir.options.get("warm_up_epochs", WARM_UP_EPOCHS)))


@ignore_file_not_found
def _parse_timings(path: ArtifactPath, times: types.SimpleNamespace | None) -> list[types.SimpleNamespace]:
    epochs = understood(path, logs.parse_timings, path.read_bytes())
    if times is not None and (stale := of_another_run(logs.moments(epochs), times.start, times.end)):
        raise ArtifactError(path, stale)
    return epochs


@ignore_file_not_found
def _parse_system_log(path: ArtifactPath) -> types.SimpleNamespace:
    return understood(path, logs.parse_system_log, read_json(path))


_read_facts = ignore_file_not_found(read_namespace)


def _last_log(fold: ArtifactPath) -> ArtifactPath | None:
    """The log that was started last, of a training that was started again."""
    logs = list(fold.glob("system_log*.json"))
    return logs[-1] if logs else None


OPTIONS: dict[str, Scalar] = {"warm_up_epochs": WARM_UP_EPOCHS, "strategies": ""}

local_store = BaseStore(
    cache_filename=".matbench_training_bench.cache",
    important_files=IMPORTANT_FILES,
    optional_files=OPTIONAL_FILES,
    artifact_dirnames=artifact_dirnames,
    layouts=(NativeLayout(), RunDirectories()),
    parse_always=parse_always,
    parse_once=parse_once,
    lts_payload_model=models.Payload,
    generate_lts_payload=payload.generate_lts_payload,
    models_kpis=models.KPIS,
    get_kpi_labels=payload.get_kpi_labels,
)
