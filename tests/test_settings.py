"""Settings files: cases in settings_cases.yaml, and properties."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import settings
from matrix_benchmarking.errors import SettingsError
from matrix_benchmarking.matrix import typed
from matrix_benchmarking.settings import check_settings, load_json, read_key_values
from matrix_benchmarking.store import NativeLayout
from matrix_benchmarking.yaml_file import load_yaml

CASES = yaml.safe_load(Path(__file__).with_name("settings_cases.yaml").read_text())
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_settings_case(case, tmp_path):
    (tmp_path / "settings.yaml").write_text(case["text"])
    if "error" in case:
        with pytest.raises(SettingsError, match=case["error"]):
            check_settings(NativeLayout().read_settings(tmp_path, tmp_path))
        return
    settings, repeat = check_settings(NativeLayout().read_settings(tmp_path, tmp_path))
    assert {name: typed(value) for name, value in settings.items()} == {
        name: typed(value) for name, value in case["settings"].items()
    }
    assert repeat == case.get("repeat", 0)


@given(st.dictionaries(st.text(min_size=1, max_size=200).filter(lambda name: name != "repeat"), SCALARS))
def test_what_yaml_dumps_comes_back_with_its_types(settings):
    loaded, _ = check_settings(load_yaml(yaml.safe_dump(settings)) or {})
    assert {name: typed(value) for name, value in loaded.items()} == {
        name: typed(value) for name, value in settings.items()
    }


@given(st.text())
def test_any_text_is_either_read_or_refused_with_a_sentence(text):
    try:
        loaded = load_yaml(text)
    except ValueError as error:
        assert str(error).startswith("not valid YAML")
    else:
        if isinstance(loaded, dict):
            try:
                check_settings(loaded)
            except SettingsError as error:
                assert str(error).startswith("settings: ")


WORDS = [
    *("1", "01", "1_000", "0x1f", "1.5", ".5", "1e3", "1.e3", "+1", "-", "---", "...", "-1", "~", "null", "yes", "off"),
    *(
        "true",
        "a",
        "cpu-1",
        "a/b",
        "2026-11-27",
        "1:30",
        "'q'",
        '"q"',
        "#x",
        "a#",
        "&a",
        "*a",
        "!t",
        "[1]",
        "{a: 1}",
        "|",
    ),
    *(
        ">",
        "%",
        "@",
        "a:",
        ": b",
        "<<",
        "é",
        "",
        " ",
        "?",
        "=",
        ".inf",
        ".nan",
        "9" * 30,
        "a" * 300,
        "\t",
        "\r",
        "\x85",
    ),
]
LINES = st.lists(
    st.builds(
        lambda indent, name, colon, words, end: f"{indent}{name}{colon}{' '.join(words)}{end}",
        st.sampled_from(["", "", "", " ", "- "]),
        st.sampled_from(["a", "b", "a-b", "_c", "y", "yes", "null", "1", "<<", "é", "---", "repeat"]),
        st.sampled_from([": ", ": ", ": ", ":", " : ", ":  "]),
        st.lists(st.sampled_from(WORDS), max_size=3),
        st.sampled_from(["\n", "\n", "\n", "\r\n", "", "\n\n", "\n  more\n", " # said\n"]),
    ),
    max_size=4,
)


@given(lines=LINES)
def test_lines_that_are_read_one_by_one_say_what_the_whole_file_says(lines: list[str]) -> None:
    content = "".join(lines).encode()

    def read(one_by_one: bool) -> object:
        with pytest.MonkeyPatch.context() as patch:
            if not one_by_one:
                patch.setattr(settings, "_setting_in", lambda line: None)
            try:
                found = settings.settings_in(content, "settings.yaml")
            except SettingsError as error:
                return str(error)
        return [(name, type(value), repr(value)) for name, value in found.items()]

    assert read(one_by_one=True) == read(one_by_one=False)


def test_key_value_lines_have_the_types_that_yaml_gives():
    text = "# comment\nvus=8\nrate = 1.5\nname=a b: c\nempty=\nurl=http://x/?a=b\nflag=true\n"
    assert read_key_values(text) == {
        "vus": 8,
        "rate": 1.5,
        "name": "a b: c",
        "empty": None,
        "url": "http://x/?a=b",
        "flag": True,
    }


def test_a_line_without_an_equals_sign_is_refused_by_number():
    with pytest.raises(SettingsError, match="line 2 is not of the form key=value: 'oops'"):
        read_key_values("a=1\noops\n")


def test_a_name_that_is_given_twice_is_refused_with_both_lines():
    with pytest.raises(SettingsError, match="line 4 gives 'vus' again, which line 1 gives already"):
        read_key_values("vus=8\n\nhw=l4\nvus = 8\n")


@pytest.mark.parametrize("text", ['{"vus": 1, "vus": 2}', '{"a": [{"vus": 1, "vus": 1}]}'])
def test_a_name_that_is_in_a_json_object_twice_is_refused(text):
    with pytest.raises(ValueError, match="not valid JSON: 'vus' is in one object twice"):
        load_json(text)


@pytest.mark.parametrize("text", ["", "{", b"\xff", '{"a": NaN}', "[" * 100_000])
def test_what_is_no_json_is_refused_with_a_sentence(text):
    with pytest.raises(ValueError, match="not valid JSON: "):
        load_json(text)
