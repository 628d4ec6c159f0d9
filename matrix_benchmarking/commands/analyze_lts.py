"""``matbench analyze_lts``: a history in; the verdict on its newest version out: a table, reports, an exit status."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError
from . import ordering, regression, run
from .options import Command, Invocation, Selection, common, flag, lts_results, option, selection
from .place import GIVEN_BY_FLAG, Place, locate, place, reads_history
from .times import parse_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..analyze.select.order import Order
    from ..analyze.verdict.model import Analysis
    from ..config import Config
    from ..matrix import Matrix
    from ..workload import MinimumEffect, Workload


@click.command("analyze_lts", cls=Command)
@selection
@lts_results
@place
@ordering.order
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
    selection: Selection,
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
    from .. import filters

    assert invocation.config is not None
    if json_schema:
        regression.print_schema()
        return
    config = invocation.config
    workload = run.load_workload(selection.workload)
    now = dt.datetime.now(dt.UTC)
    since_us = None if since is None else parse_time(since, now)
    explicit = ordering.read_order(order)
    whole, used = _runs(config, workload, selection, place)
    wanted = filters.parse(selection.filters)
    matrix = whole.filtered(wanted)
    if not len(matrix):
        raise ConfigError("no run is selected: there is nothing to analyse")
    in_order = ordering.order_of(workload, whole, explicit, wanted)
    regression.check_kpi_filter(kpi_filter, workload)
    options: dict[str, Any] = {
        "data": f"{len(matrix)} runs of {regression.where(used)}",
        "order": in_order,
        "minimum_effects": regression.minimum_effects(config, workload),
        "kpi_filter": kpi_filter,
        "since_us": since_us,
        "now": now,
    }
    if baseline is not None:
        analysis = _against(baseline, workload, matrix, whole, used, **options)
    else:
        # Alarms are those of the whole history: a part of it would move them.
        is_whole = since is None and not selection.filters
        location = used.history.locate() if used.history is not None else None
        analysis = regression.judge_history(workload, matrix, location, record=record and is_whole, **options)
    prices = {**config.prices, **selection.prices}
    regression.publish(analysis, matrix, workload, output, prices=prices, order=in_order)


def _against(
    baseline: str,
    workload: Workload,
    matrix: Matrix,
    whole: Matrix,
    used: Selection,
    *,
    data: str,
    order: Order,
    minimum_effects: Mapping[str, MinimumEffect],
    now: dt.datetime,
    **chosen: Any,
) -> Analysis:
    """The newest version of *matrix* against the version *baseline*; *whole* has all runs that there are."""
    from ..analyze.select.selection import select
    from ..analyze.verdict.pairs import Question, compare_versions
    from ..analyze.verdict.sides import Blocks

    selected = select(matrix, workload, order=order, **chosen)
    regression.require_version(selected, baseline)
    known = regression.alarms_known_to(workload, used)
    question = Question(data, Blocks(lambda: whole.entries), minimum_effects, known, now=now)
    return compare_versions(selected, baseline, selected.newest, question, axis=order.axis)


def _runs(config: Config, workload: Workload, chosen: Selection, where: Place) -> tuple[Matrix, Selection]:
    """All runs that there are, before any filter, and the selection with the history that it uses."""
    from .. import filters
    from ..history import read
    from . import sources

    ctx = click.get_current_context()
    used = reads_history(config, where, chosen)
    if used.history is None and chosen.results_dirname is None and chosen.lts_results_dirname is None:
        used = regression.default_history(chosen, lambda: locate(config, where))
    if chosen.lts_results_dirname is not None and regression.strength_of(ctx, "results_dirname") >= GIVEN_BY_FLAG:
        # Payloads are the past, and the results directory the newest build.
        past = sources.read_matrix(workload, config, dataclasses.replace(chosen, results_dirname=None), None)
        current = sources.read_matrix(workload, config, dataclasses.replace(chosen, lts_results_dirname=None), None)
        run.warn(past.notes)
        whole = read.with_past(current, past)
        sources.check_names(whole, filters.parse(chosen.filters), chosen)
        return whole, chosen
    return run.start(config, used).whole, used
