"""Pictures of the figures, drawn by the real kaleido in a real Chromium; and what is said where one is missing."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from matrix_benchmarking.analyze.study import Given, Study
from matrix_benchmarking.cli import main
from matrix_benchmarking.errors import ConfigError, MatbenchError
from matrix_benchmarking.matrix import Matrix
from matrix_benchmarking.plotting import pictures, site
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
        drawing=pictures.Pictures(chromium),
    )
    (picture,) = written.pictures
    assert picture.parent == tmp_path / "report" / "figures"
    assert picture.name.startswith("costs-1-cost-by-image-script-alert-1-script")
    image = Image.open(io.BytesIO(picture.read_bytes()))
    assert (image.format, image.size) == ("PNG", (2 * pictures.WIDTH, 2 * (pictures.HEIGHT + pictures.TITLE_ROOM)))
    assert image.convert("RGB").getpixel((1, 1)) == (255, 255, 255)
    assert written.size_bytes == sum(path.stat().st_size for path in (tmp_path / "report").rglob("*") if path.is_file())


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_a_single_figure_is_a_file_of_the_asked_size_that_a_paper_takes(
    chromium: str, matrix: Matrix, workload: Workload, tmp_path: Path, kind: str
) -> None:
    pytest.importorskip("kaleido")
    written = site.write_site(
        Study(matrix, workload, given=Given(place="results")),
        tmp_path / "report",
        ['Cost by image <script>alert(1)</script><img src=x onerror="alert(1)">'],
        html=False,
        drawing=pictures.Pictures(chromium, [kind], (640, 480)),
    )
    (picture,) = written.pictures
    assert picture.name == f"cost-by-image-script-alert-1-script-img-src-x-onerror-alert-1.{kind}"
    content = picture.read_bytes()
    if kind == "svg":
        root = ElementTree.fromstring(content)
        assert (root.get("width"), root.get("height")) == ("640", "480")
        assert "Cost by image" in "".join(root.itertext())
    else:
        # 640 × 480 CSS pixels are 480 × 360 points.
        box = re.search(rb"/MediaBox \[([^]]*)\]", content)
        assert box is not None
        assert [round(float(side)) for side in box[1].split()] == [0, 0, 480, 360]
        assert content.count(b"/Type /Page\n") == 1


@pytest.mark.parametrize("size", ["640", "64x480", "640x480x2", "x", "1e3x500", "640x99999"])
def test_a_size_that_is_none_is_said(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["visualize", "--workload=encoder_bench", "--format=svg", f"--figure-size={size}"]) == 2
    assert "expected a width and a height between 100 and 10,000, such as 640x400" in capsys.readouterr().err


def test_a_size_without_figures_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["visualize", "--workload=encoder_bench", "--generate", "--figure-size=640x400"]) == 2
    assert capsys.readouterr().err == "matbench: `figure-size` needs --format=png, svg or pdf\n"


def test_without_html_there_are_pictures_alone(
    chromium: str, matrix: Matrix, workload: Workload, tmp_path: Path
) -> None:
    pytest.importorskip("kaleido")
    written = site.write_site(
        Study(matrix, workload, given=Given(place="results")),
        tmp_path / "report",
        ["Costs", "Error report"],
        html=False,
        drawing=pictures.Pictures(chromium),
    )
    assert {path.name for path in (tmp_path / "report").iterdir()} == {"figures"}
    assert (len(written.pages), len(written.pictures)) == (0, 1)


def test_without_a_chromium_the_sentence_comes_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="needs Chromium or Chrome on the PATH: apt-get install chromium-"):
        pictures.find_browser()
    command = ["visualize", "--workload=encoder_bench", "--results-dirname=nowhere", "--generate", "--format=png"]
    assert main(command) == 2
    assert not list(tmp_path.iterdir())


def test_without_kaleido_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'matrix-benchmarking\[png\]'"):
        pictures.find_browser()


def test_a_title_stands_above_the_legend_and_is_no_markup() -> None:
    import plotly.graph_objects as go

    layout = pictures.titled(go.Figure(go.Bar(x=["a"], y=[1])), "<b>A & B")["layout"]
    assert layout["title"]["text"] == "&lt;b&gt;A &amp; B"
    assert layout["paper_bgcolor"] == "#ffffff"


def test_the_screenshots_script_says_what_it_does(repository: Path, tmp_path: Path) -> None:
    command = [sys.executable, str(repository / "docs" / "screenshots.py"), "--help"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "every page of every sample" in said
    assert [*tmp_path.iterdir()] == []


SILENT = "#!/bin/sh\nexec sleep 20\n"
SILENT_ONCE = """#!/bin/sh
if mkdir "$0.was-here" 2> /dev/null; then exec sleep 20; fi
exec {chromium} "$@"
"""


def browser(folder: Path, script: str) -> str:
    """A browser that is a shell script."""
    file = folder / "browser"
    file.write_text(script)
    file.chmod(0o755)
    return str(file)


def drawn_by(browser: str, matrix: Matrix, workload: Workload, folder: Path) -> site.Written:
    study = Study(matrix, workload, given=Given(place="results"))
    return site.write_site(study, folder / "report", ["report: Costs"], drawing=pictures.Pictures(browser))


def test_a_browser_that_never_answers_is_given_up(
    matrix: Matrix, workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.setattr(pictures, "TIMEOUT_S", 2.0)
    with pytest.raises(MatbenchError, match=r"browser could not draw the figures \(it gave no answer in 2 s\)"):
        drawn_by(browser(tmp_path, SILENT), matrix, workload, tmp_path)


def test_a_second_browser_goes_on_where_the_first_one_hangs(
    chromium: str, matrix: Matrix, workload: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("kaleido")
    monkeypatch.setattr(pictures, "TIMEOUT_S", 15.0)
    written = drawn_by(browser(tmp_path, SILENT_ONCE.format(chromium=chromium)), matrix, workload, tmp_path)
    assert len(written.pictures) == 1
    assert not written.failures


def test_a_browser_that_is_none_is_said(matrix: Matrix, workload: Workload, tmp_path: Path) -> None:
    pytest.importorskip("kaleido")
    with pytest.raises(MatbenchError, match=r"browser could not draw the figures \("):
        drawn_by(browser(tmp_path, "#!/bin/sh\nexit 3\n"), matrix, workload, tmp_path)
