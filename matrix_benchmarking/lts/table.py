"""The table of all entries (settings, KPIs, location) as a Parquet or CSV file, for a notebook."""

from __future__ import annotations

import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from .. import filters
from ..errors import ConfigError, needing
from ..matrix import Matrix

if TYPE_CHECKING:
    import pandas

STDOUT = Path("-")
_FORMULA = re.compile(r"[=+\-@\t\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def check_table_file(path: Path) -> None:
    """Raise ConfigError if the ending of *path* names no format, or one that needs what is not installed."""
    if path != STDOUT and path.suffix.lower() not in (".csv", ".parquet"):
        raise ConfigError(f"a table is written as .parquet or .csv, and '{path.name}' ends in neither")
    if path.suffix.lower() == ".parquet":
        with needing("a table in Parquet", "parquet"):
            import pyarrow  # noqa: F401


def write_table(matrix: Matrix, stream: IO[bytes], path: Path) -> None:
    """Write the table in the format that the ending of *path* names; CSV to standard output.

    A Parquet column has one type: a setting whose values are of several types (``32`` and ``"auto"``)
    becomes a column of text. In CSV, text that a spreadsheet would take for a formula has a ``'`` before it.
    """
    frame = matrix.to_dataframe()
    if path.suffix.lower() == ".parquet":
        _one_type_a_column(frame).to_parquet(stream, index=False)
    else:
        for name in frame.select_dtypes(exclude=["number", "bool"]).columns:
            frame[name] = frame[name].map(_no_formula)
        frame.columns = frame.columns.map(_no_formula)
        stream.write(frame.to_csv(index=False, lineterminator="\n").encode())


def _no_formula(value: Any) -> Any:
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
