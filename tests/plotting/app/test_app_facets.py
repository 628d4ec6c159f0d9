"""Selectors: counts under the other filters, values that keep their types, ids as short as they can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import filters
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import Entry, Matrix
from matrix_benchmarking.plotting.app import view
from matrix_benchmarking.plotting.app.sidebar import Facets, short_ids


def entry(settings: dict[str, Any], repeat: int = 0, **others: Any) -> Entry:
    return Entry(settings=settings, repeat=repeat, location=Path("x"), name="x", exit_code=0, **others)


def counts(facets: Facets, filter_text: str = "") -> dict[str, dict[str, int]]:
    found = facets.facets(filters.parse(filter_text))
    return {facet.name: {option.label: option.count for option in facet.options} for facet in found}


MATRIX = Matrix(
    [
        entry({"hw": "cpu", "vus": 1}),
        entry({"hw": "cpu", "vus": 2}),
        entry({"hw": "cpu", "vus": 2}, repeat=1),
        entry({"hw": "gpu", "vus": 2}),
        entry({"hw": "gpu", "vus": 4, "only": "here"}),
    ]
)


def test_each_setting_that_varies_is_a_selector_with_counts() -> None:
    assert counts(Facets(MATRIX)) == {
        "hw": {"cpu": 3, "gpu": 2},
        "vus": {"1": 1, "2": 3, "4": 1},
        "only": {"here": 1, "(not set)": 4},
    }


def test_a_filter_changes_the_counts_of_the_others_and_values_never_disappear() -> None:
    assert counts(Facets(MATRIX), "hw=gpu") == {
        "hw": {"cpu": 3, "gpu": 2},
        "vus": {"1": 0, "2": 1, "4": 1},
        "only": {"here": 1, "(not set)": 1},
    }


def test_versions_stand_in_their_order_and_those_without_a_place_last() -> None:
    versions = ["1.2", "1.10", "dev", "1.9"]
    places = {("str", version): place for place, version in enumerate(["1.2", "1.9", "1.10"])}
    facets = Facets(Matrix([entry({"version": version}) for version in versions]), {"version": places})
    assert list(counts(facets)["version"]) == ["1.2", "1.9", "1.10", "dev"]
    assert list(counts(facets, "version=dev")["version"].values()) == [1, 1, 1, 1]


def test_a_setting_that_is_the_same_everywhere_is_no_selector() -> None:
    facets = Facets(Matrix([entry({"a": 1, "b": 1}), entry({"a": 1, "b": 2})]))
    assert facets.varying == ["b"]
    assert facets.constant == {"a": 1}


def test_a_filter_on_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no test has a setting 'hv'"):
        MATRIX.check_values(filters.parse("hv=cpu"))


def test_a_text_that_reads_like_another_value_is_written_in_quotes() -> None:
    matrix = Matrix([entry({"a": value}) for value in (1, "1", 1.0, True, "true", None, "null", "x")])
    (facet,) = Facets(matrix).facets({})
    quoted = [option for option in facet.options if option.value.quoted]
    assert sorted(option.label for option in quoted) == ['"1"', '"null"', '"true"']
    assert all(len(matrix.selected({"a": (option.value,)})) == 1 for option in quoted)


def test_values_that_no_filter_can_tell_apart_are_one_option() -> None:
    (facet,) = Facets(Matrix([entry({"a": None}), entry({}), entry({"a": 1}), entry({"a": "1"})])).facets({})
    assert [(option.label, option.count) for option in facet.options] == [
        ("1", 2),
        ('"1"', 1),
        ("(not set) or null", 2),
    ]


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([1.0, 0.5]) | st.text(max_size=4)


@given(st.lists(SCALARS, min_size=2, max_size=8))
def test_toggling_a_value_selects_the_entries_that_have_it(values: list[Any]) -> None:
    matrix = Matrix([entry({"a": value}) for value in values])
    for facet in Facets(matrix).facets({}):
        for option in facet.options:
            toggled = view.View().with_filter("a", facet.toggled(option))
            selected = matrix.selected(view.read(view.write(toggled)).filters)
            assert {filters.cut(each.settings["a"]) for each in selected} == {option.value.text}
            assert len(selected) == option.count > 0


def test_toggling_a_chosen_value_lets_go_of_it() -> None:
    shown = next(one for one in Facets(MATRIX).facets(filters.parse("vus=2")) if one.name == "vus")
    assert [value.text for value in shown.toggled(shown.options[0])] == ["1", "2"]
    assert shown.toggled(shown.options[1]) == ()


def test_an_id_is_shortened_as_far_as_it_is_the_only_one() -> None:
    ids = ["12345678-aaaa", "12345678-aaab", "9abcdef0-0000"]
    matrix = Matrix([entry({}, test_uuid=identity) for identity in [*ids, ids[0]]])
    assert short_ids(matrix) == {ids[0]: "12345678-aaaa", ids[1]: "12345678-aaab", ids[2]: "9abcdef0"}


@pytest.mark.parametrize("text", ["hw=gpux", "hw=cpu:gpux", "repeat=77"])
def test_a_filter_value_that_nothing_has_is_an_error_beside_others_too(text: str) -> None:
    with pytest.raises(ConfigError, match=f"no test has {text[:2]}.*: (known|did you mean)"):
        MATRIX.check_values(filters.parse(text))
