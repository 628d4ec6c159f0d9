"""The table of entries is read back by pandas, from CSV and from Parquet."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.lts import check_table_file, write_table
from matrix_benchmarking.matrix import Entry, Matrix

MakeEntry = Callable[..., Entry]


def table(matrix: Matrix, name: str) -> pandas.DataFrame:
    stream = io.BytesIO()
    write_table(matrix.to_dataframe(), stream, Path(name))
    stream.seek(0)
    return pandas.read_parquet(stream) if name.endswith(".parquet") else pandas.read_csv(stream)


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "T.PARQUET".lower()])
def test_a_row_is_an_entry_with_settings_kpis_and_location(make_entry: MakeEntry, name: str) -> None:
    frame = table(Matrix([make_entry("x/run_0"), make_entry("x/run_1", repeat=1)]), name)
    assert list(frame["location"]) == ["x/run_0", "x/run_1"]
    assert list(frame["batch_size"]) == [32, 32]
    assert list(frame["throughput"]) == [4.0, 4.0]
    assert list(frame["repeat"]) == [0, 1]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([32, "auto"], ["32", "auto"]),
        ([True, 1], ["true", "1"]),
        ([True, "x"], ["true", "x"]),
        ([2**70, 1], [str(2**70), "1"]),
        ([True, None], [True, None]),
        (["a", None], ["a", None]),
        ([1, 2], [1, 2]),
    ],
)
def test_a_parquet_column_of_several_types_becomes_text(
    make_entry: MakeEntry, values: list[Any], expected: list[Any]
) -> None:
    entries = [make_entry(str(i), settings={"setting": value}) for i, value in enumerate(values)]
    column = table(Matrix(entries), "t.parquet")["setting"]
    assert [None if pandas.isna(value) else value for value in column] == expected


def test_a_setting_that_some_tests_lack_is_empty_there(make_entry: MakeEntry) -> None:
    entries = [make_entry("a", settings={"x": 1, "y": "t"}), make_entry("b", settings={"x": "one"})]
    for name in ("t.csv", "t.parquet"):
        frame = table(Matrix(entries), name)
        assert frame["y"][0] == "t"
        assert pandas.isna(frame["y"][1])


def test_a_file_name_that_is_not_utf8_is_written_with_backslashes(make_entry: MakeEntry) -> None:
    assert table(Matrix([make_entry("run_\udcff")]), "t.csv")["location"][0] == "run_\\udcff"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-1+1", "@SUM(A1)", "\t=1", "-"])
def test_text_that_a_spreadsheet_would_compute_is_text_in_a_csv(make_entry: MakeEntry, text: str) -> None:
    frame = table(Matrix([make_entry(text, settings={"x": text, text: 1})]), "t.csv")
    assert [frame["x"][0], frame["location"][0], list(frame.columns)[1]] == [f"'{text}"] * 3
    kept = table(Matrix([make_entry(text, settings={"x": text})]), "t.parquet")
    assert kept["x"][0] == text


def test_a_carriage_return_ends_no_row_of_a_csv(make_entry: MakeEntry) -> None:
    frame = table(
        Matrix([make_entry("a", settings={"x": "1\r=1+1"}), make_entry("b", settings={"x": "\r=1"})]), "t.csv"
    )
    assert list(frame["x"]) == ["1\n=1+1", "'\n=1"]


@pytest.mark.parametrize("number", [-5, -0.5, -1e-7, "-5", "+1.5", "-1e3"])
def test_a_negative_number_stays_a_number_in_a_csv(make_entry: MakeEntry, number: float | str) -> None:
    frame = table(Matrix([make_entry("a", settings={"x": number, "y": "-x"})]), "t.csv")
    assert (frame["x"][0], frame["y"][0]) == (float(number), "'-x")


@pytest.mark.parametrize("name", ["table.xlsx", "table", "csv"])
def test_an_ending_that_names_no_format_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' ends in neither"):
        check_table_file(Path(name))


def test_a_table_in_parquet_says_which_extra_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"needs pyarrow: pip install 'matrix-benchmarking\[parquet\]'"):
        check_table_file(Path("a.parquet"))
    check_table_file(Path("a.csv"))


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.CSV", "-"])
def test_endings_of_both_formats_and_standard_output_are_accepted(name: str) -> None:
    check_table_file(Path(name))
