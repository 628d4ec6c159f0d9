"""Tables with a row a run, such as CSV and NDJSON: what their cells are, and which rows are unclear, or no runs."""

from __future__ import annotations

import collections
import csv
import dataclasses
import datetime as dt
import functools
import io
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import IO, ClassVar

from ..errors import ArtifactError
from ..filters import Scalar, show
from ..jsonable import Document
from ..plausible import is_number
from .artifacts import ArtifactPath
from .decimal_marks import DECIMAL, THOUSANDS, WHOLE, RowsAbove, joined, pointed
from .failed_rows import FailedRows, failed_with
from .readers import Part
from .summed_rows import numbered, unless_cut

# As spreadsheets write that a cell holds nothing.
_NOTHING = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "-", "–"))
_MAY_MEAN = frozenset(("na", "null"))  # beside other words, as North America


@dataclasses.dataclass(frozen=True, kw_only=True)
class TableReader:
    """Rows of the file *name* as runs, failed where a column ``exit_code`` that is neither of these has another number
    than 0.

    Attributes:
        settings: the columns that are settings, ``repeat`` among them if there is one; else rows with the same settings
            are repeats, in their order.
        kpis: the columns that are numbers. An empty cell, and what is no finite number, is unknown.
        time: the column that says when a run was, in ISO 8601; UTC where it names no zone.
        texts: the columns of a CSV file whose cells stay as they are written: of versions 1.1 and 1.10 are two.
        units: what cells of a KPI's column have behind their numbers, as in ``12 ms``.
        thousands: the KPIs' columns in whose numbers commas, blanks or ``'`` part thousands.
    """

    parts_move: ClassVar[bool] = True
    name: str
    settings: Sequence[str]
    kpis: Sequence[str]
    time: str | None = None
    texts: Sequence[str] = ("version", "commit")
    units: Mapping[str, str] = dataclasses.field(default_factory=dict)
    thousands: Sequence[str] = ()

    @functools.cached_property
    def _named(self) -> Set[str]:
        return {*self.settings, *self.kpis}

    @property
    def file_names(self) -> Sequence[str]:
        return [self.name]

    def recognises(self, head: bytes, name: str) -> bool:
        return name.rpartition("/")[2] == self.name

    def read(self, file: ArtifactPath) -> Iterator[Part]:
        bad, zoned = list[str](), list[bool]()
        ways = WrittenTwoWays([name for name in self.settings if name not in self.texts])
        nothing, failed, unset = WordsForNothing(self.settings), FailedRows(), set(self.settings)
        for number, row in rows(file, self.texts, ways, self.settings, self._named):
            try:
                part = self._part(number, row)
            except ValueError as error:
                bad.append(f"row {number} {error}")  # the others can be read all the same
                continue
            nothing.see(row)
            failed.see(part[2]["row"])
            unset.difference_update(part[1])
            yield part
            if self.time is not None and isinstance(row, Mapping) and row.get(self.time) not in (None, ""):
                zoned.append(dt.datetime.fromisoformat(str(row[self.time])).tzinfo is not None)
        said = [f"{bad[0]}; {len(bad) - 1} more can't be read" if len(bad) > 1 else bad[0]] if bad else []
        said += [
            f"the column '{name}' writes one number as {one} and as {other}, which were taken for the same: name it in "
            "`texts` if they aren't"
            for name, (one, other) in ways.found.items()
        ]
        for name in nothing.doubtful():
            file.note(nothing.said(name))
        for name, text in ways.names.items():
            if name not in ways.found:
                file.note(f"{name}: {text} was read as {float(text):g}: name it in `texts` if it isn't that number")
        for name in sorted(unset):
            file.note(f"no row says {name}, which is a setting")
        for sentence in (*failed.unknown(beside_known=False), *failed.unclear()):
            file.note(sentence)
        said += failed.unknown(beside_known=True)
        if 0 < sum(zoned) < len(zoned):
            said.append(
                f"{zoned.count(False)} of {len(zoned)} times name no zone and were taken for UTC's: write all with one"
            )
        if said:
            raise ArtifactError(file, "; ".join(said))

    def _part(self, number: int, row: Mapping[str, Scalar] | str) -> Part:
        """ValueError says as a half sentence what is wrong with the row."""
        if isinstance(row, str):
            raise ValueError(row)
        if absent := self._named - row.keys():  # the columns' names may have blanks around them
            row = {**row, **{name: row[name.strip()] for name in absent if name.strip() in row}}
            if missing := [each for each in (*self.settings, *self.kpis) if each not in row]:
                raise ValueError(f"has no column '{missing[0]}'; it has {', '.join(row)}")
        settings = {name: value for name in self.settings if not _is_nothing(value := row[name])}
        values = {name: self.number(name, row) for name in self.kpis}
        results: dict[str, object] = {
            field_name(name): value if value is None or is_number(value) else show(value)
            for name, value in values.items()
        }
        rest = {name: value for name, value in row.items() if name not in self._named}
        if self.time is not None:
            results["start"] = moment_of(rest.pop(self.time, None))
        if code := failed_with(rest):
            results["exit_code"] = code
        return f"row {number}", settings, {**results, "row": rest}

    def number(self, name: str, row: Mapping[str, Scalar]) -> Scalar:
        """The cell of a KPI's column, without its unit and the marks between thousands."""
        if not isinstance(value := row.get(name), str):
            return value
        text = value.strip().removesuffix(self.units.get(name, "")).rstrip()
        found = _cell(joined(text) if name in self.thousands else text)
        return float(found) if isinstance(found, str) and _DIGITS.fullmatch(found) else found


_DIGITS = re.compile(r"[-+]?[0-9]{1,300}")  # more than a setting's number has, or zeros in front


def _is_nothing(value: Scalar) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING)


class WordsForNothing:
    """Which words in the columns *names* are taken for nothing known, such as NA, and in how many rows."""

    def __init__(self, names: Sequence[str]) -> None:
        self.found: dict[str, collections.Counter[str]] = {name: collections.Counter() for name in names}
        self._has_others: set[str] = set()
        self._rows = 0

    def see(self, row: Mapping[str, Scalar] | str) -> None:
        self._rows += 1
        if isinstance(row, str):
            return
        for name, words in self.found.items():
            if isinstance(value := row.get(name), str) and value.strip():
                if _is_nothing(value):
                    words[value.strip()] += 1
                else:
                    self._has_others.add(name)

    def doubtful(self) -> list[str]:
        """The columns whose words may mean something: of several kinds, or one of these, beside other words."""
        beside = {name: words for name, words in self.found.items() if name in self._has_others}
        alike = {name: {word.lower() for word in words} for name, words in beside.items()}
        return [name for name, words in alike.items() if len(words) > 1 or words & _MAY_MEAN]

    def said(self, name: str) -> str:
        words = " and ".join(f"'{word}'" for word in self.found[name])
        where = f"in {self.found[name].total()} of {self._rows} rows"
        advice = "taken for not set, like an empty cell: write another word if this means something"
        return f"{name}: {words} {where} {'is' if len(self.found[name]) == 1 else 'are'} {advice}"


NO_KPIS = ("campaign", "end", "exit_code", "row", "start")
"""What results say besides KPIs, so that no KPI's column can have such a name."""


def field_name(column: str) -> str:
    """The name that a KPI's *column* has among the results, where a dot leads to a field of a field."""
    return column.replace(".", "_")


class WrittenTwoWays:
    """What of the columns *names* isn't the number that it looks like.

    Attributes:
        found: the columns that write a number in two ways, such as 3.1 and 3.10, and these.
        pointed: of each of *kpis* numbers such as 1.200, whose points may part thousands.
    """

    def __init__(self, names: Sequence[str], kpis: Sequence[str] = ()) -> None:
        self._names = names
        self._known: dict[tuple[str, float], str] = {}
        self.found: dict[str, tuple[str, str]] = {}
        self.pointed: dict[str, set[str]] = {name: set() for name in kpis}
        self._seen: dict[str, set[str]] = {name: set() for name in names}

    def see(self, cells: Mapping[str, str]) -> None:
        for name, of in self.pointed.items():
            if not of and THOUSANDS.fullmatch(text := cells.get(name, "").strip()):
                of.add(text)
        for name in self._names:
            text = cells.get(name, "").strip()
            if len(self._seen[name]) < _MOST_SEEN:
                self._seen[name].add(text)
            if "." in text and re.fullmatch(r"[0-9]+\.[0-9]+", text):
                first = self._known.setdefault((name, float(text)), text)
                if first != text:
                    self.found.setdefault(name, (first, text))

    @property
    def names(self) -> dict[str, str]:
        """The columns of names that look like numbers, with one of these."""
        found = {name: sorted(written_as_names(seen)) for name, seen in self._seen.items()}
        return {name: texts[0] for name, texts in found.items() if texts}


_MOST_SEEN = 1000


def written_as_names(texts: Set[str]) -> set[str]:
    """Those of *texts* that are no numbers, since they would lose something: 3.10 beside 3.9, or the hash 1234e56."""
    decimals = {text: len(text.partition(".")[2]) for text in texts if re.fullmatch(r"[0-9]+\.[0-9]+", text)}
    padded = {text for text, count in decimals.items() if count > 1 and text.endswith("0")}
    hashes = {text for text in texts if re.fullmatch(r"[0-9]+[eE][0-9]+", text) and len(text) >= _SHORTEST_HASH}
    return hashes | (padded if len(set(decimals.values())) > 1 else set())


_SHORTEST_HASH = 7


def rows(
    file: ArtifactPath,
    texts: Sequence[str] = (),
    ways: WrittenTwoWays | None = None,
    settings: Sequence[str] = (),
    columns: Iterable[str] = (),
) -> Iterator[tuple[int, Mapping[str, Scalar] | str]]:
    """The rows of *file*, which need not fit into memory, with their numbers, as a spreadsheet counts them.

    For a row that can't be read what is wrong with it, as a half sentence. The cells of the columns *texts* stay as
    they are written. *ways* sees the cells of a CSV file. A row that sums up others says so in its first cells, or in
    those of *settings*. One of JSON needs not say all *columns*: what it leaves out isn't set.
    """
    try:
        with file.open("rb") as raw:
            is_ended = _is_ended(raw)
            stream = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
            head = list(itertools.islice(stream, _MOST_ABOVE))
            skipped = next((at for at, line in enumerate(head) if _begins(line, head[at + 1 : at + 2])), 0)
            lines, first = itertools.chain(head[skipped:], stream), "".join(head[skipped : skipped + 1])
            if re.fullmatch(r"\s*\[\s*(\{.*)?", first, re.DOTALL):
                raise ArtifactError(file, f"is a JSON array: {_ADVICE}, or as one object a line")
            if first.lstrip().startswith("{"):
                unset = dict.fromkeys(map(str.strip, columns))
                for number, line in enumerate(lines, start=1 + skipped):
                    if line.strip():
                        known = _object(line)
                        yield number, known if isinstance(known, str) else {**unset, **known}
                return
            named = _SEPARATOR.match(head[0]) if skipped else None
            separator = named[1] if named else _separator(first, "".join(head[skipped + 1 : skipped + 2]))
            table = csv.DictReader(lines, delimiter=separator, strict=True)
            above = RowsAbove() if separator == ";" else None
            table.fieldnames = _names(table.fieldnames or (), file)
            found = numbered(table, settings)
            for line_number, row in found if is_ended else unless_cut(found, next(reversed(table.fieldnames), "")):
                number = line_number + skipped
                if isinstance(row, str):
                    yield number, row
                elif settings and _is_another_head(row, settings):
                    columns = ", ".join(map(str, filter(None, row.values())))
                    yield number, f"begins another table ({columns}), which takes no part"
                    break
                else:
                    yield number, _read(row, texts, ways, above)
            for sentence in above.notes() if above is not None else ():
                file.note(sentence)
    except UnicodeDecodeError as error:
        raise ArtifactError(file, f"is no text in UTF-8: {_ADVICE}") from error
    except (csv.Error, ValueError) as error:
        raise ArtifactError(file, f"is no table: {error}") from error


def columns_of(file: ArtifactPath) -> list[str]:
    """The names of all columns: of JSON each that a row says. Empty where no row can be read."""
    with file.open("rb") as raw:
        may_be_json = any(b"{" in line for line in itertools.islice(raw, _MOST_ABOVE))
    names = (tuple(row) for _, row in rows(file) if not isinstance(row, str))
    return list(dict.fromkeys(itertools.chain.from_iterable(names if may_be_json else itertools.islice(names, 1))))


def _is_ended(stream: IO[bytes]) -> bool:
    """Whether a file ends with a line break."""
    stream.seek(max(0, stream.seek(0, io.SEEK_END) - 1))
    last = stream.read()
    stream.seek(0)
    return last in (b"\n", b"\r")


def _read(
    row: Mapping[str, str], texts: Sequence[str], ways: WrittenTwoWays | None, above: RowsAbove | None
) -> Mapping[str, Scalar] | str:
    """The numbers and texts of a *row* below those *above*; what is wrong with it, as :func:`rows`."""
    if None in row or None in row.values():
        return "has not as many cells as the first row"
    if above is not None and (unclear := above.unclear({n: row[n] for n in row if n not in texts})):
        return unclear
    if ways is not None:
        ways.see(row)
    cells = {name: _cell(text if above is None else pointed(text)) for name, text in row.items()}
    return cells | {name: row[name].strip() or None for name in texts if name in row}


def _separator(first: str, second: str) -> str:
    """What parts the cells of both lines into as many; else what is more often in the first."""
    return max(_SEPARATORS, key=lambda mark: (first.count(mark) == second.count(mark) > 0, first.count(mark)))


def _is_another_head(row: Mapping[str, Scalar], settings: Sequence[str]) -> bool:
    """Whether *row* names the columns, some of them otherwise than the first row."""
    if any(name not in row or str(row[name]).strip() != name for name in settings):  # nearly always
        return False
    said = {name: str(value).strip() for name, value in row.items() if name is not None}
    others = [text for name, text in said.items() if text not in (name, "")]
    return bool(others) and not any(is_number(_cell(text)) for text in others)


_ADVICE = "save it as CSV in UTF-8"
_NUMBERS = {"Infinity": math.inf, "-Infinity": -math.inf}  # of JSON; NaN is nothing, as in a cell
_MOST_ABOVE = 20  # lines above a table
_SEPARATORS, _SEPARATOR = ",;\t", re.compile(r"sep=([,;\t])\s*", re.IGNORECASE)


def _begins(line: str, following: Sequence[str]) -> bool:
    """Whether a table begins with *line*, which is no title above it, nor a remark behind ``#``."""
    if line.lstrip().startswith(("{", "[")):  # may be longer than a cell of CSV
        return True
    separator = max(_SEPARATORS, key=line.count)
    cells, *others = (len(next(csv.reader([one], delimiter=separator), [])) for one in (line, *following))
    is_remark = line.startswith("#") and any(count != cells for count in others)
    return line.count('"') % 2 == 1 or not (is_remark or _SEPARATOR.match(line) or cells < 2)  # or a cell is open


def _names(found: Sequence[str], file: ArtifactPath) -> list[str]:
    """The columns' names without blanks around them; one without a name, as pandas writes its index, has its number."""
    stripped = [name.strip() or f"column {number}" for number, name in enumerate(found, start=1)]
    names = stripped if len({*stripped}) == len(stripped) else [*found]
    if twice := [name for name, count in collections.Counter(names).items() if count > 1]:
        raise ArtifactError(file, f"its first row has the name '{twice[0]}' twice")
    return names


def _object(line: str) -> dict[str, Scalar] | str:
    try:
        found = json.loads(line, object_pairs_hook=_each_once, parse_constant=_NUMBERS.get)
    except (ValueError, RecursionError) as error:
        return f"is no valid JSON: {error}"
    if not isinstance(found, dict):
        return "holds no JSON object"
    return {
        name: json.dumps(value, sort_keys=True) if isinstance(value, (list, dict)) else value
        for name, value in found.items()
    }


def _each_once(pairs: Sequence[tuple[str, object]]) -> Document:
    """An object of *pairs*, whose names may have blanks around them, as in the first row of a CSV file."""
    found = {name.strip(): value for name, value in pairs}
    if len(found) < len(pairs):
        name = next(n for n, count in collections.Counter(n.strip() for n, _ in pairs).items() if count > 1)
        raise ValueError(f"it names {name!r} twice")
    return found


@functools.lru_cache(maxsize=1 << 12)  # settings repeat
def _cell(text: str) -> Scalar:
    """A cell with the type that its text has; None for an empty one."""
    text = text.strip()
    if WHOLE.fullmatch(text) and not re.fullmatch(r"[-+]?0[0-9]+", text):
        return int(text)
    if DECIMAL.fullmatch(text) and not text.lstrip("+-").isdigit():
        return float(text) if math.isfinite(float(text)) else text
    return {"true": True, "false": False, "": None}.get(text.lower(), text)


def moment_of(value: object) -> dt.datetime | None:
    """The time in a cell, None for an empty one; ValueError says as a half sentence that it is none."""
    if value in (None, ""):
        return None
    try:
        moment = dt.datetime.fromisoformat(str(value))
        moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
        moment.astimezone(dt.UTC)  # which year 1 has not everywhere
        return moment
    except (ValueError, OverflowError):
        raise ValueError(f"has '{value}' where an ISO 8601 time is expected, such as 2026-12-31T23:59Z") from None
