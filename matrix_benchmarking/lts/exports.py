"""Files of a whole matrix: all entries as JSON, KPIs as OpenMetrics text, a table in Parquet or CSV.

OpenMetrics: one gauge family a KPI, whose name ends in its unit, one sample a test. A character that it forbids in
names becomes ``_``; a KPI that starts with a digit gets ``_`` in front (``1B_cost`` is ``_1B_cost_USD``), and so does a
label. A label that starts with ``__``, which is reserved, gets ``label`` in front. Two names that become the same are
an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from .. import filters
from ..errors import ConfigError, OutputError, WorkloadError, failing, needing
from ..files import atomic_write
from ..jsonable import to_jsonable
from ..kpi import KPIDefinition
from ..matrix import Entry, Matrix
from ..workload import Workload
from .payloads import kpi_labels

if TYPE_CHECKING:
    import pandas

UUID_LABEL = "test_uuid"
STDOUT = Path("-")
_UNITS = {
    "s": "seconds", "ms": "milliseconds", "µs": "microseconds", "us": "microseconds", "ns": "nanoseconds", "h": "hours",
    "B": "bytes", "KB": "kilobytes", "MB": "megabytes", "GB": "gigabytes", "TB": "terabytes",
    "W": "watts", "J": "joules", "%": "percent", "×": "ratio", "x": "ratio",
}  # fmt: skip
_FORMULA = re.compile(r"[=+\-@\t\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def write_matrix(matrix: Matrix, stream: IO[bytes], *, pretty: bool = False) -> None:
    """Write a JSON array of ``{settings, repeat, location, exit_code, results}``; one's results are held at a time."""
    encode = msgspec.json.Encoder().encode
    separator = b"[\n"
    for entry in matrix:
        try:
            row = {
                "settings": dict(entry.settings),
                "repeat": entry.repeat,
                "location": entry.name,
                "exit_code": entry.exit_code,
                "results": to_jsonable(entry.results),
            }
        except TypeError as error:
            raise OutputError(f"{entry.name}: the results can't be written as JSON: {error}") from error
        content = encode(row)
        stream.write(separator + (msgspec.json.format(content, indent=2) if pretty else content))
        separator = b",\n"
    stream.write(b"[]\n" if separator == b"[\n" else b"\n]\n")


def write_openmetrics(workload: Workload, matrix: Matrix, stream: IO[bytes]) -> list[str]:
    """Write the KPIs of all entries whose values count; gives a sentence for each test that was left out."""
    families = _names(workload.kpis, lambda name: metric_name(name, workload.kpis[name].unit), "KPIs")
    samples: dict[str, list[str]] = {name: [] for name in workload.kpis}
    left_out = []
    for entry in matrix:
        if entry.failed or entry.implausible:
            why = "failed" if entry.failed else "has values that can't be"
            left_out.append(f"{entry.name}: {why}, and so left out of the metrics")
            continue
        try:
            labels = kpi_labels(workload, entry, entry.lts)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            left_out.append(f"{entry.name}: left out of the metrics, it has no labels: {error}")
            continue
        label_text = _labels(labels, entry)
        timestamp = "" if entry.time_us is None else f" {entry.time_us / 1e6:.3f}"  # in seconds
        for name in samples.keys() & entry.kpis.keys():
            samples[name].append(f"{label_text} {entry.kpis[name]!r}{timestamp}\n")
    for name, definition in workload.kpis.items():
        _write_family(stream, families[name], definition, samples[name])
    stream.write(b"# EOF\n")
    return left_out


def write_reports(workload: Workload, matrix: Matrix, directory: Path) -> tuple[int, list[str]]:
    """Write a YAML file for each document in the workload's exchange format: how many, and what was left out, and why.

    Files are named by the run's id. Raises ConfigError: the workload has no such format; OutputError: a file can't be
    written.
    """
    import yaml

    if workload.exchange is None:
        raise ConfigError(f"workload '{workload.name}' has no format of reports that other tools read")
    written, left_out = 0, []
    with failing(f"{directory} can't be written", OutputError):
        directory.mkdir(parents=True, exist_ok=True)
        for entry in matrix:
            if entry.failed or entry.implausible:
                left_out.append(
                    f"{entry.name}: no report, since it {'failed' if entry.failed else 'holds impossible values'}"
                )
                continue
            documents = workload.exchange(entry.lts)
            for name, document in documents.items():
                text = yaml.safe_dump(to_jsonable(document), sort_keys=False, allow_unicode=True)
                with atomic_write(directory / f"{entry.test_uuid}{name}.yaml") as stream:
                    stream.write(text.encode())
                written += 1
            if not documents:
                left_out.append(f"{entry.name}: no report, since it has nothing that the format holds")
    return written, left_out


def metric_name(name: str, unit: str = "") -> str:
    """The name of a KPI in OpenMetrics, which ends in its unit."""
    allowed = re.sub(r"[^a-zA-Z0-9_:]", "_", name)
    allowed = allowed if re.match(r"[a-zA-Z_:]", allowed) else f"_{allowed}"
    ending = unit_name(unit)
    return allowed if not ending or f"_{allowed}".endswith(f"_{ending}") else f"{allowed}_{ending}"


def unit_name(unit: str) -> str:
    """A KPI's unit in OpenMetrics: ``ms`` is milliseconds, ``requests/s`` requests_per_second; empty for none."""
    what, *per = [part.strip() for part in unit.split("/")]
    words = ["" if per and what == "1" else _UNITS.get(what, what)]
    words += [_UNITS.get(part, part).removesuffix("s") for part in per]
    return re.sub(r"[^a-zA-Z0-9]+", "_", "_per_".join(words)).strip("_")


def label_name(name: str) -> str:
    """The name of a label in OpenMetrics."""
    allowed = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    if allowed.startswith("__"):
        return f"label{allowed}"
    return allowed if re.match(r"[a-zA-Z_]", allowed) else f"_{allowed}"


def escape(text: str) -> str:
    """*text* inside the double quotes of a label value, or in a HELP line."""
    readable = text.encode("utf-8", "backslashreplace").decode()
    return readable.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _write_family(stream: IO[bytes], name: str, definition: KPIDefinition, samples: Iterable[str]) -> None:
    unit = f" ({definition.unit})" if definition.unit else ""
    ending = unit_name(definition.unit)
    line = f"# UNIT {name} {ending}\n" if ending and name != ending else ""
    stream.write(f"# TYPE {name} gauge\n{line}# HELP {name} {escape(definition.help + unit)}\n".encode())
    for sample in samples:
        stream.write(f"{name}{sample}".encode())


def _labels(labels: Mapping[str, object], entry: Entry) -> str:
    """The labels in braces. What is unknown, or no single value, is left out."""
    scalars = {k: v for k, v in labels.items() if isinstance(v, (str, int, float, bool)) and k != UUID_LABEL}
    names = _names([*scalars, UUID_LABEL], label_name, "labels")
    values = {**scalars, UUID_LABEL: entry.test_uuid or ""}
    return "{" + ",".join(f'{names[k]}="{escape(filters.exact(v))}"' for k, v in values.items()) + "}"


def _names(names: Iterable[str], mapping: Callable[[str], str], what: str) -> dict[str, str]:
    """Each of *names* in OpenMetrics."""
    taken: dict[str, str] = {}
    for name in names:
        other = taken.setdefault(mapping(name), name)
        if other != name:
            both = f"the {what} '{other}' and '{name}'"
            raise WorkloadError(f"{both} are both '{mapping(name)}' in OpenMetrics: rename one")
    return {name: new for new, name in taken.items()}


def check_table_file(path: Path) -> None:
    """Raise ConfigError if the ending of *path* names no format, or one that needs what is not installed."""
    if path != STDOUT and path.suffix.lower() not in (".csv", ".parquet"):
        raise ConfigError(f"a table is written as .parquet or .csv, and '{path.name}' ends in neither")
    if path.suffix.lower() == ".parquet":
        with needing("a table in Parquet", "parquet"):
            import pyarrow  # noqa: F401


def write_table(frame: pandas.DataFrame, stream: IO[bytes], path: Path) -> None:
    """Write the table in the format that the ending of *path* names; CSV to standard output.

    In Parquet a setting of several types (``32`` and ``"auto"``) is a column of text. In CSV, text that a spreadsheet
    would take for a formula has a ``'`` before it.
    """
    if path.suffix.lower() == ".parquet":
        _one_type_a_column(frame).to_parquet(stream, index=False)
    else:
        for name in frame.select_dtypes(exclude=["number", "bool"]).columns:
            frame[name] = frame[name].map(_no_formula)
        frame.columns = frame.columns.map(_no_formula)
        stream.write(frame.to_csv(index=False, lineterminator="\n").encode())


def _no_formula(value: object) -> object:
    """*value*, harmless for a spreadsheet; ``\\r`` alone, which readers take for the end of a row, is ``\\n``."""
    if not isinstance(value, str):
        return value
    value = value.replace("\r", "\n")
    return f"'{value}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else value


def _one_type_a_column(frame: pandas.DataFrame) -> pandas.DataFrame:
    import pyarrow

    for name in frame.columns:
        if frame[name].dtype != object:
            continue
        known = frame[name].dropna()
        try:
            one_type = len({type(value) for value in known}) <= 1
            pyarrow.array(known, from_pandas=True)
        except (pyarrow.ArrowException, OverflowError):
            one_type = False
        if not one_type:
            frame[name] = frame[name].map(filters.exact, na_action="ignore")
    return frame
