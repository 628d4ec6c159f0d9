"""Findings on settings and names: misspelt, missing or mixed ones, names that no run has."""

from __future__ import annotations

import collections
import functools
import itertools
import re
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ...filters import one_blank, show
from ...grouped import grouped
from ...matrix import NOT_SET, Entry, Matrix, typed
from ...plausible import is_number
from ...prices import unused_prices
from ...rows import Rows
from ...settings import is_nearly, misspelt
from ...workload import Workload
from ..points import keys
from ..words import count_of, first_of, is_or_are, listed, plural
from .cut_versions import are_two, is_hash, may_be_cut
from .finding import ALONE_FROM, ANALYSES, EVERY, NONE, UNEXPLAINED, Finding, are_few, by_reason, runs_have
from .look_alike import folded, looks_like, plain, spelt, visible, written
from .matched import digits

_NAMED = 3
_MOST_PAIRS = 10_000
_MEASURED = 4  # digits
_WORD = 3  # letters of what is written in one case or the other by chance: ``a`` and ``A`` may be two things
_SUM = r"(?:(?:sub|grand )?totals?|overall|gesamt(?:ergebnis)?|summe|durchschnitt|mittelwert|moyenne|ø)"
_STATISTIC = rf"(?:{_SUM}|average|avg|sum|mean|median|max|min)"
_SUMS_UP = re.compile(rf"{_SUM}|{_STATISTIC} (.+)|(.+) {_STATISTIC}")
"""What rows that sum up are called, and functions aren't; behind or before a word that functions have, of what."""
_WORDS = frozenset(("auto", "default", "none", "all", "max", "min", "off", "on", "inf", "unlimited"))
"""What stands beside numbers and is meant so."""

_EXPONENT = re.compile(r"[+-]?\d{1,3}(\.\d*)?[eE][+-]?\d{1,2}")
_MONTH = r"(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])"
_OF_A_SPREADSHEET = re.compile(rf"\d\.\d+E\+\d\d|(?i:\d\d?[-. ]{{1,2}}{_MONTH}|{_MONTH}[-. ]\d\d)")


def setting_findings(matrix: Matrix) -> Iterator[Finding]:
    """The findings on the settings of the finished tests of *matrix*."""
    entries = matrix.entries
    names, which = entries.shared("names")
    has = {name: [name in each for each in names] for name in entries.names()}
    of_names = {name: entries.where(map(has[name].__getitem__, which)) for name in has}
    meant = misspelt(map(list(map(frozenset, names)).__getitem__, which))
    bare = entries.where(not names[code] for code in which)
    filled = entries.where(bool(names[code]) for code in which)
    if 0 < len(bare) < len(entries):
        what = "are these rows empty?" if all(bare.values("part")) else "is settings.yaml empty?"
        yield Finding.of("no-settings", f"{runs_have(bare)} no settings at all: {what}", bare)
    for name, other in meant.items():
        runs = of_names[name]
        sentence = f"{runs_have(runs)} '{name}' and no '{other}', which {runs_have(of_names[other])}: is it misspelt?"
        yield Finding.of("misspelt-setting", sentence, runs)
    for name, runs in of_names.items():
        if name not in meant and are_few(len(runs), len(entries)):
            if is_explained(runs, entries.where(name not in names[code] for code in which), but=name):
                continue
            sentence = f"Only {len(runs)} of {len(entries)} runs {'has' if len(runs) == 1 else 'have'} '{name}'."
            yield Finding.of("rare-setting", sentence, runs, NONE)
        elif name not in meant.values():
            lacks = [bool(each) and name not in each for each in names]
            # a failed run lacks what results tell, and takes no part
            without = entries.where(map(lacks.__getitem__, which)).successful
            if are_few(len(without), len(entries)):
                sentence = f"{runs_have(without)} no '{name}', which {runs_have(runs)}."
                changes = NONE if is_explained(without, runs) else EVERY
                yield Finding.of("missing-setting", sentence, without, changes)
    for name, runs in of_names.items():
        values, codes = runs.setting(name)
        kinds = list(map(typed, values))
        counts: dict[Kind, int] = {}
        for code, count in collections.Counter(codes).items():
            counts[kinds[code]] = counts.get(kinds[code], 0) + count

        having = functools.partial(_having, runs, codes, kinds)
        for find in (_alike, _short_hashes, _odd, _below_zero, _exponents, _measured, _sums):
            yield from find(name, counts, having)
        yield from _merged(name, filled)
        for rare, usual in _near(counts):
            yield from _misspelt_value(name, runs, [kinds[code] for code in codes], rare, usual)


def _merged(name: str, rows: Rows) -> Iterator[Finding]:
    """A column of a table of which each value is there once, with empty cells below it that no word explains."""
    values, codes = rows.setting(name)
    is_set = [values[code] is not NOT_SET for code in codes]
    if not is_set or is_set[-1] or not is_set[0] or any(one and after for one, after in itertools.pairwise(is_set)):
        return
    first, below = rows.where(is_set), rows.where(not one for one in is_set)
    is_each_once = 1 < len(first) == len({*codes}) - 1
    if is_each_once and all(rows.values("part")) and not is_explained(below, first, but=name):
        what = f"{count_of(len(first), 'row')} have a '{name}' each, and the {len(below)} below them none"
        yield Finding.of("merged-cells", f"{what}: were cells merged? Write the value into each.", below)


Kind = tuple[str, object]
Having = Callable[[Iterable[Kind]], Iterator[Entry]]


def _having(runs: Rows, codes: Sequence[int], kinds: Sequence[Kind], wanted: Iterable[Kind]) -> Iterator[Entry]:
    """The runs that have the *wanted* values, value by value."""
    for one in wanted:
        is_wanted = [kind == one for kind in kinds]
        yield from runs.where(map(is_wanted.__getitem__, codes))


def _alike(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """Values that look alike: of several types, numbers but for rounding, texts that differ in blanks or in the
    spelling of a version; words, or what a few runs have, also those that differ in case or in what joins their parts;
    1.1 that was 1.10."""
    alike = grouped((looks_like(value), (kind, value)) for kind, value in counts)
    for same in alike.values():
        same.sort(key=lambda one: counts[one])
        looks = [spelt(one_blank(visible(value))) for _, value in same if isinstance(value, str)]
        is_of_case = len(set(map(folded, looks))) < len(looks)
        few = are_few(sum(counts[one] for one in same[:-1]), sum(counts[one] for one in same))
        of_case = is_of_case and (few or min(map(len, looks)) >= _WORD)
        is_of_kinds = len({kind for kind, _ in same}) > 1 or len(same) > max(1, len(looks))
        is_plain = not is_of_kinds and len(set(looks)) == len(looks) and not of_case
        if not is_plain or _is_cut(name, dict(zip(looks, same, strict=False)), counts, having):
            texts = [f"{written(value)} in {counts[kind, value]}" for kind, value in same]
            sentence = f"'{name}' is {', '.join(texts)} runs: these are different settings, and points of their own."
            yield Finding.of("alike-values", sentence, having(same[:-1]))


def _is_cut(name: str, of: Mapping[str, Kind], counts: Mapping[Kind, int], having: Having) -> bool:
    """Whether of versions that look alike, by their texts, one is as a spreadsheet cuts another one."""
    versions = {looks_like(value) for _, value in counts}
    for short, kind in of.items():
        if (long := of.get(f"{short}0")) is not None and may_be_cut(short, versions):
            others = having(one for one in counts if one not in of.values())
            return not are_two(name, [*having([kind])], [*having([long])], [*others])
    return False


def _short_hashes(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """A commit's hash that is the beginning of another one."""
    hashes = sorted(str(value) for kind, value in counts if kind == "str" and is_hash(str(value)))
    cut_short = [one for one, other in itertools.pairwise(hashes) if other.startswith(one)]
    if cut_short:
        what = f"'{name}' is {_first([('str', one) for one in cut_short])}, with which a longer one begins"
        yield Finding.of("short-hash", f"{what}: is it one commit?", having(("str", one) for one in cut_short))


def _near(counts: Mapping[Kind, int]) -> list[tuple[Kind, Kind]]:
    """Texts of few runs, each with one of many that it is nearly."""
    usual = [one for one, count in counts.items() if one[0] == "str" and count >= ALONE_FROM]
    most = max((counts[one] for one in usual), default=0)
    rare = [one for one, count in counts.items() if one[0] == "str" and are_few(count, count + most)]
    if len(rare) * len(usual) > _MOST_PAIRS:  # so many names are no settings of one benchmark
        return []
    return [
        (one, other)
        for one in rare
        for other in usual
        if counts[one] < counts[other] and are_few(counts[one], counts[one] + counts[other])
        if is_nearly(str(one[1]), str(other[1])) and looks_like(one[1]) != looks_like(other[1])
    ]


def _misspelt_value(name: str, rows: Rows, of: Sequence[Kind], rare: Kind, usual: Kind) -> Iterator[Finding]:
    """That a *rare* value is misspelt: letters are swapped, or points of the *usual* one lack just its runs."""
    at = keys(rows, [each for each in rows.names() if each != name])
    few, many = (collections.Counter(key for key, kind in zip(at, of, strict=True) if kind == one)
                 for one in (rare, usual))  # fmt: skip
    ((repeats, _),) = collections.Counter(many.values()).most_common(1)
    runs = list(rows.where(kind == rare for kind in of))
    beside = f"and {count_of(many.total(), 'other')} {written(usual[1])}"
    if all(0 < many[key] == repeats - count for key, count in few.items()):
        beside = f"just where {written(usual[1])} lacks {'one' if len(runs) == 1 else 'as many'}"
    elif sorted(str(rare[1])) != sorted(str(usual[1])):
        return
    yield Finding.of(
        "misspelt-value", f"{runs_have(runs)} '{name}' {written(rare[1])}, {beside}: is it misspelt?", runs
    )


def _odd(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """A few texts among numbers, or a few numbers among texts."""
    numbers = [one for one in counts if one[0] in ("int", "float")]
    are_texts = [one for one in counts if one[0] == "str" and (plain(one[1]) == one[1] or one[1] in ("yes", "no"))]
    texts_ = [one for one in are_texts if one[1] not in _WORDS]
    odd, usual = sorted((texts_, numbers), key=lambda some: sum(counts[one] for one in some))
    count = sum(counts[one] for one in odd)
    if are_few(count, sum(counts.values())):
        shown = _first(odd)
        what = "numbers" if usual is numbers else "texts"
        sentence = f"'{name}' is {shown} in {count_of(count, 'run')}, beside {what} in the others."
        if not is_explained(Rows.of(list(having(odd))), Rows.of(list(having(usual))), but=name):
            yield Finding.of("odd-value", sentence, having(odd))


def _measured(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """Numbers of many digits, another one in each run: nobody chooses those."""
    kinds = collections.Counter(kind for kind, _ in counts)
    if not ALONE_FROM <= kinds["int"] + kinds["float"] == sum(counts.values()) or kinds["int"] > kinds["float"]:
        return
    if statistics.median(digits(value) for _, value in counts) >= _MEASURED:
        said = f"'{name}' is another number in each of {len(counts)} runs ({_first(list(counts))}, …)"
        yield Finding.of("measured-setting", f"{said}: is it a result? Then repeats are no points.", having(counts))


def _below_zero(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """A few numbers below 0 among others; −1 is meant so, as a word is."""
    numbers = {value: count for (_, value), count in counts.items() if is_number(value) and value != -1}
    below = {value: count for value, count in numbers.items() if value < 0}
    if are_few(sum(below.values()), sum(numbers.values())):
        shown = ", ".join(show(value) for value in sorted(below)[:_NAMED])
        runs = list(having(one for one in counts if one[1] in below))
        yield Finding.of("below-zero", f"{runs_have(runs)} '{name}' {shown}, and the others none below 0.", runs, NONE)


def _exponents(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """Texts that a person reads as numbers: YAML wants a point and a sign, and a commit's id has more digits. What a
    spreadsheet made of a number of many digits, and of 1.10 or 1-2 as a date."""
    texts_ = [one for one in counts if one[0] == "str" and _EXPONENT.fullmatch(str(one[1]))]
    spoilt = [one for one in counts if one[0] == "str" and _OF_A_SPREADSHEET.fullmatch(str(one[1]))]
    if spoilt and (texts_ or len(spoilt) < len(counts)):
        runs = list(having(spoilt))
        what = f"{runs_have(runs)} '{name}' {_first(spoilt)}, as spreadsheets write what they take for another thing"
        yield Finding.of("exponent", f"{what}: several values may have become one.", runs)
    elif texts_:
        runs = list(having(texts_))
        what = f"{runs_have(runs)} '{name}' {_first(texts_)}, a text that looks like a number"
        yield Finding.of("exponent", f"{what}: YAML takes one only with a point and a sign (1.0e+12).", runs, NONE)


def _sums(name: str, counts: Mapping[Kind, int], having: Having) -> Iterator[Finding]:
    """Texts of few runs that say total or average, be it of another value."""
    texts = {one: show(one[1]).strip(" :").lower() for one in counts if one[0] == "str"}
    known = set(texts.values())
    for one, text in texts.items():
        found = are_few(counts[one], sum(counts.values())) and _SUMS_UP.fullmatch(text)
        if found and known.issuperset(filter(None, found.groups())):
            what = f"'{name}' is {written(one[1])} in {count_of(counts[one], 'run')}"
            yield Finding.of("sums-up", f"{what}: does it sum up others? Then its row is no run.", having([one]))


def _first(kinds: Sequence[Kind]) -> str:
    return ", ".join(written(value) for _, value in kinds[:_NAMED])


def is_explained(some: Rows, others: Rows, *, but: str = "") -> bool:
    """Whether words, *but* for that setting, tell *some* runs from all *others*: one codec has levels, another none.

    Of a word that others lack nobody knows which came first, and one that each run has for itself is a name.
    """
    for name in (each for each in some.names() if each != but):
        columns = (runs.setting(name) for runs in (some, others))
        words, theirs = ({values[code] for code in set(codes)} for values, codes in columns)
        are_words = all(isinstance(word, (str, bool)) for word in words) and len(words) <= max(len(some) - 1, 1)
        if are_words and NOT_SET not in theirs and not words & theirs:
            return True
    return False


COMPARISON_KEY, APPLIES = "comparison key", "setting that a KPI applies to"


def name_findings(matrix: Matrix, workload: Workload, prices: Mapping[str, float]) -> Iterator[Finding]:
    """The findings on names of *workload* and of *prices* that match nothing in *matrix*; none for an empty one."""
    if not len(matrix):
        return
    facts = matrix.entries.values("facts")
    labels = (each.labels for each in facts if each is not None and each.labels is not None)
    known, of_model, unused = set(matrix.entries.names()).union(*labels), workload.label_names, []
    for name, kind in _names(workload).items():
        if name in known:
            continue
        near = next((other for other in known if is_nearly(name, other)), None)
        said = f"a {kind}" if kind == APPLIES else f"a {kind} of the workload"
        if name not in of_model and near is not None:
            yield Finding("misspelt-name", f"No run has '{name}', {said}: is '{near}' meant?", EVERY)
        elif of_model and name not in (*of_model, *workload.variant_keys) and kind == COMPARISON_KEY:
            sentence = f"No run has '{name}', a {kind} that is no label of the model either."
            yield Finding("unknown-key", sentence, ANALYSES)
        elif kind != APPLIES:  # such a KPI is of other trees
            unused.append(f"{name} ({kind})")
    if unused:
        yield Finding("unused-name", f"The workload uses what no run has: {listed(unused)}.")
    yield from _unknown_kpis(matrix, workload)
    idle = unused_prices((entry.settings for entry in matrix), prices, workload.shorter_hardware) if prices else ()
    if idle:
        yield Finding("unused-price", f"No run uses the {plural(len(idle), 'price')} of {listed(idle)}.")


def _names(workload: Workload) -> dict[str, str]:
    """The names of settings and labels that *workload* uses, with the first thing that it uses each for."""
    keys = workload.regression
    uses = (
        (COMPARISON_KEY, keys.comparison_keys),
        ("ignored key", keys.ignored_keys),
        ("ignored entry", keys.ignored_entries),
        ("group key", workload.group_keys),
        ("variant key", workload.variant_keys),
        ("sorting key", keys.sorting_keys),
        ("product key", keys.product_keys),
        (APPLIES, [name for kpi in workload.kpis.values() for name, _ in kpi.applies_to]),
    )
    first: dict[str, str] = {}
    for kind, names in uses:
        for name in names:
            first.setdefault(name, kind)
    return first


def _unknown_kpis(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The KPIs that no successful run has: the headline's by itself, and which of the others have a limit."""
    good = matrix.entries.successful
    gates, unknown = {gate.kpi for gate in workload.gates}, []
    in_other_units = {name for facts in good.values("facts") if facts is not None for name in facts.other_units}
    for name, kpi in workload.kpis.items():
        applicable = good.with_settings(kpi.applies_to)
        unknown += [name] if applicable and name not in {*applicable.kpi_names(), *in_other_units} else []
    headline = None if workload.headline is None else workload.headline.name
    others = [name for name in unknown if name != headline]
    for names, changes in (([headline] if headline in unknown else [], EVERY), (others, NONE)):
        if names:
            runs = "the one run" if len(good) == 1 else f"all {len(good)} runs"
            missing = list({id(each): each for each in good.values("missing_kpis")}.values())  # many share theirs
            reasons = {str(name): first_of(each.get(str(name), UNEXPLAINED) for each in missing) for name in names}
            shown = listed(f"{name} (a limit)" if name in gates else name for name in reasons)
            what, whys = f"{shown} {is_or_are(len(names))} unknown at {runs}:", by_reason(reasons)
            is_one = len(whys) == 1
            yield Finding("unknown-kpi", f"{what} {whys[0]}." if is_one else what, changes, () if is_one else whys)
