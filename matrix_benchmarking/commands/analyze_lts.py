"""``matbench analyze_lts``: a history in; the verdict on its newest version out: a table, reports, an exit status."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError
from . import regression, run
from .options import (
    Command,
    Invocation,
    RunOptions,
    common,
    flag,
    lts_results,
    option,
    order_option,
    selection,
    strength,
)
from .place import GIVEN_BY_FLAG, Place, place
from .times import parse_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import Config


@click.command("analyze_lts", cls=Command)
@selection
@lts_results
@place
@order_option
@regression.kpi_filter
@option(
    "--since", metavar="TIME", help="Only runs from this time on: 2026-01-31, an ISO 8601 time, or 30d, 2w, 12h ago."
)
@option(
    "--baseline",
    metavar="VERSION",
    help="Compare the newest version with this one, as 'matbench compare' does, instead of with its whole history.",
)
@regression.reports
@flag("--record", default=True, help="Keep in the history which alarms were raised and fixed; [default: yes].")
@flag("--json-schema", config_key="", help="Print the JSON Schema of regression.json, and do nothing else.")
@common
@click.pass_obj
def command(
    invocation: Invocation,
    selection: RunOptions,
    place: Place,
    order: str | None,
    kpi_filter: Sequence[str],
    since: str | None,
    baseline: str | None,
    output: regression.Output,
    record: bool,
    json_schema: bool,
) -> None:
    """Judge the newest runs against their history, series by series.

    The runs come from a history (--history), from LTS payloads (--lts-results-dirname) or from a results directory;
    a results directory beside a history, or beside payloads, is the newest build. The exit status is 1 if something is
    worse that nobody acknowledged ('matbench alarms'), 2 if nothing could be analysed, else 0.
    """
    assert invocation.config is not None
    from ..runs import judging
    from . import publishing

    if json_schema:
        publishing.print_schema()
        return
    config = invocation.config
    now = dt.datetime.now(dt.UTC)
    used = _where(config, selection, place)
    asked: dict[str, Any] = {"kpi_filter": kpi_filter, "now": now}
    asked["since_us"] = None if since is None else parse_time(since, now)
    study = run.start(config, used, order)
    if not len(study.runs):
        raise ConfigError("no run is selected: there is nothing to analyse")
    publishing.check_kpi_filter(kpi_filter, study.workload)
    if baseline is not None:
        analysis = judging.against(study, baseline, **asked)
    else:
        # Alarms are those of the whole history: a part of it would move them.
        is_kept = record and since is None and not selection.filters
        keep = publishing.keeping(used.history.locate()) if is_kept and used.history is not None else None
        analysis = judging.judge(study, keep=keep, **asked)
    publishing.publish(analysis, study, output)


def _where(config: Config, chosen: RunOptions, place: Place) -> RunOptions:
    """*chosen* with the history that is read; payloads beside a results directory are the past of the newest build."""
    used = regression.reads_some_history(config, place, chosen)
    is_typed = strength(click.get_current_context(), "results_dirname") >= GIVEN_BY_FLAG
    if chosen.lts_results_dirname is not None and is_typed:
        return dataclasses.replace(chosen, history=None, is_newest_build=True)
    return used
