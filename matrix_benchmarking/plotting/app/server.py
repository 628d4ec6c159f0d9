"""The application as a server on this machine: made, bound to a free port, and served until it is ended."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import os
import resource
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dash
import flask
import plotly.io
from dash import ALL, MATCH, ClientsideFunction, Input, Output, State, ctx, no_update
from dash.development.base_component import Component
from waitress.server import create_server
from werkzeug.exceptions import HTTPException

from ...errors import MatbenchError, os_reason
from ...lts.exports import check_table_file, write_table
from ..controls import find_run
from ..static_html import escape, style
from ..tables import Node, dcc, html
from . import run_page, view
from .access import EVERYWHERE, Writing, is_local, secure
from .answers import Opened, Pages, nobody
from .data import Data, Source
from .elements import folded

HOST, PORT = "127.0.0.1", 8050
COMPONENTS, CALLBACK = "/_dash-component-suites/", "/_dash-update-component"
MOST_BYTES = 4 * 1024 * 1024
"""The largest body: a page sends its address and what somebody did."""
_log = logging.getLogger(__name__)
_PORTS_TRIED = 20
_GARBAGE = 100_000, 50, 100
"""After how many new objects it is looked for: a command that ends does so far less often."""
_THREADS = 32  # most of those of many requests at once wait for the page that one of them makes
_MOST_CONNECTIONS = 4096
_IDLE_S = 10  # a browser opens a connection anew in no time
READING_MS, IDLE_MS = 700, 4000
"""How often a page asks for what is new, while data are being read and else."""


def make_app(
    source: Source, report_dest: Path, hosts: frozenset[str] = frozenset(), writing: Writing | None = None
) -> dash.Dash:
    """The Dash application, reading its data in the background; *hosts* are names of this server besides its own.

    *writing* says who may do something to alarms and keep views; nobody unless given.
    """
    plotly.io.json.config.default_engine = "json"  # as fast for pages, and another one looks into pandas for each text
    data = Data(source)
    app = dash.Dash(
        "matbench",
        assets_folder=os.fspath(Path(__file__).parents[1] / "assets"),
        assets_ignore=r"page\..*",  # of written pages; the style is in the document
        serve_locally=True,
        suppress_callback_exceptions=True,
        update_title="",
        title=f"{source.workload.name} – matbench",
        compress=False,
    )
    app.index_string = document(source.workload.name)
    app.layout = layout(source.place, source.workload.name, writing.token if writing is not None else "")
    answers = Pages(data, report_dest, may_write=writing is not None)
    register(app, answers, writing)
    _serve_files(app.server, answers)
    secure(app, hosts)
    _refuse(app)
    _wait_for(data, app.server)
    data.start()
    threading.Thread(target=data.watch, daemon=True, name="matbench-watcher").start()
    return app


@contextlib.contextmanager
def bound(host: str = HOST, port: int | None = None) -> Iterator[socket.socket]:
    tried = [port] if port is not None else [*range(PORT, PORT + _PORTS_TRIED), 0]
    for place, number in enumerate(tried):
        try:
            family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
            listener = socket.create_server((host, number), family=family, backlog=128)
        except OSError as error:
            if place < len(tried) - 1 and not isinstance(error, socket.gaierror):
                continue
            raise MatbenchError(f"cannot listen on {host}, port {number}: {os_reason(error)}") from error
        with listener:
            yield listener
        return


def address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    if host in EVERYWHERE:
        host = socket.gethostname()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(app: dash.Dash, listener: socket.socket) -> None:
    gc.set_threshold(*_GARBAGE)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of each request that waits for a moment
    create_server(
        app.server,
        sockets=[listener],
        threads=_THREADS,
        ident="matbench",
        connection_limit=_connections(),
        asyncore_use_poll=True,  # select knows 1,024 files
        channel_timeout=_IDLE_S,
        cleanup_interval=1,
        max_request_body_size=MOST_BYTES,
        clear_untrusted_proxy_headers=False,  # `access.is_local` refuses who sends one
    ).run()


def _connections() -> int:
    """How many may be open at once: half of the files that this process may open, which are raised as far as may be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 2 * _MOST_CONNECTIONS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(_MOST_CONNECTIONS, soft // 2)


def _wait_for(data: Data, server: flask.Flask) -> None:
    """Answer only what takes no pandas while the reader still imports it; pages wait for themselves."""
    at_once = ("/_dash-layout", "/_dash-dependencies", CALLBACK, COMPONENTS, "/assets/")

    def wait() -> None:
        if flask.request.path != "/" and not flask.request.path.startswith(at_once):
            data.wait_for_pandas()

    server.before_request(wait)


def _refuse(app: dash.Dash) -> None:
    """Answer what no page of ours asks for, or no file is there for, with a line.

    Dash takes a body for granted, and a component's path.
    """

    def refused(error: Exception) -> flask.Response | HTTPException:
        if isinstance(error, HTTPException):
            return error
        status, said = 400, "the body is none that a page of this application sends"
        if flask.request.endpoint in ("artifact", "table") and isinstance(error, (MatbenchError, OSError)):
            status, said = 404, str(error)
        elif flask.request.path.startswith(COMPONENTS):  # Dash registers some source maps that it doesn't bring
            status, said = 404, "there is no such component"
        elif flask.request.path != CALLBACK:
            raise error
        else:
            _log.warning("a request is refused (%s: %s)", type(error).__name__, str(error)[:300])
        return flask.Response(f"{said}\n", status=status, mimetype="text/plain")

    app.server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    app.server.register_error_handler(Exception, refused)


def _serve_files(server: flask.Flask, answers: Pages) -> None:
    """Hand out artifacts of runs, and tables as CSV and Parquet."""

    def artifact(identity: str, name: str) -> flask.Response:
        path = run_page.locate(find_run(answers.known().study.runs, identity), name, answers.data.source.roots)
        kind = run_page.content_type(path)
        is_shown = kind.startswith("text/")
        return flask.send_file(path, mimetype=kind, as_attachment=not is_shown, download_name=path.name, max_age=0)

    def table(name: str, ending: str) -> flask.Response:
        import pandas

        path, stream = Path(f"{name}.{ending}"), io.BytesIO()
        query = flask.request.query_string.decode("utf-8", "replace")
        check_table_file(path)
        is_of_runs = name == "runs"
        found = answers.runs(query).to_dataframe() if is_of_runs else pandas.DataFrame(answers.table(query).values())
        write_table(found, stream, path)
        stream.seek(0)
        return flask.send_file(stream, as_attachment=True, download_name=path.name, max_age=0)

    server.add_url_rule(f"{run_page.ARTIFACT_ROUTE}/<identity>/<path:name>", view_func=artifact)
    server.add_url_rule("/<any(runs, table):name>.<ending>", view_func=table)


def layout(source_name: str, workload: str, token: str = "") -> Component:
    stores = [dcc.Store(id=name) for name in ("request", "event", "version", "checked", "title")]
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
            html.Div(id="tabs"),
            html.Div(id="notice", role="status"),
            html.Div(id="headline"),
            html.Div(id="content", className="content"),
        ],
        id="main",
        tabIndex="-1",
    )
    stores.append(html.Span(id="token", hidden=True, **{"data-token": token}))
    clock = dcc.Interval(id="clock", interval=READING_MS)
    address = dcc.Location(id="address", refresh=False)
    skip = html.A("Skip to the content", href="#main", className="skip")
    return html.Div([address, *stores, clock, skip, header, html.Div([sidebar, main], className="frame")])


def document(workload: str) -> str:
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
{{%metas%}}
<meta name="color-scheme" content="light dark">
<title>{escape(workload)} – matbench</title>
<link rel="icon" href="data:,">
<style>
{style().replace("{%", "{ %")}</style>
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


def register(app: Any, answers: Pages, writing: Writing | None = None) -> None:
    _of_the_script(app)

    def frame(request: object, _: object) -> list[Node]:
        return [folded(each) for each in answers.frame(asked(request)[0])]

    def page(request: object) -> Opened:
        elements, inputs, title = answers.page(*asked(request), is_local=is_local(flask.request))
        return folded(elements), folded(inputs), title

    def part(wanted: object, request: object) -> object:
        if not wanted:
            return no_update
        identity, (search, _) = ctx.outputs_list["id"], asked(request)
        return folded(answers.part(search, identity["of"], identity["index"], is_local=is_local(flask.request)))

    def act(event: object, query: object) -> tuple[object, Node, int]:
        if query is not None and not isinstance(query, str):
            raise TypeError("an address is a text")
        who = nobody if writing is None else lambda token: writing.author(flask.request, token)
        search, notice = answers.act(event, query or "", who)
        is_same = search is None or view.same(search, query or "")
        return no_update if is_same else search, notice, READING_MS

    def tick(_: object, known: object, is_checked: object) -> tuple[object, object, str, str, int]:
        # Asked in this order: where the reading has ended, the number that is asked for afterwards is the last one.
        is_reading = answers.data.progress.is_reading
        number = answers.version()
        newer = no_update if number == (known or 0) else number
        look = "progress warning" if answers.data.away else "progress"
        checked = no_update if is_checked or not answers.is_checked() else True
        return newer, checked, answers.progress(), look, READING_MS if is_reading else IDLE_MS

    request = Input("request", "data")
    content = [Output("content", "children"), Output("controls", "children"), Output("title", "data")]
    surroundings = [Output(name, "children") for name in ("selectors", "headline", "tabs")]
    clock = [*(Output(name, "data") for name in ("version", "checked")), Output("progress", "children")]
    clock += [Output("progress", "className"), Output("clock", "interval")]
    acted = [Output("address", "search"), Output("notice", "children")]
    app.callback(surroundings, request, Input("checked", "data"), prevent_initial_call=True)(frame)
    app.callback(content, request, prevent_initial_call=True)(page)
    app.callback(
        Output({"type": "part", "of": MATCH, "index": MATCH}, "children"),
        Input({"type": "wanted", "of": MATCH, "index": MATCH}, "data"),
        State("request", "data"),
        prevent_initial_call=True,
    )(part)
    app.callback(
        [*acted, Output("clock", "interval", allow_duplicate=True)],
        Input("event", "data"),
        State("address", "search"),
        prevent_initial_call=True,
    )(act)
    known = [State("version", "data"), State("checked", "data")]
    app.callback(clock, Input("clock", "n_intervals"), *known, prevent_initial_call=True)(tick)


def _of_the_script(app: Any) -> None:
    """What the page's script answers itself."""
    app.clientside_callback(
        ClientsideFunction("matbench", "request"),
        Output("request", "data"),
        Input("address", "search"),
        Input("version", "data"),
        State("request", "data"),
    )
    app.clientside_callback(
        ClientsideFunction("matbench", "fields"),
        Output("event", "data", allow_duplicate=True),
        Input({"type": "field", "name": ALL, "shown": ALL}, "value"),
        State({"type": "field", "name": ALL, "shown": ALL}, "id"),
        prevent_initial_call=True,
    )
    for name, data in (("clicked", "clickData"), ("dragged", "relayoutData")):
        app.clientside_callback(
            ClientsideFunction("matbench", name),
            Output("event", "data", allow_duplicate=True),
            Input({"type": "figure", "index": ALL}, data),
            prevent_initial_call=True,
        )
    app.clientside_callback(ClientsideFunction("matbench", "title"), Input("title", "data"))


def asked(value: object) -> tuple[str, list[int]]:
    """The query, and the numbers of the parts in view, of what the page's script stores as its request."""
    match value:
        case {"search": str(search), "parts": list(parts)} if all(isinstance(part, int) for part in parts):
            return search, parts
    raise TypeError("a request is an address and the parts in view")
