"""``matbench check``, ``analyze_lts``, ``compare``: runs in; what is odd, what changed or which side is worse out."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import moments
from ..analyze import check
from ..errors import ConfigError, VerdictError
from ..matrix import Matrix
from . import run
from .options import Command, flag, is_typed, option
from .printing import answer_console, printable, progress_bar, say, warn
from .shared_options import (
    AnalysisOutput,
    Locate,
    RunOptions,
    headline_option,
    ignored_option,
    kpi_filter,
    lts_results,
    order_option,
    place,
    reports,
    selection,
    since_option,
)

if TYPE_CHECKING:
    from ..analyze.study import Study
    from ..analyze.verdict.model import Analysis
    from ..runs.opening import Opening


@click.command("check", cls=Command)
@selection
@lts_results
@place
@order_option
@ignored_option
@flag("--json", "as_json", config_key="", help="Print the findings as JSON, with the names of all runs.")
def check_runs(selection: RunOptions, locate: Locate, as_json: bool) -> None:
    """Look for what is odd about runs before you trust an answer about them.

    Misspelt and rare settings, settings that are no labels, lost and damaged runs, copies, values that can't be, names
    that match nothing, an order of versions that is unknown or contradicted. The runs come from a results directory,
    from LTS payloads or from a history. The exit status is 1 if a finding may change an answer, else 0.
    """
    from ..runs.answers import CheckAnswer

    with progress_bar("parsing") as progress:
        study = run.studied(run.opened(selection, locate, needs_some=True), progress)
    answer = CheckAnswer(study)
    if as_json:
        findings = [
            {**dataclasses.asdict(one), "changes": sorted(each.value for each in one.changes), "runs": list(one.runs)}
            for one in answer.findings
        ]
        document = {"format": "matbench-check", "version": 1, "workload": study.workload.name}
        document |= {"runs": study.runs.tests, "findings": findings}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
    else:
        for part in answer.said():
            _say(str(part))
    changing = sum(bool(one.changes) for one in answer.findings)
    if changing:
        raise VerdictError(f"{changing} {'finding changes' if changing == 1 else 'findings change'} an answer")


def _say(text: str) -> None:
    """Wrap what belongs to an item of a list below its beginning."""
    rest = "    " if text.startswith("    ") else "  " if text.startswith("* ") else None
    if rest is None:
        say(text)
        return
    width = max(answer_console().width, 20 + len(rest))
    first, wrapped = text[: len(rest)], printable(text[len(rest) :])
    lines = textwrap.fill(wrapped, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    click.echo(lines or first)


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
def analyze_lts(
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


@click.command("compare", cls=Command)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@selection
@place
@order_option
@headline_option
@kpi_filter
@ignored_option
@reports
def compare(
    old: str,
    new: str,
    selection: RunOptions,
    locate: Locate,
    kpi_filter: Sequence[str],
    output: AnalysisOutput,
) -> None:
    """Compare two results trees, or two versions: is B worse than A?

    A and B are results directories or directories of LTS payloads; or two versions in --results-dirname or in the
    history. Settings are paired, and rounds in which both were measured say what is chance; else campaigns do. The exit
    status is 1 if something is worse, 2 if nothing could be compared, else 0: also where it can't be told.
    """
    from ..runs import judging
    from . import publishing

    ignored, selection = selection.ignored_keys, dataclasses.replace(selection, ignored_keys=())  # both sides', later
    is_directory = [Path(name).is_dir() for name in (old, new)]
    is_tolerant = not is_typed("ignored_keys")
    asked: dict[str, Any] = {"kpi_filter": kpi_filter, "ignored": ignored, "is_tolerant": is_tolerant}
    publishing.check_kpi_filter(kpi_filter, run.load_workload(selection.workload))
    if all(is_directory):
        if is_typed("order"):
            raise ConfigError("--order puts versions in order, and A and B are directories")
        if Path(old).resolve() == Path(new).resolve():
            raise ConfigError(f"'{old}' and '{new}' are the same directory")
        both = dataclasses.replace(selection, results_dirname=Path(old), against=[Path(new)])
        study, analysis = _of_trees(run.opened(both), asked)
    elif all(Path(name).exists() for name in (old, new)):
        file = old if not is_directory[0] else new
        raise ConfigError(f"'{file}' is a file; give the results directory that it is in")
    elif any(is_directory):
        name = new if is_directory[0] else old
        raise ConfigError(f"'{name}' is no directory, and the other one is: give two directories, or two versions")
    else:
        opening = run.opened(selection, locate, needs_some=True)
        study = run.read(opening)
        analysis = judging.compare(study, old, new, **asked)
    publishing.publish(analysis, study, output, is_pair=True)


def _of_trees(opening: Opening, asked: Mapping[str, Any]) -> tuple[Study, Analysis]:
    from ..analyze.study import Study
    from ..analyze.verdict.pairs import Build
    from ..runs.judging import compare_trees

    trees = opening.trees()
    whole = Matrix([entry for matrix in trees.values() for entry in matrix])
    opening.check_names(whole)
    parts = {name: matrix.filtered(opening.parsed_filters) for name, matrix in trees.items()}
    for part in parts.values():
        warn(run.warnings_of(part))
    left = Matrix(
        [entry for part in parts.values() for entry in part],
        unfinished=[entry for part in parts.values() for entry in part.unfinished],
    )
    study = Study(left, opening.workload, read=whole, filters=opening.parsed_filters, given=opening.given)
    found = [one for one in check.findings(left, opening.workload, opening.prices) if one.kind != "fails-now"]
    sides = [name for name, part in parts.items() for _ in part.entries]
    study.findings = check.by_weight([*found, *check.lost_findings(left.entries, opening.workload, sides)])
    return study, compare_trees(study, [Build(name, part.entries) for name, part in parts.items()], **asked)
