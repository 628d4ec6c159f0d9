"""Readers of other tools' result files; a file may hold many tests, and each is a *part* of it.

A reader is a module, or any object, with two functions; the engine does the rest.
"""

from __future__ import annotations

import codecs
import collections
import fnmatch
import json
import re
import types
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, Protocol

from ..errors import SettingsError, explained, failing, shortened
from ..files import read_regular
from ..filters import Scalar
from ..jsonable import Document
from ..recorded import BLOCK_FILE, ENVIRONMENT_FILE
from ..settings import EXIT_CODE_FILE, SETTINGS_FILE
from ..workload import BaseStore, FoundTest, Listing
from . import codec, fingerprint
from .artifacts import TEST_CONFIG_FILE, TEST_START_END_FILE, ArtifactPath, TestDirectory
from .find import NativeLayout

HEAD_BYTES = 1 << 16
_OURS = {SETTINGS_FILE, EXIT_CODE_FILE, BLOCK_FILE, ENVIRONMENT_FILE, TEST_CONFIG_FILE, TEST_START_END_FILE, "skip"}
_OURS |= {"outcome.json"}
_OUR_STEPS = re.compile(r"\d{3}__(script|server|monitor)")
"""What matbench keeps of a run beside its settings: no tool wrote it."""

Part = tuple[str, Mapping[str, Scalar], Mapping[str, Any]]


class Reader(Protocol):
    """One kind of result file.

    A reader may have ``file_names``, globs: then files of other names are none of its, and aren't opened. It may have
    ``belongs_to_another(path, names)``, which says of a file in a directory with these *names* that it repeats what
    another one holds, or belongs to it; then it is no test. Where ``parts_move`` is true, a part has another name once
    others are put above it: it is known again by what it holds.
    """

    def recognises(self, head: bytes, name: str) -> bool:
        """Whether a file is of this kind, by its first 64 KiB and its absolute path."""

    def read(self, file: ArtifactPath) -> Iterable[Part]:
        """The tests in *file*: of each its part, a name that no other one of the file has, its settings, its results.

        ``repeat`` among the settings counts the repeats of a point; without it, tests of the file with the same
        settings are repeats in their order. Results may hold ``exit_code``, by which a failed test is known, ``start``
        and ``end``, times with a time zone, ``local_time``, a text of one without, and ``campaign``, a text that is the
        same for what was measured together, or True for the whole file: repeats of one campaign are no independent
        evidence. A part that is dated a day before or after the run that its file lies in takes no part. What is
        yielded need not be kept, so that a file may be larger than memory.

        Raises:
            ArtifactError: it is damaged; the parts before that stay.
        """


Completion = Callable[[Path, Mapping[str, Scalar], Mapping[str, Scalar]], Mapping[str, Scalar]]


def _own_first(file: Path, above: Mapping[str, Scalar], own: Mapping[str, Scalar]) -> Mapping[str, Scalar]:
    return {**above, **own}


class ReaderLayout:
    """Tests are the parts of files that one of the *readers* recognises; settings files above them are inherited.

    *complete* makes the settings of a test of the file's path below the results directory, of what settings files
    above it and a pattern of the path say, and of the reader's own; these win unless it says otherwise.
    """

    of_files = True  # no directory is a test

    def __init__(self, readers: Sequence[Reader], complete: Completion = _own_first) -> None:
        self._readers = {_name(reader): reader for reader in readers}
        self.looks_for = f"result files of {', '.join(self._readers)}"
        self.complete = complete

    def find(self, listing: Listing) -> Sequence[FoundTest]:
        if _OUR_STEPS.fullmatch(listing.path.name):
            return []
        names = [name for name in sorted(listing.files) if not name.startswith(".") and name not in _OURS]
        rules = (getattr(reader, "belongs_to_another", None) for reader in self._readers.values())
        others: list[Callable[[Path, Set[str]], bool]] = [rule for rule in rules if rule is not None]
        return [
            FoundTest(listing.path / name)
            for name in names
            if any(map(_may_read(name), self._readers.values()))
            and not any(is_another(listing.path / name, listing.files) for is_another in others)
        ]

    def settings_files(self, test: Path, root: Path) -> Sequence[str]:
        return NativeLayout().settings_files(test.parent, root)

    def read_settings(self, test: Path, root: Path) -> Document:
        return NativeLayout().read_settings(test.parent, root)

    def read_exit_code(self, test: Path) -> int | None:
        return None

    def reader_of(self, path: Path) -> Reader | None:
        """The reader of the file *path*; None if none recognises it."""
        with failing("can't be read", SettingsError):
            head = read_regular(path, HEAD_BYTES)
        claims = []
        for name, reader in self._readers.items():
            try:
                if _may_read(path.name)(reader) and reader.recognises(head, path.as_posix()):
                    claims.append(name)
            except Exception as error:
                raise SettingsError(f"the reader {name} can't tell what it is: {explained(error)}") from error
        if len(claims) > 1:
            raise SettingsError(f"the readers {' and '.join(claims)} both claim it")
        return self._readers[claims[0]] if claims else None

    def parse_file(self, results: types.SimpleNamespace, file: TestDirectory) -> None:
        """Fill ``results.parts``: of each part its name, its settings and its results, packed."""
        reader = self.reader_of(file.path)
        assert reader is not None
        results.parts, names = [], set()
        alike: collections.Counter[str] = collections.Counter()
        copies: collections.Counter[str] = collections.Counter()
        for given in reader.read(file):
            is_part = isinstance(given, (tuple, list)) and len(given) == 3
            if not is_part or not all(isinstance(each, Mapping) for each in given[1:]):
                what = f"the reader {_name(reader)} gives {shortened(repr(given), 60)}"
                raise SettingsError(f"{what}, and should give a name, settings and results, both by name")
            name, settings, values = given
            if name in names:
                raise SettingsError(f"the reader {_name(reader)} gives the part '{name}' twice")
            names.add(name)
            key = repr(sorted(settings.items()))
            repeat = {"repeat": alike[key]} if alike[key] and settings.get("repeat") is None else {}
            alike[key] += 1
            packed = codec.pack(types.SimpleNamespace(**values))
            part = [name, {**settings, **repeat}, packed]
            if getattr(reader, "parts_move", False):
                identity = fingerprint.digest(key.encode("utf-8", "replace") + packed).hex()
                part.append(f"{identity} {copies[identity]}")
                copies[identity] += 1
            results.parts.append(part)


def what_is_wrong(path: Path) -> str:
    """Why no reader can recognise the file *path*, as a half sentence; empty where nothing is wrong with it."""
    head = read_regular(path, HEAD_BYTES)
    if not head.strip():
        return "is empty: "
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "is text in UTF-16, not in UTF-8: "
    is_json = path.suffix != ".json" or len(head) == HEAD_BYTES or any(map(_is_json, (head, head.splitlines()[0])))
    return "" if is_json else "is no valid JSON, or cut off: "


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _may_read(name: str) -> Callable[[Reader], bool]:
    return lambda reader: any(fnmatch.fnmatchcase(name, glob) for glob in getattr(reader, "file_names", "*"))


def _name(reader: Reader) -> str:
    if isinstance(reader, types.ModuleType):
        return reader.__name__.rpartition(".")[2]
    return str(getattr(reader, "name", type(reader).__name__))


def reader_store(readers: Sequence[Reader], *, complete: Completion = _own_first, **fields: Any) -> BaseStore:
    """A store whose tests are in files that the *readers* recognise; *fields* are those of :class:`BaseStore`."""
    layout = ReaderLayout(readers, complete)
    return BaseStore(parse_once=layout.parse_file, layouts=(layout,), optional_files=["*"], **fields)
