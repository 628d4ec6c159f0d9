"""Is B worse than A? The verdicts on series of which two sides are compared, from the blocks of their runs."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from ...grouped import grouped
from ...matrix import Entry
from ...workload import MinimumEffect
from .. import pair, weigh
from ..blocks import Block, blocks_of
from ..detect import Change, Estimate, q_values
from ..detect.evidence import RATE
from ..intervals import Scale, hidden_between, hidden_in, is_clear_of_zero
from ..noise import Integers
from ..pair import LARGEST_LOGARITHM, OTHER, SIGNIFICANT, Evidence, Ground, Runs
from ..select.labelled import run_id
from ..select.series import Series
from ..weigh import NEW, OLD, Told
from .lifecycle import Known
from .model import Alarm, Outcome, SeriesVerdict, Status, amount

IN_TURN = "measure both in turn, in one benchmark file with 'repeat: 3': matbench benchmark FILE --run"
NOT_IN_TURN = f"nothing says that they were measured in turn: a difference may be the machine's mood; {IN_TURN}"
ONE_ROUND = f"both were measured in one round only, and one can't tell chance; {IN_TURN}"

_FEW_COUNTS = 30.0
_FOUR_OF_FIVE = 0.8416 / 1.96  # of what a difference is within, as 95 % lie there
_OF_ROUNDING = 1e-3  # less is what is left of the spread of equal values, when floats are subtracted
BEYOND_MOODS = math.log(1.5)
MUCH_LONGER = 4.0  # times the longest pause within the sides: a weekend between nights isn't, a night between hours is

Side = Sequence[tuple[Entry, float]]  # runs, each with its value


class Pair(msgspec.Struct, frozen=True):
    """A series, and which of its points are the old side and the new one; the others tell how campaigns differ."""

    series: Series
    old: tuple[int, ...]
    new: tuple[int, ...]

    @property
    def sides(self) -> tuple[list[Entry], list[Entry]]:
        """The runs of the old side, and those of the new one."""
        old, new = ([run for at in of for run in self.series.points[at].entries] for of in (self.old, self.new))
        return old, new


class RunBlocks:
    """The block of each of the runs that there are, worked out when the first is asked for."""

    def __init__(self, entries: Callable[[], Sequence[Entry]]) -> None:
        self._entries = entries

    @functools.cached_property
    def _blocks(self) -> Mapping[object, Block]:
        entries = self._entries()
        return dict(zip(map(run_id, entries), blocks_of(entries), strict=True))

    def of(self, entry: Entry) -> Block:
        return self._blocks[run_id(entry)]


@dataclasses.dataclass(frozen=True, slots=True)
class Question:
    """What all comparisons take besides the runs."""

    data: str  # where the runs came from, in words
    blocks: RunBlocks  # which runs were measured together, among all that there are
    minimum_effects: Mapping[str, MinimumEffect] = dataclasses.field(default_factory=dict)  # by KPI; else 1 %
    known: Mapping[str, Known] = dataclasses.field(default_factory=dict)  # the alarms of the history, by id
    # Those that an analysis at hand raises and the history doesn't know yet: they are quoted beside, no more.
    raised: Mapping[str, Known] = dataclasses.field(default_factory=dict)
    # What was not selected and lends its noise all the same: an interval is the same in each selection.
    lenders: Sequence[Pair] = ()
    ignored: Sequence[str] = ()  # settings that the asker lets both sides differ in
    # That runs of the new side fail more often, and that they may, in sentences.
    fails: tuple[Sequence[str], Sequence[str]] = ((), ())
    now: dt.datetime = dataclasses.field(default_factory=functools.partial(dt.datetime.now, dt.UTC))


class Judged(msgspec.Struct, frozen=True):
    runs: Runs
    evidence: Evidence  # with what the KPI's other series lend it
    told: Told | None  # None where it can't be told
    is_one_mood: bool = False  # all of a side may be of one mood, however many campaigns it has

    @property
    def levels(self) -> tuple[float, float]:
        old = self.evidence.old
        return self.runs.back(old), self.runs.back(old + float(self.evidence.weighed.difference))

    @property
    def difference(self) -> Estimate:
        """New level − old level in the KPI's unit."""
        if self.runs.scale is Scale.RATIO:
            (old, new), logarithm = self.levels, self._shift
            return Estimate(new - old, ratio(logarithm.low) * old, ratio(logarithm.high) * old)
        return self._shift.to(lambda end: end * self.runs.unit)

    @property
    def effect(self) -> Estimate | None:
        """New level / old level − 1; None if the old level isn't clearly positive."""
        if self.runs.scale is Scale.RATIO:
            return self._shift.to(ratio)
        old, runs = self.evidence.old, self.runs
        is_clear = old > 0.0 and is_clear_of_zero(old, runs.values[runs.sides == OLD].tolist())
        least = -1.0 if runs.values.min() >= 0.0 else -math.inf  # nothing is less than nothing
        return self._shift.to(lambda end: max(end / old, least)) if is_clear else None

    @property
    def measure(self) -> Estimate:
        """By how much new and old differ: as a fraction, else in the KPI's unit."""
        return self.effect or self.difference

    def would_show(self, minimum: MinimumEffect) -> float | None:
        """The smallest difference that would have been seen in four of five cases and counts, as *measure* has it."""
        if self.told is None or not self.told.seen:
            return None
        hidden = hidden_in(self.runs.values.tolist(), Scale.DIFFERENCE)
        if hidden is None:
            return None
        seen, (old, _) = max(float(self.told.seen), hidden), self.levels
        least, further = amount(minimum, old), _FOUR_OF_FIVE * float(self.told.reach)
        if self.runs.scale is Scale.RATIO:
            return max(ratio(seen), ratio(math.log1p(least / old) + further))
        size = self._of_counts(max(seen, least / self.runs.unit + further)) * self.runs.unit
        return size if self.effect is None else size / old

    def _of_counts(self, size: float) -> float:
        """A difference of *size*, or a larger one where values are few counts, whose variance rises with their mean.

        With a variance v of each side s² is c · 2v, and with counts of the mean m it takes d² = c · (2v + d · v / m).
        """
        values, step = self.runs.values[self.runs.sides < OTHER], self.runs.step
        if not step or values.min() < 0.0 or values.mean() > _FEW_COUNTS * step:
            return size
        half = size * size / (4.0 * max(float(values.mean()), step / len(values)))
        return half + math.hypot(half, size)

    @property
    def p_value(self) -> float | None:
        return None if self.told is None else float(self.told.p_value)

    @property
    def _shift(self) -> Estimate:
        """The difference on the scale, with what may hide within the few steps that the values fall on."""
        shift = float(self.evidence.weighed.difference)
        if self.told is None:
            return Estimate(shift, -math.inf, math.inf)
        old, new = (self.runs.values[self.runs.sides == side].tolist() for side in (OLD, NEW))
        reach, off = float(self.told.reach), hidden_between(old, new, Scale.DIFFERENCE)
        found = Estimate(shift, shift - reach, shift + reach)
        return found.exact if off is None and reach < _OF_ROUNDING else found.off_by(off or 0.0)

    @property
    def stands_on(self) -> str:
        is_one_round = self.evidence.ground is Ground.NONE and self.is_one_round
        (old, new), held = self.evidence.blocks, self.evidence.held
        less = f", {'one' if held == 1 else held} of them far off and held back" if held else ""
        where = {
            Ground.ROUNDS: f"in {old} common rounds",
            Ground.SHARED: f"in {old} common campaigns",
            Ground.CAMPAIGNS: f"in {old} and {new} campaigns",
            Ground.HISTORY: "in one campaign each, beside how campaigns differ anyway",
            Ground.NONE: "in one common round" if is_one_round else "in one campaign each",
        }[self.evidence.ground]
        return f"{where}{less}"

    @property
    def is_one_round(self) -> bool:
        """Whether both sides were measured together, once."""
        rounds = [set(self.runs.rounds[self.runs.sides == side].tolist()) for side in (OLD, NEW)]
        return bool((rounds[OLD] & rounds[NEW]) - {pair.NO_ROUND})

    def outcome(self, minimum: MinimumEffect, lower_is_better: bool, q_value: float | None) -> Outcome:
        """The verdict, by what a change has to reach and by the false discovery rate at which it is among the found."""
        old, new = self.levels
        if self.told is None:  # no two blocks are known: do both lie farther apart than moods of a machine take them?
            before, after = (self.runs.values[self.runs.sides == side] for side in (OLD, NEW))
            is_far = self.runs.scale is Scale.RATIO and abs(float(self.evidence.weighed.difference)) >= BEYOND_MOODS
            is_apart = before.max() < after.min() or after.max() < before.min()
            is_sure = (
                is_far and is_apart and min(len(before), len(after)) > 1 and abs(new - old) >= amount(minimum, old)
            )
            return Outcome.SUSPECTED if is_sure else Outcome.CANT_TELL
        if new == old or abs(new - old) < amount(minimum, old) or self.told.p_value > SIGNIFICANT:
            return Outcome.NO_CHANGE
        if not self.evidence.is_confirmed or self.is_one_mood or q_value is None or q_value > RATE:
            return Outcome.SUSPECTED
        return Outcome.REGRESSION if (new > old) == lower_is_better else Outcome.IMPROVEMENT


class Compared(msgspec.Struct, frozen=True):
    outcome: Outcome
    judged: Judged


def ratio(logarithm: float) -> float:
    """A difference of logarithms as new / old − 1; infinite where floats end."""
    return math.expm1(logarithm) if logarithm < LARGEST_LOGARITHM else math.inf


def verdicts_of(pairs: Sequence[Pair], runs: Sequence[Runs], question: Question) -> list[SeriesVerdict]:
    """The verdict on each of *pairs*, in their order, of KPIs of which one direction is better; *runs* are theirs.

    A series with a known alarm between both sides is no news, so the others aren't counted among it; it is judged among
    all, so that what somebody kept of it adds nothing to its evidence.
    """
    judged = in_doubt(judge(pairs, runs, question), pairs)
    alarms = by_series(question.known.values())
    old_alarms = [_between(one, alarms.get(one.series.id, ())) for one in pairs]
    p_values = [one.p_value for one in judged]
    among_new = q_values([p if alarm is None else None for p, alarm in zip(p_values, old_alarms, strict=True)])
    among_all = q_values(p_values)
    q = [new if alarm is None else of for new, of, alarm in zip(among_new, among_all, old_alarms, strict=True)]
    return [_verdict(*each, question) for each in zip(pairs, judged, q, old_alarms, strict=True)]


def in_doubt(found: Sequence[Judged], pairs: Sequence[Pair]) -> list[Judged]:
    """What was *found* of campaigns, told to be one mood a side where the sides of *pairs* are far apart."""
    of_campaigns = [one.evidence.ground is Ground.CAMPAIGNS for one in found]
    if not any(of_campaigns) or not are_far_apart(pairs):
        return [*found]
    return [msgspec.structs.replace(one, is_one_mood=is_so) for one, is_so in zip(found, of_campaigns, strict=True)]


def are_far_apart(pairs: Sequence[Pair]) -> bool:
    """Whether a pause parts both sides that is much longer than any within, of campaigns that nobody recorded.

    All the runs of their series tell how long nothing was measured.
    """
    sides = [{id(run): run for one in pairs for run in one.sides[side]}.values() for side in (OLD, NEW)]
    if not all(sides) or any(run.campaign is not None or run.span_us[0] is None for side in sides for run in side):
        return False
    runs = {id(run): run.span_us for one in pairs for point in one.series.points for run in point.entries}
    pauses = [
        *_pauses(sorted((start, start if end is None else end) for start, end in runs.values() if start is not None))
    ]
    starts = ([run.span_us[0] or 0 for run in side] for side in sides)  # all are known
    (first, last), (begin, end) = sorted((min(of), max(of)) for of in starts)
    within = [pause for at, pause in pauses if first < at <= last or begin < at <= end]
    between = [pause for at, pause in pauses if last < at <= begin]
    return max(between, default=0) > MUCH_LONGER * max(within, default=math.inf)


def _pauses(spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """When each of the *spans* but the first starts, and how long nothing was measured before."""
    latest = spans[0][1]
    for start, end in spans[1:]:
        yield start, max(start - latest, 0)
        latest = max(latest, end)


def judge(pairs: Sequence[Pair], runs: Sequence[Runs], question: Question) -> list[Judged]:
    """What the *runs* of each pair say, in their order; the series of a KPI lend each other what they know of noise.

    So do the question's lenders, of which those that are among *pairs* don't count again.
    """
    own = {_identity(one) for one in pairs} if question.lenders else set[object]()
    lenders = [one for one in question.lenders if _identity(one) not in own]
    everything = [*runs, *runs_of(lenders, question.blocks)]
    return _lending(everything, [one.series.kpi.name for one in (*pairs, *lenders)])[: len(pairs)]


def runs_of(pairs: Iterable[Pair], blocks: RunBlocks) -> list[Runs]:
    """The runs of each series, which of them is of which side, and what each was measured together with."""
    known: dict[object, _Numbers] = {}  # the KPIs of the same runs share them
    found = []
    for one in pairs:
        name, points = one.series.kpi.name, one.series.points
        key = one.old, one.new, *(tuple(map(id, point.entries)) for point in points)
        if key not in known:
            sides = {**dict.fromkeys(one.old, OLD), **dict.fromkeys(one.new, NEW)}
            of = [sides.get(place, OTHER + place) for place, point in enumerate(points) for _ in point.entries]
            known[key] = _numbers([run for point in points for run in point.entries], of, blocks)
        found.append(pair.runs_of([run.kpis[name] for point in points for run in point.entries], *known[key]))
    return found


def _identity(one: Pair) -> object:
    return one.series.kpi.name, *(frozenset(map(run_id, side)) for side in one.sides)


def compare_sides(sides: Sequence[tuple[Side, Side]], blocks: RunBlocks, *, lower_is_better: bool) -> list[Compared]:
    """The verdict on the new one of each two sides, for what is no KPI of a run, such as the points of a curve."""
    runs = []
    for old, new in sides:
        both = [*old, *new]
        numbers = _numbers([run for run, _ in both], [OLD] * len(old) + [NEW] * len(new), blocks)
        runs.append(pair.runs_of([value for _, value in both], *numbers))
    found = _lending(runs, [""] * len(runs))
    q = q_values([one.p_value for one in found])
    minimum = MinimumEffect()
    return [Compared(one.outcome(minimum, lower_is_better, value), one) for one, value in zip(found, q, strict=True)]


def _lending(runs: Sequence[Runs], families: Sequence[str]) -> list[Judged]:
    """What *runs* say; those of one family lend each other what they know of noise."""
    found = dict[int, Evidence]()
    for places in grouped((family, place) for place, family in enumerate(families)).values():
        found |= zip(places, pair.evidence_of([runs[place] for place in places]), strict=True)
        # A spread in the KPI's unit says nothing of series whose values are larger.
        ratios = [place for place in places if runs[place].scale is Scale.RATIO]
        found |= zip(ratios, pair.lend([found[place] for place in ratios]), strict=True)
    return judged(runs, [found[place] for place in range(len(runs))])


def judged(runs: Sequence[Runs], found: Sequence[Evidence]) -> list[Judged]:
    """What the evidence that was *found* says of the *runs* of each series."""
    told = dict[int, Told]()
    if known := [place for place, one in enumerate(found) if one.ground is not Ground.NONE]:
        told = dict(zip(known, weigh.tell_each([found[place].weighed for place in known]), strict=True))
    return [Judged(*each, told.get(place)) for place, each in enumerate(zip(runs, found, strict=True))]


_Numbers = tuple[Integers, Integers, Integers]


def _numbers(runs: Sequence[Entry], sides: Sequence[int], blocks: RunBlocks) -> _Numbers:
    """The *sides* of *runs*, and the campaign and the round of each."""
    found = [blocks.of(run) for run in runs]
    rounds = [pair.NO_ROUND if block.round is None else block.round for block in found]
    return np.array(sides), np.array([block.campaign for block in found]), np.array(rounds)


def by_series(known: Iterable[Known]) -> dict[str, list[Known]]:
    """The alarms of a history that weren't repaired, by the id of their series."""
    return grouped((one.series, one) for one in known if one.status is not Status.FIXED)


def _between(one: Pair, alarms: Sequence[Known]) -> Known | None:
    """The newest of *alarms* whose first bad version comes after the old side, and not after the new one."""
    of_version = {alarm.subject.first_bad: alarm for alarm in alarms}
    after = one.series.versions[one.old[-1] + 1 : one.new[-1] + 1]
    return next((of_version[version] for version in reversed(after) if version in of_version), None)


def _verdict(one: Pair, found: Judged, q_value: float | None, known: Known | None, question: Question) -> SeriesVerdict:
    series, minimum = one.series, question.minimum_effects.get(one.series.kpi.name, MinimumEffect())
    assert series.kpi.lower_better is not None
    outcome = found.outcome(minimum, series.kpi.lower_better, q_value)
    old, new = found.levels
    counts = [sum(series.points[place].count for place in places) for places in (one.old, one.new)]
    base = msgspec.structs.replace(
        SeriesVerdict.of(series, minimum),
        outcome=outcome,
        effect=found.effect,
        difference=found.difference,
        old_level=old,
        new_level=new,
        p_value=found.p_value,
        q_value=q_value,
        runs_before=counts[OLD],
        runs_after=counts[NEW],
        stands_on=found.stands_on,
        would_show=found.would_show(minimum),
        why="" if outcome is not Outcome.CANT_TELL else ONE_ROUND if found.is_one_round else NOT_IN_TURN,
    )
    if outcome not in (Outcome.REGRESSION, Outcome.IMPROVEMENT, Outcome.SUSPECTED):
        return base
    base = msgspec.structs.replace(base, first_bad=one.new[-1], last_good=one.old[-1], is_new=known is None)
    if outcome is Outcome.SUSPECTED:
        return base
    change = Change(one.new[-1], one.old[-1], one.new[-1], old, new, outcome is Outcome.REGRESSION)
    alarms = (_alarm(series, change, known, question.now),) if change.is_worse else ()
    return msgspec.structs.replace(base, changes=(change,), alarms=alarms)


def _alarm(series: Series, change: Change, known: Known | None, now: dt.datetime) -> Alarm:
    """What fails: with the id and the state of the alarm that the history has of it, if it has one."""
    alarm = Alarm.of(series, change, "", is_new=known is None)
    if known is None:
        return alarm
    last, subject = known.last, known.subject
    is_over = known.is_over(now, series.labels_for(last.until))
    return msgspec.structs.replace(
        alarm,
        id=known.id,
        first_bad=subject.first_bad,
        last_good=subject.last_good,
        status=Status.OPEN if is_over else known.status,
        author=last.author,
        reason=last.reason,
        until=last.until,
        note=f"Worse since {subject.first_bad}, as the history has it",
        comment=known.remark,
    )
