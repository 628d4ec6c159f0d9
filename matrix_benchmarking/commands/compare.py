"""``matbench compare``: two results trees, or two versions, in; whether the second one is worse out."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import ConfigError, did_you_mean
from . import ordering, regression, run, sources
from .options import TYPED, Command, Invocation, Selection, common, option, selection
from .place import GIVEN_BY_FLAG, Place, locate, place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..analyze.select.labelled import LabelledRun
    from ..analyze.select.order import Order
    from ..analyze.select.order_sources import Explicit
    from ..analyze.verdict.pairs import Build
    from ..config import Config
    from ..matrix import Matrix
    from ..workload import Workload


@click.command("compare", cls=Command)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@selection
@place
@ordering.order
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
    selection: Selection,
    place: Place,
    order: str | None,
    kpi_filter: Sequence[str],
    ignored_keys: Sequence[str],
    output: regression.Output,
) -> None:
    """Compare two results trees, or two versions: is B worse than A?

    A and B are results directories or directories of LTS payloads; or two versions in --results-dirname or in the
    history. Settings are paired, and repeats say what is chance. The exit status is 1 if something is worse, 2 if
    nothing could be compared, else 0.
    """
    from ..analyze.verdict.pairs import compare_builds

    assert invocation.config is not None
    explicit, in_order, newer = ordering.read_order(order), None, ""
    config = invocation.config
    workload = run.load_workload(selection.workload)
    is_directory = [Path(name).is_dir() for name in (old, new)]
    if all(is_directory):
        if regression.strength_of(click.get_current_context(), "order") == GIVEN_BY_FLAG:
            raise ConfigError("--order puts versions in order, and A and B are directories")
        matrix, builds = _trees(config, workload, selection, (old, new))
        data = f"{builds[0].name} ({len(builds[0].entries)} runs) and {builds[1].name} ({len(builds[1].entries)} runs)"
    elif any(is_directory):
        name = new if is_directory[0] else old
        raise ConfigError(f"'{name}' is no directory, and the other one is: give two directories, or two versions")
    else:
        matrix, builds, data, in_order, newer = _versions(config, workload, selection, place, explicit, (old, new))
    regression.check_kpi_filter(kpi_filter, workload)
    effects = regression.minimum_effects(config, workload)
    options: dict[str, Any] = {"ignored": ignored_keys, "kpi_filter": kpi_filter, "now": dt.datetime.now(dt.UTC)}
    options["is_tolerant"] = regression.strength_of(click.get_current_context(), "ignored_keys") < TYPED
    analysis = compare_builds(*builds, workload, data=data, minimum_effects=effects, **options)
    prices = {**config.prices, **selection.prices}
    analysis = dataclasses.replace(analysis, order=newer)
    regression.publish(analysis, matrix, workload, output, prices=prices, order=in_order, is_pair=True)


def _trees(
    config: Config, workload: Workload, chosen: Selection, names: tuple[str, str]
) -> tuple[Matrix, tuple[Build, Build]]:
    """The runs of both directories, and what each build is called."""
    from .. import filters
    from ..analyze.verdict.pairs import Build
    from ..matrix import Matrix

    first, second = map(Path, names)
    if first.resolve() == second.resolve():
        raise ConfigError(f"'{names[0]}' and '{names[1]}' are the same directory")
    wanted = filters.parse(chosen.filters)
    both = sources.trees_of(
        dataclasses.replace(chosen, results_dirname=first, lts_results_dirname=None, against=(second,))
    )
    found = {name: _directory(config, workload, chosen, directory) for name, directory in both}
    whole = Matrix([entry for matrix in found.values() for entry in matrix])
    sources.check_names(whole, wanted, chosen)
    builds = []
    for name, everything in found.items():
        matrix = everything.filtered(wanted)
        run.warn(run.warnings_of(matrix))
        builds.append(Build(name, matrix.entries))
    old, new = builds
    return Matrix([*old.entries, *new.entries]), (old, new)


def _directory(config: Config, workload: Workload, chosen: Selection, directory: Path) -> Matrix:
    """The runs below *directory*: a results tree, else LTS payloads."""
    from .. import lts
    from ..errors import MatbenchError

    alone = dataclasses.replace(chosen, results_dirname=directory, lts_results_dirname=None, against=(), history=None)
    try:
        return sources.read_matrix(workload, config, alone, None)
    except MatbenchError as error:
        try:
            return lts.read_matrix(workload, directory)
        except MatbenchError:
            raise error from None


def _versions(
    config: Config,
    workload: Workload,
    chosen: Selection,
    where: Place,
    explicit: Explicit | None,
    names: tuple[str, str],
) -> tuple[Matrix, tuple[Build, Build], str, Order, str]:
    """The runs of two versions, in words, among those of a results directory or a history; and which is the newer."""
    from ..analyze.verdict.pairs import Build
    from ..filters import show
    from ..matrix import NOT_SET
    from .place import reads_history

    used = reads_history(config, where, chosen)
    if used.history is None and chosen.results_dirname is None:
        used = regression.default_history(chosen, lambda: locate(config, where))
    work = run.start(config, used)
    matrix = work.matrix if work.past is None else work.past
    order = ordering.order_of(workload, work.whole, explicit, work.filters)
    axis = order.axis or next(iter(workload.regression.comparison_keys), None)
    if axis is None:
        raise ConfigError(f"workload '{workload.name}' has no versions to compare: give two directories")
    by_version: dict[str, list[LabelledRun]] = {}
    for one in order.runs_of(matrix.entries):
        if one.versions[axis] is not NOT_SET:
            by_version.setdefault(show(one.versions[axis]), []).append(one)
    for name in names:
        if name not in by_version:
            raise ConfigError(
                f"'{name}' is no directory, and no {axis} of these runs: {did_you_mean(name, by_version)}"
            )
    if names[0] == names[1]:
        raise ConfigError(f"both are {axis} {names[0]}")
    old, new = (Build(name, [one.entry for one in by_version[name]]) for name in names)
    data = f"{len(old.entries)} and {len(new.entries)} runs of {regression.where(used)}"
    newer = _which_is_newer(order, axis, [by_version[name][0] for name in names], names)
    return matrix, (old, new), data, order, newer


def _which_is_newer(order: Order, axis: str, runs: Sequence[LabelledRun], names: tuple[str, str]) -> str:
    """A sentence on the order of both versions; empty where nothing says it, which a comparison can do without."""
    from ..analyze.select.order import OrderUnknown

    try:
        old, new = (order.place(run, axis) for run in runs)
        sentence = order.of(axis).sentence
    except OrderUnknown:
        return ""
    if old is None or new is None:
        return ""
    newer = f"{names[0]} is the newer one" if old > new else f"{names[1]} is the newer one"
    return f"{sentence} {newer}."
