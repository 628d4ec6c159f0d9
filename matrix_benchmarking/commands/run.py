"""From options to the runs that are meant, and to the history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .. import workload
from ..errors import ConfigError, MissingHistoryError
from .options import BY_ENVIRONMENT, BY_FLAG, configuration, is_typed, not_given, once, strength
from .printing import progress_bar, warn
from .shared_options import Locate, RunOptions

if TYPE_CHECKING:
    from ..analyze.study import Study
    from ..matrix import Matrix
    from ..runs.opening import Opening, Progress
    from ..workload import Workload


def start(selection: RunOptions, locate: Locate | None = None) -> Study:
    return read(opened(selection, locate))


def read(opening: Opening) -> Study:
    """The runs; what is wrong with single ones goes to stderr."""
    with progress_bar("parsing") as progress:
        study = studied(opening, progress)
    warn(warnings_of(study.matrix))
    return study


def studied(opening: Opening, progress: Progress | None) -> Study:
    """Its study. Raises ConfigError: nobody named a history, and the one that is meant then isn't there."""
    try:
        return opening.study(progress)
    except MissingHistoryError as error:
        if strength("history") or strength("opensearch_host"):
            raise
        raise ConfigError(f"{no_results()}; and {error}") from error


def opened(
    selection: RunOptions,
    locate: Locate | None = None,
    *,
    needs_some: bool = False,
    payloads_are_past: bool = False,
) -> Opening:
    """What the options and the configuration say of where the runs are, and of how they are read."""
    from ..runs.opening import Opening  # numpy: a third of a second that --help is not to take

    if not selection.workload:
        raise ConfigError(not_given("workload", "--workload NAME", "workload"))
    config = configuration()
    payloads, results = selection.lts_results_dirname, selection.results_dirname
    history, is_all, is_required = None, False, True
    if locate is not None and not payloads_are_past:
        history, is_all, is_required = _history(locate, is_last=needs_some and payloads is results is None)
    is_payloads = payloads is not None and not payloads_are_past
    if is_all and selection.against:
        raise ConfigError("--against takes directories, and the tests come from a history")
    directory = payloads if is_payloads else results
    if directory is None and not is_all:
        raise ConfigError(no_results())
    prices = once("--price", selection.price)
    return Opening(
        selection.workload,
        () if is_all or directory is None else (directory, *selection.against),
        is_payloads=is_payloads,
        history=history,
        is_required=is_required,
        past=payloads if payloads_are_past else None,
        filters=selection.filters or "",
        order=selection.order if selection.order is not None else config.order,
        prices={**config.prices, **prices},
        minimum_effects=config.minimum_effects,
        is_of_all=True,
        settings_from=selection.settings_from,
        options=once("--workload-option", selection.workload_option),
        options_of_all=config.workload_options,
        views=config.all_views,
        has_views_file=config.views_file is not None,
        jobs=selection.jobs,
        cluster=selection.cluster,
        headline=selection.headline,
        ignored=selection.ignored_keys,
        tolerated={name for name in ("filters", "ignored_keys") if not is_typed(name)},
        priced=tuple(prices) if is_typed("price") else (),
        warn=warn,
    )


def _history(locate: Locate, *, is_last: bool) -> tuple[Locate | None, bool, bool]:
    """What locates the history that is read, if any; whether all tests come from it; if it has to be there.

    They do where it is named by a flag and no directory is, or by the environment or the configuration and no directory
    is known at all, or where it *is_last*: nothing else is named. Otherwise its runs are besides those of a directory.
    """
    named = max(strength("history"), strength("opensearch_host"))
    directory = max(strength("results_dirname"), strength("lts_results_dirname"))
    if named or configuration().lts.opensearch.instance is not None:
        is_all = directory < (BY_ENVIRONMENT if named == BY_FLAG else 1)
        return locate, is_all, named == BY_FLAG
    return (locate if is_last else None), is_last, True


def load_workload(name: str | None) -> Workload:
    if not name:
        raise ConfigError(not_given("workload", "--workload NAME", "workload"))
    return workload.load(name)


def no_results() -> str:
    return not_given("results directory", "--results-dirname DIR", "test_directory")


def require_results(selection: RunOptions) -> Path:
    if selection.results_dirname is None:
        raise ConfigError(no_results())
    return selection.results_dirname


def warnings_of(matrix: Matrix) -> list[str]:
    tests = [*matrix.entries, *matrix.unfinished]
    failed = [f"{e.name}: failed with exit code {e.exit_code}" for e in matrix.entries if e.failed]
    problems = [f"{entry.name}: {problem}" for entry in tests for problem in entry.problems]
    return [*matrix.notes, *failed, *problems]
