"""Runs that were opened, and what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import filters as filter_language
from .. import lts
from ..analyze.check import AnswerKind
from ..analyze.study import Study
from ..analyze.words import count_of
from ..errors import ConfigError, MatbenchError
from ..filters import Scalar
from ..history import delivery
from ..history.delivery import Delivered
from ..matrix import Entry
from ..plausible import is_number
from . import judging
from .answers import AnalysisAnswer, BestAnswer, CheckAnswer
from .opening import located, warn
from .text import Printable, PrintedTable

if TYPE_CHECKING:
    import pandas

    from ..plotting.site import Written


class Runs(Printable):
    """Some runs of one workload, and the history beside them.

    Attributes:
        study: what is known of them, each answer computed once: ``study.matrix`` has them, ``study.runs`` those of the
            history as well.
    """

    def __init__(self, study: Study) -> None:
        self.study = study

    def __len__(self) -> int:
        return len(self.study.matrix)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.study.matrix)

    def said(self) -> Iterator[str | PrintedTable]:
        """How many there are, where they are from, and what varies."""
        matrix, study = self.study.matrix, self.study
        yield f"{count_of(len(matrix), 'run')} of {study.workload.name} ({study.given.place})"
        failed, unfinished = sum(entry.failed for entry in matrix), len(matrix.unfinished)
        lost = [f"{failed} of them failed"] * bool(failed) + [f"{unfinished} more did not finish"] * bool(unfinished)
        if lost:
            yield "; ".join(lost)
        for name, values in matrix.variables().items():
            yield f"  {name}: {', '.join(map(filter_language.show, values))}"

    def best(self, limit: float | None = None) -> BestAnswer:
        """The best configuration by the workload's headline KPI; computed where it is first looked at.

        Args:
            limit: on the workload's limited KPI, in the unit in which that is shown: only points that keep it for sure.

        Raises:
            MatbenchError: *limit* is no finite number, or the workload has no KPI that it could be on.
        """
        if limit is not None and not is_number(limit):
            raise MatbenchError(f"a limit is a number, and not {limit!r}")
        study = self.study.under(limit)
        if limit is not None and study.limited is None:
            raise MatbenchError(f"workload '{study.workload.name}' has no KPI that a limit could be on")
        return BestAnswer(study)

    def compare(self, old: str, new: str, *, kpis: Sequence[str] = (), ignoring: Sequence[str] = ()) -> AnalysisAnswer:
        """Whether version *new* is worse than version *old*; so of two of the directories that were opened, or of the
        runs of two selections, such as ``image=a,vus=8``.

        Args:
            kpis: only those whose names match one of these patterns.
            ignoring: settings in which both may differ, beside those that the workload ignores.

        Raises:
            MatbenchError: a version has no run, or is no text, a name matches nothing, or nothing tells versions apart.
        """
        for name in (old, new):
            if not isinstance(name, str):
                raise ConfigError(f"a version is named by a text, such as '1.4.0', and not by {name!r}")
        names = _several(kpis)
        judging.check_kpi_filter(names, self.study.workload)
        study, analysis = judging.compare(self.study, old, new, kpi_filter=names, ignored=_several(ignoring))
        return AnalysisAnswer.of(analysis, study, AnswerKind.PAIR)

    def history(self, *kpis: str) -> AnalysisAnswer:
        """What got worse and better in the history of the runs, from version to version.

        Args:
            kpis: only those whose names match one of these patterns.

        Raises:
            MatbenchError: the versions have no order, or a name matches nothing.
        """
        judging.check_kpi_filter(kpis, self.study.workload)
        return AnalysisAnswer.of(judging.judge(self.study, kpi_filter=kpis), self.study, AnswerKind.HISTORY)

    def check(self) -> CheckAnswer:
        """What is odd about the runs, before anyone trusts an answer about them."""
        return CheckAnswer(self.study)

    def where(self, **settings: Scalar | Sequence[Scalar]) -> Runs:
        """The runs with these settings, each a value or several: ``runs.where(hw_type="cpu-1", vus=[8, 16])``.

        Types count: ``8``, ``"8"``, ``8.0`` and ``True`` are different settings, and ``1.10`` is the number 1.1.

        Raises:
            ConfigError: a setting, or a value, that no run has, or no value.
        """
        filters = {name: tuple(map(filter_language.value, _several(value))) for name, value in settings.items()}
        self.study.runs.check_values(filters)
        return Runs(self.study.selected(filters))

    def to_dataframe(self, series: str | None = None) -> pandas.DataFrame:
        """One row a run: settings, repeat, KPIs, exit code, id, location; see :meth:`.Matrix.to_dataframe`."""
        return self.study.matrix.to_dataframe(series)

    def report(self, destination: str | PathLike[str], *names: str, single_file: bool = False) -> Written:
        """Write the reports and plots *names*, or all reports, as static pages with an index.

        Raises:
            MatbenchError: an unknown name, or a page that can't be written.
        """
        from ..plotting.site import write_site  # plotly and dash: half a second

        return write_site(self.study, Path(destination), names, single_file=single_file)

    def upload(self, history: str, *, replace: bool = False) -> Delivered:
        """Keep the payloads of the good runs in the *history*; that others are left out is a warning.

        Args:
            history: ``sqlite:///matbench.db``, ``postgresql://…`` or ``https://…``.
            replace: payloads take the place of other contents of the same runs.

        Raises:
            VerdictError: a run claims success and has no valid payload: nothing is kept.
            MatbenchError: the history can't be used. What a server that is away couldn't take waits in the outbox.
        """
        good = lts.GoodRuns(self.study.workload, self.study.matrix, keep_going=False)
        delivered = delivery.upload(good.write, located(history), delivery.outboxes(), replace=replace)
        if good.left_out:
            warn(["\n".join(["left out, failed or unfinished:", *lts.listed(good.left_out.items())])])
        return delivered


def _several(value: Any) -> Sequence[Any]:
    """One value, or several; those of numpy as Python's."""
    if value is None or isinstance(value, str) or not isinstance(value, Iterable):
        value = [value]
    return [getattr(one, "item", lambda one=one: one)() for one in value]
