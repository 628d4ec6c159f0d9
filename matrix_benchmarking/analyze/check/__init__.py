"""What is odd about runs before anyone trusts an answer: names, values, copies, what is missing.

Gets a matrix and its workload, gives :class:`Finding` values; each says which answers it may change.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from ...errors import MatbenchError
from ...grouped import grouped
from ...lts.read import is_of_a_payload
from ...matrix import DID_NOT_FINISH, TREE, Entry, Matrix, typed
from ...rows import Rows
from ...workload import Workload
from ..machines import among_points
from ..points import joined_warnings, keys, runs_and_files
from ..select.order import Order
from ..select.selection import not_judged
from ..words import count_of, first_of, named, plural
from .apart import ended_findings, group_findings, places_of, repeat_findings, version_findings
from .finding import (
    ANALYSES,
    EVERY,
    NONE,
    OF_BEST,
    OF_HISTORY,
    SAID,
    UNEXPLAINED,
    AnswerKind,
    Finding,
    about,
    are_few,
    by_reason,
    counted,
    line,
    runs_have,
    said_of_twins,
)
from .labels import contradicted_labels, label_findings, payload_findings, schema_findings
from .matched import are_no_chance, misplaced
from .measured import Measured
from .settings import name_findings, setting_findings
from .sources import campaign_findings, file_findings
from .values import value_findings

__all__ = ["SAID", "AnswerKind", "Finding", "about", "by_weight", "counted", "findings", "line"]


def findings(
    matrix: Matrix, workload: Workload, prices: Mapping[str, float] | None = None, in_order: Order | None = None
) -> list[Finding]:
    """What is odd about the runs of *matrix*, as far as it can be told without reading their payloads.

    Args:
        prices: those of the configuration, by ``vendor/hw_type`` or ``hw_type``.
        in_order: the order of the versions, where what changed is asked for.
    """
    good = matrix.entries.successful
    whole = Measured(good, workload)
    possible = good.where(not one for one in good.values("implausible"))  # values that can't be take no part
    measured = whole if len(possible) == len(good) else Measured(possible, workload)
    found = [
        *setting_findings(matrix),
        *run_findings(matrix, workload),
        *value_findings(measured),
        *file_findings(measured),
        *campaign_findings(measured, _newest(in_order)),
        *label_findings(whole),
        *contradicted_labels(good, workload),
        *misplaced(whole),
        *group_findings(good, workload),
        *repeat_findings(whole),
        *payload_findings(good, workload),
        *version_findings(good, workload),
        *name_findings(matrix, workload, prices or {}),
        *(() if in_order is None else order_findings(in_order)),
        *(() if in_order is None else ended_findings(good, workload, in_order)),
        *(
            Finding("machines", said, ANALYSES if is_history else OF_BEST)
            for is_history, said in among_points(good, workload)
        ),
        *(
            Finding("unlike", each, EVERY)
            for each in (workload.differences(matrix.entries) if workload.differences else ())
        ),
    ]
    if any(one.kind == "copies" for one in found):  # which says it, and why
        found = [one for one in found if one.kind != "same-values"]
    return by_weight(found)


def _newest(order: Order | None) -> list[object]:
    """The newest version in an *order*, typed; none where there is no order."""
    places = {} if order is None else places_of(order)
    last = max(places.values(), default=0)
    return [label for label, place in places.items() if place == last]


def by_weight(found: Iterable[Finding]) -> list[Finding]:
    """Those that change an answer first."""
    return sorted(found, key=lambda one: (not one.changes, not one.in_most_runs))


def order_findings(order: Order) -> Iterator[Finding]:
    """What is to be said of *order*; that there is none changes what is said of a history."""
    try:
        notes, left_out = order.notes, order.of(order.axis).leaves_out
    except MatbenchError as error:
        text = str(error)
        yield Finding("order-unknown", f"{text[:1].upper()}{text[1:]}.", OF_HISTORY)
        return
    for note in notes:
        yield Finding("order", f"{note[:1].upper()}{note[1:]}.", OF_HISTORY if left_out else NONE)


def run_findings(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """The findings on the runs of *matrix* as such."""
    good = matrix.entries.successful
    yield from _failed(matrix, workload)
    unfinished = [entry for entry in matrix.unfinished if not entry.is_unreadable]
    if unfinished:
        yield Finding.of(
            "unfinished", f"{_runs(unfinished)} did not finish and {_no_part(unfinished)}.", unfinished, NONE
        )
    yield from _unreadable(matrix)
    alone = matrix.entries.having("from_cache_alone")
    if alone:
        are, their = ("is", "its") if len(alone) == 1 else ("are", "their")
        sentence = f"{_runs(alone)} {are} known from {their} cache alone: {their} artifacts are not here."
        yield Finding.of("cache-alone", sentence, alone)
    untold = good.having("names").where(not alone for alone in good.having("names").values("from_cache_alone"))
    damaged = untold.having("problems")
    if damaged:
        sentence = f"{_runs(damaged)} with artifacts that can't be read whole: {_first_problem(damaged)}."
        yield Finding.of("damaged", sentence, damaged)
    whole = untold.where(not problems for problems in untold.values("problems"))
    yield from _said_otherwise(good)
    yield from _without_headline(whole, workload)
    yield from _without_others(whole, workload)
    yield from [*_copies(good)] or _sessions(good)
    of_history = [facts is not None for facts in good.values("facts")]
    twins = _alike(good, [_identity(good[place]) if is_kept else None for place, is_kept in enumerate(of_history)])
    if twins:
        yield Finding.of("twice", said_of_twins(len(twins)), twins)
    yield from _hosts(good)
    yield from _numeric_versions(matrix, workload)
    yield from schema_findings(matrix, workload)
    impossible = good.having("implausible")
    if impossible:
        what = first_of(sentence for entry in impossible for sentence in entry.implausible)
        yield Finding.of("implausible", f"{runs_have(impossible)} values that can't be: {what}.", impossible)
    odd = good.having("harmless")
    if odd:
        what = first_of(sentence for entry in odd for sentence in entry.harmless)
        yield Finding.of("odd", f"{_runs(odd)} with something odd that spoils no number: {what}.", odd, ANALYSES)
    doubtful = good.having("warnings")
    if doubtful:
        several = joined_warnings(doubtful)
        counts = [f" (in {len(having)})" if len(having) < len(doubtful) else "" for _, having in several]
        said = [f"{sentence}{count}" for (sentence, _), count in zip(several, counts, strict=True)]
        why = named(said, are_long=True)
        of = "" if len(doubtful) == len(good) else f" of {len(good)}"
        sentence = f"{len(doubtful)}{of} {plural(len(good), 'run')} with doubtful numbers: {why}."
        found = Finding.of("doubtful", sentence, doubtful, NONE)
        yield msgspec.structs.replace(found, in_most_runs=2 * len(doubtful) > len(good))
    broken = [note for note in matrix.notes if is_of_a_payload(note)]
    if broken:
        sentence = f"{count_of(len(broken), 'payload')} can't be read and {_no_part(broken)}:"
        yield Finding("unreadable-payload", sentence, EVERY, runs=broken)
    notes = [note for note in matrix.notes if note not in broken]
    if notes:
        sentence = f"{count_of(len(notes), 'thing')} met on the way through the runs:"
        yield Finding("notes", sentence, runs=notes)


def _copies(good: Rows) -> Iterator[Finding]:
    measured = _alike(good, [None if one is None else one.removesuffix("*") for one in good.values("measurement")])
    measured = _alike(Rows.of(measured), list(map(_measured, measured)))
    if measured:
        of_files = any(one.part is None for one in measured)
        same = (
            "artifacts that another one has, byte for byte" if of_files else "results that another one has, all alike"
        )
        what = f"{runs_have(measured)} {same}"
        yield Finding.of("copies", f"{what}: are they copies of one measurement?", measured)


def _alike(rows: Rows, keys: Sequence[object]) -> list[Entry]:
    """The *rows* that share their key with another one; those without a key share none."""
    places = grouped((key, place) for place, key in enumerate(keys) if key is not None)
    return [rows[place] for same in places.values() if len(same) > 1 for place in same]


def _measured(entry: Entry) -> object:
    """What tells the measurement of a run from others; where it may be counts and sizes alone, its settings do, too."""
    known = (entry.measurement or "").removesuffix("*")
    is_directory = entry.part is None and entry.facts is None  # a history knows no parts of files
    if is_directory or are_no_chance(entry.kpis.values()):
        return known
    return known, frozenset((name, *typed(value)) for name, value in entry.settings.items())


def _identity(entry: Entry) -> object:
    """The settings, the repeat, the host and the time of a run of a history; None where that is unknown."""
    if entry.time_us is None:
        return None
    settings = frozenset((name, *typed(value)) for name, value in entry.settings.items())
    return settings, entry.repeat, entry.host, entry.time_us


def _sessions(good: Rows) -> Iterator[Finding]:
    """Runs of several files at one point, on one host and, but for whole seconds, of one time: one session's."""
    rows = good.having("part")
    times = [start if end is None else end for start, end in rows.values("span_us")]
    rows = rows.where(time is not None and time % 10**6 for time in times)
    times = [time for time in times if time is not None and time % 10**6]
    files = [name.removesuffix(f"#{part}") for name, part in zip(rows.values("name"), rows.values("part"), strict=True)]
    points = zip(keys(rows, rows.names()), rows.values("host"), times, strict=True)
    together = grouped((point, place) for place, point in enumerate(points)).values()
    twice = [place for same in together if len({files[place] for place in same}) > 1 for place in same]
    if twice:
        what = f"{count_of(len(twice), 'run')} have the settings and the time of some in another file"
        yield Finding.of("copies", f"{what}, to the microsecond: is one session there twice?", rows.at(twice))


def _hosts(good: Rows) -> Iterator[Finding]:
    """Campaigns, each one start of a benchmark on one host, whose runs are of several."""
    campaigns = good.having("campaign")
    hosts: dict[str, set[str]] = {}
    for campaign, host in zip(campaigns.values("campaign"), campaigns.values("host"), strict=True):
        hosts.setdefault(campaign, set()).update([host] if host else [])
    torn = campaigns.where(len(hosts[campaign]) > 1 for campaign in campaigns.values("campaign"))
    if torn:
        names = named(sorted(f"'{host}'" for host in set[str]().union(*(of for of in hosts.values() if len(of) > 1))))
        what = f"{_runs(torn)} of a campaign, which is measured on one machine, are of several: {names}"
        yield Finding.of("hosts", f"{what}; noise between them is taken for that within a campaign.", torn)


def _numeric_versions(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    """Versions that are numbers: 1.10 is 1.1 then."""
    for name in workload.regression.comparison_keys:
        values, codes = matrix.entries.setting(name)
        is_number = [isinstance(value, float) for value in values]
        numeric = matrix.entries.where(map(is_number.__getitem__, codes))
        if numeric:
            value = numeric[0].settings[name]
            sentence = f"'{name}' is a number in {_runs(numeric)}, such as {value}: quote it, since 1.10 would be 1.1."
            yield Finding.of("numeric-version", sentence, numeric)


def _said_otherwise(good: Rows) -> Iterator[Finding]:
    """KPIs that runs of a history, or of payload files, keep in another unit or direction than the workload's."""
    known = [(place, facts) for place, facts in enumerate(good.values("facts")) if facts is not None]
    runs = grouped((kept, place) for place, facts in known for kept in facts.other_units.items())
    turned = grouped((name, place) for place, facts in known for name in facts.other_directions)
    for (name, units), places in runs.items():
        what = f"{name} is unknown in {count_of(len(places), 'run')}, since it is {units}"
        todo = "upload such runs again from their artifacts, or give the KPI in its new unit another name"
        yield Finding.of("other-unit", f"{what}: {todo}.", good.at(places))
    for name, places in sorted(turned.items()):
        what = f"{name} was better the other way round in {count_of(len(places), 'run')}, which no analysis compares"
        todo = "upload such runs again from their artifacts, or give the KPI another name"
        yield Finding.of("other-unit", f"{what}: {todo}.", good.at(places), ANALYSES)


def _without(good: Rows, kpi: str) -> Rows:
    """The runs without a value of *kpi*, but for those that have one in another unit."""
    values = good.kpi(kpi)
    if None not in values:
        return good.at(())
    known = zip(values, good.values("facts"), strict=True)
    return good.where(value is None and (facts is None or kpi not in facts.other_units) for value, facts in known)


def _without_headline(good: Rows, workload: Workload) -> Iterator[Finding]:
    """Successful runs without the headline KPI, beside others that have it."""
    headline = workload.headline
    if headline is None:
        return
    wanted = good.with_settings(headline.applies_to)
    without = _without(wanted, headline.name)
    if 0 < len(without) < len(wanted):
        why = first_of(entry.missing_kpis.get(headline.name, UNEXPLAINED) for entry in without)
        yield Finding.of("no-headline", f"{_runs(without)} without {headline.name}: {why}.", without)


def _without_others(good: Rows, workload: Workload) -> Iterator[Finding]:
    """KPIs, but for the headline, that a few of the runs lack to which they apply, or that few of them have.

    What may be limited is said in any number: a point keeps a limit by the runs that have it.
    """
    said, reasons, runs = [], dict[str, str](), dict[str, Entry]()
    for name, kpi in workload.kpis.items():
        wanted = good.with_settings(kpi.applies_to) if kpi is not workload.headline else good.at(())
        without = _without(wanted, name)
        having = len(wanted) - len(without)
        is_limit = kpi is workload.limited and having and without
        if is_limit or are_few(len(without), len(wanted)) or are_few(having, len(wanted)):
            said.append(f"{name} (in {len(without)} of {len(wanted)})")
            runs |= {entry.name: entry for entry in without}
            reasons[name] = first_of(entry.missing_kpis.get(name, UNEXPLAINED) for entry in without)
    if said:
        what = f"Unknown in some runs and known in others: {named(said, len(said))}"
        yield Finding.of("unknown-in-some", f"{what}: {'; '.join(by_reason(reasons))}.", runs.values(), NONE)


def _unreadable(matrix: Matrix) -> Iterator[Finding]:
    partly = matrix.damaged_files
    lost = [one for one in matrix.unfinished if one.is_unreadable and one not in partly]
    if partly:
        are = "isn't" if len(partly) == 1 else "aren't"
        what = f"{count_of(len(partly), 'file')} can't be read whole, or {are} clear; what could be read takes part"
        yield Finding.of("read-in-part", f"{what}: {_first_problem(partly)}.", partly)
    if lost:
        what = f"{runs_and_files(lost)} can't be placed and {_no_part(lost)}"
        yield Finding.of("lost", f"{what}: {_first_problem(lost)}.", lost)


def _failed(matrix: Matrix, workload: Workload) -> Iterator[Finding]:
    if failed := matrix.entries.where(matrix.entries.failed()):
        lost = _without_a_good_run(matrix.entries)
        gone = f"; {count_of(lost, 'point')} {'has' if lost == 1 else 'have'} no good run" if lost else ""
        yield Finding.of("failed", f"{_runs(failed)} failed and {_no_part(failed)}{gone}.", failed, NONE)
    yield from lost_findings(matrix.entries, workload)
    if without := not_judged(matrix.entries, workload):
        yield Finding("no-good-run", f"No run of {named(without)} is good: what changed there isn't known.", EVERY)


def lost_findings(rows: Rows, workload: Workload) -> Iterator[Finding]:
    """What failed in all its runs at a version at which others are good, and is good at another: no series says so.

    Runs of several directories are told apart like versions, by their setting ``tree``.
    """
    is_bad, regression = rows.failed(), workload.regression
    lost: dict[tuple[object, ...], Entry] = {}
    where = "elsewhere" if TREE in rows.names() else "at other versions"
    for known, failed in _failed_by_names(rows).items():
        versions = [name for name in (*regression.comparison_keys, TREE) if name in known]
        of_series = keys(rows, sorted(known.difference(versions, regression.ignored_keys)))
        at = list(zip(of_series, keys(rows, versions), strict=True))
        good = {one for one, bad in zip(at, is_bad, strict=True) if not bad}
        series, judged = ({one[side] for one in good} for side in (0, 1))
        for place in failed:
            one = at[place]
            if one[0] in series and one[1] in judged and one not in good:
                lost.setdefault((known, one), rows[place])
    if lost:
        first = next(iter(lost.values()))
        what = f"All runs of {count_of(len(lost), 'point')} failed that have good ones {where}"
        said = f"{what}, such as '{first.name}': failed runs have no value, so that no series is worse by it."
        yield Finding.of("fails-now", said, lost.values(), ANALYSES)


def _failed_by_names(rows: Rows) -> dict[frozenset[str], list[int]]:
    """The places of those of *rows* that failed, by the names of their settings: what results tell they can't say."""
    names, which = rows.shared("names")
    return grouped((frozenset(names[code]), at) for at, code in itertools.compress(enumerate(which), rows.failed()))


def _without_a_good_run(rows: Rows) -> int:
    """How many points have none, where no good run has all that a failed one says."""
    is_bad, lost = rows.failed(), set[tuple[object, ...]]()
    for known, failed in _failed_by_names(rows).items():
        of_run = keys(rows, sorted(known))
        good = {key for key, bad in zip(of_run, is_bad, strict=True) if not bad}
        lost |= {(known, of_run[place]) for place in failed if of_run[place] not in good}
    return len(lost)


def _first_problem(entries: Sequence[Entry]) -> str:
    return first_of(str(entry.problems[0]) if entry.problems else DID_NOT_FINISH for entry in entries)


def _runs(entries: Sequence[Entry]) -> str:
    return count_of(len(entries), "run")


def _no_part(entries: Sequence[object]) -> str:
    return f"{'takes' if len(entries) == 1 else 'take'} no part"
