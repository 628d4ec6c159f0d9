"""The library: open runs from anywhere, and ask them.

    import matrix_benchmarking as mb

    runs = mb.open("results/", workload="encoder_bench")
    print(runs.best())

Commands and notebooks call it; it knows no command line.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..workload import MinimumEffect, Workload
    from .runs import Runs


def open(
    place: str | PathLike[str],
    *others: str | PathLike[str],
    workload: str | Workload,
    filters: str = "",
    history: str | None = None,
    order: str | None = None,
    prices: Mapping[str, float] | None = None,
    minimum_effects: Mapping[str, MinimumEffect] | None = None,
    settings_from: str | None = None,
    options: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    cluster: str | None = None,
    headline: str | None = None,
    ignoring: Sequence[str] = (),
) -> Runs:
    """The runs at *place*.

    Args:
        place: a results tree, a directory of LTS payloads, or a history: ``sqlite:///matbench.db``,
            ``postgresql://…``, ``https://…``, or what was exported of one: ``runs.parquet``, a directory of such files,
            ``s3://bucket/runs.parquet``.
        others: further directories of the same kind, told apart by the setting ``tree``.
        workload: whose runs they are: a short name, a module, a ``.py`` file, or the workload itself.
        filters: only runs with these settings, as on the command line: ``hw_type=cpu-1:cpu-2,batch_size=32``.
        history: a history that is read beside directories: the past of their runs.
        order: the order of versions: a file, one a line, the oldest first; or ``git:DIR``.
        prices: in USD per hour by ``vendor/hw_type`` or ``hw_type``.
        minimum_effects: by KPI, what is too small to matter; the workload's unless given.
        settings_from: settings that names of directories say: ``results/{hw_type}/{engine}-{version}``.
        options: what the workload's parsers are told.
        jobs: processes that parse; automatic unless given.
        cluster: machines that parse instead: ``tcp://host:8786``, ``{local: 3}``.
        headline: the KPI by which points are ranked; the workload's unless given.
        ignoring: settings that don't tell series apart, beside the workload's own, such as the name of a runner.

    Raises:
        MatbenchError: a place can't be read, there is no such workload, a name matches nothing, a price or an effect
            is no amount, or no run is left.
    """
    # numpy and pydantic: half a second that importing matbench is not to take
    from ..history.location import is_export
    from ..named_cluster import read
    from .opening import Opening, amounts, located
    from .runs import Runs

    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise ConfigError(f"`jobs`: {jobs!r} is no number of processes from 1 on")
    is_history = (isinstance(place, str) and "://" in place) or is_export(place)
    if is_history and (others or history is not None):
        raise ConfigError(f"{place} is a history: name directories beside which there is a history, or it alone")
    beside = str(place) if is_history else history
    opening = Opening(
        workload,
        () if is_history else tuple(map(Path, (place, *others))),
        history=None if beside is None else functools.cache(lambda: located(beside)),
        filters=filters,
        order=order,
        prices=amounts("prices", prices),
        minimum_effects=minimum_effects or {},
        settings_from=settings_from,
        options=options or {},
        jobs=jobs,
        cluster=None if cluster is None else read(cluster),
        headline=headline,
        ignored=(ignoring,) if isinstance(ignoring, str) else ignoring,
        priced=tuple(prices or ()),
    )
    return Runs(opening.study())
