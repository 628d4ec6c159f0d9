"""One module a tool: ``recognises`` and ``read``. Results are in s, bytes and 1/s; here is what the modules share.

The setting ``benchmark`` is the whole name with all parameters, which are settings of their own, too: sorting fewer
numbers is no better configuration, so runs with other parameters are not compared. A tool whose benchmarks measure
different things says which in ``measure``.
"""

import datetime as dt
import json
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from matrix_benchmarking.errors import ArtifactError
from matrix_benchmarking.filters import Scalar
from matrix_benchmarking.moments import of_seconds, time_us
from matrix_benchmarking.plausible import is_number
from matrix_benchmarking.store import ArtifactPath, Part, written_as_names

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "m": 60.0, "min": 60.0, "hr": 3600.0, "day": 86400.0}
FIELDS = ("time", "rate", "memory", "cpu_time", "p99", "bandwidth", "allocated", "allocations")
"""Results that are KPIs, none of which can be negative."""
MOST_REPEATS = 100
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,15})?")


def repeats(
    part: str, settings: Mapping[str, Scalar], name: str, samples: Sequence[object], results: Mapping[str, object]
) -> Iterator[Part]:
    """A run for each of the *samples* of the result *name*, in which they are one campaign.

    Of more than 100 samples, a run is the mean of as many consecutive ones as it takes; ``batch`` says how many.
    """
    batch = math.ceil(len(samples) / MOST_REPEATS)
    for repeat, start in enumerate(range(0, len(samples), batch or 1)):
        some = samples[start : start + batch]
        known = [value for value in map(number, some) if value is not None]
        mean = math.fsum(known) / len(known) if len(known) == len(some) else None
        measured = {**results, name: mean, "batch": len(some), "campaign": True}
        yield f"{part}/{repeat}", {**settings, "repeat": repeat}, measured


def parameters(
    given: Mapping[str, object] | None, taken: Mapping[str, object] = {}, texts: Collection[object] = ()
) -> dict[str, Scalar]:
    """Parameters of a benchmark as settings: numbers as numbers but for the *texts*, what is no scalar as text.

    One that has the name of a setting that is *taken*, or ``repeat``, gets another. Versions are texts.
    """
    names = {name: f"parameter_{name}" if name in taken or name == "repeat" else name for name in given or {}}
    plain = {name for name, value in (given or {}).items() if name.endswith("version") or value in texts}
    return {names[name]: str(value) if name in plain else scalar(value) for name, value in (given or {}).items()}


def texts_of(every: Sequence[Mapping[str, str]]) -> set[str]:
    """Which values of the parameters of a file's benchmarks would lose something as numbers: 3.10 beside 3.9."""
    values = {name: {str(given[name]) for given in every if name in given} for given in every for name in given}
    return {text for of in values.values() for text in written_as_names(of)}


def scalar(value: object) -> Scalar:
    """*value* as a setting: a number where it is written as one."""
    if isinstance(value, str) and (match := _NUMBER.fullmatch(value)):
        return float(value) if match[2] else int(value)
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def moment(text: object) -> dt.datetime | None:
    """The time that an ISO 8601 *text* names; None if it names none, or one without a zone, which may be of any."""
    try:
        time = dt.datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return None if time_us(time) is None else time


def since_1970(seconds: object, unit: float = 1.0) -> dt.datetime | None:
    """The time so many *seconds* after 1970, or so many of another *unit*; None for what can't be one."""
    known = number(seconds, unit)
    return None if known is None else next(iter(of_seconds(known)), None)


def number(value: object, unit: float = 1.0) -> float | None:
    """*value* in the base unit; None where it is no finite number."""
    found = value * unit if is_number(value) else math.nan
    return found if math.isfinite(found) else None


def note_others(file: ArtifactPath, names: Iterable[str]) -> None:
    """Say which numbers in *file* are no KPIs."""
    if found := sorted({*names}):
        more = f" and {len(found) - 5} more" if len(found) > 5 else ""
        file.note(f"has {', '.join(found[:5])}{more}, of which no KPI is made, so that nothing compares it")


def printed(file: ArtifactPath, torn: re.Pattern[str], rest: re.Pattern[str]) -> Iterator[str]:
    """The lines of a text that a tool printed; of its JSON, as Go's test2json, which has pieces of them as ``Output``.

    Where other output stands between the two parts of a line, one that is *torn* and its *rest*, they are one.
    """
    begun = ""
    for line in _lines(file):
        if begun and rest.match(line):
            line, begun = f"{begun} {line}", ""
        begun = found[0] if (found := torn.match(line)) else begun
        yield line


def _lines(file: ArtifactPath) -> Iterator[str]:
    waiting = ""
    with file.open(encoding="utf-8-sig", errors="replace") as stream:
        for line in stream:
            try:
                waiting += json.loads(line).get("Output", "") if line.startswith('{"') else line
            except ValueError as error:
                raise ArtifactError(file, f"is cut off, or no output of go test -json: {error}") from error
            *whole, waiting = waiting.split("\n")
            yield from (each.rstrip() for each in whole)
    yield waiting.rstrip()
