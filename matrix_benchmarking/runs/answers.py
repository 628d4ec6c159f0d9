"""What is best, what changed, and what is odd, as answers that print themselves."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import shlex
from collections.abc import Iterator, Sequence

import msgspec

from ..analyze import check
from ..analyze.best import Best, Group, Standing
from ..analyze.check import Finding
from ..analyze.report.markdown import ACCEPT, one_line, worse
from ..analyze.study import Study
from ..analyze.verdict.model import Analysis, Outcome, SeriesVerdict, Status
from ..analyze.wording import analyses, under_limit
from ..analyze.wording import ranking as wording
from ..analyze.wording import verdicts as verdict_wording
from ..analyze.words import plural, probability, tuning_label
from ..filters import show
from ..kpi import KPIDefinition
from ..matrix import NOT_SET
from .text import Printable, PrintedColumn, PrintedTable

ROWS = 20
REASONS, DOUBTS_SAID = 5, 3
UNKNOWN = "unknown"  # as KPIs show what isn't known
RUNS_NAMED = 3
_CELL = 200
_WORD = 40
_VERDICT, _ALARM, _NO_ALARM = "Verdict", "Alarm", "–"


@dataclasses.dataclass(frozen=True, repr=False)
class BestAnswer(Printable):
    """Which configuration is best of a *study*, under a limit where it has one."""

    study: Study

    @property
    def best(self) -> Best:
        return self.study.best

    def said(self) -> Iterator[str | PrintedTable]:
        """The best point of each variant, then the verdict."""
        yield from self.tables()
        yield from self.verdict()

    def tables(self) -> Iterator[PrintedTable]:
        """A table for each group of variants that are compared."""
        for group in self.best.compared:
            columns = _best_columns([group], (), group.variant_names, group.kpi, self._others(group))
            yield PrintedTable(columns, wording.scope(group) if group.settings else "")
        for alone in self.best.alone_by_kpi:
            scopes = list(dict.fromkeys(name for group in alone for name in group.settings))
            yield PrintedTable(_best_columns(alone, scopes, (), alone[0].kpi, self._others(alone[0])), "One point each")

    def _others(self, group: Group) -> list[KPIDefinition]:
        kpis = self.study.workload.kpis.values()
        ranked = [one for one in kpis if one.applies(group.best.settings) and not one.ignored_for_regression]
        return [one for one in ranked if one.name != group.kpi.name]

    def verdict(self) -> Iterator[str]:
        """The verdict, what makes it doubtful, what takes no part in it, and what was found odd, a line each."""
        limited = self.study.limited
        for verdict in wording.verdict(self.best) if limited is None else under_limit.verdict_under(limited):
            yield str(verdict)
            if verdict.command:
                yield f"Measure beyond it: {verdict.command}"
        before, newest = self.study.better_before, self.best.newest
        yield from wording.of_history(self.study)
        yield from wording.of_before(before, newest)
        for versions in dict.fromkeys(wording.versions_of(*pair, newest) for pair in before):
            if versions:
                named = one_line(shlex.join(versions), 500)
                yield f"Compare them: 'matbench compare {named}' with the options of this command."
        yield from wording.of_failed(self.study.without_a_good_run)
        yield from () if limited is None else (*under_limit.not_sure(limited), *under_limit.left_out(limited))
        shown = (each.point.interval for group in self.best.groups for each in group.variants)
        if any(interval is not None and interval.is_within for interval in shown):
            yield wording.OF_WITHIN
        yield from wording.of_newest(self.best)
        yield from wording.of_trees(self.best)
        yield from wording.instead(self.study.unknown_headline, self.study.matrix)
        yield from wording.doubts(self.best)
        left_out = wording.exclusions(self.best)
        if self.best.groups and left_out:
            yield f"{left_out}."
        findings = self.study.findings
        yield check.about(findings, check.AnswerKind.BEST)
        changing = [one.sentence for one in findings if check.AnswerKind.BEST in one.changes]
        yield from (f"* {one_line(sentence, 500)}" for sentence in changing[: check.SAID])


@dataclasses.dataclass(frozen=True, repr=False)
class AnalysisAnswer(Printable):
    """What got worse, better, or can't be told: the newest version against its history, or one side against another.

    Attributes:
        analysis: the verdict on each series.
        elsewhere: where those are that have no room.
    """

    analysis: Analysis
    elsewhere: str = "`analysis` has them all"

    @classmethod
    def of(cls, analysis: Analysis, study: Study, answer: check.AnswerKind, **others: str) -> AnalysisAnswer:
        """The answer with what is odd about the runs of *study*."""
        odd = [one.sentence for one in study.findings if answer in one.changes]
        counted = check.counted(study.findings, answer)
        return cls(msgspec.structs.replace(analysis, check=counted, odd=odd), **others)

    def said(self) -> Iterator[str | PrintedTable]:
        """The verdict, the series that changed or are in doubt, and what is to be known of the data."""
        analysis = self.analysis
        first, *others = analyses.lead(analysis)
        for sentences in filter(None, (first, " ".join(others))):
            yield one_line(sentences, 1500)
        shown = [one for one in analysis.verdicts if verdict_wording.is_told(one)]
        if shown:
            yield _Verdicts(_verdict_columns(analysis, shown[:ROWS]))
        if rest := shown[ROWS:]:
            failing = sum(one.fails for one in rest)
            worse_too = f", {failing} of them worse" if failing else ""
            yield f"… and {len(rest)} more series{worse_too}: {self.elsewhere}"
        if any(one.effect is not None and one.stands_on for one in shown[:ROWS]):
            yield "Levels are geometric means, a little below the plain ones of *Best configuration* and `parse`."
        if alarm := next((one.alarm.id for one in worse(analysis) if one.alarm.id), None):
            meant = ACCEPT.format(id=alarm)
            yield one_line(f"What is meant is accepted by '{meant}', where the runs are in a history.", 500)
        lines = [*_reasons(analysis), *(f"Note: {note}" for note in analysis.notes)]
        lines += map(verdict_wording.doubt, analysis.doubts[:DOUBTS_SAID])
        lines += [check.line(analysis.check)] if analysis.check else []
        lines += [f"* {sentence}" for sentence in analysis.odd[: check.SAID]]
        # One line: a service that reads the output obeys lines that begin in its own way.
        yield from (one_line(line, 500) for line in lines)


@dataclasses.dataclass(frozen=True, repr=False)
class CheckAnswer(Printable):
    """What is odd about the runs of a *study*."""

    study: Study

    @property
    def findings(self) -> Sequence[Finding]:
        """Those that change an answer first."""
        return self.study.findings

    def said(self) -> Iterator[str | PrintedTable]:
        study, order = self.study, self.study.order_at_hand
        runs = study.runs.tests
        where = f"{study.workload.name} ({study.data})"
        yield f"{runs} {plural(runs, 'run')} of {where}: {check.counted(self.findings)}."
        for heading, part in itertools.groupby(self.findings, operator.attrgetter("heading")):
            yield f"\n{heading}:"
            for one in part:
                yield f"* {one.sentence}"
                names = one.runs[: RUNS_NAMED + (len(one.runs) == RUNS_NAMED + 1)]  # a line says the last one, too
                yield from (f"    {name}" for name in names)
                if rest := len(one.runs) - len(names):
                    yield f"    … and {rest} more"
        is_unknown = any(one.kind == "order-unknown" for one in self.findings)
        if order is not None and not is_unknown and order.sentence:
            yield f"\n{order.sentence}"


def _best_columns(
    groups: Sequence[Group],
    scopes: Sequence[str],
    names: Sequence[str],
    kpi: KPIDefinition,
    others: Sequence[KPIDefinition],
) -> list[PrintedColumn]:
    """The best of each variant of *groups*; a column for each of *scopes*, settings of a group, and of *names*."""
    has_tuning = any(group.tuning_names for group in groups)
    texts = [*scopes, *names, *(["at"] if has_tuning else [])]
    headers = [*texts, kpi.title, "95 % interval", "difference", "runs", *(each.title for each in others)]
    rows = [
        [*(show(group.settings.get(name, NOT_SET)) for name in scopes), *_best_row(one, group, names, kpi, has_tuning)]
        + [_mean(one, other) for other in others]
        for group in groups
        for one in group.variants
    ]
    fixed = len(headers) - len(others)
    columns = [
        PrintedColumn(header, cells, _CELL, max(place - fixed + 1, 0), is_number=place >= len(texts))
        for place, (header, cells) in enumerate(zip(headers, zip(*rows, strict=True), strict=True))
    ]
    told = [column for place, column in enumerate(columns) if place < fixed or {*column.cells} != {UNKNOWN}]
    return [column for column in told if not scopes or column.title != "difference"]


def _best_row(one: Standing, group: Group, names: Sequence[str], kpi: KPIDefinition, has_tuning: bool) -> list[str]:
    point, interval, is_best = one.point, UNKNOWN, one.point is group.best
    if point.interval is not None:
        marks = f"{' (pooled)' if len(point.runs) == 1 else ''}{' †' if point.interval.is_within else ''}"
        interval = f"{wording.interval_label(point.interval, kpi, unit=False)}{marks}"
    return [
        *(show(point.settings.get(name, NOT_SET)) for name in names),
        *([tuning_label(point.settings, group.tuning_names)] if has_tuning else []),
        kpi.show(point.value, unit=False),
        interval,
        "best" if is_best else wording.difference_label(one.difference, group.scale, kpi),
        str(len(point.runs)),
    ]


def _mean(one: Standing, kpi: KPIDefinition) -> str:
    """Another KPI at the variant's best point, averaged over the same runs."""
    values = [entry.kpis[kpi.name] for entry in one.point.runs if kpi.name in entry.kpis]
    return kpi.show(sum(values) / len(values) if values else None, unit=False)


class _Verdicts(PrintedTable):
    """The table of an analysis: where the alarms have no room for a column, they stand below the verdicts."""

    def of_width(self, width: int) -> Sequence[PrintedColumn]:
        columns = super().of_width(width)
        alarms = next((each for each in self.columns if each.title == _ALARM and each not in columns), None)
        if alarms is None:
            return columns
        # Without its id nobody can acknowledge an alarm.
        verdicts = next(each for each in columns if each.title == _VERDICT)
        pairs = zip(verdicts.cells, alarms.cells, strict=True)
        cells = [one if alarm == _NO_ALARM else f"{one}\n{alarm}" for one, alarm in pairs]
        return [dataclasses.replace(verdicts, cells=cells) if each is verdicts else each for each in columns]


def _verdict_columns(analysis: Analysis, shown: Sequence[SeriesVerdict]) -> list[PrintedColumn]:
    failing = {one.verdict.id: one for one in worse(analysis)}
    sizes, levels, since, before, alarms = [], [], [], [], []
    for one in shown:
        bad = failing.get(one.id)
        sizes.append(verdict_wording.size(one) if bad is None else bad.size)
        levels.append(verdict_wording.levels(one.kpi, one) if bad is None else bad.levels)
        is_of_sides = bool(one.stands_on) and (bad is None or not bad.alarm.id)  # two sides don't say since when
        since.append(None if is_of_sides else one.first_bad_version if bad is None else bad.alarm.first_bad)
        before.append(None if is_of_sides else one.last_good_version if bad is None else bad.alarm.last_good)
        held = [alarm.id for alarm in one.alarms if alarm.status is not Status.FIXED]
        about = held[-1] if held and one.outcome is Outcome.REGRESSION else _NO_ALARM
        alarms.append(about if bad is None else bad.alarm.id or _NO_ALARM)
    dated = [
        _column("Since", [version or "–" for version in since]),
        _column("Last before", [version or "–" for version in before], drop=3),
    ]
    return [
        _column("KPI", [one.kpi.name for one in shown], folds_to=12),
        _column("Series", [one.name for one in shown], folds_to=14),
        _column(_VERDICT, [verdict_wording.verdict_text(one) for one in shown], folds_to=12),
        # The interval stands below the size: one line of both is too wide for most terminals.
        PrintedColumn("Change", [one_line(size, 2 * _WORD).replace(" (", "\n(") for size in sizes], is_number=True),
        _column("Level", levels, drop=1, is_number=True),
        *(dated if any(since) or not all(one.stands_on for one in shown) else []),
        _column("Runs", [f"{one.runs_before} → {one.runs_after}" for one in shown], drop=4, is_number=True),
        _column("q", [probability(one.q_value) for one in shown], drop=5, is_number=True),
        *([_column(_ALARM, alarms, drop=2)] if set(alarms) - {_NO_ALARM} else []),
    ]


def _column(
    title: str, cells: Sequence[str], *, folds_to: int | None = None, drop: int = 0, is_number: bool = False
) -> PrintedColumn:
    limit = _WORD if folds_to is None else _CELL
    return PrintedColumn(title, [one_line(cell, limit) for cell in cells], folds_to, drop, is_number)


def _reasons(analysis: Analysis) -> list[str]:
    counts: dict[str, int] = {}
    for one in analysis.not_analysed:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    said = [
        f"Not analysed: {count} × {reason}" if count > 1 else f"Not analysed: {reason}"
        for reason, count in counts.items()
    ]
    rest = len(said) - REASONS
    return [*said[:REASONS], *([f"… and {rest} other {plural(rest, 'reason')}"] if rest > 0 else [])]
