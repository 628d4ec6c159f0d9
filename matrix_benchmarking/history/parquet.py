"""Exports of a history in Parquet, read as every history is; and everything of one as such a file, the newest first.

A row is a run. For other tools there is a column for each setting and each KPI, with ``workload``, ``test_uuid``,
``time``, ``repeat`` and ``exit_code``; for matbench the column ``matbench``, of which alone all that is read here is
taken, and metadata with a version and the events of alarms.
"""

from __future__ import annotations

import collections
import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any, NoReturn

import msgspec
import pyarrow
from pyarrow import compute, parquet

from .. import bucket, filters
from ..errors import HistoryError, failing
from ..lts.read import DescribedKPI
from ..plausible import is_number
from . import alarms
from .alarms import AlarmEvent
from .history import History
from .location import MARK, SUFFIX, ParquetLocation, files_in
from .port import Progress, Storage, batched, silent
from .records import KeptRun, Row, newest_first, row_of
from .transfer import Contents

VERSION = 1
COLUMN = "matbench"
FIELDS = (*Row._fields[:9], "payload")
"""What the column ``matbench`` has of a run."""
_NUMBERS = ("time_us", "recorded_us", "recorded_place")
TYPE = pyarrow.struct([(name, pyarrow.int64() if name in _NUMBERS else pyarrow.large_string()) for name in FIELDS])
_ALL = [f"{COLUMN}.{name}" for name in FIELDS]
_BAD_CONTENT = (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError)


class Header(msgspec.Struct):
    """What the metadata of a file says of it."""

    version: int
    alarm_events: list[AlarmEvent] = []


class _Version(msgspec.Struct):
    version: int


class ParquetStorage(Storage):
    """Reads exports. A run that several of them have is one run; with different contents it is an error."""

    at_once = 500

    def __init__(self, place: ParquetLocation) -> None:
        self.location = place.text
        self._bucket = bucket.connect(HistoryError) if place.text.startswith(bucket.BEGINNING) else None
        with self.opening():
            before, found = place.known, self._found()
            is_same = {name: name in before and before[name].token == token for name, token in found}
            place.known = {name: before[name] if is_same[name] else self._file(name, token) for name, token in found}
        self._files = list(place.known.values())

    def sentences(self) -> contextlib.AbstractContextManager[None]:
        if self._bucket is not None:
            return bucket.sentences(self.location, HistoryError)
        return failing(f"cannot read {self.location}", HistoryError)

    def _found(self) -> list[tuple[str, object]]:
        """The name of each file, and what changes when it does."""
        found: list[tuple[str, object]]
        if self._bucket is not None:
            key = self.location.removeprefix(bucket.BEGINNING)
            objects = {key: self._bucket.info(key)} if key.endswith(SUFFIX) else self._bucket.find(key, detail=True)
            found = [(name, each.get("ETag")) for name, each in sorted(objects.items()) if name.endswith(SUFFIX)]
        else:
            found = []
            for name in files_in(self.location) if os.path.isdir(self.location) else [self.location]:
                known = os.stat(name)
                if not stat.S_ISREG(known.st_mode):
                    raise HistoryError(f"cannot read {name}: it is no regular file")
                found.append((name, (known.st_size, known.st_mtime_ns, known.st_ino)))
        if not found:
            raise HistoryError(f"there is no export in Parquet in {self.location}")
        return found

    def _file(self, name: str, token: object) -> File:
        with self._reading(name, None) as content:
            return File(name, token, content)

    @contextlib.contextmanager
    def _reading(self, name: str, known: Any) -> Iterator[Any]:
        """The content of a file of which the footer may be *known*. Raises HistoryError: it is damaged."""
        stream: IO[bytes]
        with open(name, "rb") if self._bucket is None else self._bucket.open(name, "rb") as stream:
            try:
                yield parquet.ParquetFile(stream, metadata=known, page_checksum_verification=True)
            except _BAD_CONTENT as error:
                if isinstance(error, OSError) and (error.errno is not None or isinstance(error, TimeoutError)):
                    raise  # it can't be read
                said = (str(error).splitlines() or [type(error).__name__])[0][:200]
                raise HistoryError(f"'{name}' is no Parquet file, or damaged: {said}") from error

    def select(self, workload: str | None, since_us: int | None, most: int | None = None) -> Iterator[Row]:
        rows = []
        for file in self._files:
            with self._reading(file.name, file.footer) as content:
                rows += [row for row in file.rows(content) if workload in (None, row.workload)]
        if since_us is not None:
            rows = [row for row in rows if row.time_us is not None and row.time_us >= since_us]
        rows.sort(key=newest_first)
        return self._once(rows)

    def find(self, ids: Sequence[str], *, payload: bool) -> Iterator[Row]:
        return self._once(self._rows_of(ids, payload))

    def _rows_of(self, ids: Sequence[str], payload: bool) -> Iterator[Row]:
        for file in self._files:
            if places := file.places(ids):
                with self._reading(file.name, file.footer) as content:
                    yield from file.rows_at(places, content, payload)

    def _once(self, rows: Iterable[Row]) -> Iterator[Row]:
        seen = dict[str, str]()
        for row in rows:
            before = seen.get(row.id)
            if before is None:
                seen[row.id] = row.digest
                yield row
            elif before != row.digest:
                raise HistoryError(
                    f"{self.location} has run {row.id} with different contents: take the older export away"
                )

    def measured(self, measurements: Sequence[str]) -> Iterator[tuple[str, str]]:
        wanted = set(measurements)
        known = ((row.measurement, row.id) for row in self.select(None, None))
        return ((measurement, run) for measurement, run in known if measurement is not None and measurement in wanted)

    def last_recorded(self) -> int | None:
        return max((file.last_us for file in self._files if file.last_us is not None), default=None)

    def events(self, workload: str | None) -> Iterable[tuple[str, str]]:
        known = {each.id: each for file in self._files for each in file.events}
        wanted = [each for each in known.values() if workload in (None, each.subject.workload)]
        return [(each.id, alarms.encode(each)) for each in sorted(wanted, key=lambda each: (each.at_us, each.id))]

    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self._files)

    def close(self) -> None:
        if self._bucket is not None:
            bucket.close(self._bucket)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise HistoryError(f"{self.location} is an export, which is only read")

    writing = write = remove = add_events = _refuse


class File:
    """What is kept of one file: its footer, its events, its last moment, and the ids of its runs in their order."""

    def __init__(self, name: str, token: object, content: Any) -> None:
        self.name, self.token, self.footer = name, token, content.metadata
        self.events = _header(name, content.schema_arrow).alarm_events
        groups = [content.metadata.row_group(place) for place in range(content.num_row_groups)]
        self.size_bytes = sum(
            group.column(place).total_compressed_size for group in groups for place in range(group.num_columns)
        )
        self._counts = [group.num_rows for group in groups]
        column = content.read(columns=[f"{COLUMN}.id", f"{COLUMN}.recorded_us"]).column(COLUMN)
        self._ids = pyarrow.chunked_array([chunk.field("id") for chunk in column.chunks], pyarrow.large_string())
        if self._ids.null_count or column.null_count:
            raise ValueError("a run has no id")
        self.last_us: int | None = compute.max(compute.struct_field(column, "recorded_us")).as_py()

    def rows(self, content: Any) -> Iterator[Row]:
        """All rows, without their payloads, in the file's order."""
        for batch in content.iter_batches(columns=_ALL[:-1]):
            yield from _rows(batch.column(COLUMN))

    def places(self, ids: Sequence[str]) -> list[int]:
        """Where in the file those of *ids* are that it has."""
        wanted = pyarrow.array(ids, pyarrow.large_string())
        found: list[int] = compute.indices_nonzero(compute.is_in(self._ids, value_set=wanted)).to_pylist()
        return found

    def rows_at(self, places: Sequence[int], content: Any, payload: bool) -> Iterator[Row]:
        start = 0
        for group, count in enumerate(self._counts):
            wanted = [place - start for place in places if start <= place < start + count]
            if wanted:
                column = content.read_row_group(group, columns=_ALL if payload else _ALL[:-1]).column(COLUMN)
                yield from _rows(column.combine_chunks().take(pyarrow.array(wanted)))
            start += count


def _rows(column: Any) -> Iterator[Row]:
    fields = [each.to_pylist() for each in column.flatten()]
    return (Row(*values) for values in zip(*fields, strict=True))


def _header(name: str, schema: Any) -> Header:
    """What is said of the file. Raises HistoryError: it is no export, one of a newer matbench, or damaged."""
    mark = (schema.metadata or {}).get(MARK)
    if mark is None:
        raise HistoryError(f"'{name}' is a Parquet file, but no export of a history")
    try:
        if msgspec.json.decode(mark, type=_Version).version > VERSION:
            raise HistoryError(f"'{name}' was exported by a newer matbench: update this one to read it")
        header = msgspec.json.decode(mark, type=Header)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HistoryError(f"'{name}' is damaged: its metadata is not as matbench writes it: {error}") from error
    if COLUMN not in schema.names or schema.field(COLUMN).type != TYPE:
        raise HistoryError(f"'{name}' is damaged: its column '{COLUMN}' is not as matbench writes it")
    return header


RUNS_A_GROUP = 500
"""As many as are read at once: a payload is read with those beside it."""
_FIRST = {
    **dict.fromkeys(("workload", "test_uuid"), pyarrow.string()),
    "time": pyarrow.timestamp("us", tz="UTC"),
    **dict.fromkeys(("repeat", "exit_code"), pyarrow.int64()),
}
_OF_SCALARS = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}


def write_parquet(history: History, stream: IO[bytes], progress: Progress = silent) -> Contents:
    """Write all runs, and all events of alarms.

    Raises:
        HistoryError: a run changed or went away meanwhile, or the history can't be read.
    """
    events, runs = history.alarm_events(), list(history.runs())
    columns = _columns_of(runs)
    done, header = 0, msgspec.json.encode(Header(VERSION, events))
    schema = pyarrow.schema([*(field for field, _ in columns), (COLUMN, TYPE)], {MARK: header})
    with parquet.ParquetWriter(stream, schema, compression="zstd", write_page_checksum=True) as writer:
        for some in batched(runs, RUNS_A_GROUP):
            found = {each.id: each for each in history.records_of([run.id for run in some])}
            for run in some:
                if run.id not in found or found[run.id].digest != run.digest:
                    raise HistoryError(f"run {run.id} of {history.location} changed while it was exported: try again")
            content = {field.name: values[done : done + len(some)] for field, values in columns}
            content[COLUMN] = [dict(zip(FIELDS, row_of(found[run.id]), strict=False)) for run in some]
            writer.write_table(pyarrow.Table.from_pydict(content, schema))
            done += len(some)
            progress(done)
    return Contents(done, len(events))


def _columns_of(runs: Sequence[KeptRun]) -> list[tuple[Any, list[Any]]]:
    """What there is for other tools: the fields, each with its value of every run."""
    settings, kpis = (collections.defaultdict[Any, list[Any]](lambda: [None] * len(runs)) for _ in range(2))
    described: dict[tuple[str, str], DescribedKPI] = {}
    for place, run in enumerate(runs):
        for name, value in run.head.settings.items() if isinstance(run.head.settings, dict) else ():
            settings[name][place] = value
        for kpi, value in zip(run.kpis, run.head.values, strict=True):
            described[key := (kpi.name, str(kpi.unit))] = kpi
            kpis[key][place] = float(value) if is_number(value) else None
    taken, names = {*_FIRST, COLUMN}, [name for name, _ in kpis]
    of_kpis = []
    for (name, unit), values in kpis.items():
        column = _free(name if names.count(name) == 1 else f"{name} ({unit})", "kpi_", taken)
        says = {"unit": unit, "help": str(described[name, unit].help)}
        of_kpis.append((pyarrow.field(column, pyarrow.float64(), metadata=says), values))
    taken.update(names)
    of_settings = []
    for name, values in settings.items():
        kinds = set(map(_type_of, values)) - {type(None)}
        kind = _OF_SCALARS.get(kinds.pop(), pyarrow.string()) if len(kinds) == 1 else pyarrow.string()
        if kind == pyarrow.string():  # also where values are of several types
            values = [None if value is None else _text(value) for value in values]
        of_settings.append((pyarrow.field(_free(name, "setting_", taken), kind), values))
    first: list[list[Any]] = [
        [run.workload for run in runs],
        [run.id for run in runs],
        [_whole(run.time_us) for run in runs],
        [_whole(run.head.repeat) for run in runs],
        [_whole(run.head.exit_code) for run in runs],
    ]
    of_all = [(pyarrow.field(*each), values) for each, values in zip(_FIRST.items(), first, strict=True)]
    return [*of_all, *of_settings, *of_kpis]


def _type_of(value: object) -> type:
    """That of a scalar which a column of its own can hold; ``object`` for others."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return object
    return type(value) if value is None or type(value) in _OF_SCALARS else object


def _whole(value: object) -> object:
    return value if _type_of(value) is int else None


def _text(value: object) -> str:
    """As filters have it; a text itself, but where there are values of other types beside it."""
    if isinstance(value, (str, int, float, bool)):
        return filters.exact(value)
    return msgspec.json.encode(value).decode()


def _free(name: str, before: str, taken: set[str]) -> str:
    """A name that is not *taken*, with something *before* it where it would be; it is taken then."""
    while name in taken:
        name = f"{before}{name}"
    taken.add(name)
    return name
