"""The history of a KPI in sentences, made from the data: what moved, by how much, and if that is more than chance."""

from __future__ import annotations

import collections
from collections.abc import Sequence

from ..filters import show
from ..history.records import moment
from ..matrix import NOT_SET, typed
from .changes import Change, count
from .select.series import KPISeries, Series, SeriesPoint
from .select.versions import in_words
from .wording import difference_label, plural, value_label

LONGEST_NAME = 160
LONGEST_VERSION = 60


def series_text(found: KPISeries, series: Series) -> str:
    """A series by the labels that tell it from the others: ``cpu-1 · onnx-fp32 · batch_size 32``."""
    named = " · ".join(value_label(name, series.labels.get(name, NOT_SET)) for name in found.names)
    return named or "all runs"


def step_texts(found: KPISeries) -> list[str]:
    """Each step's version; with those of other comparison keys, and text in quotes, where that tells them apart."""
    if found.axis is None:
        return []
    axis, shown = found.axis, in_words([step[found.axis] for step in found.steps])
    counts = collections.Counter(typed(step[axis]) for step in found.steps)
    same = collections.Counter(map(show, found.versions))
    texts = []
    for step, name in zip(found.steps, shown, strict=True):
        label = f'"{name}"' if isinstance(step[axis], str) and same[name] > 1 else name
        if counts[typed(step[axis])] > 1:
            label = " · ".join([label, *(show(value) for key, value in step.items() if key != axis)])
        texts.append(label)
    return texts


def point_text(found: KPISeries, point: SeriesPoint, texts: Sequence[str]) -> str:
    """Which point of a series: by its version, else by its time."""
    if found.axis is not None:
        return f"{found.axis} {version_text(found, point, texts)}"
    return time_text(point) or "a run of unknown time"


def time_text(point: SeriesPoint) -> str:
    """When the newest run of a point ended; empty where that isn't at hand."""
    return "" if point.time_us is None else moment(point.time_us).strftime("%Y-%m-%d %H:%M UTC")


def version_text(found: KPISeries, point: SeriesPoint, texts: Sequence[str]) -> str:
    """A point's version as :func:`step_texts` writes it, cut where it is long."""
    index = next(
        number
        for number, step in enumerate(found.steps)
        if all(typed(step[key]) == typed(value) for key, value in point.versions.items())
    )
    return cut_inside(texts[index], LONGEST_VERSION)


def value_text(found: KPISeries, point: SeriesPoint) -> str:
    """A point's value, and the runs behind it."""
    kpi = found.kpi
    if point.count == 1:
        return f"{kpi.show(point.mean)}, one run"
    low, high = kpi.show(point.minimum, unit=False), kpi.show(point.maximum)
    return f"{kpi.show(point.mean)}, mean of {point.count} runs from {low} to {high}"


def conclusions(found: KPISeries, moved: Sequence[Change], drawn: int = 0) -> list[str]:
    """What the history says, a sentence or two each; *moved* as :func:`.changes.changes` gives it."""
    kpi, series = found.kpi, found.series
    left_out = [f"{runs} {plural(runs, 'run')} can't take part: {reason}." for reason, runs in found.left_out.items()]
    if not series:
        return [f"{kpi.name} is not known for any successful run.", *left_out]
    if not moved:
        alone = "each has one point, so there is nothing to compare it with"
        where = "" if found.axis is None or len(found.versions) != 1 else f" at {found.axis} {show(found.versions[0])}"
        count = (
            f"There is one series of {kpi.name}"
            if len(series) == 1
            else f"There are {len(series)} series of {kpi.name}"
        )
        return [f"{count}{where}, and {alone}: keep the runs of another version in the history.", *left_out]
    said = [_movement(moved, found), _most(moved[0], found, "Moved most")]
    worse = next((one for one in moved if one.is_better is False), None)
    if worse is not None and worse is not moved[0]:
        said.append(_most(worse, found, "Worse by most"))
    said += [_newest(found), _scope(found, drawn)]
    return [sentence for sentence in [*said, *left_out] if sentence]


def interval_text(change: Change, found: KPISeries) -> str:
    """The interval of a change; ``unknown`` where nothing was repeated."""
    if change.interval is None:
        return "unknown"
    ends = (change.interval.low, change.interval.high)
    low, high = (difference_label(end, change.comparison.scale, found.kpi) for end in ends)
    return f"{low} to {high}"


def chance_text(change: Change) -> str:
    """Whether a change is more than chance, and in which direction."""
    if change.comparison.apart is None:
        return "unknown"
    unjudged = "yes, not judged" if change.comparison.apart else "no"
    return {True: "yes, better", False: "yes, worse", None: unjudged}[change.is_better]


def _movement(moved: Sequence[Change], found: KPISeries) -> str:
    counts, total = count(moved), len(moved)
    told = {
        "is worse by more than chance": counts.worse,
        "is better by more than chance": counts.better,
        "differs by more than chance": counts.changed,
        "changes by an interval that includes no difference": counts.same,
        "may differ by chance, since nothing was repeated": counts.unknown,
    }
    parts = [f"{what} in {number} of {total} series" for what, number in told.items() if number]
    return f"Against the {_before(found)} before, the newest value of {found.kpi.name} {'; '.join(parts)}."


def _most(change: Change, found: KPISeries, what: str) -> str:
    series, texts = change.series, step_texts(found)
    assert series.previous is not None
    amount = difference_label(change.comparison.difference, change.comparison.scale, found.kpi)
    ends = "" if change.interval is None else f" (95 % interval {interval_text(change, found)})"
    judged = {True: "better by", False: "worse by", None: "not judged, and"}[change.is_better]
    verdict = {
        None: "whether that is chance isn't known",
        False: "that includes no difference",
        True: f"{judged} more than chance",
    }[change.comparison.apart]
    way = f"from {point_text(found, series.previous, texts)} to {point_text(found, series.newest, texts)}"
    return f"{what}: {_name(series, found)}: {amount}{ends} {way}; {verdict}."


def _newest(found: KPISeries) -> str:
    """Which series is the best, and which the worst, at the newest version."""
    if found.axis is None or len(found.series) < 2 or found.kpi.lower_better is None:
        return ""
    newest = found.versions[-1]
    there = [one for one in found.series if typed(one.newest.versions[found.axis]) == typed(newest)]
    ranked = sorted(there, key=lambda one: one.newest.mean, reverse=not found.kpi.lower_better)
    if len(ranked) < 2:
        return ""
    best, worst = (f"{_name(one, found)} ({value_text(found, one.newest)})" for one in (ranked[0], ranked[-1]))
    where = f"{found.axis} {cut_inside(show(newest), LONGEST_VERSION)}"
    return f"At {where}, {found.kpi.name} is best with {best} and worst with {worst}, of {len(ranked)} series."


def _scope(found: KPISeries, drawn: int) -> str:
    runs, total = sum(one.runs for one in found.series), len(found.series)
    over = f" over {len(found.versions)} {plural(len(found.versions), 'version')}" if found.axis is not None else ""
    shown = f" Drawn are the {drawn} of them that moved most." if 0 < drawn < total else ""
    return f"{total} series of {found.kpi.name}{over}, {runs} {plural(runs, 'run')}.{shown}"


def _before(found: KPISeries) -> str:
    return "run" if found.axis is None else "version"


def _name(series: Series, found: KPISeries) -> str:
    return _cut(series_text(found, series), LONGEST_NAME)


def cut_inside(shown: str, longest: int) -> str:
    """*shown* with at most so many characters: long versions differ at their ends."""
    if len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[head + 1 - longest :]}"


def _cut(shown: str, longest: int) -> str:
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"
