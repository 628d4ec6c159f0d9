"""Colours can be told from the page, and are the same on all pages."""

from __future__ import annotations

import pytest

from matrix_benchmarking.plotting import template

WHITE, DARK = "#ffffff", "#15181d"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("page", [WHITE, DARK])
@pytest.mark.parametrize("colour", template.COLOURS)
def test_each_colour_stands_out_from_a_light_and_a_dark_page(colour: str, page: str) -> None:
    high, low = sorted((luminance(colour), luminance(page)), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 3


def test_a_setting_is_written_so_that_plotly_reads_no_markup() -> None:
    assert template.text("<b>&") == "&lt;b&gt;&amp;"
    assert template.text(True) == "true"


def test_ticks_of_a_logarithmic_axis_are_the_values_if_they_are_few() -> None:
    assert template.log_ticks([4, 1, 2, 16]) == [1, 2, 4, 16]
    assert template.log_ticks(range(1, 1025)) == [2.0**power for power in range(11)]
    assert template.log_ticks([0.1 * n for n in range(1, 30)])[0] >= 0.06


def test_a_name_is_wrapped_between_its_parts_and_written_as_it_is() -> None:
    assert template.wrapped("batch_size 8 · image a<b", 14) == "batch_size\u00a08<br>image\u00a0a&lt;b"


def test_a_name_is_one_entry_of_the_legend_of_all_panels_and_each_panel_has_its_axes() -> None:
    facets = template.Facets(["one", "two", "three"], 2)
    for panel in (1, 2):
        facets.add(panel, {"x": [1], "y": [2], "name": "int8"})
    facets.add(0, {"x": [1], "y": [2], "name": "alone", "legendgroup": None, "showlegend": False})
    facets.rule(1, "x", 3)
    facets.label("load", "cost")
    figure = facets.figure(300)
    assert [(trace.xaxis, trace.legendgroup, trace.showlegend) for trace in figure.data] == [
        ("x2", "int8", True),
        ("x3", "int8", False),
        ("x", None, False),
    ]
    low, high = (template.Facets([title] * 3, 3).figure(300).layout.legend.y for title in ("1", "max_batch_size 1"))
    assert high == pytest.approx(low + template.LINE_PX / 300)
    assert (figure.layout.shapes[0].xref, figure.layout.shapes[0].yref) == ("x2", "y2 domain")
    titles = [figure.layout[f"xaxis{number}"].title.text for number in ("", 2, 3)]
    assert titles == [None, "load", "load"]
    assert [note.text for note in figure.layout.annotations] == ["one", "two", "three"]
