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
    from collections.abc import Mapping, Sequence

    from ..analyze.select.labelled import LabelledRun
    from ..analyze.select.order import Order
    from ..analyze.select.order_sources import Explicit
    from ..analyze.verdict.lifecycle import Known
    from ..analyze.verdict.model import Analysis
    from ..analyze.verdict.pairs import Build, Question
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
    history. Settings are paired, and rounds in which both were measured say what is chance; else campaigns do. The exit
    status is 1 if something is worse, 2 if nothing could be compared, else 0: also where it can't be told.
    """
    assert invocation.config is not None
    explicit, in_order = ordering.read_order(order), None
    config = invocation.config
    workload = run.load_workload(selection.workload)
    wanted = _Wanted(config, workload, selection, (old, new), ignored_keys, kpi_filter)
    is_directory = [Path(name).is_dir() for name in (old, new)]
    if all(is_directory):
        if regression.strength_of(click.get_current_context(), "order") == GIVEN_BY_FLAG:
            raise ConfigError("--order puts versions in order, and A and B are directories")
        matrix, analysis = _of_trees(wanted)
    elif any(is_directory):
        name = new if is_directory[0] else old
        raise ConfigError(f"'{name}' is no directory, and the other one is: give two directories, or two versions")
    else:
        matrix, analysis, in_order = _of_versions(wanted, place, explicit)
    prices = {**config.prices, **selection.prices}
    regression.publish(analysis, matrix, workload, output, prices=prices, order=in_order, is_pair=True)


@dataclasses.dataclass(frozen=True, slots=True)
class _Wanted:
    """What was asked for, as the arguments and options say it."""

    config: Config
    workload: Workload
    selection: Selection
    names: tuple[str, str]
    ignored: Sequence[str]
    kpi_filter: Sequence[str]

    @property
    def is_tolerant(self) -> bool:
        """Whether a label to ignore that no run has is only noted."""
        return regression.strength_of(click.get_current_context(), "ignored_keys") < TYPED

    def question(self, data: str, whole: Matrix, known: Mapping[str, Known] | None = None) -> Question:
        """What is asked of the runs, of which *whole* has all that there are."""
        from ..analyze.verdict.pairs import Question
        from ..analyze.verdict.sides import Blocks

        regression.check_kpi_filter(self.kpi_filter, self.workload)
        effects = regression.minimum_effects(self.config, self.workload)
        return Question(data, Blocks(lambda: whole.entries), effects, known or {}, now=dt.datetime.now(dt.UTC))

    def of_builds(self, builds: tuple[Build, Build], question: Question) -> Analysis:
        from ..analyze.verdict.pairs import compare_builds

        options: dict[str, Any] = {"ignored": self.ignored, "kpi_filter": self.kpi_filter}
        return compare_builds(*builds, self.workload, question, is_tolerant=self.is_tolerant, **options)


def _of_trees(wanted: _Wanted) -> tuple[Matrix, Analysis]:
    """The runs of both directories, and what they say."""
    from ..matrix import Matrix

    whole, builds = _trees(wanted.config, wanted.workload, wanted.selection, wanted.names)
    data = " and ".join(f"{build.name} ({len(build.entries)} runs)" for build in builds)
    chosen = Matrix([entry for build in builds for entry in build.entries])
    return chosen, wanted.of_builds(builds, wanted.question(data, whole))


def _trees(
    config: Config, workload: Workload, chosen: Selection, names: tuple[str, str]
) -> tuple[Matrix, tuple[Build, Build]]:
    """All runs of both directories, and of each the build, with the runs that the filters leave."""
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
    return whole, (old, new)


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


def _of_versions(wanted: _Wanted, where: Place, explicit: Explicit | None) -> tuple[Matrix, Analysis, Order]:
    """The runs of a results directory or a history, what the two versions among them say, and the order of all."""
    from ..analyze.select.order import OrderUnknown
    from ..analyze.select.selection import select
    from ..analyze.verdict.pairs import Build, compare_versions, ignoring, unknown_labels
    from .place import reads_history

    config, chosen, names = wanted.config, wanted.selection, wanted.names
    used = reads_history(config, where, chosen)
    if used.history is None and chosen.results_dirname is None:
        used = regression.default_history(chosen, lambda: locate(config, where))
    work = run.start(config, used)
    matrix = work.matrix if work.past is None else work.past
    workload = ignoring(wanted.workload, wanted.ignored)
    order = ordering.order_of(workload, work.whole, explicit, work.filters)
    axis = order.axis or next(iter(workload.regression.comparison_keys), None)
    if axis is None:
        raise ConfigError(f"workload '{workload.name}' has no versions to compare: give two directories")
    by_version = _by_version(order, axis, matrix, names)
    known = regression.alarms_known_to(wanted.workload, used)
    data = f"{len(by_version[names[0]])} and {len(by_version[names[1]])} runs of {regression.where(used)}"
    question = wanted.question(data, work.whole, known)
    builds = (Build(name, [one.entry for one in by_version[name]]) for name in names)
    nothing = unknown_labels(wanted.ignored, workload, order.runs_of(matrix.entries))
    if nothing and not wanted.is_tolerant:
        raise ConfigError("; ".join(nothing))
    try:
        selected = select(matrix, workload, order=order, kpi_filter=wanted.kpi_filter)
    except OrderUnknown:
        old, new = builds
        return matrix, wanted.of_builds((old, new), question), order
    selected = dataclasses.replace(
        selected,
        notes=(*nothing, *selected.notes),
        order=_which_is_newer(order, axis, [by_version[name][0] for name in names], names),
    )
    return matrix, compare_versions(selected, *names, question, axis=axis), order


def _by_version(order: Order, axis: str, matrix: Matrix, names: tuple[str, str]) -> dict[str, list[LabelledRun]]:
    """The runs by their version, in words; both *names* are among them.

    Raises:
        ConfigError: a version has no run, or both are the same.
    """
    from ..filters import show
    from ..matrix import NOT_SET

    found: dict[str, list[LabelledRun]] = {}
    for one in order.runs_of(matrix.entries):
        if one.versions[axis] is not NOT_SET:
            found.setdefault(show(one.versions[axis]), []).append(one)
    for name in names:
        if name not in found:
            raise ConfigError(f"'{name}' is no directory, and no {axis} of these runs: {did_you_mean(name, found)}")
    if names[0] == names[1]:
        raise ConfigError(f"both are {axis} {names[0]}")
    return found


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
