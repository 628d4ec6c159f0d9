"""Analyses made by hand: of every kind of verdict, of none, of thousands, with texts that would like to be markup."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from matrix_benchmarking import kpi
from matrix_benchmarking.analyze.detect import Estimate
from matrix_benchmarking.analyze.intervals import mean_of
from matrix_benchmarking.analyze.select.series import NotAnalysed, SeriesPoint
from matrix_benchmarking.analyze.verdict.model import (
    Alarm,
    Analysis,
    Change,
    Outcome,
    SeriesVerdict,
    Status,
)
from matrix_benchmarking.kpi import KPIDefinition
from matrix_benchmarking.matrix import Entry

MADE_AT = dt.datetime(2026, 11, 21, 12, 30, tzinfo=dt.UTC)
VERSIONS = ("1.2.9", "1.2.10", "1.3.0-rc.1", "1.3.0", "1.3.1", "1.3.2")

TOO_SHORT = "the history is too short; measure 4 more versions"
HOSTILE = (
    "<script>alert(1)</script>",
    "a | b || c",
    "two\nlines\r\nand\rthree\u2028four",
    "::error title=x::y",
    "\n::stop-commands::token",
    "]]>",
    "@team and @org/team, mail a@b.example",
    "see https://evil.example/x?y=1, www.evil.example, #12, !3, GH-4, org/repo#5, ~label, %milestone",
    "[link](https://evil.example) ![image](https://evil.example/i.png)",
    "`code` ``more`` ```fence",
    "# heading\n---\n* list\n> quote\n| a | b |\n|---|---|",
    "**bold** _em_ ~~gone~~ <b>x</b> &lt; &amp; \\",
    "\x00\x1b[31mred\x1b[0m\x07\u202eltr\udc80",
    "🎉 :tada: 👩\u200d💻 é ñ 漢字",
    "\"quotes\" 'and' {braces} $math$ $`x`$ 100 %, a%0Ab, x:y,z",
    "",
    "x" * 10_000,
    "|`@<" * 2_500,
)


@kpi.HigherBetter
@kpi.Format("{:.1f}")
@kpi.KPIMetadata(help="Answers per second", unit="1/s")
def throughput(lts: Any) -> Any:
    return lts.results.throughput


@kpi.LowerBetter
@kpi.Format("{:.2f}")
@kpi.KPIMetadata(help="95th percentile of the latency", unit="ms")
def p95_latency(lts: Any) -> Any:
    return lts.results.p95_latency


@kpi.LowerBetter
@kpi.KPIMetadata(help="Share of failed requests", unit="")
def error_rate(lts: Any) -> Any:
    return lts.results.error_rate


KPIS = kpi.collect([throughput, p95_latency, error_rate])
THROUGHPUT, LATENCY, ERROR_RATE = KPIS.values()


def point(version: str, *values: float, day: int | None = 1) -> SeriesPoint:
    """The runs at one version."""
    time_us = None if day is None else int(dt.datetime(2026, 10, day, tzinfo=dt.UTC).timestamp() * 10**6)
    entries = tuple(
        Entry(settings={}, repeat=n, location=Path("/nowhere"), name=f"{version}/{n}", exit_code=0)
        for n in range(len(values))
    )
    return SeriesPoint({"version": version}, time_us, mean_of(values), min(values), max(values), entries)


def verdict(
    outcome: Outcome = Outcome.NO_CHANGE,
    *,
    of: KPIDefinition = THROUGHPUT,
    labels: Mapping[str, Any] | None = None,
    versions: Sequence[str] = VERSIONS,
    **others: Any,
) -> SeriesVerdict:
    """The verdict on a series of one point a version; with a change at the last but one where it has one."""
    labels = {"batch_size": 8, "image": "onnx-int8"} if labels is None else labels
    name = others.pop("name", ", ".join(f"{key} {value}" for key, value in labels.items()) or "all runs")
    points = tuple(point(version, 100.0 + n, 101.0 + n, day=n + 1) for n, version in enumerate(versions))
    fields: dict[str, Any] = {"id": f"{of.name}{sorted((k, repr(v)) for k, v in labels.items())}"}
    if outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
        size = -0.103 if (outcome is Outcome.REGRESSION) is not of.lower_better else 0.103
        first = max(len(versions) - 2, 0)
        fields |= {
            "effect": Estimate(size, size - 0.02, size + 0.02),
            "difference": Estimate(100 * size, 100 * size - 2, 100 * size + 2),
            "old_level": 100.0,
            "new_level": 100.0 * (1 + size),
            "first_bad": first,
            "last_good": max(first - 1, 0),
            "p_value": 0.0001,
            "q_value": 0.002,
            "runs_before": 20,
            "runs_after": 10,
            "changes": (
                Change(first, max(first - 1, 0), first, 100.0, 100.0 * (1 + size), outcome is Outcome.REGRESSION),
            ),
        }
    fields |= {"kpi": of, "labels": labels, "name": name, "outcome": outcome, "points": points}
    return SeriesVerdict(**{**fields, "versions": tuple(versions), **others})


def alarm(of: SeriesVerdict, status: Status = Status.OPEN, **others: Any) -> Alarm:
    """The alarm of a verdict's change."""
    fields: dict[str, Any] = {
        "id": hashlib.sha256(of.id.encode("utf-8", "backslashreplace")).hexdigest()[:12],
        "kpi": of.kpi.name,
        "first_bad": of.first_bad_version or of.versions[-1],
        "last_good": of.last_good_version or of.versions[0],
        "old_level": of.old_level or 100.0,
        "new_level": of.new_level or 90.0,
        "status": status,
        "is_new": of.is_new,
    }
    return Alarm(**fields | others)


def regression(status: Status = Status.OPEN, said: Mapping[str, Any] | None = None, **others: Any) -> SeriesVerdict:
    """A series that is worse, with its alarm and what was *said* of it."""
    made = verdict(Outcome.REGRESSION, **others)
    return msgspec.structs.replace(made, alarms=(alarm(made, status, **(said or {})),))


def analysis(*verdicts: SeriesVerdict, **others: Any) -> Analysis:
    fields: dict[str, Any] = {
        "workload": "encoder_bench",
        "data": "153 runs of sqlite:///matbench.db",
        "question": "1.3.2 against its history",
        "newest": "1.3.2",
        "verdicts": verdicts,
        "not_analysed": (),
        "notes": (),
        "runs": 153,
        "points": 306,
        "kpis": tuple(dict.fromkeys(one.kpi.name for one in verdicts)),
        "made_at": MADE_AT,
    }
    return Analysis(**fields | others)


def empty() -> Analysis:
    return analysis(newest=None, runs=0, points=0, question="the newest runs against their history")


def fine() -> Analysis:
    return analysis(verdict(), verdict(of=LATENCY))


def mixed() -> Analysis:
    """One of each kind."""
    fixed = verdict(of=THROUGHPUT, labels={"batch_size": 32})
    fixed_alarm = alarm(fixed, Status.FIXED, first_bad="1.2.10", fixed_by="1.3.2", is_new=True)
    said = {"author": "Ada", "reason": "more exact answers", "at": MADE_AT, "until": "1.4.0"}
    return analysis(
        regression(is_new=True),
        regression(of=LATENCY, labels={"batch_size": 1}),
        regression(Status.ACKNOWLEDGED, said, labels={"batch_size": 2}),
        regression(Status.RESOLVED, {"author": "Bob"}, labels={"batch_size": 4}),
        verdict(Outcome.IMPROVEMENT, labels={"batch_size": 16}, is_new=True),
        verdict(Outcome.IMPROVEMENT, of=LATENCY, labels={"batch_size": 16}),
        verdict(of=LATENCY, labels={"batch_size": 64}, reruns=2, effect=Estimate(0.031, -0.01, 0.07)),
        msgspec.structs.replace(fixed, alarms=(fixed_alarm,)),
        verdict(of=ERROR_RATE),
        verdict(Outcome.CANT_TELL, labels={"batch_size": 128}, versions=VERSIONS[:2], reruns=4, why=TOO_SHORT),
        not_analysed=(
            NotAnalysed("error_rate", "", {}, "error_rate is unknown at all 5 runs", 5),
            NotAnalysed("throughput", "batch_size 256", {"batch_size": 256}, "it has no value at 1.3.2", 3),
        ),
        notes=("2 runs dated in the future: a clock was wrong",),
    )


def half_acknowledged() -> Analysis:
    """A series whose last change was acknowledged, and an earlier one wasn't."""
    made = verdict(Outcome.REGRESSION)
    earlier = alarm(made, id="earlier", first_bad="1.2.10", last_good="1.2.9", old_level=120.0, new_level=100.0)
    return analysis(msgspec.structs.replace(made, alarms=(earlier, alarm(made, Status.ACKNOWLEDGED, reason="meant"))))


def infinite() -> Analysis:
    """Levels and intervals that are no numbers."""
    unknown = Estimate(0.1, -math.inf, math.inf)
    return analysis(
        regression(effect=unknown, difference=Estimate(10.0, -math.inf, math.inf), q_value=None, p_value=None),
        regression(of=ERROR_RATE, effect=None, difference=Estimate(0.02, 0.01, 0.03), old_level=0.0),
        regression(of=LATENCY, effect=None, difference=None, labels={"batch_size": 1}),
        regression(of=LATENCY, effect=Estimate(math.inf, math.nan, math.nan), new_level=math.inf),
        verdict(labels={"batch_size": 3}, points=(point("1", math.nan), point("2", math.inf)), versions=("1", "2")),
    )


def hostile(text: str) -> Analysis:
    """*text* wherever artifacts and people can write some."""
    of = dataclasses.replace(LATENCY, name=text or "kpi", help=text, unit=text, display_unit=text)
    said = {"reason": text, "author": text, "until": text, "note": text, "id": text or "id"}
    shared: dict[str, Any] = {"of": of, "versions": (text, f"2{text}", f"3{text}"), "notes": (text,)}

    def labels(number: int) -> dict[str, Any]:
        return {text: text, "number": number}

    fixed = regression(Status.FIXED, {**said, "fixed_by": text, "is_new": True}, labels=labels(5), **shared)
    return analysis(
        regression(Status.OPEN, said, labels=labels(1), name=text, **shared),
        regression(Status.ACKNOWLEDGED, said, labels=labels(2), name=text, **shared),
        verdict(Outcome.IMPROVEMENT, labels=labels(3), name=text, is_new=True, **shared),
        verdict(labels=labels(4), name=text, reruns=2, effect=Estimate(0.1, 0.0, 0.2), **shared),
        msgspec.structs.replace(fixed, outcome=Outcome.NO_CHANGE, name=text),
        verdict(Outcome.CANT_TELL, labels=labels(6), name=text, why=TOO_SHORT, **shared),
        workload=text or "workload",
        data=text,
        question=text,
        newest=text,
        not_analysed=(NotAnalysed(text, text, labels(7), text, 1), NotAnalysed(text, text, labels(8), text, 1)),
        notes=(text,),
    )


def many(count: int = 5_000, *, bad: bool = True) -> Analysis:
    """So many series, all of them worse where *bad*."""
    make: Callable[..., SeriesVerdict] = regression if bad else verdict
    return analysis(*(make(labels={"batch_size": n}, is_new=True) for n in range(count)))


EVERY: dict[str, Callable[[], Analysis]] = {
    "empty": empty,
    "fine": fine,
    "mixed": mixed,
    "half acknowledged": half_acknowledged,
    "infinite": infinite,
    "many worse": lambda: many(500),
    "many fine": lambda: many(500, bad=False),
    **{f"hostile {n}": functools.partial(hostile, text) for n, text in enumerate(HOSTILE)},
}
