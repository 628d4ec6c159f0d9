"""What the analysis in the reports of ``matbench visualize`` takes besides the runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import regression, run
from .ordering import read_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..config import Config
    from ..history.alarms import AlarmEvent
    from ..plotting.catalogue import AnalysisOptions
    from ..workload import Workload
    from .options import Selection


def analysis_options(config: Config, workload: Workload, selection: Selection, order: str | None) -> AnalysisOptions:
    """Where the runs come from, which changes count, what the history knows of earlier alarms, and the given *order*.

    Raises:
        ConfigError: no directory is named, or the order can't be read.
    """
    from ..plotting.catalogue import AnalysisOptions

    beside = selection.history is not None and not selection.history.is_matrix
    return AnalysisOptions(
        data=f"{run.results_of(selection)}{' and its history' if beside else ''}",
        minimum_effects=regression.minimum_effects(config, workload),
        events=lambda: _events(workload, selection),
        prices={**config.prices, **selection.prices},
        order=read_order(order),
    )


def _events(workload: Workload, selection: Selection) -> Sequence[AlarmEvent]:
    """The events of the history; one that nobody asked for on the command line may be away, which is a warning."""
    from ..errors import MatbenchError
    from ..history import open_history

    use = selection.history
    if use is None:
        return ()
    try:
        with open_history(use.locate(), writable=False) as history:
            return history.alarm_events(workload.name)
    except MatbenchError as error:
        if use.is_required:
            raise
        run.warn([f"the alarms of the history can't be read: {error}"])
        return ()
