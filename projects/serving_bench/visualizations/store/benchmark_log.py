"""The client's log: text in, two curves out.

    Batch size 8: 297.16 reqs/sec
    Concurrency 8: 82.58 reqs/sec, CPU: 43.6%, GPU: 38.2%

A batch size is a measurement of the model by itself, a concurrency one through the server. The parts after the
throughput may be missing, which makes them unknown. Other lines say nothing.
"""

from __future__ import annotations

import math
import re
import types

_LINE = re.compile(
    r"(?P<kind>Batch size|Concurrency) (?P<at>\d+): (?P<rate>[-+.\w]+) reqs/sec(?P<rest>(?:, *\w+: *[-+.\w]+ *%)*)"
)
_LOAD = re.compile(r"(\w+): *([-+.\w]+) *%")


def parse_log(text: str) -> types.SimpleNamespace:
    """``baseline`` and ``api``, lists of records, by batch size and by concurrency.

    A record of ``baseline`` has ``batch_size`` and ``throughput`` (requests/s), one of ``api`` ``concurrency``,
    ``throughput``, ``cpu`` and ``gpu`` (0 to 1, None where the line doesn't say).

    Raises:
        ValueError: a line of these forms that can't be understood, a point that was measured twice, or no line at all.
    """
    baseline: dict[int, types.SimpleNamespace] = {}
    api: dict[int, types.SimpleNamespace] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.startswith(("Batch size ", "Concurrency ")):
            continue
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"line {number} is not of the form '{line.split(' ')[0]} … N: … reqs/sec': {line[:80]!r}")
        at, rate = int(found["at"]), _number(found["rate"], number)
        if found["kind"] == "Batch size":
            _add(baseline, at, number, types.SimpleNamespace(batch_size=at, throughput=rate))
        else:
            loads = {name.lower(): _share(value, number) for name, value in _LOAD.findall(found["rest"])}
            record = types.SimpleNamespace(concurrency=at, throughput=rate, cpu=loads.get("cpu"), gpu=loads.get("gpu"))
            _add(api, at, number, record)
    if not baseline and not api:
        raise ValueError("holds no line of the form 'Batch size N: … reqs/sec' or 'Concurrency N: … reqs/sec'")
    return types.SimpleNamespace(baseline=_in_order(baseline), api=_in_order(api))


def _add(points: dict[int, types.SimpleNamespace], at: int, line: int, record: types.SimpleNamespace) -> None:
    if at < 1:
        raise ValueError(f"line {line} measures at {at}, which is nothing")
    if at in points:
        raise ValueError(f"line {line} measures {at} again")
    points[at] = record


def _in_order(points: dict[int, types.SimpleNamespace]) -> list[types.SimpleNamespace]:
    return [points[at] for at in sorted(points)]


def _share(text: str, line: int) -> float:
    share = _number(text, line) / 100
    if share > 1:
        raise ValueError(f"line {line} has a load of {text} %")
    return share


def _number(text: str, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"line {line} has {text!r} where a number should be")
    return value
