"""The chart of a series: which points are drawn, where its levels and changes are, how its axes are labelled."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import plotly.graph_objects as go
import pytest
from plotting_support.analyses import analysis_of, series, versions

from matrix_benchmarking.analyze.verdict.model import SeriesVerdict
from matrix_benchmarking.plotting import report_regression, series_chart
from matrix_benchmarking.plotting.static_html import StaticHTML
from matrix_benchmarking.plotting.template import COLOURS


def verdict(count: int = 14, steps: dict[int, float] | None = None, **options: Any) -> SeriesVerdict:
    names = options.pop("names", None) or versions(count)
    (one,) = analysis_of(series("image", names, steps, **options)).verdicts
    return one


def figure(of: SeriesVerdict) -> Any:
    points, levels = series_chart.drawn_points(of), series_chart.levels_of(of)
    return go.Figure(series_chart.series_figure(points, levels, ends_of(of), of))


def ends_of(of: SeriesVerdict) -> Any:
    return series_chart.limits(series_chart.drawn_points(of), series_chart.levels_of(of), of.kpi.divisor)


def test_points_levels_and_changes_are_drawn() -> None:
    of = verdict(steps={10: 1.2})
    old, new = (trace for trace in figure(of).data if trace.error_y.array)
    assert (old.x, new.x) == (tuple(range(10)), tuple(range(10, 14)))
    assert all(reach > 0 for reach in old.error_y.arrayminus)
    hover = old.hovertext[0]
    assert "<b>" in hover
    assert "mean of 3 runs from" in hover
    assert "2025-10-09 08:53 UTC" in hover
    levels = series_chart.levels_of(of)
    assert [(start, end, role) for start, end, _, role in levels] == [(0, 9, "old"), (10, 13, "new")]
    assert [level for _, _, level, _ in levels] == pytest.approx([20.0, 24.0], rel=0.02)
    ((place, kind, label),) = series_chart.changes_of(of)
    assert (place, kind) == (9.5, series_chart.GOT_WORSE)
    assert label.startswith("▲ +")
    assert label.endswith(", worse since 1.10")


def test_earlier_levels_are_drawn_too_and_a_repair_is_better() -> None:
    of = verdict(60, {20: 1.3, 40: 1 / 1.3})
    assert [role for *_, role in series_chart.levels_of(of)] == ["earlier", "old", "new"]
    assert series_chart.kind_of(of) == series_chart.BETTER
    first, second = series_chart.changes_of(of)
    assert (first[1], second[1]) == (series_chart.DEALT_WITH, series_chart.GOT_BETTER)
    assert first[2].endswith("worse since 1.20, fixed")
    assert second[2].endswith("better since 1.40")


def test_the_worse_of_two_levels_is_drawn_as_a_doubt_and_said_below_the_headline() -> None:
    runs = series("image", versions(65), {15: 1.1, 25: 1 / 1.1, 35: 1.1, 45: 1 / 1.1, 55: 1.1})
    analysis = analysis_of(runs)
    (of,) = analysis.verdicts
    assert of.is_at_known_level
    assert series_chart.kind_of(of) == series_chart.DOUBTFUL
    shown = StaticHTML().render(report_regression.verdict_box(analysis))
    assert "is on the worse of two levels as twice before" in shown.partition("<details")[0]


def test_against_one_version_the_old_level_begins_there() -> None:
    of = verdict(steps={10: 1.2})
    change = msgspec.structs.replace(of.changes[0], first=13, last_before=6)
    levels = series_chart.levels_of(msgspec.structs.replace(of, changes=[change], first_bad=13, last_good=6))
    assert [(start, end, role) for start, end, _, role in levels] == [(6, 6, "old"), (13, 13, "new")]


def test_a_doubtful_level_is_drawn_where_it_would_begin() -> None:
    same = verdict()
    of = msgspec.structs.replace(same, reruns=3, runs_before=36, runs_after=6, old_level=20.0, new_level=20.4)
    assert series_chart.kind_of(of) == series_chart.DOUBTFUL
    assert [level[:2] for level in series_chart.levels_of(of)] == [(0, 11), (12, 13)]
    marks = [trace.marker.symbol for trace in figure(of).data if trace.mode == "markers"]
    assert marks == ["circle", "diamond"]


def test_worse_and_better_differ_in_sign_and_words_besides_colour() -> None:
    worse, better = figure(verdict(steps={10: 1.2})), figure(verdict(steps={10: 0.8}))
    signs = [[trace.marker.symbol for trace in each.data if trace.mode == "markers"][-1] for each in (worse, better)]
    assert signs == ["x", "star"]
    captions = [each.layout.annotations[-1].text for each in (worse, better)]
    assert "worse since 1.10" in captions[0]
    assert "better since 1.10" in captions[1]
    assert worse.layout.yaxis.title.text == "ms · lower = better"


def test_a_change_that_was_dealt_with_is_drawn_weaker() -> None:
    of = verdict(steps={10: 1.2})
    from matrix_benchmarking.analyze.verdict.model import Status

    known = msgspec.structs.replace(of, alarms=[msgspec.structs.replace(of.alarms[0], status=Status.ACKNOWLEDGED)])
    (strong,), (weak,) = figure(of).layout.shapes, figure(known).layout.shapes
    assert (strong.line.color, strong.line.dash) == (COLOURS[1], "solid")
    assert (weak.line.color, weak.line.dash) == (COLOURS[6], "dot")
    assert weak.line.width < strong.line.width


@pytest.mark.parametrize("count", [2, 3, 8, 60, 365, 5000])
def test_ticks_are_few_end_with_the_newest_and_their_texts_fit(count: int) -> None:
    for name in ("1.{}", "2026-{:05}", "registry/very/long/image:{:06}"):
        names = [name.format(number) for number in range(count)]
        places = series_chart.ticks(names)
        assert places[-1] == count - 1
        texts = series_chart.tick_texts([names[place] for place in places])
        assert all(len(text) <= series_chart.LONGEST_TICK for text in texts)
        assert sum(len(text) + 2 for text in texts) <= 60
        assert len(set(texts)) == len(texts)


def test_times_are_shown_as_days_where_the_days_differ_else_with_the_time_of_day() -> None:
    days = ["2026-01-01 03:00 UTC", "2026-01-02 03:00 UTC"]
    assert series_chart.tick_texts(days) == ["2026-01-01", "2026-01-02"]
    same = ["2026-01-01 03:00 UTC", "2026-01-01 04:00 UTC"]
    assert series_chart.tick_texts(same) == ["03:00", "04:00"]
    more = [*same, "2026-01-02 23:59:58 UTC"]
    assert series_chart.tick_texts(more) == ["01-01 03:00", "01-01 04:00", "01-02 23:59:58"]


def test_of_many_points_the_extremes_the_changes_and_the_newest_are_drawn() -> None:
    of = verdict(3000, {2000: 1.2}, repeats=1, spikes=(777,))
    places = [*series_chart.drawn_points(of)]
    assert len(places) <= series_chart.MOST_POINTS
    assert {0, 777, 2999, *range(2980, 3000)} <= set(places)
    assert {of.first_bad, of.last_good} <= set(places)
    assert places == sorted(set(places))


def test_a_spike_does_not_flatten_the_chart_and_is_marked_at_its_edge() -> None:
    of = verdict(100, {70: 1.2}, repeats=1, noise=0.01, spikes=(30,))
    points, ends = series_chart.drawn_points(of), ends_of(of)
    assert ends[1] < 80 < points[30].maximum
    assert [*series_chart.beyond(points, ends)] == [30]
    drawn = figure(of)
    (edge,) = [trace for trace in drawn.data if trace.hovertext and "beyond the axis" in trace.hovertext[0]]
    assert list(edge.marker.symbol) == ["triangle-up"]
    assert list(edge.y) == [ends[1]]


def test_noise_without_much_of_a_step_looks_like_noise_and_a_small_step_can_be_seen() -> None:
    quiet = verdict(noise=0.0001)
    low, high = ends_of(quiet)
    assert high - low > 0.2 * 20
    small = verdict(steps={9: 1.02}, noise=0.0005)
    low, high = ends_of(small)
    assert (0.02 * 20) / (high - low) > 0.15


@pytest.mark.parametrize("level", [0.0, -5.0, 1e308, 1e-320])
def test_extreme_values_have_a_chart(level: float) -> None:
    of = verdict(steps={9: 1.02}, level=level)
    drawn = figure(of)
    assert drawn.data
    ends = drawn.layout.yaxis.range
    assert ends is None or all(map(math.isfinite, ends))


def test_a_marker_carries_the_id_of_its_first_run_as_a_plain_list() -> None:
    markers = [trace for trace in figure(verdict(steps={10: 1.2})).data if trace.customdata is not None]
    assert markers[0].to_plotly_json()["customdata"][0] == ["id-image-0-0"]
    assert all(type(trace.to_plotly_json()["customdata"]) is list for trace in markers)


def test_text_of_versions_and_labels_is_no_markup() -> None:
    names = [f"<b>{number}</b>&amp;" for number in range(14)]
    of = msgspec.structs.replace(verdict(steps={10: 1.2}), versions=names)
    drawn = figure(of)
    texts = [*drawn.layout.xaxis.ticktext, *(note.text for note in drawn.layout.annotations)]
    hovers = [hover for trace in drawn.data if trace.hovertext for hover in trace.hovertext]
    assert not any("<b>12</b>" in text or "<b>10</b>" in text for text in [*texts, *hovers])
    assert any("&lt;b&gt;" in text for text in texts)
