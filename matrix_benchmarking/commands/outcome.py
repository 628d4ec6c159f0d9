"""What became of pushed payloads, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from ..analyze.check.wording import said_of_twins
from ..errors import VerdictError
from ..history.delivery import UndeliveredError
from ..lts import listed
from . import run

if TYPE_CHECKING:
    from ..history import Pushed
    from ..history.delivery import Delivered
    from ..history.port import Corrected, Refused
    from ..lts import GoodRuns
    from ..lts.payloads import PayloadProblem

SHOWN = 10


def print_delivered(delivered: Delivered, location: str, names: Mapping[str, str], *, err: bool = False) -> None:
    """Say what an upload did, on standard error where that is not the answer.

    Raises:
        VerdictError: something was not kept.
    """
    if delivered.earlier is not None:
        click.echo(run.printable(f"{location}: {counts(delivered.earlier)} that had waited in the outbox"), err=err)
    if delivered.pushed is None:
        click.echo(run.printable(f"{location}: another process delivered these payloads"), err=err)
        return
    click.echo(run.printable(f"{location}: {counts(delivered.pushed)}"), err=err)
    earlier = delivered.earlier
    _print_twins(delivered.twins, names, err=err)
    print_corrected([*delivered.pushed.corrected, *(earlier.corrected if earlier else ())], names, err=err)
    conflicts = [*delivered.pushed.conflicts, *(earlier.conflicts if earlier else ())]
    rejected = [*delivered.pushed.rejected, *(earlier.rejected if earlier else ())]
    raise_for(conflicts, rejected, names)


def raise_for(
    conflicts: Sequence[Refused], rejected: Sequence[Refused], names: Mapping[str, str], *, can_replace: bool = True
) -> None:
    """Raise VerdictError if something was not kept, naming each run."""
    lines: list[str] = []
    others = [each for each in conflicts if not each.is_same_measurement]
    described = [each for each in conflicts if each.is_same_measurement]
    if others:
        lines.append(f"{_runs(len(others))} not kept, since other contents are there under the same ids:")
        lines += _listed(others, names, with_reason=False)
        if can_replace:
            lines.append("  --replace lets the new contents take their place")
    if described:
        lines.append(f"{_runs(len(described))} not kept, since the same measurements are there:")
        lines += _listed(described, names, with_reason=True)
    if rejected:
        lines.append(f"{_runs(len(rejected))} not kept, since the history refuses them:")
        lines += _listed(rejected, names, with_reason=True)
    if lines:
        raise VerdictError("\n".join(lines))


def print_corrected(corrected: Sequence[Corrected], names: Mapping[str, str], *, err: bool = False) -> None:
    """Say which descriptions were replaced."""
    for each in corrected[:SHOWN]:
        name = f"{names[each.pushed_as]} ({each.id})" if each.pushed_as in names else each.id
        click.echo(run.printable(f"  {name}: was kept with {each.what}"), err=err)
    if len(corrected) > SHOWN:
        click.echo(f"  … and {len(corrected) - SHOWN} more", err=err)


def _print_twins(twins: Sequence[str], names: Mapping[str, str], *, err: bool = False) -> None:
    """Say which runs look like another one, in the words of 'matbench check'."""
    if twins:
        click.echo(f"  {said_of_twins(len(twins))}", err=err)
    for each in twins[:SHOWN]:
        click.echo(run.printable(f"    {f'{names[each]} ({each})' if each in names else each}"), err=err)
    if len(twins) > SHOWN:
        click.echo(f"    … and {len(twins) - SHOWN} more", err=err)


def print_dry_run(dry: Delivered, location: str, names: Mapping[str, str]) -> None:
    """Say what an upload would do, and name what it would not keep."""
    foreseen = dry.pushed
    assert foreseen is not None  # nobody else delivers what was only foreseen
    parts = [f"{foreseen.added} would be added", f"{foreseen.unchanged} there already"]
    for count, what in (
        (foreseen.recomputed, "recomputed"),
        (foreseen.replaced, "there with other contents, which would be replaced"),
        (len(foreseen.conflicts), "there with other contents, which would be kept"),
        (len(foreseen.rejected), "refused"),
    ):
        if count:
            parts.append(f"{count} {what}")
    click.echo(run.printable(f"{location}: {', '.join(parts)} (dry run: nothing was changed)"))
    _print_twins(dry.twins, names)
    print_corrected(foreseen.corrected, names)
    for line in _listed([*foreseen.conflicts, *foreseen.rejected], names, with_reason=True):
        click.echo(run.printable(line))


@contextmanager
def accounting_for(good: GoodRuns, *, err: bool = False) -> Iterator[None]:
    """Say, after what was done with the *good* runs, which others there were.

    Raises:
        VerdictError: what was done ended so; a run claims success and isn't whole; a version has no good run.
    """
    bad: list[str] = []
    try:
        yield
    except VerdictError as error:
        if good.refused:
            raise
        bad.append(str(error))
    if good.left_out:
        lines = [f"{_runs(len(good.left_out))} left out, failed or unfinished:", *listed(good.left_out.items())]
        click.echo(run.printable("\n".join(lines)), err=err)
    if good.broken:
        bad.append(f"{_runs(len(good.broken))} not kept, whose payloads are not valid:")
        bad += listed((name, _first(problems)) for name, problems in good.broken.items())
    bad += [f"{version} has no good run" for version in good.versions_without_a_good_run()]
    if bad:
        raise VerdictError("\n".join(bad))


def _first(problems: Sequence[PayloadProblem]) -> str:
    first = problems[0]
    reason = f"{first.field}: {first.reason}" if first.field else first.reason
    return f"{reason} (and {len(problems) - 1} more)" if len(problems) > 1 else reason


@contextmanager
def tolerant(*, fails: bool) -> Iterator[None]:
    """Turn the absence of the server into a warning, unless it *fails* the command."""
    try:
        yield
    except UndeliveredError as error:
        if fails:
            raise
        run.warn([str(error)])


def counts(pushed: Pushed) -> str:
    """*pushed* as ``3 runs added, 2 there already``."""
    parts = [f"{_runs(pushed.added)} added"]
    for count, what in (
        (pushed.unchanged, "there already"),
        (pushed.recomputed, "recomputed"),
        (pushed.replaced, "replaced"),
        (len(pushed.conflicts), "in conflict"),
        (len(pushed.rejected), "refused"),
    ):
        if count:
            parts.append(f"{count} {what}")
    return ", ".join(parts)


def _listed(refused: Sequence[Refused], names: Mapping[str, str], *, with_reason: bool) -> list[str]:
    lines = []
    for each in refused[:SHOWN]:
        name = f"{names[each.id]} ({each.id})" if each.id in names else each.id
        lines.append(f"  {name}: {each.reason}" if with_reason else f"  {name}")
    if len(refused) > SHOWN:
        lines.append(f"  … and {len(refused) - SHOWN} more")
    return lines


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"
