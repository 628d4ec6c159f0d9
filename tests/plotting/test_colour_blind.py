"""What colours tell apart stays apart for people who see fewer of them, and beside each colour stands a form.

Colours are seen as Machado, Oliveira and Fernandes (2009, *IEEE TVCG* 15, 1291–1298) simulate it at full severity;
distances are those of CIE 1976 L*a*b*.
"""

from __future__ import annotations

import numpy as np
import pytest

from matrix_benchmarking.plotting import compare_charts, plot_ranking, template
from matrix_benchmarking.plotting.plot_ranking import BEST, MAY_BE, UNKNOWN, WORSE

SEEN = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
LEAST = 12.0
"""About five differences that can just be seen."""


def lab(colour: str, matrix: list[list[float]]) -> np.ndarray:
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    x = XYZ @ np.clip(np.array(matrix) @ linear, 0.0, 1.0) / np.array([0.9505, 1.0, 1.089])
    f = np.where(x > 216 / 24389, np.cbrt(x), (24389 / 27 * x + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


DARK = dict(zip(template.COLOURS, template.IN_THE_DARK, strict=True))
PAGES = {"light": "#ffffff", "dark": "#15181d"}


def luminance(colour: str) -> float:
    values = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    return float(XYZ[1] @ linear)


@pytest.mark.parametrize(
    ("colours", "page", "least"),
    [(template.COLOURS, "light", 3.0), (template.COLOURS, "dark", 3.0), (template.IN_THE_DARK, "dark", 6.0)],
)
def test_each_colour_stands_out_from_its_page(colours: tuple[str, ...], page: str, least: float) -> None:
    for colour in colours:
        low, high = sorted(map(luminance, (colour, PAGES[page])))
        assert (high + 0.05) / (low + 0.05) >= least, colour


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("sight", SEEN)
def test_the_kinds_of_the_ranking_stay_apart(sight: str, is_dark: bool) -> None:
    beside = [(BEST, MAY_BE), (BEST, WORSE), (MAY_BE, WORSE), (BEST, UNKNOWN)]  # as there are repeats, or none
    for pair in beside:
        one, other = (str(plot_ranking.LOOKS[kind]["color"]) for kind in pair)
        one, other = (DARK[one], DARK[other]) if is_dark else (one, other)
        assert np.linalg.norm(lab(one, SEEN[sight]) - lab(other, SEEN[sight])) > LEAST, (one, other)


@pytest.mark.parametrize("is_dark", [False, True])
@pytest.mark.parametrize("sight", SEEN)
def test_worse_and_better_stay_apart(sight: str, is_dark: bool) -> None:
    looks = compare_charts._LOOKS
    colours = [looks[kind][0] for kind in (compare_charts.WORSE, compare_charts.BETTER)]
    worse, better = (lab(DARK[one] if is_dark else one, SEEN[sight]) for one in colours)
    assert np.linalg.norm(worse - better) > LEAST


def test_each_kind_and_each_category_has_a_form_of_its_own() -> None:
    assert len({look["symbol"] for look in plot_ranking.LOOKS.values()}) == len(plot_ranking.LOOKS)
    assert len({symbol for _, symbol in compare_charts._LOOKS.values()}) == len(compare_charts._LOOKS)
    assert len(set(template.SYMBOLS)) == len(template.COLOURS)
