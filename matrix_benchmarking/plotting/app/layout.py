"""The shell of the page, which is there before any data, and the document around it."""

from __future__ import annotations

from typing import Any

from ..page import asset
from ..static_html import escape
from .tags import dcc, html

READING_MS = 700


def layout(source_name: str, workload: str) -> Any:
    """All that doesn't depend on data."""

    stores = [dcc.Store(id=name) for name in ("request", "event", "version", "title")]
    header = html.Header(
        [
            html.A("matbench", href="?", className="brand"),
            html.Span([html.Span(workload, className="workload"), " ", html.Code(source_name)], className="source"),
            html.Span(id="progress", className="progress", role="status"),
            html.Span(
                [
                    html.Button("Read again", id="read-again", className="tool", **{"data-event": "read"}),
                    html.Button("Write as static report", id="write", className="tool", **{"data-event": "write"}),
                ],
                className="actions",
            ),
        ],
        className="app-header",
    )
    sidebar = html.Aside(
        html.Details(
            [html.Summary("Settings and configuration"), html.Div(id="controls"), html.Div(id="selectors")],
            open=True,
            id="sidebar-details",
        ),
        className="sidebar",
        **{"aria-label": "Settings and configuration"},
    )
    main = html.Main(
        [
            html.Div(id="notice", role="status"),
            html.Div(id="headline"),
            html.Div(id="tabs"),
            html.Div(id="content", className="content"),
        ],
        id="main",
        tabIndex="-1",
    )
    clock = dcc.Interval(id="clock", interval=READING_MS)
    address = dcc.Location(id="address", refresh=False)
    skip = html.A("Skip to the content", href="#main", className="skip")
    return html.Div([address, *stores, clock, skip, header, html.Div([sidebar, main], className="frame")])


def document(workload: str) -> str:
    """Dash's template of the document: our style in it, nothing from elsewhere."""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
{{%metas%}}
<meta name="color-scheme" content="light dark">
<title>{escape(workload)} – matbench</title>
<link rel="icon" href="data:,">
<style>
{asset("page.css").replace("{%", "{ %")}</style>
{{%css%}}
</head>
<body class="app">
{{%app_entry%}}
<noscript><p>This application needs JavaScript. <code>matbench visualize --generate</code> writes pages whose tables
don't.</p></noscript>
<footer>{{%config%}}{{%scripts%}}{{%renderer%}}</footer>
</body>
</html>
"""
