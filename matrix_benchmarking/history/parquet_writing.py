"""Everything of a history as one file in Parquet: a row a run, the newest first.

For other tools, a column for each setting and each KPI, with ``workload``, ``test_uuid``, ``time``, ``repeat`` and
``exit_code``; for matbench, the column of :mod:`.parquet_storage`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple

import msgspec
import pyarrow
from pyarrow import parquet

from .. import filters
from ..errors import HistoryError
from .history import History
from .parquet import MARK
from .parquet_storage import COLUMN, FIELDS, TYPE, VERSION, Header
from .port import EVERYTHING, Progress, Query, batched
from .records import KeptRun, Record, row_of
from .transfer import Contents

RUNS_A_GROUP = 500
"""As many as are read at once: a payload is read with those beside it."""
_FIRST = ("workload", "test_uuid", "time", "repeat", "exit_code")
_OF_SCALARS = {bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64(), str: pyarrow.string()}
_MICROSECONDS = pyarrow.timestamp("us", tz="UTC")


class _KPI(NamedTuple):
    name: str
    unit: str


def write_parquet(
    history: History, stream: IO[bytes], query: Query = EVERYTHING, progress: Progress | None = None
) -> Contents:
    """Write the runs that *query* selects, and all events of alarms of its workload.

    Raises:
        HistoryError: a run changed or went away meanwhile, or the history can't be read.
    """
    events, runs = history.alarm_events(query.workload), list(history.runs(query))
    columns = _Columns(runs)
    done, header = 0, msgspec.json.encode(Header(VERSION, events))
    schema = columns.schema.with_metadata({MARK: header})
    with parquet.ParquetWriter(stream, schema, compression="zstd", write_page_checksum=True) as writer:
        for some in batched(runs, RUNS_A_GROUP):
            found = {each.id: each for each in history.records_of([run.id for run in some])}
            for run in some:
                if run.id not in found or found[run.id].digest != run.digest:
                    raise HistoryError(f"run {run.id} of {history.location} changed while it was exported: try again")
            writer.write_table(pyarrow.table(columns.of(some, [found[run.id] for run in some]), schema))
            done += len(some)
            if progress is not None:
                progress(done)
    return Contents(done, len(events))


class _Columns:
    """The columns of *runs*: what they are called, their types, and what runs have in them."""

    def __init__(self, runs: Sequence[KeptRun]) -> None:
        types: dict[str, set[type]] = {}
        for run in runs:
            for name, value in _settings(run).items():
                types.setdefault(name, set()).add(_type_of(value))
        shapes = {id(run.kpis): run.kpis for run in runs}.values()
        kpis = {_KPI(each.name, str(each.unit)): each for shape in shapes for each in shape}
        names = [each.name for each in kpis]
        taken = {*_FIRST, COLUMN}
        self._kpis = {
            key: _free(key.name if names.count(key.name) == 1 else f"{key.name} ({key.unit})", "kpi_", taken)
            for key in kpis
        }
        taken.update(names)
        self._settings = {name: _free(name, "setting_", taken) for name in types}
        self._types = {name: _arrow(types[name]) for name in types}
        text = pyarrow.string()
        first = zip(_FIRST, (text, text, _MICROSECONDS, pyarrow.int64(), pyarrow.int64()), strict=True)
        settings = [(self._settings[name], self._types[name]) for name in types]
        of_kpis = [
            pyarrow.field(self._kpis[key], pyarrow.float64(), metadata={"unit": key.unit, "help": str(each.help)})
            for key, each in kpis.items()
        ]
        self.schema = pyarrow.schema([*first, *settings, *of_kpis, (COLUMN, TYPE)])

    def of(self, runs: Sequence[KeptRun], records: Sequence[Record]) -> list[Any]:
        """An array a column."""
        values: dict[str, list[object]] = {name: [None] * len(runs) for name in self.schema.names}
        for place, (run, record) in enumerate(zip(runs, records, strict=True)):
            values[COLUMN][place] = dict(zip(FIELDS, row_of(record), strict=False))
            for name, value in zip(_FIRST, _of_run(run), strict=True):
                values[name][place] = value
            for name, value in _settings(run).items():
                is_text = self._types[name] == pyarrow.string()
                values[self._settings[name]][place] = _text(value) if is_text and value is not None else value
            for kpi, value in zip(run.kpis, run.head.values, strict=True):
                values[self._kpis[_KPI(kpi.name, str(kpi.unit))]][place] = _number(value)
        return [pyarrow.array(values[field.name], field.type) for field in self.schema]


def _of_run(run: KeptRun) -> Iterator[object]:
    """What is in the first columns."""
    yield run.workload
    yield run.id
    for value in (run.time_us, run.head.repeat, run.head.exit_code):
        yield value if _type_of(value) is int else None


def _settings(run: KeptRun) -> dict[str, object]:
    return run.head.settings if isinstance(run.head.settings, dict) else {}


def _type_of(value: object) -> type:
    """That of a scalar which a column of its own can hold; ``object`` for others."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return object
    return type(value) if value is None or type(value) in _OF_SCALARS else object


def _arrow(types: set[type]) -> Any:
    """The type of a column; text where values are of several types."""
    known = types - {type(None)}
    return _OF_SCALARS.get(known.pop(), pyarrow.string()) if len(known) == 1 else pyarrow.string()


def _text(value: object) -> str:
    """As filters have it; a text itself, but where there are values of other types beside it."""
    if isinstance(value, (str, int, float, bool)):
        return filters.exact(value)
    return msgspec.json.encode(value).decode()


def _number(value: object) -> float | None:
    try:
        return float(value) if type(value) in (int, float) else None  # type: ignore[arg-type]
    except OverflowError:
        return None


def _free(name: str, before: str, taken: set[str]) -> str:
    """A name that is not *taken*, with something *before* it where it would be; it is taken then."""
    while name in taken:
        name = f"{before}{name}"
    taken.add(name)
    return name
