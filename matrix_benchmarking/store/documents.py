"""Documents of a test directory, read with a clear error, and parsers of what every test may hold."""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import functools
import json
import math
import types
import uuid
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import msgspec

from ..errors import ArtifactError, shortened
from ..yaml_file import load_yaml
from .artifacts import TEST_CONFIG_FILE, TEST_START_END_FILE, TEST_UUID_FILE, ArtifactPath, TestDirectory

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

_REQUIRED: Any = object()


def ignore_file_not_found(parser: Callable[P, R]) -> Callable[P, R | None]:
    """Make *parser* give None for an artifact that is missing, or damaged (:class:`ArtifactError`), or can't be read.

    All but the first is noted as a problem of the test, so that strict runs name it and lenient ones go on.
    """

    @functools.wraps(parser)
    def lenient(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return parser(*args, **kwargs)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except TypeError as error:
            # `test_dir.artifact_paths.NAME / "file"` where no directory matches NAME's glob
            if str(error).startswith("unsupported operand type(s) for /: 'NoneType'"):
                return None
            raise
        except ArtifactError as error:
            if not isinstance(error.path, ArtifactPath):
                raise
            error.path.note_problem(error.reason)
            return None
        except OSError as error:
            artifacts = [each for each in (*args, *kwargs.values()) if isinstance(each, ArtifactPath)]
            if not artifacts or not artifacts[0].note_unreadable(error):
                raise
            return None

    return lenient


def read_json(path: ArtifactPath) -> Any:
    """The JSON document in *path*; NaN and infinities, which JSON hasn't and many tools write, and 1e999 are None.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is empty, truncated or not JSON.
    """
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    if not content.strip():
        raise ArtifactError(path, "is empty")
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        with contextlib.suppress(ValueError, RecursionError):  # then more is wrong with it
            if (document := _without_other_numbers(path, content)) is not None:
                return document
        raise ArtifactError(path, f"is not valid JSON: {error}") from error
    except RecursionError as error:
        raise ArtifactError(path, "is nested too deeply") from error


def _without_other_numbers(path: ArtifactPath, content: bytes) -> Any:
    """The document without those numbers, which is noted; None without any, or where one of them is all of it."""
    found: list[str] = []

    def finite(text: str) -> float | None:
        if math.isfinite(value := float(text)):
            return value
        found.append(shortened(text, 20))
        return None

    document = json.loads(content.decode(), parse_constant=found.append, parse_float=finite)
    if found and document is not None:
        times = "once" if len(found) == 1 else f"{len(found)} times"
        of = "" if isinstance(path, TestDirectory) else f"{path.relative} "  # the file of a reader is named anyway
        path.note(f"{of}has {' and '.join(dict.fromkeys(found))} for a number ({times}), read as unknown")
        return document
    return None


def read_namespace(path: ArtifactPath) -> types.SimpleNamespace:
    """The JSON object in a file. Raises ArtifactError: see :func:`read_json`, and for anything else than an object."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise ArtifactError(path, "is not a JSON object")
    return types.SimpleNamespace(**content)


def understood(path: ArtifactPath, parse: Callable[[T], R], content: T) -> R:
    """What *parse* makes of the *content* of a file. Raises ArtifactError for its ValueError, naming the file."""
    try:
        return parse(content)
    except ValueError as error:
        raise ArtifactError(path, str(error)) from error


def read_yaml(path: ArtifactPath) -> Any:
    """The YAML document in *path*, read safely. JSON is much faster where there is a choice.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is not YAML.
    """
    try:
        return load_yaml(path.read_bytes())
    except ValueError as error:
        raise ArtifactError(path, f"is {error}") from error


def read_text(path: ArtifactPath) -> str:
    """The UTF-8 text in *path*.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is not UTF-8.
    """
    return path.read_text()


def read_tail(path: ArtifactPath, size: int = 64 << 10) -> str:
    """The last *size* bytes of a log as text, whatever its length; what is not UTF-8 is replaced.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it can't be read.
    """
    return path.read_end(size).decode("utf-8", "replace")


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
    """The value under a dotted *key* of a parsed test configuration, or *missing*, or a KeyError."""
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
    found = types.SimpleNamespace()
    for name in ("start", "end"):
        try:
            moment = dt.datetime.fromisoformat(times[name])
        except (KeyError, TypeError, ValueError):
            raise ArtifactError(path, f"'{name}' is not an ISO 8601 time: {times.get(name)!r}") from None
        if moment.tzinfo is None:
            raise ArtifactError(path, f"'{name}' has no time zone: {times[name]!r}")
        setattr(found, name, moment)
    return found
