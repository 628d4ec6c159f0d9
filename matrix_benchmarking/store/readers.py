"""Readers for artifacts that give a clear error, and the decorator that makes parsers lenient."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import msgspec

from ..errors import ArtifactError, os_reason
from ..yaml_file import load_yaml
from .artifacts import ArtifactPath

P = ParamSpec("P")
R = TypeVar("R")

MAX_DOCUMENT_BYTES = 512 << 20


def ignore_file_not_found(parser: Callable[P, R]) -> Callable[P, R | None]:
    """Make *parser* give None for an artifact that is missing, or damaged.

    A damaged artifact (:class:`ArtifactError`, as the readers of this module raise it) is noted as a
    problem of the test, so that strict runs name it and lenient ones go on; so is one that can't be read.
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
    """The JSON document in *path*.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is empty, truncated or not JSON.
    """
    content = read_bytes(path)
    if not content.strip():
        raise ArtifactError(path, "is empty")
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtifactError(path, f"is not valid JSON: {error}") from error
    except RecursionError as error:
        raise ArtifactError(path, "is nested too deeply") from error


def read_yaml(path: ArtifactPath) -> Any:
    """The YAML document in *path*, read safely. JSON is much faster where there is a choice.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is not YAML.
    """
    try:
        return load_yaml(read_bytes(path))
    except ValueError as error:
        raise ArtifactError(path, f"is {error}") from error


def read_text(path: ArtifactPath) -> str:
    """The UTF-8 text in *path*.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it is not UTF-8.
    """
    _check_size(path)
    return path.read_text()


def read_tail(path: ArtifactPath, size: int = 64 << 10) -> str:
    """The last *size* bytes of a log as text, whatever its length; what is not UTF-8 is replaced.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it can't be read.
    """
    try:
        with open(path, "rb") as stream:
            stream.seek(0, os.SEEK_END)
            stream.seek(max(0, stream.tell() - size))
            return stream.read(size).decode("utf-8", "replace")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ArtifactError(path, f"can't be read: {os_reason(error)}") from error


def read_bytes(path: ArtifactPath) -> bytes:
    """The content of a document.

    Raises:
        FileNotFoundError: it is missing.
        ArtifactError: it can't be read, or is larger than any sensible document.
    """
    _check_size(path)
    return path.read_bytes()


def _check_size(path: ArtifactPath) -> None:
    size = path.size
    if size is not None and size > MAX_DOCUMENT_BYTES:
        raise ArtifactError(path, f"is {size >> 20} MiB; documents are read up to {MAX_DOCUMENT_BYTES >> 20} MiB")
