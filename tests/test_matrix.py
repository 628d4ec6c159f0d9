"""The matrix keeps types and repeats, and selects by settings."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import filters
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import NOT_SET, Entry, Matrix, Problem, order, typed

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5, "1", "a"])
SETTINGS = st.dictionaries(st.sampled_from("abc"), SCALARS)
ONES: list[Any] = [1, "1", 1.0, True]


def entry(settings: dict[str, Any], repeat: int = 0, **attributes: Any) -> Entry:
    name = f"run_{settings}_{repeat}"
    known = {"location": Path(name), "name": name, "exit_code": 0, **attributes}
    return Entry(settings=settings, repeat=repeat, **known)


@pytest.fixture
def ones() -> Matrix:
    return Matrix([entry({"a": value}) for value in ONES])


def test_numbers_in_texts_are_in_order_by_size() -> None:
    assert sorted(["2.10.0", "2.8.0", "b", "2.8.0-rc1", 3, "a10", "a9"], key=order) == [
        *(3, "2.8.0", "2.8.0-rc1", "2.10.0", "a9", "a10", "b")
    ]


def test_one_in_four_types_is_four_settings(ones: Matrix) -> None:
    assert sorted(typed(value) for value in ones.settings["a"]) == sorted(typed(value) for value in ONES)
    assert ones.variables() == ones.settings
    for value in ONES:
        (record,) = ones.all_records({"a": value})
        assert typed(record.settings["a"]) == typed(value)


@given(st.lists(SETTINGS, max_size=8))
def test_nothing_is_dropped_and_each_entry_is_found(
    all_settings: list[dict[str, Any]],
) -> None:
    matrix = Matrix([entry(settings, repeat) for repeat, settings in enumerate(all_settings)])
    assert matrix.count_records() == len(all_settings)
    for one in matrix:
        assert one in list(matrix.all_records(one.settings))


@given(st.lists(SETTINGS, min_size=1, max_size=8))
def test_the_values_of_a_setting_divide_the_matrix(all_settings: list[dict[str, Any]]) -> None:
    matrix = Matrix([entry(settings, repeat) for repeat, settings in enumerate(all_settings)])
    for name, values in matrix.settings.items():
        pairs = [(name, value) for value in values]
        assert matrix.count_records({}, [pairs]) == len(matrix)


def test_records_come_in_the_order_of_the_lists_and_repeats_together() -> None:
    entries = [entry({"a": a, "b": b}, repeat) for repeat in (1, 0) for a in (1, 2) for b in ("x", "y")]
    records = Matrix(entries).all_records({}, [[("b", "y"), ("b", "x")], [("a", 1), ("a", 2)]])
    assert [(e.settings["b"], e.settings["a"], e.repeat) for e in records] == [
        ("y", 1, 0), ("y", 1, 1), ("y", 2, 0), ("y", 2, 1), ("x", 1, 0), ("x", 1, 1), ("x", 2, 0), ("x", 2, 1)
    ]  # fmt: skip


def test_a_setting_that_some_entries_lack_varies() -> None:
    matrix = Matrix([entry({"a": 1}), entry({"a": 1, "b": 2})])
    assert matrix.variables() == {"b": [2, NOT_SET]}


def test_repeat_is_never_a_variable() -> None:
    assert Matrix([entry({"a": 1}, 0), entry({"a": 1}, 1)]).variables() == {}


def test_variables_of_a_selection() -> None:
    matrix = Matrix([entry({"a": 1, "b": 1}), entry({"a": 2, "b": 1}), entry({"a": 2, "b": 2})])
    assert matrix.variables({"a": 2}) == {"b": [1, 2]}


def test_numbers_are_ordered_by_size_and_before_text() -> None:
    assert Matrix([entry({"a": value}) for value in (10, "x", 9, 9.5)]).settings["a"] == [9, 9.5, 10, "x"]


def test_an_entry_is_named_by_what_varies() -> None:
    one = entry({"a": True, "b": "x", "c": None})
    assert one.get_name(["a", "c", "absent"]) == "a=true, c=null"
    assert one.get_name([]) == one.name


@pytest.mark.parametrize(
    ("exit_code", "finished", "failed"),
    [(0, True, False), (None, True, False), (1, True, True), (None, False, True)],
)
def test_what_failed_means(exit_code: int | None, finished: bool, failed: bool) -> None:
    assert entry({}, exit_code=exit_code, finished=finished).failed is failed


def test_a_problem_names_its_file() -> None:
    assert str(Problem("is empty", "a/b.json")) == "a/b.json: is empty"
    assert str(Problem("odd")) == "odd"


class TestFiltered:
    """Filters select finished and unfinished tests."""

    matrix = Matrix([entry({"a": 1}), entry({"a": 2})], unfinished=[entry({"a": 3}, finished=False)])

    def test_they_select(self) -> None:
        assert [e.settings["a"] for e in self.matrix.filtered(filters.parse("a=2:3"))] == [2]
        assert len(self.matrix.filtered(filters.parse("a=2:3")).unfinished) == 1

    def test_a_run_whose_settings_are_lost_is_not_filtered_out_in_silence(self) -> None:
        lost = [
            entry(settings, finished=False, name=name, problems=(Problem(reason),))
            for name, settings, reason in (
                ("lost", {}, "has exit_code and no settings.yaml"),
                ("elsewhere", {"b": 9}, "has exit_code and no settings.yaml"),
                ("interrupted", {"b": 1}, "did not finish: there is no exit code"),
            )
        ]
        matrix = Matrix([entry({"a": 1, "b": 1})], unfinished=lost)
        selected = matrix.filtered(filters.parse("a=1,b=1"))
        assert (len(selected), selected.unfinished) == (1, [])
        assert selected.notes == ["whether the filter selects lost is not known: their settings can't be read"]

    def test_no_filter_is_the_whole(self) -> None:
        assert self.matrix.filtered({}) is self.matrix

    def test_an_unknown_setting_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match="no test has a setting 'b'"):
            self.matrix.filtered(filters.parse("b=1"))

    def test_nothing_selected_says_what_is_there(self) -> None:
        with pytest.raises(ConfigError, match=r"no test matches the filter a=7 \(there: 1, 2, 3\)"):
            self.matrix.filtered(filters.parse("a=7"))


def test_the_table_has_settings_kpis_and_location() -> None:
    other = entry({"b": "x"}, kpis={"cost": 1.5}, exit_code=None)
    frame = Matrix([entry({"a": 1}, kpis={"speed": 2.5}), other]).to_dataframe()
    assert list(frame.columns) == ["a", "b", "repeat", "speed", "cost", "exit_code", "test_uuid", "location"]
    assert frame["speed"][0] == 2.5
    assert frame["exit_code"].isna().tolist() == [False, True]


@pytest.mark.parametrize("missing", [entry({"a": 1}), entry({"b": None})], ids=["without", "null"])
def test_a_whole_number_stays_one_where_a_run_lacks_it(missing: Entry) -> None:
    large = 2**53 + 1
    frame = Matrix([entry({"b": 8, "c": large, "d": 8.0}), missing]).to_dataframe()
    assert frame[["b", "c", "d"]].to_csv(index=False).splitlines()[1:] == [f"8,{large},8.0", ",,"]


@pytest.mark.parametrize("value", [2**63, 2**70, -(2**64), True])
def test_a_table_holds_what_no_column_of_whole_numbers_does(value: int) -> None:
    assert Matrix([entry({"a": value}), entry({"b": 1})]).to_dataframe()["a"].tolist()[0] == value


def test_a_series_inside_the_entries_is_a_table_of_its_points() -> None:
    curve = [types.SimpleNamespace(clients=2, speed=7.5), {"clients": 4, "speed": 9.0}]
    loads: list[Any] = [lambda: types.SimpleNamespace(results=types.SimpleNamespace(curve=curve))]
    loads += [lambda: types.SimpleNamespace(results={"curve": curve[:1]}), lambda: types.SimpleNamespace(results={})]
    entries = [entry({"a": at}, kpis={"speed": 2.5}, load_lts=load) for at, load in enumerate(loads)]
    frame = Matrix(entries).to_dataframe(series="curve")
    rows = frame[["a", "curve_clients", "curve_speed", "speed"]].values.tolist()
    assert rows == [[0, 2, 7.5, 2.5], [0, 4, 9.0, 2.5], [1, 2, 7.5, 2.5]]


def test_an_empty_matrix_has_an_empty_table() -> None:
    assert len(Matrix([]).to_dataframe()) == 0


def test_a_setting_with_the_name_of_a_kpi_has_a_column_of_its_own() -> None:
    frame = Matrix([entry({"speed": 3, "vus": 1}, kpis={"speed": 2.5})]).to_dataframe()
    assert frame.loc[0, ["speed", "setting_speed", "vus"]].tolist() == [2.5, 3, 1]
