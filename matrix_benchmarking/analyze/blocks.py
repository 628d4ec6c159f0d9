"""Which runs were measured together: the campaign and the round of each, recorded or inferred.

Runs that one start of a benchmark measured on one host, one after the other, share a mood of the machine: they are a
*block*, as experimental design calls it, and no independent evidence. Blocks nest: a campaign, and within an
interleaved one its rounds, each of which is one pass over the points.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ..grouped import grouped
from ..matrix import Entry
from ..rows import Rows
from .points import keys

LONGEST_PAUSE_S = 30 * 60
"""A pause on a host, in seconds, after which what is measured next is another campaign, where none is recorded.

A target takes minutes to start, and a night or a build lies between campaigns. Where a pause is shorter, two campaigns
are taken for one, which says less than they do together; a longer constant would do that more often, and a shorter
one make two blocks of one, which says too much.
"""

LONGEST_RUN_S = 50 * 60
"""So many seconds may lie between two starts, where ends aren't known, that are taken for the length of a run: what
comes each hour, or each night, comes by a clock.
"""


class Block(msgspec.Struct, frozen=True):
    """What a run was measured together with."""

    campaign: int  # its number among all runs that were given, the oldest first
    round: int | None  # its number, over all campaigns; None for a run that belongs to no round


class _Run(msgspec.Struct):
    place: int  # among those that were given
    point: int
    start: float  # in seconds since 1970; -inf where unknown
    end: float
    recorded_round: int | None


def blocks_of(runs: Iterable[Entry]) -> list[Block]:
    """The block of each run, in the order given. Give all the runs there are: what lies between two of them counts.

    A run has the campaign and the round that were recorded with it. Of the others, those of one host are a campaign up
    to a pause of more than :data:`LONGEST_PAUSE_S`; within it a round ends where a point comes again, if at least two
    rounds have most of the points in common. Where ends aren't known, runs take as long as it usually is to the next
    one (:func:`_lengthen`). Where no time is known, it is the one at which a history first saw the run; without that,
    all runs of a host are one campaign without rounds, since nothing says otherwise. Hosts are told apart by processor,
    GPUs and kernel, since their names are not recorded.
    """
    rows = Rows.of(runs)
    campaigns = sorted(_campaigns(rows), key=lambda campaign: campaign[1][0].start)
    blocks: dict[int, Block] = {}
    numbers: dict[tuple[int, int], int] = {}
    for number, (is_recorded, campaign) in enumerate(campaigns):
        rounds = [run.recorded_round for run in campaign] if is_recorded else _inferred_rounds(campaign)
        for run, each in zip(campaign, rounds, strict=True):
            known = None if each is None else numbers.setdefault((number, each), len(numbers))
            blocks[run.place] = Block(number, known)
    return [blocks[place] for place in range(len(rows))]


def apart(runs: Iterable[Entry]) -> tuple[int, int]:
    """How many recorded campaigns without rounds *runs* are of, and how many of these lie apart.

    Those of one host with no pause of more than :data:`LONGEST_PAUSE_S` between them, or of unknown times, don't.
    """
    rows = Rows.of(runs)
    hosts, spans = _hosts_and_times(rows)
    of_hosts: dict[str | None, dict[str, _Run]] = {}
    for place, (campaign, number) in enumerate(zip(rows.values("campaign"), rows.values("round"), strict=True)):
        if campaign is not None and number is None:
            start, end = spans[place]
            one = of_hosts.setdefault(hosts[place], {}).setdefault(campaign, _Run(place, 0, start, end, None))
            one.start, one.end = min(one.start, start), max(one.end, end)
    in_order = [sorted(found.values(), key=lambda one: one.start) for found in of_hosts.values()]
    return sum(map(len, in_order)), sum(len(list(_between_pauses(found))) for found in in_order)


def _campaigns(rows: Rows) -> Iterator[tuple[bool, list[_Run]]]:
    """The runs of each campaign in the order of their times, and whether it was recorded."""
    together: dict[tuple[bool, str | None], list[_Run]] = {}
    points: dict[tuple[int, ...], int] = {}
    hosts, spans = _hosts_and_times(rows)
    alike = [points.setdefault(point, len(points)) for point in keys(rows, rows.names())]
    for place, (campaign, number) in enumerate(zip(rows.values("campaign"), rows.values("round"), strict=True)):
        key = (False, hosts[place]) if campaign is None else (True, campaign)
        together.setdefault(key, []).append(_Run(place, alike[place], *spans[place], number))
    for (is_recorded, _), found in together.items():
        # Of equal times the runs of a point come together, so that no round is made of an order that is not known.
        found.sort(key=lambda run: (run.start, run.point))
        if not is_recorded:
            _lengthen(found)
        yield from ((is_recorded, each) for each in ([found] if is_recorded else _between_pauses(found)))


def _lengthen(runs: Sequence[_Run]) -> None:
    """Ends *runs* of which one time alone is known after the usual time from one to the next, while points come again.

    What lies between two runs of a point was measured together with them, unless another point was begun and ended
    there, as of a version that is measured once more. Where most runs are of no such stretch, as of versions that come
    hour by hour, their lengths aren't known.
    """
    if len(runs) < 2 or any(run.end > run.start for run in runs) or not math.isfinite(runs[0].start):
        return
    gaps = [after.start - before.start for before, after in itertools.pairwise(runs)]
    places = grouped((run.point, place) for place, run in enumerate(runs))
    ended = [len(runs)] * (len(runs) + 1)  # the first of the points' last places that begin there or later
    lasts = {of[0]: of[-1] for of in places.values()}
    for place in range(len(runs) - 1, -1, -1):
        ended[place] = min(ended[place + 1], lasts.get(place, len(runs)))
    opened = [0] * len(runs)
    for before, after in (pair for of in places.values() for pair in itertools.pairwise(of)):
        if ended[before + 1] > after:
            opened[before] += 1
            opened[after] -= 1
    depths = itertools.accumulate(opened)
    within = [gap for gap, depth in zip(gaps, depths, strict=False) if depth and gap <= LONGEST_RUN_S]
    if not within or 2 * len(within) < len(gaps):
        return
    length = statistics.median(within)
    for run in runs:
        run.end += length


def _between_pauses(runs: Sequence[_Run]) -> Iterator[list[_Run]]:
    """The *runs* of one host, in the order of their times, up to each pause."""
    together, latest = [runs[0]], runs[0].end
    for run in runs[1:]:
        if run.start - latest > LONGEST_PAUSE_S:  # infinite after runs of unknown time, and not a number between them
            yield together
            together = []
        together.append(run)
        latest = max(latest, run.end)
    yield together


def _inferred_rounds(runs: Sequence[_Run]) -> Sequence[int | None]:
    """The round of each of a campaign's *runs*, numbered in their order; None for all of them if it has none."""
    every = {run.point for run in runs}
    if len(every) == len(runs):  # no point comes again
        return [None] * len(runs)
    rounds: list[int] = []
    members: list[set[int]] = [set()]
    for run in runs:
        if run.point in members[-1]:
            members.append(set())
        members[-1].add(run.point)
        rounds.append(len(members))
    most = max(1, len(every) / 2)
    times = Counter(point for each in members if len(each) > most for point in each)
    return rounds if sum(count > 1 for count in times.values()) > most else [None] * len(runs)


def _hosts_and_times(rows: Rows) -> tuple[Sequence[str | None], Sequence[tuple[float, float]]]:
    """The host of each of *rows*, and when it started and ended, in seconds since 1970; -inf where not known."""
    spans = []
    for (start_us, end_us), recorded in zip(rows.values("span_us"), rows.values("recorded"), strict=True):
        if start_us is None and end_us is None and recorded is not None and recorded[0]:
            start_us = recorded[1]
        known = [time_us / 1e6 for time_us in (start_us, end_us) if time_us is not None] or [-math.inf]
        spans.append((known[0], known[-1]))
    return rows.values("host"), spans
