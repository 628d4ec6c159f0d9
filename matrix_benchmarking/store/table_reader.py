"""A reader of tables with a row a run: CSV as spreadsheets write it, or one JSON object a line."""

from __future__ import annotations

import csv
import dataclasses
import datetime as dt
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from ..errors import ArtifactError
from ..filters import Scalar
from ..matrix import typed
from .artifacts import ArtifactPath
from .readers import Part

_WHOLE, _DECIMAL = re.compile(r"[-+]?[0-9]{1,18}"), re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableReader:
    """Rows of the file *name* as runs.

    Attributes:
        settings: the columns that are settings, ``repeat`` among them if there is one; else rows with the same settings
            are repeats, in their order.
        kpis: the columns that are numbers. An empty cell, and what is no finite number, is unknown.
        time: the column that says when a run was, in ISO 8601; UTC where it names no zone.
    """

    name: str
    settings: Sequence[str]
    kpis: Sequence[str]
    time: str | None = None

    @property
    def file_names(self) -> Sequence[str]:
        return [self.name]

    def recognises(self, head: bytes, name: str) -> bool:
        return name.rpartition("/")[2] == self.name

    def read(self, file: ArtifactPath) -> Iterator[Part]:
        counts: dict[tuple[object, ...], int] = {}
        for number, row in rows(file):
            missing = [each for each in (*self.settings, *self.kpis) if each not in row]
            if missing:
                raise ArtifactError(file, f"row {number} has no column '{missing[0]}'; it has {', '.join(row)}")
            settings = {name: row[name] for name in self.settings if row[name] is not None}
            if "repeat" not in settings:
                key = tuple((name, *typed(value)) for name, value in settings.items())
                settings["repeat"] = counts[key] = counts.get(key, -1) + 1
            results: dict[str, object] = {
                field_name(name): None if is_no_number(row[name]) else row[name] for name in self.kpis
            }
            rest = {name: value for name, value in row.items() if name not in (*self.settings, *self.kpis)}
            if self.time is not None:
                results["start"] = _time(file, number, rest.pop(self.time, None))
            yield f"row {number}", settings, {**results, "row": rest}


def field_name(column: str) -> str:
    """The name that a KPI's *column* has among the results, where a dot leads to a field of a field."""
    return column.replace(".", "_")


def rows(file: ArtifactPath) -> Iterator[tuple[int, Mapping[str, Scalar]]]:
    """The rows of *file*, which need not fit into memory, with their numbers, as a spreadsheet counts them."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            first = stream.readline()
            lines = itertools.chain([first], stream)
            if first.lstrip().startswith("{"):
                for number, line in enumerate(lines, start=1):
                    if line.strip():
                        yield number, _object(line)
                return
            separator = max(",;\t", key=first.count)
            table = csv.DictReader(lines, delimiter=separator, strict=True)
            names = table.fieldnames or []
            if len(set(names)) < len(names) or "" in names:
                raise ArtifactError(file, "its first row has not a name for each column, each once")
            for row in table:
                if None in row or None in row.values():
                    raise ArtifactError(file, f"row {table.line_num} has not as many cells as the first row")
                comma = separator == ";"
                yield table.line_num, {name: _cell(_point(text) if comma else text) for name, text in row.items()}
    except (csv.Error, ValueError) as error:
        raise ArtifactError(file, f"is no table: {error}") from error


def _object(line: str) -> dict[str, Scalar]:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise ValueError("a line holds no JSON object")
    return {name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in found.items()}


def _point(text: str) -> str:
    """Where ``;`` separates cells, a comma is a decimal point."""
    pointed = text.replace(",", ".")
    return pointed if text.count(",") == 1 and _DECIMAL.fullmatch(pointed.strip()) else text


def _cell(text: str) -> Scalar:
    """A cell with the type that its text has; None for an empty one."""
    text = text.strip()
    if _WHOLE.fullmatch(text) and not re.fullmatch(r"[-+]?0[0-9]+", text):
        return int(text)
    if _DECIMAL.fullmatch(text) and not text[1:].isdigit():
        return float(text) if math.isfinite(float(text)) else text
    return {"true": True, "false": False, "": None}.get(text.lower(), text)


def is_no_number(value: Scalar) -> bool:
    """True for what can't be the value of a KPI."""
    return isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value)


def _time(file: ArtifactPath, number: int, value: object) -> dt.datetime | None:
    if value is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(str(value))
    except ValueError:
        raise ArtifactError(file, f"row {number}: '{value}' is no ISO 8601 time") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
