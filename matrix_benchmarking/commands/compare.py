"""``matbench compare``: two results trees, or two versions, in; whether the second one is worse out."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..analyze import check
from ..errors import ConfigError
from ..matrix import Matrix
from . import regression, run
from .options import TYPED, Command, Invocation, RunOptions, common, option, order_option, selection, strength
from .place import GIVEN_BY_FLAG, Place, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analyze.study import Study
    from ..analyze.verdict.model import Analysis
    from ..config import Config
    from ..runs.judging import Asked


@click.command("compare", cls=Command)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@selection
@place
@order_option
@regression.kpi_filter
@option(
    "--ignored-keys",
    type=regression.Names(),
    default=(),
    metavar="NAMES",
    help="Settings in which A and B may differ, beside the workload's own: image,engine.",
)
@regression.reports
@common
@click.pass_obj
def command(
    invocation: Invocation,
    old: str,
    new: str,
    selection: RunOptions,
    place: Place,
    order: str | None,
    kpi_filter: Sequence[str],
    ignored_keys: Sequence[str],
    output: regression.Output,
) -> None:
    """Compare two results trees, or two versions: is B worse than A?

    A and B are results directories or directories of LTS payloads; or two versions in --results-dirname or in the
    history. Settings are paired, and rounds in which both were measured say what is chance; else campaigns do. The exit
    status is 1 if something is worse, 2 if nothing could be compared, else 0: also where it can't be told.
    """
    assert invocation.config is not None
    from ..runs.judging import Asked, compare
    from . import publishing

    config, is_directory = invocation.config, [Path(name).is_dir() for name in (old, new)]
    context = click.get_current_context()
    asked = Asked(kpi_filter, ignored_keys, strength(context, "ignored_keys") < TYPED)
    publishing.check_kpi_filter(kpi_filter, run.load_workload(selection.workload))
    if all(is_directory):
        if strength(context, "order") == GIVEN_BY_FLAG:
            raise ConfigError("--order puts versions in order, and A and B are directories")
        study, analysis = _of_trees(config, selection, (old, new), asked)
    elif any(is_directory):
        name = new if is_directory[0] else old
        raise ConfigError(f"'{name}' is no directory, and the other one is: give two directories, or two versions")
    else:
        study = run.start(config, regression.reads_some_history(config, place, selection), order)
        analysis = compare(study, old, new, asked)
    publishing.publish(analysis, study, output, is_pair=True)


def _of_trees(config: Config, chosen: RunOptions, names: tuple[str, str], asked: Asked) -> tuple[Study, Analysis]:
    """The runs of both directories that the filters leave, and what they say."""
    from ..analyze.study import Study
    from ..analyze.verdict.pairs import Build
    from ..runs.judging import compare_trees
    from ..runs.opening import names_of

    first, second = map(Path, names)
    if first.resolve() == second.resolve():
        raise ConfigError(f"'{names[0]}' and '{names[1]}' are the same directory")
    alone = dataclasses.replace(chosen, results_dirname=first, lts_results_dirname=None)
    opening = dataclasses.replace(run.opened(config, alone), is_payloads=None)
    found = {
        name: dataclasses.replace(opening, directories=(place,)).read() for name, place in names_of((first, second))
    }
    whole = Matrix([entry for matrix in found.values() for entry in matrix])
    opening.check_names(whole)
    parts = {name: matrix.filtered(opening.filters) for name, matrix in found.items()}
    for part in parts.values():
        run.warn(run.warnings_of(part))
    left = Matrix([entry for part in parts.values() for entry in part])
    study = Study(left, opening.workload, read=whole, filters=opening.filters, given=opening.given)
    study.findings = check.findings(left, opening.workload, opening.given.prices)
    return study, compare_trees(study, [Build(name, part.entries) for name, part in parts.items()], asked)
