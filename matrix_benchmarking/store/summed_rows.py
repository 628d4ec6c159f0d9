"""Rows of a table that are no runs: those that sum up others, remarks, and a last one that was cut off."""

from __future__ import annotations

import csv
import functools
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from .decimal_marks import joined

_OF_A_GROUP = ("total", "sum", "average", "avg", "mean", "minimum", "min", "maximum", "max", "count")
_OF_REPETITIONS = ("mean", "median", "stddev", "cv")
_GRAND = tuple(f"grand {word}" for word in _OF_A_GROUP)
_DEVIATIONS = ("std dev", "stddev", "stdev", "standard deviation")
_EXTREMES = {"min": min, "minimum": min, "max": max, "maximum": max}
_MIDDLES = (
    "average", "avg", "mean", "median", "geomean", "geometric mean", "mittelwert", "durchschnitt", "moyenne", "ø"
)  # fmt: skip
_SUMS = ("total", "totals", "subtotal", "sum", "summe", "gesamtergebnis")
_EITHER = ("overall", "aggregated", "σ", "gesamt")
_SUMMARIES = frozenset((*_GRAND, *_DEVIATIONS, *_EXTREMES, *_MIDDLES, *_SUMS, *_EITHER))
_SPREADS = {
    **dict.fromkeys(
        ("cv", "rsd", "coefficient of variation", "std", "sd", "sem", "std err", "stderr", "iqr", "mad"), 1
    ),
    "range": 1,
    "variance": 2,
    "var": 2,
}
"""Words for how rows scatter, and of their range the power that it is no more than."""
_BELOW_OTHERS = frozenset((*_SPREADS, "n", "count", "runs", "samples", "p50", "p90", "p95", "p99"))
"""What sums up below a row that does, and may be anything elsewhere."""
_REPEATS = ("run", "repeat", "rep", "repetition", "iteration", "iter", "trial", "sample", "attempt", "round")
_OF_REPEATS = ("std", "p50", "p90", "p95", "p99")
_REMARK = "# "
_FEWEST_SUMMED, _FEWEST_WHOLE = 2, 3
_LEADING = re.compile(r"[-+]?[0-9.,]*[0-9]\.?")


def numbered(table: csv.DictReader[str], settings: Sequence[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows that aren't empty with their numbers; of those that sum up, and of remarks, that, as a half sentence.

    They are the last ones, each alone by its first cell, those of groups: ``onnx Total`` below rows of onnx, or without
    what another column has above, those called ``mean`` where the rows above number their repeats, and those that are
    the sum or the mean of the rows since the last such row, or of all.
    """
    names = table.fieldnames or ()
    first, labels = next(iter(names), ""), [*dict.fromkeys((*names[:1], *settings))]
    repeats = [name for name in names if name.lower() in _REPEATS and name not in settings]
    columns = [name for name in names if name not in labels]
    group = whole = _Above(columns)
    is_below = False
    count, known, held, above = 0, set[str](), dict[str, tuple[int, dict[str, str]]](), dict[str, str]()
    said = "says '{}' and is taken for no run; call it otherwise if it is one"
    for row in filter(_holds_something, table):
        cell = next((name for name in labels if _summary(row.get(name))), first)
        word = _summary(row.get(cell)) or (_below_others(row.get(cell)) if held or is_below else "")
        agrees = word != "" and word not in known and whole.agrees(word, row)
        of_group = word != "" and ((is_below and group.agrees(word, row)) or group.gives(word, row))
        is_sum = not known and word != "" and (of_group or whole.gives(word, row))
        is_alone = (
            agrees
            and not any((row.get(name) or "").strip() for name in settings if name != cell)
            and any(above.get(name) and not (row.get(name) or "").strip() for name in (*names[:2], *settings))
        )
        is_remark = word == _REMARK and count > len(held)
        is_statistic = "time_unit" in names and _is_statistic(row.get(first), above.get(first))
        summed = next((name for name in repeats if _sums_up(row.get(name), above.get(name))), None)
        if summed is not None:
            yield table.line_num, said.format(row[summed].strip())
            continue
        if (
            is_statistic
            or _is_of_group(row.get(first), above.get(first))
            or is_sum
            or is_alone
            or (agrees and is_remark)
        ):
            is_below = is_below or is_sum or (agrees and not is_remark)
            for number, before in held.values() if is_sum else ():
                yield number, said.format(before[first].strip())
            count, held = (count - len(held), {}) if is_sum else (count, held)
            yield table.line_num, said.format(row[cell].strip())
            continue
        group = _Above(columns) if is_below else group
        count, above, is_below = count + 1, row, False
        if agrees and cell == first and word not in held:
            held[word] = table.line_num, row
            continue
        known.update([*held, word] if word else held)  # these weren't the last, or alone: settings are called so
        for number, before in [*held.values(), (table.line_num, row)]:
            for numbers in dict.fromkeys((whole, group)):
                numbers.add(before)
            yield number, before
        held.clear()
    for number, row in held.values():
        yield number, row if count - len(held) < _FEWEST_SUMMED else said.format(row[first].strip())


def _holds_something(row: Mapping[str, str]) -> bool:
    return None in row or any(map(str.strip, filter(None, row.values())))


def unless_cut(
    found: Iterable[tuple[int, dict[str, str] | str]], column: str
) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows *found* in a file without a line break at its end, of which the number in the last *column* may be cut
    off there: it is less than a quarter of each other, shorter by more than these differ, and so is what is behind its
    whole digits, where all others have decimals or a unit there; of whole numbers it takes more others. Of 0 nothing
    was cut, unless others begin with it.
    """
    shortest, longest, least, fewest, count = math.inf, 0, math.inf, math.inf, 0
    last, text, value = None, "", None
    try:
        for number, row in found:
            if last is not None:
                yield last
            if value is not None:
                shortest, longest, least = min(shortest, len(text)), max(longest, len(text)), min(least, abs(value))
                fewest, count = min(fewest, _behind(text)), count + 1
            last, text = (number, row), "" if isinstance(row, str) else (row.get(column) or "").strip()
            value = _number(leading[0]) if (leading := _LEADING.match(text)) else None  # a unit may be behind it
    except (csv.Error, UnicodeError):  # the row above what can't be read is whole
        if last is not None:
            yield last
        raise
    is_short = len(text) < 2 * shortest - longest and (not fewest or _behind(text) < fewest)
    enough = _FEWEST_WHOLE if fewest else 2 * _FEWEST_WHOLE
    if value is not None and is_short and 4 * abs(value) < least and (value or least < 1) and count >= enough:
        said = f"has '{text}' in {column}, where others are longer, and the file ends there without a line break"
        last = number, f"{said}: was it cut off? Add the line break if it wasn't"
    if last is not None:
        yield last


def _behind(text: str) -> int:
    """How many characters a number has behind its whole digits."""
    return len(joined(text).lstrip("+-0123456789"))


@functools.lru_cache(maxsize=1 << 12)  # settings repeat
def _summary(cell: str | None) -> str:
    """The word of a *cell* by which its row sums up others, or is a remark; empty for any other."""
    text = (cell or "").strip()
    word = text.partition(" (")[0].strip(" :").replace(".", "").lower()
    is_remark = text.startswith(_REMARK) and not text.removeprefix(_REMARK).strip().isdigit()  # `# 1` is a name
    return _REMARK if is_remark else word if word in _SUMMARIES else ""


def _sums_up(cell: str | None, above: str | None) -> bool:
    """Whether *cell* of a column of numbers names a statistic of these."""
    return (above or "").isdigit() and bool(_summary(cell) or (cell or "").strip().lower() in _OF_REPEATS)


def _below_others(cell: str | None) -> str:
    word = (cell or "").partition(" (")[0].strip(" :").replace(".", "").lower()
    return word if word in _BELOW_OTHERS else ""


def _is_of_group(cell: str | None, above: str | None) -> bool:
    group, _, kind = (cell or "").strip(" :").lower().rpartition(" ")
    return kind in _OF_A_GROUP and group != "" and group == (above or "").strip().lower()


def _is_statistic(cell: str | None, above: str | None) -> bool:
    """Whether it is one of repetitions, as Google Benchmark's CSV has them below these: ``BM_Sort/8_mean``."""
    repetitions, _, statistic = (cell or "").rpartition("_")
    return statistic in _OF_REPETITIONS and repetitions == above


class _Above:
    """The numbers in *columns* of the rows above."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._numbers: dict[str, tuple[float, float, float, int]] = dict.fromkeys(
            columns, (math.inf, -math.inf, 0.0, 0)
        )
        self._rows, self._labels = 0, set[str | None]()

    def add(self, row: Mapping[str, str]) -> None:
        self._rows += 1
        self._labels.add(next(iter(row.values()), None))
        for name, (low, high, total, count) in self._numbers.items():
            if (number := _number(row.get(name))) is not None:
                self._numbers[name] = min(low, number), max(high, number), total + number, count + 1

    def agrees(self, word: str, row: Mapping[str, str]) -> bool:
        """Whether the numbers of *row* are what *word* says of those above it, where functions are called so, too."""
        known = ((_number(row.get(name)), *of) for name, of in self._numbers.items())
        numbers = [(number, low, high) for number, low, high, _, count in known if number is not None and count]
        if extreme := _EXTREMES.get(word):
            return all(math.isclose(number, extreme(low, high), rel_tol=1e-3) for number, low, high in numbers)
        if word in (*_MIDDLES, *_OF_REPEATS[1:]):
            return all(low <= number <= high for number, low, high in numbers)
        if word in _SPREADS:
            return all(0.0 <= number <= (high - low) ** _SPREADS[word] for number, low, high in numbers)
        return word not in _SUMS or all(number >= high for number, _, high in numbers if high > 0)

    def gives(self, word: str, row: Mapping[str, str]) -> bool:
        """Whether each number of *row* is the sum or the mean of those above it, as *word* says, but for rounding.

        Of two rows of other names, and of equal numbers of several, that may be chance.
        """
        word = word.removeprefix("grand ")
        known = [(text, *of) for name, of in self._numbers.items() if _number(text := row.get(name) or "") is not None]
        is_of_one = len(self._labels) == 1
        if not (is_of_one or self._rows > _FEWEST_SUMMED) or any(count < _FEWEST_SUMMED for *_, count in known):
            return False
        if not any(total and (is_of_one or low < high) for _, low, high, total, _ in known):
            return False
        several = [(text, total, count) for text, _, _, total, count in known]
        means = [_rounds(text, total / count) for text, total, count in several]
        sums = [_rounds(text, total) for text, total, _ in several]
        if word in _MIDDLES or (word in _EITHER and all(means)):
            return bool(means) and all(means)
        return word in (*_SUMS, *_EITHER) and any(sums) and all(map(operator.or_, sums, means))


def _rounds(text: str, value: float) -> bool:
    """Whether *text* is the number *value*, as far as its digits tell it."""
    decimals = len(_pointed(text).partition(".")[2])
    return math.isclose(_number(text) or 0.0, value, rel_tol=1e-3, abs_tol=0.5 * 10.0**-decimals if decimals else 0.0)


def _pointed(text: str) -> str:
    """*text* with a decimal point: commas are such marks, unless there are digits enough behind them for thousands."""
    return joined(text.strip()).replace(",", ".")


def _number(text: str | None) -> float | None:
    try:
        number = float(_pointed(text or ""))
    except ValueError:
        return None
    return number if math.isfinite(number) else None
