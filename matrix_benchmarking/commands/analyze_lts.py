"""``matbench analyze_lts``: a history in; the verdict on its newest version out: a table, reports, an exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence

import click

from .. import moments
from ..errors import ConfigError
from . import run
from .options import Command, flag, is_typed, option
from .printing import warn
from .shared_options import (
    AnalysisOutput,
    Locate,
    RunOptions,
    ignored_option,
    kpi_filter,
    lts_results,
    order_option,
    place,
    reports,
    selection,
    since_option,
)


@click.command("analyze_lts", cls=Command)
@selection
@lts_results
@place
@order_option
@ignored_option
@kpi_filter
@since_option
@option(
    "--baseline",
    metavar="VERSION",
    help="Compare the newest version with this one, as 'matbench compare' does, instead of with its whole history.",
)
@reports
@flag("--record", default=True, help="Keep in the history which alarms were raised and fixed; [default: yes].")
@flag("--json-schema", config_key="", help="Print the JSON Schema of regression.json, and do nothing else.")
def command(
    selection: RunOptions,
    locate: Locate,
    kpi_filter: Sequence[str],
    since: str | None,
    baseline: str | None,
    output: AnalysisOutput,
    record: bool,
    json_schema: bool,
) -> None:
    """Judge the newest runs against their history, series by series.

    The runs come from a history (--history), from LTS payloads (--lts-results-dirname) or from a results directory;
    a results directory beside a history, or beside payloads, is the newest build. The exit status is 1 if something is
    worse that nobody acknowledged ('matbench alarms'), 2 if nothing could be analysed, else 0.
    """
    from ..analyze.report.json_report import schema
    from ..runs import judging
    from . import publishing

    if json_schema:
        click.echo(json.dumps(schema(), indent=2))
        return
    since_us = None if since is None else moments.meant_us(since)
    is_newest_build = selection.lts_results_dirname is not None and is_typed("results_dirname")
    opening = run.opened(selection, locate, needs_some=True, payloads_are_past=is_newest_build)
    study = run.read(opening)
    if not len(study.runs):
        raise ConfigError("no run is selected: there is nothing to analyse")
    publishing.check_kpi_filter(kpi_filter, study.workload)
    if baseline is not None:
        analysis = judging.against(study, baseline, kpi_filter=kpi_filter, since_us=since_us)
    else:
        # Alarms are those of the whole history: a part of it would move them.
        is_whole = since is None and not selection.filters
        location = opening.history() if record and is_whole and opening.history else None
        analysis = judging.judge(study, kpi_filter=kpi_filter, since_us=since_us, keep_in=location, warn=warn)
    publishing.publish(analysis, study, output)
