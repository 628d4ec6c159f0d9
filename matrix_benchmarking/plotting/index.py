"""The first page: what is best, can that be trusted, what failed; then the variants and the reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..analyze.study import Study
from .base import Presentation
from .page import Page, prefix
from .report_best import variants_table, verdict_box
from .report_errors import ErrorReport, overview
from .static_html import StaticHTML

INDEX_FILE = "index.html"


def index_page(catalogue: Presentation, reports: Sequence[Page], file: str = INDEX_FILE) -> Page:
    """The index of the pages *reports*."""
    from dash import html

    best = catalogue.study.best
    body: list[Any] = [verdict_box(catalogue.study, _state_of_tests(catalogue.study, reports))]
    body += [variants_table(group, catalogue) for group in best.groups]
    body.append(html.H2("Reports"))
    body.append(html.Div([_card(page) for page in reports], className="cards"))
    return Page(
        file=file,
        title=f"{catalogue.study.workload.name}: best configuration",
        description="",
        body=StaticHTML(prefix(file)).render(body),
    )


def _state_of_tests(study: Study, reports: Sequence[Page]) -> list[Any]:
    """What failed, with a link to the page that says more if there is one."""
    from dash import html

    sentence: list[Any] = [overview(study.matrix)]
    title = ErrorReport.name.removeprefix("report:").strip()
    sentence += [[" ", html.A(f"{title}.", href=page.file)] for page in reports if page.title == title]
    return [html.P(sentence)]


def _card(page: Page) -> Any:
    from dash import html

    parts: list[Any] = [html.H3(html.A(page.title, href=page.file)), html.P(page.description)]
    if page.summary:
        parts.append(html.P(page.summary, className="note"))
    return html.Div(parts, className="card")
