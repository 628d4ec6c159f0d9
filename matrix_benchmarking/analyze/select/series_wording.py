"""The series of a KPI in words: their labels, their versions, their values."""

from __future__ import annotations

import collections
from collections.abc import Sequence

from ...filters import show
from ...history.records import moment
from ...kpi import KPIDefinition
from ...matrix import NOT_SET, typed
from ..wording import value_label
from .series import KPISeries, Series, SeriesPoint
from .versions import in_words

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
    values = [typed(step[axis]) for step in found.steps]
    several = {value for value, count in collections.Counter(values).items() if count > 1}
    alike = {text for text, count in collections.Counter(map(show, found.versions)).items() if count > 1}
    texts = []
    for step, value, name in zip(found.steps, values, shown, strict=True):
        label = f'"{name}"' if name in alike and isinstance(step[axis], str) else name
        if value in several:
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


def value_text(kpi: KPIDefinition, point: SeriesPoint) -> str:
    """A point's value, and the runs behind it."""
    if point.count == 1:
        return f"{kpi.show(point.mean)}, one run"
    low, high = kpi.show(point.minimum, unit=False), kpi.show(point.maximum)
    return f"{kpi.show(point.mean)}, mean of {point.count} runs from {low} to {high}"


def cut_inside(shown: str, longest: int) -> str:
    """*shown* with at most so many characters: long versions differ at their ends."""
    if len(shown) <= longest:
        return shown
    head = (longest - 1) // 2
    return f"{shown[:head]}…{shown[head + 1 - longest :]}"
