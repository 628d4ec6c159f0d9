"""Filters read what they write, and tell types apart where quotes ask for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import filters
from matrix_benchmarking.errors import ConfigError, shortened
from matrix_benchmarking.filters import Scalar

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(',:="\\ \n\t'))
SCALARS = TEXT | st.booleans() | st.none() | st.integers() | st.floats(allow_nan=False)
NO_BLANKS = st.characters(exclude_categories=["Cs", "Zs", "Cc", "Zl", "Zp"])
NAMES = st.text(NO_BLANKS, min_size=1)


def escaped(name: str) -> str:
    return "".join("\\" + char if char in ',:="\\' else char for char in name)


def selects(text: str, **settings: Scalar) -> bool:
    return filters.matches(filters.parse(text), settings)


@given(NAMES, st.lists(SCALARS, min_size=1, max_size=3))
def test_what_write_gives_parse_reads_and_it_matches(name: str, values: list[Scalar]) -> None:
    text = f"{escaped(name)}={':'.join(filters.write(value) for value in values)}"
    parsed = filters.parse(text)
    assert set(parsed) == {name}
    for value in values:
        assert filters.matches(parsed, {name: value})


@given(TEXT, TEXT)
def test_text_matches_only_itself(wanted: str, there: str) -> None:
    assert selects(f"name={filters.write(wanted)}", name=there) == (wanted == there)


@given(st.text())
def test_any_text_is_a_filter_or_a_sentence(text: str) -> None:
    try:
        filters.parse(text)
    except ConfigError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "setting", "expected"),
    [
        ("a=32", 32, True),
        ("a=32", "32", True),
        ("a=32", 32.0, False),
        ("a=32.0", 32.0, True),
        ('a="32"', 32, False),
        ('a="32"', "32", True),
        ("a=true", True, True),
        ("a=true", 1, False),
        ("a=1", True, False),
        ("a=null", None, True),
        ("a=", "", True),
        ("a=x:y", "y", True),
        (r"a=x\:y", "y", False),
        (r"a=x\:y", "x:y", True),
        (r"a=x\,y", "x,y", True),
        ('a="x,y:z=1"', "x,y:z=1", True),
        ("a= x ", "x", True),
        ("a=x,a=y", "y", True),
    ],
)
def test_one_setting(text: str, setting: Scalar, expected: bool) -> None:
    assert selects(text, a=setting) is expected


def test_every_name_has_to_match() -> None:
    assert selects("a=1,b=2", a=1, b=2)
    assert not selects("a=1,b=2", a=1, b=3)


def test_an_absent_setting_is_null() -> None:
    assert selects("a=null", b=1)
    assert not selects("a=1", b=1)


def test_repeats_can_be_selected() -> None:
    assert filters.matches(filters.parse("repeat=1"), {}, repeat=1)
    assert not filters.matches(filters.parse("repeat=1"), {}, repeat=0)


def test_an_empty_filter_selects_everything() -> None:
    assert filters.parse("  ") == {}
    assert filters.matches({}, {"a": 1})


@pytest.mark.parametrize("text", ["a", "=1", "a=1=2", "a=1,", ",", 'a="x'])
def test_what_is_no_filter_is_a_sentence(text: str) -> None:
    with pytest.raises(ConfigError, match="filter"):
        filters.parse(text)


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"no test has a setting 'batchsize' .* did you mean 'batch_size'"):
        filters.check_names(filters.parse("batchsize=1"), ["batch_size", "vus"])


@pytest.mark.parametrize("value", ["a ", " a", "a  b", "a\tb", "\u00a0a", " ", "a" * 300 + " "])
def test_a_text_that_differs_from_another_one_in_blanks_only_is_shown_in_quotes(value: str) -> None:
    assert filters.show(value) == f'"{shortened(value)}"'
    for text in (filters.write(value), filters.show(value)):
        assert selects(f"name={text}", name=value)
        assert not selects(f"name={text}", name=" ".join(value.split()))
    told_apart = ("a", "a b", "", "true", True, None, "null", "True")
    assert [filters.show(each) for each in told_apart] == [
        *("a", "a b", '""', '"true"', "true", "null", '"null"', "True")
    ]


def test_a_long_value_is_cut_for_people_and_still_tells_itself_from_others() -> None:
    one, other = "a" * 300_000 + "b", "a" * 300_000 + "c"
    assert filters.show("x" * 200) == "x" * 200
    assert filters.show(one).startswith("a" * 100 + "… (300,001 characters, ")
    assert len(filters.show(one)) < 200
    assert filters.exact(one) == one
    for text in (filters.write(one), f"name={one}".removeprefix("name=")):
        assert selects(f"name={text}", name=one)
        assert not selects(f"name={text}", name=other)


def test_long_lists_of_names_are_cut() -> None:
    names = [f"{number:05}{'n' * 1000}" for number in range(1000)]
    with pytest.raises(ConfigError, match=r"known: 00000n.* and 960 more$") as raised:
        filters.check_names(filters.parse("batch=1"), names)
    assert len(str(raised.value)) < 10_000


def test_what_turns_the_direction_of_writing_is_shown() -> None:
    assert filters.show("a\u202eb\x1b") == "a\\u202eb\\x1b"
    assert filters.show("\U0001f468\u200d\U0001f4bb") == "\U0001f468\u200d\U0001f4bb"
