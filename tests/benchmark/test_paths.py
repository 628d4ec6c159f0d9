"""Test directories of points: inside the results directory, and different for each point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matrix_benchmarking.benchmark import expand
from matrix_benchmarking.benchmark.expand import Point
from matrix_benchmarking.errors import ConfigError


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
    with pytest.raises(ConfigError, match="two points the directory"):
        expand.check_distinct("{vus}__{repeat}", [_point(vus=1), _point(vus="1")])


@pytest.mark.parametrize("template", ["/tmp/{vus}", "../{vus}", ".hidden/{vus}", "a/../../{vus}"])
def test_a_template_that_leaves_the_results_directory_is_refused(template):
    with pytest.raises(ConfigError, match="no directory inside"):
        expand.directory(template, _point(vus=1))


def test_a_template_with_an_unknown_setting_is_refused():
    with pytest.raises(ConfigError, match="did you mean 'image'"):
        expand.directory("{imgae}", _point(image="a"))


@given(st.text(min_size=1))
def test_no_value_of_a_setting_leads_out_of_the_results_directory(value):
    path = expand.directory("x/{model}", _point(model=value))
    assert len(path.parts) == 2
    assert path.parts[1] not in (".", "..")
    assert not path.parts[1].startswith(".")
    assert len(path.parts[1].encode()) <= 255
