"""``matbench upload_lts``: a results tree in; its LTS payloads kept in a history, and what became of them in words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ..analyze import check
from ..analyze.check.finding import said_of_twins
from ..analyze.words import count_of
from ..errors import VerdictError
from ..history import Location, Pushed, delivery
from ..history.delivery import Delivered, UndeliveredError
from ..history.plan import Corrected, Refused
from ..lts import GoodRuns, listed
from .options import Command, flag
from .printing import as_warnings, first, progress_bar, say
from .run import start
from .shared_options import Locate, RunOptions, lts_results, place, replace_option, selection

if TYPE_CHECKING:
    from ..analyze.study import Study

SHOWN = 10


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
    study = start(selection)
    good = GoodRuns(study.workload, study.matrix, keep_going=keep_going)
    try:
        if dry_run:
            with accounting_for(good):
                foreseen = delivery.dry_run(good.write, location, replace=replace)
                print_dry_run(foreseen, str(location), names_of(study))
        else:
            upload(good, location, study, replace=replace, fails=fail_test_on_fail)
    finally:
        say(check.about(study.findings))


def print_delivered(
    delivered: Delivered, location: str, names: Mapping[str, str], *, more: str = "", err: bool = False
) -> None:
    earlier, pushed = delivered.earlier, delivered.pushed
    if earlier is not None:
        say(f"{location}: {counts(earlier)} that had waited in the outbox", err=err)
    if pushed is None:
        say(f"{location}: another process delivered these payloads", err=err)
        return
    say(f"{location}: {counts(pushed)}{more}", err=err)
    for each in delivered.expired:
        say(f"{location}: {each}", err=err)
    _print_twins(delivered.twins, names, err=err)
    both = [pushed] if earlier is None else [pushed, earlier]
    _print_corrected([each for one in both for each in one.corrected], names, err=err)
    raise_for([each for one in both for each in one.conflicts], [each for one in both for each in one.rejected], names)


def raise_for(
    conflicts: Sequence[Refused], rejected: Sequence[Refused], names: Mapping[str, str], *, can_replace: bool = True
) -> None:
    lines: list[str] = []
    others = [each for each in conflicts if not each.is_same_measurement]
    described = [each for each in conflicts if each.is_same_measurement]
    if others:
        lines.append(f"{count_of(len(others), 'run')} not kept, since other contents are there under the same ids:")
        lines += _few(_name(each.id, names) for each in others)
        if can_replace:
            lines.append("  --replace lets the new contents take their place")
    for refused, why in ((described, "the same measurements are there"), (rejected, "the history refuses them")):
        if refused:
            lines.append(f"{count_of(len(refused), 'run')} not kept, since {why}:")
            lines += _few(f"{_name(each.id, names)}: {each.reason}" for each in refused)
    if lines:
        raise VerdictError("\n".join(lines))


def print_dry_run(dry: Delivered, location: str, names: Mapping[str, str]) -> None:
    foreseen = dry.pushed
    assert foreseen is not None  # nobody else delivers what was only foreseen
    say(f"{location}: {counts(foreseen, is_foreseen=True)} (dry run: nothing was changed)")
    _print_twins(dry.twins, names)
    _print_corrected(foreseen.corrected, names)
    refused = [*foreseen.conflicts, *foreseen.rejected]
    for line in _few(f"{_name(each.id, names)}: {each.reason}" for each in refused):
        say(line)


@contextmanager
def accounting_for(good: GoodRuns, *, err: bool = False) -> Iterator[None]:
    """Say, after what was done with the *good* runs, which others there were; those that aren't whole are an error."""
    bad: list[str] = []
    try:
        yield
    except VerdictError as error:
        if good.refused:
            raise
        bad.append(str(error))
    if good.left_out:
        said = f"{count_of(len(good.left_out), 'run')} left out, failed or unfinished:"
        say("\n".join([said, *listed(good.left_out.items())]), err=err)
    if good.broken:
        bad.append(f"{count_of(len(good.broken), 'run')} not kept, whose payloads are not valid:")
        reasons = {}
        for name, problems in good.broken.items():
            more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
            reasons[name] = f"{problems[0]}{more}"
        bad += listed(reasons.items())
    bad += [f"{version} has no good run" for version in good.versions_without_a_good_run()]
    if bad:
        raise VerdictError("\n".join(bad))


def upload(
    good: GoodRuns, location: Location, study: Study, *, replace: bool = False, fails: bool = True, err: bool = False
) -> None:
    """Keep the *good* runs, and say what became of them; that the server is away is a warning unless it *fails*."""
    with accounting_for(good, err=err), as_warnings(UndeliveredError, unless=fails):
        with progress_bar("uploading") as progress:
            waiting = delivery.outboxes()
            delivered = delivery.upload(good.write, location, waiting, replace=replace, progress=progress)
        print_delivered(delivered, str(location), names_of(study), err=err)


def names_of(study: Study) -> dict[str, str]:
    return {str(each.test_uuid): each.name for each in study.matrix}


def counts(pushed: Pushed, *, is_foreseen: bool = False) -> str:
    added, replaced, kept = f"{count_of(pushed.added, 'run')} added", "replaced", "in conflict"
    if is_foreseen:
        added = f"{pushed.added} would be added"
        replaced, kept = (f"there with other contents, which would be {what}" for what in ("replaced", "kept"))
    others = (
        (pushed.same_rows, "there already, but for columns that no option names"),
        (pushed.recomputed, "recomputed"),
        (pushed.replaced, replaced),
        (len(pushed.conflicts), kept),
        (len(pushed.rejected), "refused"),
    )
    there = [f"{pushed.unchanged} there already"] if pushed.unchanged or is_foreseen else []
    return ", ".join([added, *there, *(f"{count} {what}" for count, what in others if count)])


def _print_corrected(corrected: Sequence[Corrected], names: Mapping[str, str], *, err: bool = False) -> None:
    named = (names.get(each.pushed_as, "") for each in corrected)
    said = (f"{name} ({each.id})" if name else each.id for name, each in zip(named, corrected, strict=True))
    for line in _few(f"{who}: was kept with {each.what}" for who, each in zip(said, corrected, strict=True)):
        say(line, err=err)


def _print_twins(twins: Sequence[str], names: Mapping[str, str], *, err: bool = False) -> None:
    if twins:
        say(f"  {said_of_twins(len(twins))}", err=err)
    for line in _few(_name(each, names) for each in twins):
        say(f"  {line}", err=err)


def _few(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in first(list(lines), SHOWN)]


def _name(id: str, names: Mapping[str, str]) -> str:
    return f"{names[id]} ({id})" if id in names else id
