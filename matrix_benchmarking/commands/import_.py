"""``matbench import``: a table with a row a run in; a workload file out, with which all commands read the table."""

from __future__ import annotations

import json
import re
import shlex
import statistics
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click

from ..analyze.words import named as some_of
from ..errors import ConfigError, MatbenchError, OutputError, did_you_mean, shortened
from ..files import atomic_write
from ..filters import Scalar, show
from ..plausible import is_number
from ..store import ArtifactPath, TableReader, TestDirectory
from ..store.column_names import counted_with, may_name_kpi, other_unit
from ..store.decimal_marks import BLANKS, are_grouped, joined
from ..store.failed_rows import FailedRows
from ..store.tables import (
    NO_KPIS,
    WordsForNothing,
    WrittenTwoWays,
    columns_of,
    field_name,
    moment_of,
    rows,
)
from ..workload import BaseStore
from .options import FILE, PATH, Command, option
from .printing import warn
from .shared_options import NAMES, Read

_RARE = {"higher": r"(n|µ|μ|u|m)?s|min|h", "lower": r"(?!err|fail|fault|miss|drop|retr).+/(s|sec|second|min|h)"}
"""Units of KPIs that are seldom better so: times that are higher, rates that are lower."""
_OFTEN = {"benchmark", "benchmarks", "data", "out", "output", "report", "result", "results", "runs", "stats", "table"}
"""What tables of many projects are called."""
_LOST = {*NO_KPIS, *dir(types.SimpleNamespace)}
_MAY_ORDER = {"build", "build_id", "build_number", "release", "revision", "sha", "tag"}
"""What columns are often called whose values are versions, beside version and commit."""
_OF_KPIS = {
    "metric", "metrics", "metric_name", "kpi", "measure", "measurement", "indicator", "unit", "stat", "statistic",
    "field",
}  # fmt: skip
"""What the column is called in tables that have a row for each KPI of a run."""
_OF_ANY = {"value", "values", "val", "result", "score", "number", "reading"}
"""What that of its numbers is called there."""
_NAMED, _MOST_COLUMNS, _MOST_KPIS = 3, 20, 100
_TEMPLATE = '''\
"""Which columns of a table are settings, and which are KPIs. Change it as you like; the table stays where it is."""

from matrix_benchmarking.kpi import collect, field_kpi
from matrix_benchmarking.store import TableReader, reader_store
from matrix_benchmarking.workload import RegressionKeys, Workload

KPIS = [
{kpis}
]
TABLE = TableReader(name={table!r}, settings={settings!r}, kpis={names!r}, time={time!r}, texts={texts!r}{written})

workload = Workload(
    name={name!r},
    store=reader_store([TABLE], models_kpis=collect(KPIS)),
    regression=RegressionKeys(comparison_keys={versions!r}),
)
'''


def kpi_column(text: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"(.+?):(higher|lower|neither)(?::(.*))?", text, re.DOTALL)  # a name may have colons, too
    if found is None:
        raise ValueError(f"'{text}' is not COLUMN:higher, :lower or :neither with :UNIT, as in p95:lower:ms")
    column, better, unit = found.groups("")
    return column, better, unit


@click.command("import", cls=Command)
@click.argument("table", type=PATH, metavar="FILE")
@option("--settings", config_key="", type=NAMES, default=(), metavar="COLUMNS", help="The columns that are settings.")
@option(
    "--kpi",
    config_key="",
    type=Read("kpi", kpi_column),
    multiple=True,
    metavar="COLUMN:BETTER[:UNIT]",
    help="A KPI's column, what is better (higher, lower or neither), and the unit; once for each.",
)
@option("--time", config_key="", metavar="COLUMN", help="When a run was, in ISO 8601.")
@option(
    "--versions",
    config_key="",
    metavar="COLUMN",
    help="The setting that orders a history; 'version' or 'commit' unless given.",
)
@option("--output", config_key="", **FILE, help="The workload file; beside the table unless given.")
def command(
    table: Path,
    settings: tuple[str, ...],
    kpi: tuple[tuple[str, str, str], ...],
    time: str | None,
    versions: str | None,
    output: Path | None,
) -> None:
    """Read a table with a row a run without writing code.

    FILE is CSV, as a spreadsheet saves it, or one JSON object a line. What its columns mean is written to a workload
    file of a few lines; the table stays where it is, and rows that are added later are read with the others. The next
    commands are printed.
    """
    file = _opened(table)
    columns = columns_of(file)
    if not columns:
        why = next((f": row {number} {reason}" for number, reason in rows(file)), "")
        raise MatbenchError(f"'{table}' holds no row that can be read{why}")
    named = _named(table, columns, settings, kpi, time, versions)
    doubts = _check_form(file, columns, [column for column, _, _ in kpi], settings)
    ways = WrittenTwoWays(settings, [column for column, _, _ in kpi])
    reader = _reader(file, settings, kpi, ways)
    said = _unread(file, [column for column in columns if column not in named], reader, kpi, time)
    orders = [name for like in ("version", "commit") for name in settings if name.lower() == like]
    compared = [versions] if versions else orders[:1]
    called = _plain(table.stem)
    written = output or table.with_name(f"{called}_workload.py")
    if written.exists():
        raise OutputError(f"'{written}' is there already: change it, remove it, or name another --output")
    content = _TEMPLATE.format(
        table=table.name,
        kpis="\n".join(_kpi(*each) for each in kpi),
        settings=list(settings),
        names=reader.kpis,
        time=time,
        written="".join(f", {name}={value!r}" for name in ("units", "thousands") if (value := getattr(reader, name))),
        name=called,
        versions=compared,
        texts=[*dict.fromkeys([*compared, *ways.found, *ways.names])],
    )
    with atomic_write(written) as stream:
        stream.write(content.encode("utf-8", "surrogateescape"))
    like = "written, like all cells of this column"
    apart = f"are one number, and stay apart as they are {like}"
    warn([f"{name}: {one} and {other} {apart}" for name, (one, other) in ways.found.items()])
    others = {name: text for name, text in ways.names.items() if name not in (*ways.found, *compared)}
    warn([f"{name}: {text} isn't {float(text):g}, and stays as it is {like}" for name, text in others.items()])
    warn([*doubts, *(doubt for each in kpi for doubt in _doubts(*each))])
    warn(said)
    warn([f"{name}: the marks in its numbers were taken to part thousands" for name in reader.thousands])
    warn(_about_versions(settings, versions, compared))
    if called.lower() in _OFTEN:
        warn([f"its runs are those of the workload '{called}': in a history with another project's, change `name`"])
    reading = [f"--workload={written}", f"--results-dirname={table.parent}"]
    click.echo(f"made {written}, which says what the columns of {table} mean. Next:", err=True)
    for name in ("parse", "visualize", "upload_lts"):
        click.echo(shlex.join(["matbench", name, *reading]))
    if compared:
        click.echo(shlex.join(["matbench", "analyze_lts", reading[0]]))


def _about_versions(settings: Sequence[str], versions: str | None, compared: Sequence[str]) -> list[str]:
    """What was taken to order a history, where nobody said it, and what may."""
    said = [
        f"{name} is taken for the version that orders a history: --versions names another"
        for name in compared
        if not versions and not name.islower()
    ]
    may = next((name for name in settings if name.lower() in _MAY_ORDER), None)
    if may is not None and not compared:
        said.append(f"no setting orders a history, so each {may} is a series of its own: --versions={may} makes it one")
    return said


def _named(
    table: Path,
    columns: Sequence[str],
    settings: Sequence[str],
    kpi: Sequence[tuple[str, str, str]],
    time: str | None,
    versions: str | None,
) -> list[str]:
    """The columns that options name, each once; ConfigError says which one can't be."""
    if not kpi or not settings:
        has = f"'{table}' has {some_of(columns, _MOST_COLUMNS)}"
        raise ConfigError(f"say which columns are --settings and which is a --kpi; {has}")
    named = [*settings, *(column for column, _, _ in kpi), *([time] if time else [])]
    for name in named:
        if name not in columns:
            comma = r"; a comma in a name is written '\,'" if any("," in one and name in one for one in columns) else ""
            raise ConfigError(f"'{table}' has no column '{name}': {did_you_mean(name, columns)}{comma}")
        if named.count(name) > 1:
            raise ConfigError(f"the column '{name}' can be a setting, a KPI or the time, and be named once")
        if name in _LOST and name not in settings and name != time:
            raise ConfigError(f"the KPI '{name}' would be lost, since runs have such a field: rename the column")
    for name, field in ((column, field_name(column)) for column, _, _ in kpi):
        same = [column for column, _, _ in kpi if field_name(column) == field and column != name]
        if same:
            raise ConfigError(f"the KPIs '{name}' and '{same[0]}' would have one name, '{field}': rename a column")
    if versions is not None and versions not in settings:
        raise ConfigError(f"--versions={versions} is none of the --settings: {did_you_mean(versions, settings)}")
    return named


def _check_form(file: ArtifactPath, columns: Sequence[str], kpis: Sequence[str], settings: Sequence[str]) -> list[str]:
    """Raise MatbenchError where rows hold a value each of several KPIs; what may be so of *settings* is a sentence.

    Most of a column's cells name KPIs then, and none is empty: remarks such as ``max. load`` don't.
    """
    called = {name: name.lower().strip("_") for name in columns}  # InfluxDB has _field and _value
    value = next((name for name in kpis if called[name] in _OF_ANY), None)
    may_say = [name for name in columns if name not in kpis and (value is not None or called[name] in _OF_KPIS)]
    cells: dict[str, dict[str, None]] = {name: {} for name in may_say}
    partly = set[str]()
    for row in (row for _, row in rows(file) if may_say and not isinstance(row, str)):
        for name, of in cells.items():
            if not isinstance(cell := row.get(name), str):
                partly.add(name)
            elif len(of) < _MOST_KPIS:
                of[cell] = None
    doubts = []
    for name, of in cells.items():
        if called[name] in ("unit", "units") and len(of) > 1:
            said = f"'{name}' says in which unit each number in '{value or kpis[0]}' is ({some_of([*of], _NAMED)})"
            raise MatbenchError(f"{said}: write all numbers of a column in one unit")
        is_said = called[name] in _OF_KPIS and value is not None and called[value] in ("value", "values")
        are_named = name not in partly and 2 * sum(map(may_name_kpi, of)) > len(of)
        if len(of) > 1 and (is_said or are_named):
            several = f"of which KPI each number in '{value or kpis[0]}' is ({some_of([*of], _NAMED)})"
            pivot = "these can't be ranked together: pivot the table to a column for each"
            if name not in settings or called[name] in _OF_KPIS:
                raise MatbenchError(f"'{name}' says {several}, and {pivot}")
            doubts.append(f"{name}: if it says {several}, {pivot}")
    return doubts


def _opened(table: Path) -> ArtifactPath:
    if table.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise ConfigError(f"'{table}' is a spreadsheet's own format: save it as CSV, and import that")
    if not table.is_file():
        raise MatbenchError(f"'{table}' is no file")
    return TestDirectory(table.absolute(), BaseStore(parse_once=lambda *_: None), is_file=True)


def _reader(
    file: ArtifactPath, settings: Sequence[str], kpis: Sequence[tuple[str, str, str]], ways: WrittenTwoWays
) -> TableReader:
    """What reads the columns, by how all cells of the *kpis* are written; *ways* sees those of *settings*.

    Raises:
        MatbenchError: no cell of a KPI's column is a number.
    """
    cells: dict[str, dict[str, Scalar]] = {column: {} for column, _, _ in kpis}
    for row in (row for _, row in rows(file, settings, ways, settings) if not isinstance(row, str)):
        for name, of in cells.items():
            if (value := row.get(name)) is not None:
                of[_text(value)] = value
    units = {name: unit for name, _, unit in kpis if unit and _behind(cells[name]) == {unit}}
    thousands = [
        name
        for name, of in cells.items()
        if are_grouped({text.removesuffix(units.get(name, "")).rstrip() for text in (*of, *ways.pointed[name])})
    ]
    reader = TableReader(name=file.name, settings=settings, kpis=list(cells), units=units, thousands=thousands)
    for name, unit in units.items():
        _check_one_unit(name, unit, {text: reader.number(name, {name: value}) for text, value in cells[name].items()})
    for name, better, _ in kpis:
        if (texts := cells[name]) and not any(
            is_number(reader.number(name, {name: value})) for value in texts.values()
        ):
            behind = _behind(texts)
            way = f"; --kpi={name}:{better}:{min(behind)} reads numbers in that unit" if len(behind) == 1 else ""
            if len(behind) > 1:
                way = f", and there are {' and '.join(sorted(behind)[:3])}: write all in one unit"
            elif len({re.sub("[0-9.]", "", text) for text in texts if joined(text) != text}) > 1:
                way = ", and its numbers are written in several ways: write all in one"
            raise MatbenchError(f"the column '{name}' holds no number, but '{shortened(next(iter(texts)), 60)}'{way}")
    return reader


def _text(value: Scalar) -> str:
    return value.strip() if isinstance(value, str) else show(value)


def _check_one_unit(name: str, unit: str, numbers: Mapping[str, Scalar]) -> None:
    """Raise MatbenchError where numbers without the *unit* are far from those with it, as those in another one are."""
    known = {text: abs(value) for text, value in numbers.items() if is_number(value) and value}
    sides = [{text: one for text, one in known.items() if text.endswith(unit) is has} for has in (True, False)]
    if not all(sides):
        return
    with_unit, without = (statistics.median(side.values()) for side in sides)
    are_shares = unit == "%" and max(sides[1].values()) <= 1.0 < min(sides[0].values())
    if are_shares or not 1 / OF_ANOTHER_UNIT < with_unit / without < OF_ANOTHER_UNIT:
        examples = " and ".join(f"'{next(iter(side))}'" for side in sides)
        raise MatbenchError(f"the column '{name}' holds {examples}: is that one unit? Write all its numbers in one way")


OF_ANOTHER_UNIT = 20.0
"""So many times apart are numbers of a column, with its unit and without, that may be in two: 0.6 and 60 %."""


def _behind(texts: Iterable[str]) -> set[str]:
    """What is behind the numbers of cells, such as a unit."""
    number = rf"[-+]?[0-9][0-9.,{BLANKS}]*(?:[eE][-+]?[0-9]+)?"
    found = (re.fullmatch(rf"{number}\s*([^\s0-9.,{BLANKS}]+)", text) for text in texts)
    return {match[1] for match in found if match}


def _unread(
    file: ArtifactPath,
    columns: Sequence[str],
    reader: TableReader,
    kpis: Sequence[tuple[str, str, str]],
    time: str | None,
) -> list[str]:
    """What of the table is in no run, or odd: *columns* that nobody named, empty settings, *kpis* below 0.

    Raises:
        MatbenchError: no row can be read, such as where no cell of the column *time* is one.
    """
    settings = reader.settings
    failed = FailedRows(columns)
    left = [name for name in columns if name not in failed.read]
    said = [*_left_out(left, [name for name, _, _ in kpis])]
    times = left if time is None else []
    odd: dict[tuple[str, str, str], list[str]] = {}
    empty: dict[str, int] = {}
    marked: dict[str, str] = {}
    nothing = WordsForNothing(settings)
    total = 0
    bad: list[str] = []
    for number, row in rows(file, settings=settings):
        total += 1
        nothing.see(row)
        if isinstance(row, str):
            bad.append(f"row {number} {row}")
            continue
        try:
            moment_of(row.get(time or ""))
        except ValueError as error:
            bad.append(f"row {number} {error}")
            continue
        failed.see({name: value for name, value in row.items() if name in columns})
        times = [name for name in times if re.match(r"\d{4}-\d\d-\d\d", str(row.get(name)))]
        for name in settings:
            empty[name] = empty.get(name, 0) + (row.get(name) is None)
            if joined(text := _text(row.get(name))) != text:
                marked.setdefault(name, text)
        for name, better, _ in kpis:
            if not is_number(value := reader.number(name, row)):
                what = f"row {number} {'is empty' if value is None else f'has {shortened(repr(value), 60)}'}"
                odd.setdefault((name, "unknown", "it is no number"), []).append(what)
            elif better == "lower" and value < 0:
                odd.setdefault((name, "below 0", "lower is better"), []).append(f"row {number} has {value:g}")
    if bad and len(bad) == total:
        raise MatbenchError(f"no row can be read: {bad[0]}")
    said += [f"{name} holds times: --time={name} says when each run was, and so which is newer" for name in times[:1]]
    said += [f"{len(bad)} of {total} rows can't be read: {bad[0]}"] if bad else []
    said += [
        f"{name} is empty in {count} of {total} rows, which are points of their own"
        for name, count in empty.items()
        if 0 < count < total and name != "repeat"
    ]
    said += [f"{name}: '{text}' stays a text: of a setting no marks part thousands" for name, text in marked.items()]
    said += [nothing.said(name) for name, words in nothing.found.items() if words]
    said += failed.said()
    for (name, what, why), found in odd.items():
        said.append(f"{name}: {what} in {len(found)} of {total} rows, where {why}: {found[0]}")
    return said


def _left_out(columns: Sequence[str], kpis: Sequence[str]) -> Iterator[str]:
    if columns:
        yield f"left out, since no option names them: {some_of(columns, _MOST_COLUMNS)}"
    for name, beside in ((name, counted_with(name, columns)) for name in kpis):
        if beside:
            yield f"{name} is read without {some_of(beside, _NAMED)}: if each is a run, give each a row of its own"


def _doubts(column: str, better: str, unit: str) -> Iterator[str]:
    """What is odd about a KPI by its name, its direction and its unit."""
    if better in _RARE and re.fullmatch(_RARE[better], unit):
        yield f"{column}: in {unit}, {better} is seldom better: is it meant?"
    if said := other_unit(column, unit):
        yield f"{column}: its name says {said}, and --kpi {unit}, in which its numbers are shown: which is it?"


def _plain(stem: str) -> str:
    return re.sub(r"\W+", "_", stem, flags=re.ASCII).strip("_") or "table"


def _kpi(column: str, better: str, unit: str) -> str:
    said = {"name": column, "help": f"The column {column}", "better": better, "unit": unit}
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in said.items())
    field = json.dumps(field_name(column), ensure_ascii=False)
    return f"    field_kpi({field}, {arguments}),"
