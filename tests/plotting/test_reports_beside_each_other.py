"""A site and the analyses in folders of it: whichever is written first, each leads to the other."""

from __future__ import annotations

import datetime as dt
import html
import json
from pathlib import Path

import pytest
from report_support import analyses

from matrix_benchmarking.analyze.report.json_report import json_report
from matrix_benchmarking.plotting.site import link_beside
from matrix_benchmarking.plotting.static_html import BESIDE, Page, Provenance, render

SAID = "153 runs of sqlite:///matbench.db: Nothing is worse in 2 series of 2 KPIs: 1.3.2 against its history."


def write_page(path: Path, title: str) -> None:
    page = Page(path.name, title, "", "<p>Body.</p>")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(page, [page], Provenance("toy", "Data: here.", dt.datetime.now(dt.UTC))), encoding="utf-8")


def write_analysis(folder: Path) -> None:
    write_page(folder / "index.html", "Regression analysis")
    (folder / "regression.json").write_text(json_report(analyses.fine()), encoding="utf-8")


def links(path: Path) -> str:
    before, there, _ = path.read_text(encoding="utf-8").split(BESIDE)
    assert before.count("<h1") == 1
    return html.unescape(there)


def test_both_lead_to_each_other_and_are_linked_once_however_often(tmp_path: Path) -> None:
    folder = tmp_path / "night # 1"
    for _ in range(2):
        write_analysis(folder)
        write_page(tmp_path / "index.html", "toy: best <configuration>")
        write_page(tmp_path / "compare.html", "Compare")
        for _ in range(2):
            link_beside(tmp_path)
        for name in ("index.html", "compare.html"):
            there = f'Beside this: <a href="night%20%23%201/index.html">{SAID}</a></p>'
            assert links(tmp_path / name) == f'<p class="provenance">{there}'
        assert '<a href="../index.html">toy: best <configuration> – toy – matbench</a>' in links(folder / "index.html")


def test_five_analyses_are_linked_and_those_without_a_page_are_not(tmp_path: Path) -> None:
    write_page(tmp_path / "index.html", "toy")
    for number in range(7):
        write_analysis(tmp_path / f"night {number}")
    (tmp_path / "night 0" / "index.html").unlink()
    link_beside(tmp_path)
    assert links(tmp_path / "index.html").count("<a href=") == 5
    assert "night%200" not in links(tmp_path / "index.html")
    assert links(tmp_path / "night 6" / "index.html") == ""


@pytest.mark.parametrize(
    "document",
    ["", "[1]", "{", '{"format": "else", "data": "d", "verdict": ["v"]}', '{"format": "matbench-regression"}'],
)
def test_what_is_no_analysis_is_not_linked(tmp_path: Path, document: str) -> None:
    write_page(tmp_path / "index.html", "toy")
    write_analysis(tmp_path / "night")
    (tmp_path / "night" / "regression.json").write_text(document, encoding="utf-8")
    link_beside(tmp_path)
    assert links(tmp_path / "index.html") == links(tmp_path / "night" / "index.html") == ""


def test_pages_of_others_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<html>mine</html>", encoding="utf-8")
    write_analysis(tmp_path / "night")
    link_beside(tmp_path)
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == "<html>mine</html>"
    write_page(tmp_path / "index.html", "toy")
    for name, content in (("else.html", b"\xff\xfe"), ("mine.html", b"<p>mine</p>")):
        (tmp_path / name).write_bytes(content)
    link_beside(tmp_path)
    assert (tmp_path / "else.html").read_bytes() == b"\xff\xfe"
    assert (tmp_path / "mine.html").read_bytes() == b"<p>mine</p>"
    assert SAID in links(tmp_path / "index.html")


def test_what_an_analysis_says_is_no_markup(tmp_path: Path) -> None:
    write_page(tmp_path / "index.html", "toy")
    write_analysis(tmp_path / "night")
    evil = {"format": "matbench-regression", "data": "<b>", "verdict": [f"</a><script>{BESIDE}\\1"]}
    (tmp_path / "night" / "regression.json").write_text(json.dumps(evil), encoding="utf-8")
    link_beside(tmp_path)
    link_beside(tmp_path)
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;: &lt;/a&gt;&lt;script&gt;&lt;!-- beside --&gt;\\1</a>" in text
