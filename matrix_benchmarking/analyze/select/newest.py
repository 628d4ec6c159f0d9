"""Of runs of several versions those of the newest: configurations are ranked within one, never across releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from ...matrix import NOT_SET, Entry, Matrix, typed
from ...workload import Workload
from .labelled import labelled
from .order import Order, OrderUnknown, axes


@dataclasses.dataclass(frozen=True, slots=True)
class Newest:
    """Which versions a ranking is of, where there are several."""

    key: str  # the comparison key
    of: int  # how many versions were measured
    others: tuple[Entry, ...]  # runs of the other versions, which take no part
    versions: Mapping[int, object]  # of the successful runs that take part, by their identity

    def of_runs(self, runs: Iterable[Entry] | None = None) -> object:
        """The one version of *runs*, of all that take part unless given; NOT_SET where they have several."""
        kept = self.versions.values() if runs is None else [self.versions.get(id(run), NOT_SET) for run in runs]
        found = {typed(version): version for version in kept}
        return next(iter(found.values())) if len(found) == 1 else NOT_SET


def of_newest(matrix: Matrix, workload: Workload, order: Order | None) -> tuple[Matrix, Newest | None]:
    """The runs of the newest version of *matrix* that has a successful one, by *order*, and which version that is.

    Each group of the workload has its newest version, and so has each product that its keys name. Everything and None
    where that leaves nothing out, or nothing says which version is the newest. Failed runs of a version of which nobody
    knows when it was stay.
    """
    axis = None if order is None else order.axis
    if order is None or axis is None:
        return matrix, None
    runs = labelled(matrix.entries, workload, by_settings=True)
    keys = axes(runs, workload)
    if not keys:
        return matrix, None
    key = axis if axis in keys else keys[0]
    try:
        steps, known = order.steps(runs, axis), order.of(key).places
    except OrderUnknown:
        return matrix, None
    names = (*workload.group_keys, *workload.regression.product_keys)

    def product(entry: Entry) -> object:
        return tuple(typed(entry.settings.get(name, NOT_SET)) for name in names)

    newest: dict[object, tuple[int, ...]] = {}
    versions: dict[object, object] = {}
    for run, step in zip(runs, steps, strict=True):
        of = product(run.entry)
        if step is not None and step >= newest.get(of, step):
            newest[of], versions[of] = step, run.versions[key]
    is_newest = {id(run.entry): step == newest.get(product(run.entry)) for run, step in zip(runs, steps, strict=True)}

    def stays(entry: Entry) -> bool:
        version, of = typed(entry.settings.get(key, NOT_SET)), product(entry)
        return is_newest.get(id(entry), version not in known or of not in versions or version == typed(versions[of]))

    others = tuple(entry for entry in matrix if not stays(entry))
    if not others:
        return matrix, None
    kept = Matrix(filter(stays, matrix.entries), unfinished=filter(stays, matrix.unfinished), notes=matrix.notes)
    there = len({typed(run.versions[key]) for run in runs})
    return kept, Newest(key, there, others, {id(run.entry): run.versions[key] for run in runs if stays(run.entry)})
