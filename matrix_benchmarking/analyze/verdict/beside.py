"""What is said beside the verdicts on two sides: what else differs, how they were measured, what is doubtful."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence

from ...matrix import TREE, Entry, id_beside
from ..blocks import Block
from ..machines import between_sides, campaigns_together
from ..points import joined_warnings
from ..weigh import NEW, OLD
from ..words import ONE_CAMPAIGN, is_or_are, named, variant_label
from .lifecycle import Known
from .model import Doubt, Outcome, SeriesVerdict, Status
from .sides import Pair, Question, are_far_apart, by_series

_VERSIONS_NAMED = 3
_FEWEST_IN_ORDER = 6  # pairs of runs of one round: fewer are in the same order by chance


def beside(pairs: Sequence[Pair], verdicts: Sequence[SeriesVerdict], question: Question) -> str:
    """What else is to be known of *pairs* and the *verdicts* on them, in sentences; empty for nothing."""
    sides = [one.sides for one in pairs]
    distinct = _distinct(pairs)
    said = (
        _same_runs(distinct),
        _unequal_shares(pairs, question.ignored),
        between_sides(sides),
        campaigns_together(sides),
        of_history(pairs, verdicts, {**question.raised, **question.known}),
        _one_first(distinct, question),
        _in_one_campaign(distinct, verdicts, question),
        _one_after_the_other(distinct, verdicts, question),
    )
    return " ".join(filter(None, said))


def doubts_of(pairs: Sequence[Pair]) -> list[Doubt]:
    """What makes the runs of *pairs* doubtful."""
    old, new = dict[int, Entry](), dict[int, Entry]()
    for before, after in (one.sides for one in _distinct(pairs)):
        old |= {id(run): run for run in before}
        new |= {id(run): run for run in after}
    found = [
        Doubt(said, *((sum(id(run) in side for run in having), len(side)) for side in (old, new)))
        for said, having in joined_warnings([*old.values(), *new.values()])
    ]
    return sorted(found, key=lambda one: -one.difference)


def _same_runs(pairs: Sequence[Pair]) -> str:
    """That runs of one side are those of the other, by their ids, as a sentence; empty where none is."""
    sides = [[run for one in pairs for run in one.sides[side]] for side in (OLD, NEW)]
    ids = [{run.test_uuid for run in side if run.test_uuid} for side in sides]
    trees = {str(run.settings[TREE]) for side in sides for run in side if TREE in run.settings}
    first = {id_beside(one, tree): one for one in ids[OLD] | ids[NEW] for tree in trees}
    old, new = ({first.get(one, one) for one in of} for of in ids)
    both = len(old & new)
    if both and old == new:
        return "Both sides are the same runs, or copies of them: there is nothing to tell."
    return f"{both} of {len(new)} new runs {is_or_are(both)} among the old ones, too." if both else ""


def _unequal_shares(pairs: Sequence[Pair], ignored: Sequence[str]) -> str:
    """In how many of *pairs* a setting that is *ignored* has other shares on one side, as a sentence; empty for none.

    What changes between two sides then may be their shares alone (E. H. Simpson, 1951); where each side has one value
    of its own, nothing tells this from what was asked.
    """
    found = []
    for one in pairs if ignored else ():
        old, new = (collections.Counter(variant_label(run.settings, ignored) for run in side) for side in one.sides)
        if any(old[value] * new.total() != new[value] * old.total() for value in {*old, *new}):
            found.append((old, new))
    if not found:
        return ""
    where = f"In {len(found)} of {len(pairs)} series the" if len(found) < len(pairs) else "The"
    if all(len(side) == 1 for sides in found for side in sides):
        values = " | ".join(value for side in found[0] for value in side)
        return f"{where} sides differ in {named(ignored)} ({values}): that may be the reason."
    counts = " | ".join(", ".join(f"{value}: {side[value]}" for value in sorted(side)) for side in found[0])
    return (
        f"{where} runs of {named(ignored)} have other shares on the one side than on the other ({counts}): what "
        "differs may be these."
    )


def _distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """One of those of *pairs* whose runs are the same, as of several KPIs."""
    found: dict[object, Pair] = {}
    for one in pairs:
        entries = [tuple(map(id, point.entries)) for point in one.series.points]
        found.setdefault((one.old, one.new, *entries), one)
    return list(found.values())


def _one_first(pairs: Sequence[Pair], question: Question) -> str:
    """That in all common blocks one side was measured before the other, as a sentence; empty where it wasn't so."""
    blocks, orders, count = set[Block](), set[bool](), 0
    for one in pairs:
        old, new = (_starts(side, question) for side in one.sides)
        for block in old.keys() & new.keys():
            if old[block] == new[block]:
                return ""
            blocks.add(block)
            orders.add(old[block] < new[block])
            count += 1
        if len(orders) > 1:
            return ""
    if count < _FEWEST_IN_ORDER or len(blocks) < 2:
        return ""
    first, second = _names(pairs, orders == {True})
    return (
        f"In all {len(blocks)} blocks that both have, {first} was measured before {second}: a drift within these is in "
        "the difference."
    )


def _names(pairs: Sequence[Pair], is_old_first: bool) -> tuple[str, str]:
    """The versions of both sides, that of the one which was measured first before the other."""
    old, new = pairs[0].series.versions[pairs[0].old[-1]], pairs[0].series.versions[pairs[0].new[-1]]
    return (old, new) if is_old_first else (new, old)


def _in_one_campaign(pairs: Sequence[Pair], verdicts: Iterable[SeriesVerdict], question: Question) -> str:
    """That what changed was told by the rounds of one campaign, as a sentence; empty where it wasn't."""
    if not any(one.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT) for one in verdicts):
        return ""
    blocks = [block for one in pairs for side in one.sides for block in _starts(side, question)]
    is_one = len({block.campaign for block in blocks}) == 1 and all(block.round is not None for block in blocks)
    return ONE_CAMPAIGN if is_one else ""


def _one_after_the_other(pairs: Sequence[Pair], verdicts: Iterable[SeriesVerdict], question: Question) -> str:
    """That all campaigns of one side were before all of the other, where something changed; empty where not so."""
    if all(one.outcome in (Outcome.NO_CHANGE, Outcome.CANT_TELL) for one in verdicts):
        return ""
    old, new = (
        {block.campaign for one in pairs for block in _starts(one.sides[side], question)} for side in (OLD, NEW)
    )
    if min(len(old), len(new)) < 2 or not (max(old) < min(new) or max(new) < min(old)):
        return ""
    is_old_first = max(old) < min(new)
    first, second = _names(pairs, is_old_first)
    before, after = (old, new) if is_old_first else (new, old)
    said = f"All {len(before)} campaigns of {first} were before the {len(after)} of {second}"
    if are_far_apart(pairs):
        return (
            f"{said}, with a pause between that is much longer than any within: each side may be one mood of the "
            "machine, so that nothing is more than suspected; campaigns in turn would tell."
        )
    return (
        f"{said}: a mood of the machine that lasts longer than a campaign is in the difference; campaigns in turn "
        "would tell it apart."
    )


def _starts(runs: Iterable[Entry], question: Question) -> dict[Block, int]:
    """By block when the first of the *runs* began; of unknown times nothing."""
    found: dict[Block, int] = {}
    for run in runs:
        block, start_us = question.blocks.of(run), run.span_us[0]
        if start_us is not None:
            found[block] = min(start_us, found.get(block, start_us))
    return found


def of_history(pairs: Sequence[Pair], verdicts: Sequence[SeriesVerdict], known: Mapping[str, Known]) -> str:
    """What the alarms of a history say of the series that were compared and the verdicts don't; empty for nothing."""
    alarms = by_series(known.values())
    of = {verdict.id: verdict for verdict in verdicts}
    shown = {alarm.id for verdict in verdicts for alarm in verdict.alarms if alarm.id}
    counts: dict[tuple[str, str], set[str]] = {}
    for one in pairs:
        for alarm in alarms.get(one.series.id, ()):
            place = _place_of(one, alarm.subject.first_bad, of.get(one.series.id))
            if place and alarm.id not in shown and alarm.status is not Status.RESOLVED:
                counts.setdefault((alarm.subject.first_bad, place), set()).add(one.series.id)
    more_of = "more of " if shown else "of "
    said = [
        f"{len(ids)} {more_of}these series {is_or_are(len(ids))} worse since {version}: {place}"
        for (version, place), ids in counts.items()
    ]
    more = f"; and so on for {len(said) - _VERSIONS_NAMED} more" if len(said) > _VERSIONS_NAMED else ""
    return f"The history says that {'; '.join(said[:_VERSIONS_NAMED])}{more}." if said else ""


def _place_of(one: Pair, first_bad: str, verdict: SeriesVerdict | None) -> str:
    """Where an alarm begins; between the sides, what they show of it. Empty for a version that is there no longer."""
    if first_bad not in one.series.versions:
        return ""
    place = max(at for at, version in enumerate(one.series.versions) if version == first_bad)
    old, new = max(one.old), max(one.new)
    if place <= min(old, new):
        return "both sides are"
    if place > max(old, new):
        return "after both sides"
    # Asked the other way round, what got worse since is better.
    if verdict is not None and verdict.looks_worse == (old < new):
        if verdict.outcome in (Outcome.REGRESSION, Outcome.IMPROVEMENT):
            return "the two sides show it too"
        if verdict.outcome is Outcome.SUSPECTED:
            return "by the two sides alone it is suspected"
    return "the two sides alone don't show it"
