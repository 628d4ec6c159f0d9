"""Whether two payloads are of the same measurement, and whether that was described, or computed from, otherwise."""

from __future__ import annotations

import enum
import re
import uuid
from collections.abc import Iterator, Set

import msgspec

from ..filters import show
from ..jsonable import Document
from .records import URLS_LABEL, Record, digest, microseconds

SHARED = "*"
"""The end of a measurement's digest that other tests of its tree have, too: it does not identify the run."""

_TIMES = ("start", "end")
_DESCRIPTION = ("workload", "repeat", "campaign", "round", *_TIMES, "exit_code", "presets")
_NOT_COMPUTED = frozenset({*_DESCRIPTION, "settings", "config", "test_uuid", "measurement"})
_OF_A_KPI = frozenset({"labels", "test_uuid", "@timestamp"})
_CELLS, _NO_NAME = "row", re.compile(r"column [0-9]+")  # as a table's reader calls them
_CONTENT_ID = 5  # version of the UUIDs that are a digest of the content
_SHOWN = 3


class Difference(enum.Enum):
    """What is different in a payload that takes, or would take, the place of another one."""

    NOTHING = "nothing that was measured, described or computed"
    COMPUTED = "what was computed, perhaps newer"
    COMPUTED_BEFORE = "what was computed, which is older"
    DESCRIPTION = "what describes it"
    MEASUREMENT = "what was measured, as far as is known"


def identifies(measurement: str | None) -> bool:
    """True if a *measurement* tells which run it is."""
    return bool(measurement) and not str(measurement).endswith(SHARED)


def description(of: Record) -> Document:
    """What describes a run, by name."""
    metadata = of.payload["metadata"]
    found = {name: metadata.get(name) for name in (*_DESCRIPTION, "config")}
    return {**found, "settings": of.settings, "labels": _labels(of)}


def computed_digest(of: Record) -> str:
    """A digest of what was computed: all that neither describes the run nor identifies it."""
    metadata = _without(of.payload["metadata"], _NOT_COMPUTED)
    kpis = {name: None if kpi is None else _without(kpi, _OF_A_KPI) for name, kpi in of.payload["kpis"].items()}
    return digest([metadata, of.payload.get("results"), kpis])


def digest_of_before(of: Record) -> str:
    """The digest that the payload had when payloads didn't say what was measured."""
    return digest({**of.payload, "metadata": _without(of.payload["metadata"], {"measurement"})})


def difference(kept: Record, new: Record, *, is_copy: bool = False) -> Difference:
    """What is different in *new*, which has the id of *kept* and another content.

    Of a *copy*, which was computed some time ago, only the version of its schema can say that it is the newer one.
    """
    is_recomputed = computed_digest(kept) != computed_digest(new)
    is_described = digest(description(kept)) != digest(description(new)) and any(differences(kept, new))
    if not _is_same_measurement(kept, new) and not _differ_in_direction_only(kept, new):
        is_known = kept.measurement is not None and "measurement" not in new.payload["metadata"]
        return Difference.NOTHING if is_known and not is_recomputed and not is_described else Difference.MEASUREMENT
    if is_described:
        return Difference.DESCRIPTION
    if not is_recomputed:
        return Difference.NOTHING
    before, after = schema_version(kept), schema_version(new)
    is_newer = after > before or (after == before and not is_copy)
    return Difference.COMPUTED if is_newer else Difference.COMPUTED_BEFORE


def differences(kept: Record, new: Record) -> Iterator[str]:
    """How *kept* is described where *new* says otherwise: ``batch_size 32 instead of 64``."""
    before, after = description(kept), description(new)
    found = list(_values(before.pop("settings"), after.pop("settings")))
    yield from found
    ours, theirs = before.pop("labels"), after.pop("labels")
    if ours and theirs and digest(ours) != digest(theirs):  # a run without KPIs has none, which says nothing of it
        is_one = len(ours) == len(theirs) == 1
        named = {*kept.settings, *new.settings} if found else set()
        yield from _values(_without(ours[0], named), _without(theirs[0], named)) if is_one else ["other labels"]
    if digest(before.pop("config")) != digest(after.pop("config")):
        yield "another configuration"
    for name in _TIMES:
        if microseconds(before[name]) == microseconds(after[name]):
            before[name] = after[name]
    yield from _values(before, after)


def said(kept: Record, new: Record) -> str:
    """:func:`differences` in one phrase."""
    found = list(differences(kept, new))
    rest = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + rest


def may_be_corrected(kept: Record, new: Record) -> bool:
    """True if *new*, which has another id and the same measurement, may be *kept* with a corrected description.

    Runs that took place at different times are repeats, however equal their artifacts.
    """
    times = [(of.payload["metadata"].get("start"), of.payload["metadata"].get("end")) for of in (kept, new)]
    return kept.workload == new.workload and all(
        ours is None or theirs is None or microseconds(ours) == microseconds(theirs)
        for ours, theirs in zip(*times, strict=True)
    )


def measured_in_row(of: Record) -> tuple[Document, str]:
    """The cells of a table's row that no option named, and a digest of all else but its repeat, empty of other runs."""
    results = of.payload.get("results") or {}
    if (cells := cells_of(results)) is None:
        return {}, ""
    without = {**of.payload, "results": _without(results, {_CELLS})}
    return cells, digest(
        [_without(description(of), {"repeat"}), computed_digest(msgspec.structs.replace(of, payload=without))]
    )


def cells_of(results: object) -> Document | None:
    """The cells in *results* that no option named; None where they are of no table."""
    cells = results.get(_CELLS) if isinstance(results, dict) else None
    return cells if isinstance(cells, dict) else None


def agree(cells: Document, others: Document) -> bool:
    """True if both may be of one row: what only one of them says may be a new column, and rows move in a table."""
    both = ((cells[name], others[name]) for name in cells.keys() & others.keys() if not _NO_NAME.fullmatch(name))
    return all(None in (one, other) or digest(one) == digest(other) for one, other in both)


def renamed(of: Record, run: str) -> Record:
    """*of* under the id *run*."""
    payload = dict(of.payload)
    payload["metadata"] = {**payload["metadata"], "test_uuid": run}
    payload["kpis"] = {name: kpi if kpi is None else {**kpi, "test_uuid": run} for name, kpi in payload["kpis"].items()}
    return msgspec.structs.replace(of, id=run, payload=payload, digest=digest(payload))


def schema_version(of: Record) -> tuple[int, ...]:
    """The numbers in the version of the payload's schema."""
    return tuple(map(int, re.findall(r"\d{1,9}", of.payload["metadata"].get("lts_schema_version") or "")))


def _is_same_measurement(kept: Record, new: Record) -> bool:
    """True if both are known to be of the same artifacts.

    Of a payload of before the measurement is not known: there it is the same if the results are, or if the id is a
    digest of the content. Without bytes that were recorded nothing is known to be the same.
    """
    if new.measurement is None:
        return False
    if kept.measurement is not None:
        return kept.measurement.removesuffix(SHARED) == new.measurement.removesuffix(SHARED)
    if "measurement" in kept.payload["metadata"]:
        return False
    is_content_id = uuid.UUID(new.id).version == _CONTENT_ID
    return is_content_id or digest(kept.payload.get("results")) == digest(new.payload.get("results"))


def _differ_in_direction_only(kept: Record, new: Record) -> bool:
    """True if a KPI of one of them has no better direction, and all else is the same: that is a new opinion at most."""
    (directions, of_kept), (others, of_new) = map(_without_directions, (kept, new))
    return None in {*directions, *others} and digest(of_kept) == digest(of_new)


def _without_directions(of: Record) -> tuple[list[bool | None], Document]:
    """The directions of the KPIs, and the payload without them."""
    known = {name: kpi for name, kpi in of.payload["kpis"].items() if kpi is not None}
    metadata = _without(of.payload["metadata"], {"lts_schema_version"})
    kpis = {name: _without(kpi, {"lower_better"}) for name, kpi in known.items()}
    directions = [kpi.get("lower_better") for kpi in known.values()]
    return directions, {**of.payload, "metadata": metadata, "kpis": kpis}


def _labels(of: Record) -> list[Document]:
    """The labels of the KPIs, in the order of their digests; most often they all have the same."""
    found = [_without(kpi.get("labels") or {}, {URLS_LABEL}) for kpi in of.payload["kpis"].values() if kpi is not None]
    by_digest = {digest(labels): labels for labels in found}
    return [by_digest[key] for key in sorted(by_digest)]


def _without(fields: Document, names: Set[str]) -> Document:
    return {name: value for name, value in fields.items() if name not in names}


def _values(kept: Document, new: Document) -> Iterator[str]:
    for name in {**kept, **new}:
        if digest(kept.get(name)) == digest(new.get(name)) and (name in kept) == (name in new):
            continue
        before, after = (f"{show(each[name]):.80}" if name in each else "(not set)" for each in (kept, new))
        if before == after:  # 32 and "32"
            before, after = (f"{each.get(name)!r:.80}" for each in (kept, new))
        yield f"{name} {before} instead of {after}"
