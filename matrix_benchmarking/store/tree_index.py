"""The index of a tree: one file with what the last complete parse found, but for results and payloads.

It has a column for each field of the entries. All types are checked while it is read: it may come from a stranger.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from ..files import read_regular
from ..filters import Scalar
from ..matrix import Entry, Matrix, Problem
from ..workload import INDEX_PREFIX, Workload
from . import cache, codec
from .cache import Envelope
from .codec import BrokenCache
from .find import Candidate, check_root, layouts_of
from .fingerprint import digest
from .parsing import Context, Loader

ENVELOPE = Envelope(b"matbench-index", 7, "matbench index")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True)
class IndexedTree:
    """A tree as its last complete parse left it, and when one first found it so."""

    matrix: Matrix
    written: dt.datetime


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """What an index holds of a tree: finished tests with how they were found, unfinished ones, and notes."""

    tests: Sequence[tuple[Entry, Candidate]]
    unfinished: Sequence[Entry]
    notes: Sequence[str]


class _Column(msgspec.Struct, Generic[T], array_like=True):
    """A value for each test; one that many of them share is there, and in memory, once."""

    distinct: list[T]
    places: list[Annotated[int, msgspec.Meta(ge=0)]]

    @classmethod
    def of(cls, values: Iterable[T]) -> _Column[T]:
        numbers: dict[str, int] = {}
        distinct: list[T] = []
        places = []
        for value in values:
            key = repr(value)  # tells 1, 1.0, "1" and True apart, and 0.0 from -0.0
            number = numbers.get(key)
            if number is None:
                number = numbers[key] = len(distinct)
                distinct.append(value)
            places.append(number)
        return cls(distinct, places)

    def __iter__(self) -> Iterator[T]:
        return map(self.distinct.__getitem__, self.places)


class _Entries(msgspec.Struct):
    """Entries, column by column; ``values`` and ``kpis`` hold those of all of them, one after the other.

    ``path`` is relative to the results directory, as bytes; ``layout`` and ``is_file`` are candidates'.
    """

    path: list[bytes]
    names: _Column[tuple[str, ...]]
    values: _Column[Scalar]
    repeat: _Column[int]
    exit_code: _Column[int | None]
    finished: _Column[bool]
    test_uuid: list[str | None]
    has_own_uuid: _Column[bool]
    campaign: _Column[str | None]
    round: _Column[int | None]
    span_us: list[tuple[int | None, int | None]]
    measurement: list[str | None]
    problems: _Column[tuple[Problem, ...]]
    missing_files: _Column[tuple[str, ...]]
    kpi_names: _Column[tuple[str, ...]]
    kpis: list[int | float]
    missing_kpis: _Column[dict[str, str]]
    warnings: _Column[tuple[str, ...]]
    implausible: _Column[tuple[str, ...]]
    harmless: _Column[tuple[str, ...]]
    from_cache_alone: _Column[bool]
    part: _Column[str | None]
    layout: _Column[Annotated[int, msgspec.Meta(ge=0)] | None]
    is_file: _Column[bool]

    @classmethod
    def of(cls, entries: Sequence[Entry], candidates: Iterable[Candidate | None], root: Path) -> _Entries:
        start, found = len(str(root).rstrip("/")) + 1, list(candidates)
        columns: dict[str, Any] = {name: [getattr(entry, name) for entry in entries] for name in _SAME}
        columns |= {
            "names": [tuple(entry.settings) for entry in entries],
            "values": [value for entry in entries for value in entry.settings.values()],
            "kpi_names": [tuple(entry.kpis) for entry in entries],
            "layout": [None if one is None else one.layout for one in found],
            "is_file": [one is not None and one.is_file for one in found],
        }
        columns = {name: column if name in _OWN else _Column.of(column) for name, column in columns.items()}
        paths = [os.fsencode(str(entry.location)[start:]) for entry in entries]
        return cls(path=paths, kpis=[value for entry in entries for value in entry.kpis.values()], **columns)

    def tests(self, root: Path) -> Iterator[tuple[Entry, Candidate]]:
        """The entries, and how they were found, in the tree that is at *root* now.

        Raises ValueError, IndexError: what is here is not of a tree.
        """
        if (sum(map(len, self.names)), sum(map(len, self.kpi_names))) != (len(self.values.places), len(self.kpis)):
            raise ValueError("more names than values, or fewer")
        values, kpis = iter(self.values), iter(self.kpis)
        same = [getattr(self, name) for name in _SAME]
        others = zip(self.path, self.names, self.kpi_names, self.layout, self.is_file, *same, strict=True)
        for path, names, kpi_names, layout, is_file, *fields in others:
            location = _inside(root, path)
            entry = Entry(
                settings=dict(zip(names, values, strict=False)),
                kpis=dict(zip(kpi_names, kpis, strict=False)),
                location=location,
                name=path.decode("utf-8", "backslashreplace") or root.name,
                **dict(zip(_SAME, fields, strict=True)),
            )
            if entry.part is not None:
                entry.name += f"#{entry.part}"
            counts = not entry.from_cache_alone
            yield entry, Candidate(location, layout, is_file=is_file, cache_counts=counts, part=entry.part)


_SAME = [name for name in _Entries.__struct_fields__ if name in Entry.__slots__ and name != "kpis"]
"""The fields that are an entry's as they are."""
_OWN = ("test_uuid", "span_us", "measurement")


def _inside(root: Path, relative: bytes) -> Path:
    if relative.startswith(b"/") or b"\0" in relative or (b".." in relative and b".." in relative.split(b"/")):
        raise ValueError("a path out of the tree")
    return Path(f"{str(root).rstrip('/')}/{os.fsdecode(relative)}") if relative else root


class _Tree(msgspec.Struct):
    tests: _Entries
    unfinished: _Entries
    notes: list[str]


class _Index(msgspec.Struct):
    """The file: when a tree was first so, and the tree, packed."""

    written: dt.datetime
    tree: bytes


def encode(contents: Contents, root: Path) -> bytes:
    """*contents* of the tree at *root* as bytes, the same for the same contents."""
    entries, candidates = [entry for entry, _ in contents.tests], [candidate for _, candidate in contents.tests]
    unfinished = _Entries.of(contents.unfinished, [None] * len(contents.unfinished), root)
    return codec.pack_struct((), _Tree(_Entries.of(entries, candidates, root), unfinished, list(contents.notes)))


def decode(content: bytes, root: Path, layouts: int) -> Contents:
    """What :func:`encode` made bytes of, at *root* now, for a workload with so many *layouts*.

    Raises BrokenCache: *content* is no index.
    """
    try:
        tree = codec.unpack_struct(content, (), _Tree)
        assert tree is not None
        tests = list(tree.tests.tests(root))
        unfinished = [entry for entry, _ in tree.unfinished.tests(root)]
    except (ValueError, IndexError) as error:
        raise BrokenCache(f"it holds something unexpected ({type(error).__name__}: {error})") from error
    if any(candidate.layout is not None and candidate.layout >= layouts for _, candidate in tests):
        raise BrokenCache("it names a layout that the workload doesn't have")
    return Contents(tests, unfinished, tree.notes)


def read_index(
    workload: Workload, root: str | os.PathLike[str], *, options: Mapping[str, object] | None = None
) -> IndexedTree | None:
    """The tree at *root* from its index, without a look at its tests.

    None if there is no index that can be used: it is damaged, of another version of the engine, of another workload or
    source, or of other parser *options*; or if MATBENCH_STORE_IGNORE_CACHE says so.

    Raises:
        MatbenchError: *root* is no readable directory.
    """
    resolved = check_root(root)
    if cache.is_ignored():
        return None
    context = Context(workload, resolved, cache.source_digest(workload), dict(options or {}))
    try:
        latest = _latest(context)
        if latest is None:
            return None
        contents = decode(latest.tree, resolved, len(layouts_of(workload)))
    except codec.CodecError:
        return None
    loader = Loader(context)
    for entry, candidate in contents.tests:
        loader.attach(entry, candidate)
    matrix = Matrix([entry for entry, _ in contents.tests], unfinished=contents.unfinished, notes=contents.notes)
    return IndexedTree(matrix, latest.written)


def save(context: Context, contents: Contents) -> list[str]:
    """Write the index of a parsed tree, unless it is there already; sentences on what was wrong with that."""
    root, notes = context.root, []
    try:
        tree = encode(contents, root)
        latest = _latest(context)
        if latest is not None and latest.tree == tree:
            return []
    except BrokenCache as broken:
        notes.append(f"the index of the tree is ignored: {broken}")
    except codec.CodecError as error:
        return [f"no index of the tree is kept: the tests hold {error}"]
    beside, user = places(root, context.workload)
    content = ENVELOPE.seal(_stamp(context), _Index(dt.datetime.now(dt.UTC), tree))
    paths = [beside, user] if _may_be_beside(contents, root) else [user]
    return [*notes, *cache.write_first(paths, content, "index of the tree")]


def _may_be_beside(contents: Contents, root: Path) -> bool:
    """False for a flat tree and one that is itself a test: files in them belong to tests."""
    return all(not test.is_file and test.path != root for _, test in contents.tests) and not any(
        entry.location == root or entry.location.is_file() for entry in contents.unfinished
    )


def places(root: Path, workload: Workload) -> tuple[Path, Path]:
    """Where the index of the tree at *root* may be: beside its tests, and in the user's cache directory."""
    name = workload.name
    if not _PLAIN_NAME.fullmatch(name):
        name = digest(name.encode("utf-8", "surrogatepass")).hex()
    return root / f"{INDEX_PREFIX}{name}", cache.in_user_directory(root, workload, "index")


def _latest(context: Context) -> _Index | None:
    """The newer of the files in the two places; None if there is none of this parse's format and stamp."""
    kept, stamp = [], _stamp(context)
    for path in places(context.root, context.workload):
        try:
            content = read_regular(path)
        except OSError:
            continue
        kept.append(ENVELOPE.open(content, stamp, _Index))
    return max(filter(None, kept), key=lambda one: one.written, default=None)


def _stamp(context: Context) -> cache.Stamp:
    return context.workload.name, context.code, digest(codec.pack(_in_order(context.options)))


def _in_order(value: object) -> object:
    """*value* with its mappings as sorted pairs: the order of prices is no difference."""
    if not isinstance(value, Mapping):
        return value
    return {"mapping": sorted((codec.pack(name), codec.pack(_in_order(item))) for name, item in value.items())}
