"""Templates: settings in braces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.benchmark import file, schema
from matrix_benchmarking.errors import ConfigError


def test_a_text_that_is_one_setting_keeps_its_type():
    assert file.fill("{vus}", {"vus": 8}) == 8
    assert file.fill("{vus}", {"vus": "8"}) == "8"


def test_a_setting_inside_a_text_is_written_as_in_yaml():
    assert file.fill("--fast={fast} --size {size}", {"fast": True, "size": None}) == "--fast=true --size null"


def test_words_of_a_command_are_always_text():
    assert file.fill(["serve", "--port", "{port}"], {"port": 80}) == ["serve", "--port", "80"]


def test_a_setting_is_never_filled_in_twice():
    assert file.fill("{a}", {"a": "{b}", "b": 1}) == "{b}"
    assert file.fill("-{a}-", {"a": "{b}", "b": 1}) == "-{b}-"


def test_double_braces_are_braces():
    assert file.fill('{{"vus": {vus}}}', {"vus": 3}) == '{"vus": 3}'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{vsu}", "names a setting 'vsu' that the point doesn't have: did you mean 'vus'"),
        ("awk '{print $1}'", "write {{ and }} for braces"),
        ("a } b", "has a single '}'"),
        ("a { b", "has a single '{'"),
    ],
)
def test_a_wrong_template_is_a_sentence(text, sentence):
    with pytest.raises(ConfigError, match=r"point doesn't have|single") as caught:
        file.fill(text, {"vus": 1})
    assert sentence in str(caught.value)


def test_names_that_are_kept_are_left_for_later():
    filled = file.fill(["--port", "{port}", "{vus}"], {"vus": 2}, keep=("port",))
    assert filled == ["--port", "{port}", "2"]


def test_a_model_gets_numbers_from_settings_and_refuses_text_in_their_place():
    load = schema.Load(inputs="texts.txt", duration_s="{seconds}", task="embedding", model="m")
    assert file.fill_model(load, {"seconds": 2.5, "vus": 4}, "load").vus == 4
    with pytest.raises(ConfigError, match=r"load\.vus: expected .* not the text 'four'"):
        file.fill_model(load, {"seconds": 2.5, "vus": "four"}, "load")


@given(st.text())
def test_any_text_with_its_braces_doubled_comes_back(text):
    assert file.fill(text.replace("{", "{{").replace("}", "}}"), {}) == text
