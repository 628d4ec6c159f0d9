"""The address of a page: written and read again it says the same, and a person can write it by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import filters
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.filters import Value
from matrix_benchmarking.plotting.app import view
from matrix_benchmarking.plotting.app.view import View

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = TEXT.filter(lambda text: text == text.strip() and text)
VALUES = st.builds(Value, TEXT.map(str.strip), st.booleans()) | st.builds(Value, TEXT, st.just(True))
VIEWS = st.builds(
    View,
    show=TEXT,
    filters=st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=3).map(tuple), max_size=3),
    order=st.lists(NAMES, unique=True, max_size=3).map(tuple),
    cfg=st.dictionaries(NAMES, TEXT, max_size=3),
    run=TEXT,
    beside=TEXT,
    artifact=TEXT,
)


@given(VIEWS)
def test_what_is_written_is_read_again(shown: View) -> None:
    assert view.read(view.write(shown)) == shown


def test_an_address_is_short_and_can_be_read_by_people() -> None:
    shown = View(
        show="cost-analysis",
        filters=filters.parse("hw_type=cpu-1:cpu-2,vus=8"),
        order=("vus", "batch_size"),
        cfg={"minimum_vus": "21"},
        run="1a2b3c4d",
    )
    assert view.write(shown) == (
        "?show=cost-analysis&filters=hw_type=cpu-1:cpu-2,vus=8&order=vus,batch_size&cfg.minimum_vus=21&run=1a2b3c4d"
    )


def test_a_view_of_everything_has_no_query() -> None:
    assert view.write(View()) == "?"
    assert view.read("") == view.read("?") == View()


def test_a_plus_typed_by_hand_is_a_plus() -> None:
    assert view.read("?filters=image=a+b").filters == {"image": (Value("a+b"),)}


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("?shwo=runs", "unknown part 'shwo': did you mean 'show'"),
        ("?cfg.=1", "unknown part 'cfg.'"),
        ("?filters=vus", "filter 'vus' is not of the form"),
        ('?filters=a="b', "without a closing one"),
        ("?show=%ff", "can't be read"),
        ("?" + "&".join(["show=a"] * 300), "can't be read"),
    ],
)
def test_what_can_not_be_read_is_said(query: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence.replace("?", r"\?")):
        view.read(query)


def test_two_ways_to_write_the_same_are_the_same() -> None:
    assert view.same("?filters=a=1&show=x", "show=x&filters=a=1")
    assert not view.same("?show=x", "?show=y")
    assert not view.same("?nope=1", "?nope=2")


def test_steps_to_another_view_keep_the_rest() -> None:
    shown = View(show="runs", filters=filters.parse("vus=8"), cfg={"limit": "100"}, run="abc", artifact="x.json")
    assert shown.on_page("compare") == View(show="compare", filters=shown.filters, cfg=shown.cfg)
    assert shown.with_run("") == View(show="runs", filters=shown.filters, cfg=shown.cfg)
    assert shown.with_cfg("limit", None).cfg == {}
    assert shown.with_filter("vus", ()).filters == {}
