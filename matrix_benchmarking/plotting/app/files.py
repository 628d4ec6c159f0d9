"""The files that the application hands out: artifacts of runs, and tables as CSV and Parquet."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import MatbenchError
from ...lts.exports import check_table_file, write_frame, write_table
from ..controls import find_run
from ..tables import Table
from . import artifacts
from .answers import FIRST_ANSWER_S, Pages
from .data import Data
from .run_page import ARTIFACT_ROUTE

if TYPE_CHECKING:
    import flask
    import pandas


def serve_artifacts(server: flask.Flask, data: Data) -> None:
    import flask

    def artifact(identity: str, name: str) -> flask.Response:
        snapshot = data.wait(FIRST_ANSWER_S)
        try:
            if snapshot is None:
                raise artifacts.NoArtifactError("nothing is read yet")
            path = artifacts.locate(find_run(snapshot.study.runs, identity), name, data.source.roots)
            kind = artifacts.content_type(path)
            return flask.send_file(
                path, mimetype=kind, as_attachment=not kind.startswith("text/"), download_name=path.name, max_age=0
            )
        except (MatbenchError, OSError) as error:
            return flask.Response(f"{error}\n", status=404, mimetype="text/plain")

    server.add_url_rule(f"{ARTIFACT_ROUTE}/<identity>/<path:name>", "artifact", artifact)


def serve_tables(server: flask.Flask, answers: Pages) -> None:
    import flask

    def send(name: str, ending: str) -> flask.Response:
        path, stream = Path(f"{name}.{ending}"), io.BytesIO()
        query = flask.request.query_string.decode("utf-8", "replace")
        try:
            check_table_file(path)
            if name == "runs":
                write_table(answers.runs(query), stream, path)
            else:
                write_frame(pandas_of(answers.table(query)), stream, path)
        except MatbenchError as error:
            return flask.Response(f"{error}\n", status=404, mimetype="text/plain")
        stream.seek(0)
        return flask.send_file(stream, as_attachment=True, download_name=path.name, max_age=0)

    server.add_url_rule("/<any(runs, table):name>.<ending>", "tables", send)


def pandas_of(table: Table) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame(table.values())
