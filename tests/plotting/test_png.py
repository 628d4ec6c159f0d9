"""Pictures of the figures, drawn by the real kaleido in a real Chromium; and what is said where one is missing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.errors import ConfigError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import png, site
from matrix_benchmarking.workload import Workload


def test_each_figure_becomes_a_picture_beside_the_pages(
    chromium: str, matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    pytest.importorskip("kaleido")
    from PIL import Image

    written = site.write_site(
        Study(matrix, workload, given=Given(place="results")),
        tmp_path / "report",
        ["report: Costs"],
        png_browser=chromium,
    )
    (picture,) = written.pictures
    assert picture.parent == tmp_path / "report" / "figures"
    assert picture.name.startswith("costs-1-cost-by-image-script-alert-1-script")
    image = Image.open(io.BytesIO(picture.read_bytes()))
    assert (image.format, image.size) == ("PNG", (2 * png.WIDTH, 2 * (png.HEIGHT + png.TITLE_ROOM)))
    assert image.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
    assert written.size_bytes == sum(path.stat().st_size for path in (tmp_path / "report").rglob("*") if path.is_file())


def test_without_html_there_are_pictures_alone(
    chromium: str, matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    pytest.importorskip("kaleido")
    written = site.write_site(
        Study(matrix, workload, given=Given(place="results")),
        tmp_path / "report",
        ["Costs", "Error report"],
        html=False,
        png_browser=chromium,
    )
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"figures"}
    assert (len(written.pages), len(written.pictures)) == (0, 1)


def test_without_a_chromium_the_sentence_comes_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matrix_benchmarking.cli import main

    pytest.importorskip("kaleido")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs Chromium or Chrome on the PATH: apt-get install chromium-"):
        png.find_browser()
    command = ["visualize", "--workload=encoder_bench", "--results-dirname=nowhere", "--generate", "--format=png"]
    assert main(command) == 2
    assert not list(tmp_path.iterdir())


def test_without_kaleido_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'matrix-benchmarking\[png\]'"):
        png.find_browser()


def test_a_title_stands_above_the_legend_and_is_no_markup() -> None:
    import plotly.graph_objects as go

    layout = png.titled(go.Figure(go.Bar(x=["a"], y=[1])), "<b>A & B")["layout"]
    assert layout["title"]["text"] == "&lt;b&gt;A &amp; B"
    assert layout["paper_bgcolor"] == "#ffffff"
