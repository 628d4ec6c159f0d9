"""Where a command's tests come from: results trees, LTS payloads or a history; and the history beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError, did_you_mean
from . import run

if TYPE_CHECKING:
    from ..config import Config
    from ..filters import Filters
    from ..matrix import Matrix
    from ..workload import Workload
    from .options import Selection

Progress = Callable[[int, int], None]


def read_matrix(workload: Workload, config: Config, selection: Selection, progress: Progress | None) -> Matrix:
    """All tests that *selection* names, without its filters.

    Raises:
        MatbenchError: no place is given, or one can't be used.
    """
    use = selection.history
    is_kept = selection.lts_results_dirname is not None or (use is not None and use.is_matrix)
    if is_kept and selection.prices:
        run.warn(["--price changes nothing here: payloads keep the price with which they were made"])
    if use is not None and use.is_matrix:
        from ..history import read

        if selection.against:
            raise ConfigError("--against takes directories, and the tests come from a history")
        return read.require_matrix(workload, use.locate())
    if not selection.against:
        return _read_tree(workload, config, selection, run.directory_of(selection), progress)
    from ..matrix import joined

    trees = {name: _read_tree(workload, config, selection, place, progress) for name, place in trees_of(selection)}
    return joined(trees)


def read_index(workload: Workload, config: Config, selection: Selection) -> Matrix | None:
    """What the last parse left of all trees that *selection* names; None where one was never parsed so."""
    if selection.lts_results_dirname is not None or (selection.history is not None and selection.history.is_matrix):
        return None
    from .. import store
    from ..matrix import joined

    trees = {}
    for name, place in trees_of(selection):
        known = store.read_index(workload, place, options=run.parser_options(workload, config, selection))
        if known is None:
            return None
        trees[name] = known.matrix
    return joined(trees) if selection.against else next(iter(trees.values()))


def read_past(workload: Workload, matrix: Matrix, selection: Selection) -> Matrix | None:
    """All known runs, those of *matrix* among them; None where no history is used.

    They are read without a filter: the order of the versions is that of all runs. A history that nobody asked for on
    the command line may be away, which is a warning.
    """
    from ..errors import MatbenchError
    from ..history import read
    from ..matrix import Matrix

    use = selection.history
    if use is None or use.is_matrix:
        return None if use is None else matrix
    try:
        past = read.read_matrix(workload, use.locate())
    except MatbenchError as error:
        if use.is_required:
            raise
        reason = f"the history can't be read: {error}"
        run.warn([reason])
        return Matrix(matrix.entries, unfinished=matrix.unfinished, notes=[reason])
    run.warn(past.notes)
    return read.with_past(matrix, past)


def check_names(whole: Matrix, wanted: Filters, selection: Selection) -> None:
    """Raise ConfigError for a value of a filter, or a price, that no run of *whole* has and that a person typed.

    Such a filter out of the environment or the configuration is a warning.
    """
    try:
        whole.check_values(wanted)
    except ConfigError as error:
        if "filters" in selection.typed:
            raise
        run.warn([str(error)])
    if "price" in selection.typed:
        check_prices([entry.settings for entry in whole], selection.prices)


def check_prices(runs: Sequence[Mapping[str, Any]], prices: Iterable[str]) -> None:
    """Raise ConfigError for a price of hardware that the settings of no run name; runs that name none may be on any."""
    on = [settings for settings in runs if "hw_type" in settings]
    known = {str(settings["hw_type"]) for settings in on}
    known |= {f"{settings['vendor']}/{settings['hw_type']}" for settings in on if "vendor" in settings}
    has_vendors = any("vendor" in settings for settings in on)
    for name in prices if known else ():
        if name not in known and (has_vendors or name.partition("/")[2] not in known):
            raise ConfigError(f"--price: no run is on hardware '{name}': {did_you_mean(name, known)}")


def trees_of(selection: Selection) -> list[tuple[str, Path]]:
    """The directories that *selection* names, each with a name of its own: the last parts that tell them apart.

    Raises:
        ConfigError: no directory is given, or one twice.
    """
    places = [run.directory_of(selection), *selection.against]
    for length in range(1, 1 + max(len(place.absolute().parts) for place in places)):
        names = ["/".join(place.absolute().parts[-length:]) for place in places]
        if len(set(names)) == len(names):
            return list(zip(names, places, strict=True))
    raise ConfigError("--against names a directory that is shown already")


def _read_tree(
    workload: Workload, config: Config, selection: Selection, place: Path, progress: Progress | None
) -> Matrix:
    if selection.lts_results_dirname is not None:
        from .. import lts

        return lts.read_matrix(workload, place)
    from .. import store

    options = run.parser_options(workload, config, selection)
    return store.parse_tree(workload, place, jobs=selection.jobs, options=options, progress=progress)
