"""An analysis as Markdown, short enough for a comment on a pull request: the verdict, then what is significant.

Text from artifacts stays text there. Services look for mentions, references and addresses in what Markdown has already
been rendered to, so escaping alone doesn't stop them: a zero-width space does, and so does code.
"""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from ...filters import visible
from ..check.finding import SAID
from ..verdict.model import Alarm, Analysis, Outcome, SeriesVerdict, Status
from ..wording import analyses, verdicts
from ..words import is_or_are, percent, plural, probability, series_label

ACCEPT = "matbench alarms ack {id} --reason …"  # how a change that is meant is accepted, where a history keeps it


class Worse(msgspec.Struct, frozen=True):
    """A series that makes an analysis fail, by the newest of its alarms that nobody dealt with."""

    verdict: SeriesVerdict
    alarm: Alarm
    others: int  # how many more of the series' alarms nobody dealt with

    @property
    def _is_about(self) -> bool:
        """Whether the sizes of the verdict, which is about two sides or the last change, are those of the alarm."""
        is_last = bool(self.verdict.stands_on) or self.verdict.first_bad_version == self.alarm.first_bad
        return self.verdict.outcome is Outcome.REGRESSION and is_last

    @property
    def fraction(self) -> float | None:
        """New level / old level − 1; None where that is unknown, or no number."""
        effect, alarm = self.verdict.effect, self.alarm
        known = alarm.new_level / alarm.old_level - 1.0 if alarm.old_level > 0 else None
        if self._is_about:
            known = None if effect is None else effect.value
        return known if known is not None and math.isfinite(known) else None

    @property
    def size(self) -> str:
        """With its interval, where the verdict is about this alarm."""
        if self._is_about:
            return verdicts.size(self.verdict)
        return "of unknown size" if self.fraction is None else percent(self.fraction)

    @property
    def levels(self) -> str:
        """Old and new, with the unit."""
        return verdicts.levels(self.verdict.kpi, self.verdict if self._is_about else self.alarm)

    @property
    def accept(self) -> str:
        """How to accept it if it is meant, as a sentence without its end; empty where no history keeps the alarm."""
        return f"If it is meant: {ACCEPT.format(id=self.alarm.id)}" if self.alarm.id else ""

    @property
    def sentence(self) -> str:
        """All of it: what, since when, how much, and behind which alarm it is kept."""
        alarm, since = self.alarm, f"since {self.alarm.first_bad} (last good {self.alarm.last_good})"
        said = f"{series_label(alarm.kpi, self.verdict.name)} is worse {since}: {self.size}, {self.levels}."
        if self._is_about:
            said = verdicts.sentence(self.verdict)
        more = f", and {self.others} more {plural(self.others, 'alarm')} of this series" if self.others else ""
        known = f"Alarm {alarm.id}{more}." if alarm.id else ""
        return " ".join(filter(None, [said, alarm.note and f"{alarm.note.rstrip('.')}.", known]))


def worse(analysis: Analysis) -> list[Worse]:
    """One for each series that fails, in the order of the analysis."""
    failing = [(verdict, [alarm for alarm in verdict.alarms if alarm.fails]) for verdict in analysis.failing]
    return [Worse(verdict, alarms[-1], len(alarms) - 1) for verdict, alarms in failing]


LIMIT_BYTES = 60_000  # GitHub takes comments of up to 65,536 characters

ROWS = 20
ITEMS = 10
REASONS = 5

_ACCEPT = f"One that is meant is accepted by `{ACCEPT.format(id='ALARM')}`, where the runs are in a history."


def markdown(analysis: Analysis, advice: str = "") -> str:
    """The report, with what it advises: at most :data:`LIMIT_BYTES` bytes of UTF-8, whatever the analysis."""
    first, *others = analyses.lead(analysis)
    suspected = analysis.having(Outcome.SUSPECTED)
    better = [one for one in analysis.having(Outcome.IMPROVEMENT) if one.is_new]
    doubtful = [
        f"{_title(one)}: {plain(verdicts.size(one), 80)}; {verdicts.more_would_tell(one)}"
        for one in analysis.having(Outcome.NO_CHANGE)
        if one.reruns
    ]
    blocks = [
        f"## {_sign(analysis)} matbench: {code(analysis.workload)}",
        " ".join([f"**{plain(first, 500)}**", *map(plain, others)]),
        plain(advice, 500),
        _worse_table(worse(analysis)),
        _section("Suspected", [f"{_title(one)}: perhaps {verdicts.looks(one)}, {_changed(one)}" for one in suspected]),
        _section("Newly better", [f"{_title(one)}: {_changed(one)}" for one in better]),
        _fixed(analysis),
        _section("Acknowledged", [_said(*one) for one in analysis.alarms(Status.ACKNOWLEDGED)]),
        _section("Resolved by hand", [_said(*one) for one in analysis.alarms(Status.RESOLVED)]),
        _section("No difference shown yet", doubtful),
        _section("On the data", [f"Note: {plain(note, 400)}" for note in analysis.notes], at_most=REASONS),
        _rest(analysis),
        _data(analysis),
    ]
    return capped("\n\n".join(filter(None, blocks)) + "\n", LIMIT_BYTES, "… the rest is left out: it is too long.\n")


def capped(text: str, limit_bytes: int, ending: str) -> str:
    """*text* if it has at most *limit_bytes* bytes, else its first lines and a paragraph with *ending*."""
    content = text.encode()
    if len(content) <= limit_bytes:
        return text
    end = f"\n\n{ending}".encode()
    kept = content[: limit_bytes - len(end)]
    whole_lines = kept[: kept.rfind(b"\n") + 1].rstrip(b"\n")
    return (whole_lines + end).decode() if len(end) <= limit_bytes else ""


def _sign(analysis: Analysis) -> str:
    if analysis.failed:
        return "❌"
    is_known = any(one.outcome is not Outcome.CANT_TELL for one in analysis.verdicts)
    if analysis.suspected or (is_known and analysis.odd):
        return "⚠️"
    return "✅" if is_known else "❔"


def _worse_table(found: Sequence[Worse]) -> str:
    if not found:
        return ""
    headers = ["KPI", "Series", "Change", "Level", "Since", "Last good", "Runs", "q", "Alarm"]
    rows = [_row(one) for one in found[:ROWS]]
    kept = [at for at in range(len(headers)) if any(row[at] != "–" for row in rows)]
    lines = [[row[at] for at in kept] for row in (headers, *rows)]
    text = table(lines[0], lines[1:], right=[place for place, at in enumerate(kept) if headers[at] in ("Runs", "q")])
    rest = len(found) - ROWS
    more = [f"… and {rest} more series that {is_or_are(rest)} worse."] if rest > 0 else []
    return "\n\n".join([text, *more, *([_ACCEPT] if any(one.alarm.id for one in found) else [])])


def _row(one: Worse) -> list[str]:
    verdict, alarm = one.verdict, one.alarm
    is_of_sides = bool(verdict.stands_on) and not alarm.id  # two sides don't say since when
    return [
        code(alarm.kpi),
        code(verdict.name),
        f"**{plain(one.size, 80)}**",
        plain(one.levels, 80),
        "–" if is_of_sides else code(alarm.first_bad, 60) + (" (new)" if alarm.is_new else ""),
        "–" if is_of_sides else code(alarm.last_good, 60),
        f"{verdict.runs_before} → {verdict.runs_after}",
        plain(probability(verdict.q_value)),
        (code(alarm.id, 60) if alarm.id else "–") + (f" and {one.others} more" if one.others else ""),
    ]


def _fixed(analysis: Analysis) -> str:
    items = []
    for verdict, alarm in analyses.newly_fixed(analysis):
        by = "" if alarm.fixed_by is None else f", fixed by {code(alarm.fixed_by, 60)}"
        known = f" (alarm {code(alarm.id, 60)})" if alarm.id else ""
        items.append(f"{_title(verdict)}: worse since {code(alarm.first_bad, 60)}{by}{known}")
    return _section("Fixed", items)


def _said(verdict: SeriesVerdict, alarm: Alarm) -> str:
    """One alarm with what a person said of it, in a line."""
    said = "no reason given" if not alarm.reason else f"“{plain(alarm.reason, 200)}”"
    on = "" if alarm.at is None else f", {alarm.at:%Y-%m-%d}"
    by = "" if alarm.author is None else f" ({plain(alarm.author, 60)}{on})"
    until = "" if alarm.until is None else f", until {code(alarm.until, 60)}"
    note = f"; {plain(alarm.note, 120)}" if alarm.note else ""
    levels = plain(verdicts.levels(verdict.kpi, alarm), 80)
    return f"{_title(verdict)} since {code(alarm.first_bad, 60)}, {levels}: {said}{by}{until}{note}"


def _rest(analysis: Analysis) -> str:
    """One line on what there is no verdict on."""
    if not analysis.not_analysed:
        return ""
    reasons = collections.Counter(one.reason for one in analysis.not_analysed).most_common()
    named = [plain(reason, 150) + (f" ({count} times)" if count > 1 else "") for reason, count in reasons[:REASONS]]
    rest = len(reasons) - len(named)
    listed = "; ".join([*named, *([f"and {rest} other {plural(rest, 'reason')}"] if rest else [])])
    return f"Not analysed: {listed}."


def _data(analysis: Analysis) -> str:
    rate = f"{analysis.false_discovery_rate * 100:g}"
    values = f"{analysis.points:,} {plural(analysis.points, 'value')}"
    at = f"{analysis.made_at:%Y-%m-%d %H:%M} UTC"
    check = f" Check: {' '.join(map(plain, (f'{analysis.check}.', *analysis.odd[:SAID])))}" if analysis.check else ""
    return f"<sub>{values} out of {plain(analysis.data)}. False discovery rate: {rate} %.{check} {at}.</sub>"


def _section(title: str, items: Sequence[str], at_most: int = ITEMS) -> str:
    return f"**{title}**\n\n{bullets(items, at_most)}" if items else ""


def _title(verdict: SeriesVerdict) -> str:
    return f"{code(verdict.kpi.name)} of {code(verdict.name)}"


def _changed(verdict: SeriesVerdict) -> str:
    first_bad = None if verdict.stands_on else verdict.first_bad_version
    since = "" if first_bad is None else f", since {code(first_bad, 60)}"
    levels = plain(verdicts.levels(verdict.kpi, verdict), 80)
    return f"{plain(verdicts.size(verdict), 80)}, {levels}{since}"


_GAP = "&#8203;"  # a zero-width space: invisible, and no name or address goes on behind it
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "$": "&#36;", '"': "&quot;"}
_BACKSLASHED = "\\`*_[]{}~#!"
_ESCAPES = str.maketrans(_ENTITIES | {char: f"\\{char}" for char in _BACKSLASHED})

_GAPS = re.compile(
    r"@"  # @team, a@b.org
    r"|[#!~%&$^](?=[\w\"'])"  # references: #12, !3, ~label, %milestone, &epic, $snippet
    r"|:(?=//)|(?<![^\W_])www(?=\.)"  # addresses
    r"|:(?=[\w+-]+(?::|$))"  # :emoji:, whose last colon may be ours
    r"|GH-(?=[0-9])|\b(?:mailto|xmpp)(?=:)",
    re.IGNORECASE,
)


def plain(text: str, limit: int = 300) -> str:
    """*text* as prose in one line: no markup, no mention, no link. It may stand anywhere but at the start of a line."""
    parts, at = [], 0
    line = one_line(text, limit)
    for match in _GAPS.finditer(line):
        parts.append(line[at : match.end()].translate(_ESCAPES))
        at = match.end()
    return _GAP.join([*parts, line[at:].translate(_ESCAPES)])


def code(text: str, limit: int = 120) -> str:
    """*text* as code in one line, in which services look for nothing. Fit for a cell of a table."""
    line = one_line(text, limit) or "(empty)"
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence, pad = "`" * (longest + 1), " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], right: Iterable[int] = ()) -> str:
    """A table of cells that are Markdown already; *right* are the columns of numbers."""
    numbers = frozenset(right)
    rule = ["--:" if index in numbers else "---" for index in range(len(headers))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [headers, rule, *rows])


def bullets(items: Sequence[str], at_most: int) -> str:
    """A list of items that are Markdown already, *at_most* of them and how many more there are."""
    rest = len(items) - at_most
    return "\n".join([*(f"* {item}" for item in items[:at_most]), *([f"* … and {rest} more"] if rest > 0 else [])])


def one_line(text: str, limit: int = 300) -> str:
    """*text* in one line of at most *limit* characters.

    White space of any kind is one blank; control characters, those that turn the direction of writing and halves of
    surrogate pairs are shown as ``\\x1b`` and not sent.
    """
    line = " ".join(visible(text[: 4 * limit]).split())
    return line if len(line) <= limit and len(text) <= 4 * limit else f"{line[: limit - 1].rstrip()}…"
