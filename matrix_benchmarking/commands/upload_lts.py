"""``matbench upload_lts``: a results tree in; its LTS payloads and KPIs kept in a history."""

from __future__ import annotations

import click

from .. import lts
from ..analyze import check
from ..history import delivery
from . import outcome, run
from .options import Command, flag
from .printing import say
from .shared_options import Locate, RunOptions, lts_results, place, replace_option, selection


@click.command("upload_lts", cls=Command)
@selection
@lts_results
@place
@flag("--dry-run", help="Say what would be kept; change nothing.")
@replace_option
@flag(
    "--keep-going",
    config_key="lts.keep_going",
    help="Keep the other runs where one that claims success has no valid payload; the exit status is 1 all the same.",
)
@flag("--upload-by-kpi", help="Taken for MatrixBenchmarking's sake: each KPI becomes a record of its own in any case.")
@flag(
    "--fail-test-on-fail",
    config_key="lts.opensearch.export.fail_test_on_fail",
    help="Fail if the server is away; else the payloads wait in the outbox, with a warning.",
    default=True,
)
def command(
    selection: RunOptions,
    locate: Locate,
    dry_run: bool,
    replace: bool,
    keep_going: bool,
    upload_by_kpi: bool,
    fail_test_on_fail: bool,
) -> None:
    """Keep the LTS payloads of a results directory in a history.

    A run that says itself that it failed, or that did not finish, is left out and named. Payloads are strict: any
    problem in a run that claims success, and nothing is kept, unless --keep-going. A payload that is there already is
    not kept twice, and a newer computation takes the place of an older one. If the server is away, payloads wait in
    the outbox for the next upload or 'matbench history flush'.
    """
    location = locate()
    study = run.start(selection)
    good = lts.GoodRuns(study.workload, study.matrix, keep_going=keep_going)
    try:
        if dry_run:
            with outcome.accounting_for(good):
                foreseen = delivery.dry_run(good.write, location, replace=replace)
                outcome.print_dry_run(foreseen, str(location), outcome.names_of(study))
        else:
            outcome.upload(good, location, study, replace=replace, fails=fail_test_on_fail)
    finally:
        say(check.about(study.findings))
