"""Payloads of a history as files, one a payload, which ``parse --lts``, ``visualize`` and ``analyze_lts`` read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ConfigError, os_reason
from ..files import atomic_write, read_regular
from .errors import HistoryError
from .records import Record

RECORD = Path(".matbench") / "download_lts.json"
VERSION = 1


@dataclasses.dataclass(slots=True)
class Written:
    """What a download did: files that are new or changed, that were there already, and that were removed."""

    written: int = 0
    unchanged: int = 0
    removed: int = 0


def write_payloads(records: Iterable[Record], directory: Path, *, force: bool, clean: bool) -> Written:
    """Write the payload of each of *records* to ``<test_uuid>.json`` in *directory*, unless it is there.

    Args:
        directory: made where it is missing; else it has to come from a download, or be empty.
        force: write into a directory with other things in it, too.
        clean: remove the files of earlier downloads that are not among *records*. Without any nothing is
            changed.

    Raises:
        ConfigError: the directory holds other things.
        HistoryError: the directory, or the history that *records* come from, can't be read.
        OutputError: a file can't be written.
    """
    known = _known(directory, force=force)
    outcome, names = Written(), set[str]()
    for kept in records:
        name = f"{kept.id}.json"
        if not names:
            _note(directory, known)  # so that a download that is interrupted can go on
        names.add(name)
        content = msgspec.json.format(msgspec.json.encode(kept.payload), indent=2)
        if _content(directory / name) == content:
            outcome.unchanged += 1
            continue
        with atomic_write(directory / name, durable=False) as stream:
            stream.write(content)
        outcome.written += 1
    if not names:
        return outcome
    if clean:
        for name in known - names:
            path = directory / name
            outcome.removed += path.exists()
            path.unlink(missing_ok=True)
        known = set()
    _note(directory, known | names)
    return outcome


def _note(directory: Path, files: set[str]) -> None:
    """Write down which files of *directory* come from downloads."""
    with atomic_write(directory / RECORD, durable=False) as stream:
        stream.write(msgspec.json.encode({"version": VERSION, "files": sorted(files)}))


def _known(directory: Path, *, force: bool) -> set[str]:
    """The names of the files that earlier downloads wrote."""
    try:
        content: Any = msgspec.json.decode((directory / RECORD).read_bytes())
        if content["version"] > VERSION:
            raise HistoryError(
                f"'{directory}' was downloaded by a newer matbench: update it, or name another directory"
            )
        names = [name for name in content["files"] if isinstance(name, str) and name.endswith(".json")]
        return {name for name in names if Path(name).name == name}
    except FileNotFoundError:
        pass
    except NotADirectoryError as error:
        raise ConfigError(f"'{directory}' is a file: name a directory for the payloads") from error
    except OSError as error:
        raise HistoryError(f"cannot read '{directory}': {os_reason(error)}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, RecursionError) as error:
        raise HistoryError(f"'{directory / RECORD}' is damaged: remove it, and give `force`") from error
    if not force and directory.is_dir() and any(directory.iterdir()):
        raise ConfigError(f"'{directory}' holds other things: name another directory, or give `force`")
    return set()


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except OSError:
        return None
