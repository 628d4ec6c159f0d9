"""Ready-made parsers for what every test directory may hold."""

from __future__ import annotations

import datetime as dt
import types
import uuid
from typing import Any

from ..errors import ArtifactError
from .artifacts import TEST_START_END_FILE, TEST_UUID_FILE, ArtifactPath
from .readers import ignore_file_not_found, read_json, read_text, read_yaml

TEST_CONFIG_FILE = "config.yaml"

_REQUIRED: Any = object()


@ignore_file_not_found
def parse_test_uuid(test_dir: ArtifactPath) -> uuid.UUID:
    """The id in the test's ``.uuid``; None without one."""
    path = test_dir / TEST_UUID_FILE
    text = read_text(path).strip()
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ArtifactError(path, f"holds {text[:60]!r}, not a UUID") from None


@ignore_file_not_found
def parse_test_config(test_dir: ArtifactPath) -> types.SimpleNamespace:
    """The test's own ``config.yaml``: ``filepath``, ``text`` and ``yaml_file``; None without one."""
    path = test_dir / TEST_CONFIG_FILE
    return types.SimpleNamespace(filepath=str(path), text=read_text(path), yaml_file=read_yaml(path))


def config_get(test_config: types.SimpleNamespace | None, key: str, missing: Any = _REQUIRED) -> Any:
    """The value under a dotted *key* of a parsed test configuration.

    Raises:
        KeyError: it isn't there, and no *missing* value was given.
    """
    value = test_config.yaml_file if test_config is not None else None
    for name in key.split("."):
        if not isinstance(value, dict) or name not in value:
            if missing is _REQUIRED:
                raise KeyError(f"'{key}' is not in the test's {TEST_CONFIG_FILE}")
            return missing
        value = value[name]
    return value


@ignore_file_not_found
def parse_test_start_end(test_dir: ArtifactPath) -> types.SimpleNamespace:
    """``start`` and ``end`` from ``test_start_end.json``, ISO 8601 with a time zone; None without one."""
    path = test_dir / TEST_START_END_FILE
    times = read_json(path)
    if not isinstance(times, dict):
        raise ArtifactError(path, 'is not of the form {"start": …, "end": …}')
    return types.SimpleNamespace(start=_time(path, times, "start"), end=_time(path, times, "end"))


def _time(path: ArtifactPath, times: dict[str, Any], name: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(times[name])
    except (KeyError, TypeError, ValueError):
        raise ArtifactError(path, f"'{name}' is not an ISO 8601 time: {times.get(name)!r}") from None
    if moment.tzinfo is None:
        raise ArtifactError(path, f"'{name}' has no time zone: {times[name]!r}")
    return moment
