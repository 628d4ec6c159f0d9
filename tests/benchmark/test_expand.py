"""Expansion: cases in expand_cases.yaml, the matrix that nobody means, and the directory of each point."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking import filters
from matrix_benchmarking.analyze.verdict.sides import IN_TURN
from matrix_benchmarking.benchmark import expand
from matrix_benchmarking.benchmark.file import read
from matrix_benchmarking.benchmark.run_directory import Point
from matrix_benchmarking.errors import ConfigError, MatbenchError
from matrix_benchmarking.matrix import typed

CASES = yaml.safe_load(Path(__file__).with_name("expand_cases.yaml").read_text())


def _expand(tmp_path, case):
    content = {"common_settings": case.get("common_settings", {}), "expe": case["expe"]}
    path = tmp_path / "benchmark.yaml"
    # As the file has it, so that dates are read as a user would write them.
    path.write_text(yaml.safe_dump(content, sort_keys=False).replace("datetime.date", ""))
    wanted = filters.parse(case.get("filters", ""))
    return expand.expand(read(path), wanted, case.get("experiments", ()))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_file_gives_its_points(tmp_path, case):
    if "error" in case:
        with pytest.raises(MatbenchError) as caught:
            _expand(tmp_path, case)
        assert case["error"] in str(caught.value)
        return
    expansion = _expand(tmp_path, case)
    points = [(p.experiment, {n: typed(v) for n, v in p.settings.items()}, p.repeat) for p in expansion.points]
    wanted = [(name, {n: typed(v) for n, v in s.items()}, repeat) for name, s, repeat in case.get("points", [])]
    assert points == wanted
    searches = [[c.experiment, dict(c.settings), c.range.start, c.range.max] for c in expansion.searches]
    assert searches == case.get("searches", [])
    assert len(expansion.notes) == case.get("notes", 0)


def test_ten_million_points_are_refused_before_they_are_made(tmp_path):
    values = list(range(215))
    case = {"expe": {"cpu": {"a": values, "b": values, "c": values}}}
    with pytest.raises(MatbenchError, match=r"expe\.cpu has 9,938,375 points \(215 of a × 215 of b × 215 of c"):
        _expand(tmp_path, case)


@pytest.mark.parametrize(
    ("extra", "points"),
    [
        ({"a": list(range(500))}, "1,002"),  # repeated as often as the experiment
        ({"a": list(range(333)), "repeat": 3}, "1,001"),
        ({"a": [1, 2], "b": list(range(250))}, "1,002"),
    ],
)
def test_additional_points_count_with_their_repeats(tmp_path, monkeypatch, extra, points):
    monkeypatch.setattr(expand, "MOST_POINTS", 1000)
    with pytest.raises(MatbenchError, match=rf"expe\.cpu has {points} points \(repeat 2, and those of extra\)"):
        _expand(tmp_path, {"expe": {"cpu": {"a": 1, "repeat": 2, "extra": [extra]}}})


def test_as_many_points_as_are_taken_for_meant_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr(expand, "MOST_POINTS", 8)
    case = {"expe": {"cpu": {"a": 1, "repeat": 2, "extra": [{"a": [2, 3, 4]}]}}}
    assert len(_expand(tmp_path, case).points) == 8
    with pytest.raises(MatbenchError, match="9 points"):
        _expand(tmp_path, {"expe": {"cpu": {"a": list(range(9))}}})


def test_a_huge_repeat_is_refused_too(tmp_path):
    with pytest.raises(MatbenchError, match="10,000,000 points"):
        _expand(tmp_path, {"expe": {"cpu": {"a": 1, "repeat": 10_000_000}}})


def test_the_advice_to_measure_two_sides_in_turn_names_a_key_that_a_file_has(tmp_path):
    key, repeats = re.search(r"'(\w+): (\d)'", IN_TURN).groups()
    expansion = _expand(tmp_path, {"expe": {"both": {"version": ["1.0.0", "1.1.0"], key: int(repeats)}}})
    assert sorted(point.repeat for point in expansion.points) == [0, 0, 1, 1, 2, 2]


def _point(repeat=0, **settings):
    return Point("cpu", settings, repeat)


def test_by_default_a_path_names_what_varies():
    points = [_point(image=image, vus=vus, task="t") for image in "ab" for vus in (1, 2)]
    template = expand.default_template([point.settings for point in points])
    assert str(expand.directory(template, points[0])) == "cpu/image_a/vus_1__repeat_0"


def test_two_points_of_one_directory_are_refused_with_the_setting_to_add():
    with pytest.raises(ConfigError, match=r"add \{image\} to it"):
        expand.check_distinct("{vus}", [_point(image="a", vus=1), _point(image="b", vus=1)])


def test_values_that_only_look_alike_collide_and_are_refused():
    with pytest.raises(ConfigError, match=r"vus 1 and '1' give two points the directory '1__0': write one otherwise"):
        expand.check_distinct("{vus}__{repeat}", [_point(vus=1), _point(vus="1")])


@pytest.mark.parametrize("template", ["/tmp/{vus}", "../{vus}", ".hidden/{vus}", "a/../../{vus}"])
def test_a_template_that_leaves_the_results_directory_is_refused(template):
    with pytest.raises(ConfigError, match="no directory inside"):
        expand.directory(template, _point(vus=1))


def test_a_template_with_an_unknown_setting_is_refused():
    with pytest.raises(ConfigError, match="did you mean 'image'"):
        expand.directory("{imgae}", _point(image="a"))


@given(st.text())
def test_no_value_of_a_setting_leads_out_of_the_results_directory(value):
    path = expand.directory("x/{model}", _point(model=value))
    assert len(path.parts) == 2
    assert path.parts[1] not in (".", "..")
    assert not path.parts[1].startswith(".")
    assert len(path.parts[1].encode()) <= 255
