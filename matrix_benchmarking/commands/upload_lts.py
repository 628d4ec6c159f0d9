"""``matbench upload_lts``: a results tree in; its LTS payloads and KPIs kept in a history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import outcome, run
from .options import Command, Invocation, Selection, common, flag, lts_results, selection
from .place import Place, locate, outboxes, place

if TYPE_CHECKING:
    from typing import IO


@click.command("upload_lts", cls=Command)
@selection
@lts_results
@place
@flag("--dry-run", help="Say what would be kept; change nothing.")
@flag("--replace", help="Let payloads take the place of other contents of the same runs.")
@flag(
    "--upload-by-kpi",
    help="Taken for MatrixBenchmarking's sake: each KPI becomes a record of its own in any case.",
)
@flag(
    "--fail-test-on-fail",
    config_key="lts.opensearch.export.fail_test_on_fail",
    help="Fail if the server is away; else the payloads wait in the outbox, with a warning.",
    default=True,
)
@common
@click.pass_obj
def command(
    invocation: Invocation,
    selection: Selection,
    place: Place,
    dry_run: bool,
    replace: bool,
    upload_by_kpi: bool,
    fail_test_on_fail: bool,
) -> None:
    """Keep the LTS payloads of a results directory in a history.

    Payloads are strict: any problem in any test, and nothing is kept. A payload that is there already is not kept
    twice, and a newer computation takes the place of an older one. If the server is away, payloads wait in the outbox
    for the next upload or 'matbench history flush'.
    """
    from .. import lts
    from ..history import delivery

    assert invocation.config is not None
    location = locate(invocation.config, place)
    work = run.start(invocation.config, selection)

    def write(stream: IO[bytes]) -> None:
        lts.write_payload_lines(work.workload, work.matrix, stream)

    names = {str(each.test_uuid): each.name for each in work.matrix}
    if dry_run:
        outcome.print_dry_run(delivery.dry_run(write, location, replace=replace), str(location), names)
        return
    with run.progress_bar("uploading") as progress, outcome.tolerant(fails=fail_test_on_fail):
        delivered = delivery.upload(write, location, outboxes(), replace=replace, progress=progress)
        outcome.print_delivered(delivered, str(location), names)
