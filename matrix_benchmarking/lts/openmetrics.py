"""KPIs as OpenMetrics text: one gauge family a KPI, one sample a test.

Names: a character that OpenMetrics forbids becomes ``_``; a KPI that starts with a digit gets ``_`` in
front (``1B_cost`` is ``_1B_cost``), and so does a label. A label that starts with ``__``, which is
reserved, gets ``label`` in front. Two names that become the same are an error.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping
from typing import IO, Any

from .. import filters
from ..errors import WorkloadError
from ..kpi import KPIDefinition
from ..matrix import Entry, Matrix
from ..workload import Workload
from .labels import kpi_labels

UUID_LABEL = "test_uuid"


def write_openmetrics(workload: Workload, matrix: Matrix, stream: IO[bytes]) -> list[str]:
    """Write the KPIs of all entries that did not fail.

    Gives:
        a sentence for each test that was left out.

    Raises:
        WorkloadError: two KPIs or two labels have the same name in OpenMetrics.
    """
    families = _names(workload.kpis, metric_name, "KPIs")
    samples: dict[str, list[str]] = {name: [] for name in workload.kpis}
    left_out = []
    for entry in matrix:
        if entry.failed:
            left_out.append(f"{entry.name}: failed, and so left out of the metrics")
            continue
        try:
            lts = entry.lts
            labels = kpi_labels(workload, entry, lts)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            left_out.append(f"{entry.name}: left out of the metrics, it has no labels: {error}")
            continue
        label_text = _labels(labels, entry)
        timestamp = _timestamp(getattr(lts, "metadata", None))
        for name in samples.keys() & entry.kpis.keys():
            samples[name].append(f"{label_text} {entry.kpis[name]!r}{timestamp}\n")
    for name, definition in workload.kpis.items():
        _write_family(stream, families[name], definition, samples[name])
    stream.write(b"# EOF\n")
    return left_out


def metric_name(name: str) -> str:
    """The name of a KPI in OpenMetrics."""
    allowed = re.sub(r"[^a-zA-Z0-9_:]", "_", name)
    return allowed if re.match(r"[a-zA-Z_:]", allowed) else f"_{allowed}"


def label_name(name: str) -> str:
    """The name of a label in OpenMetrics."""
    allowed = re.sub(r"[^a-zA-Z0-9_]", "_", name)
    if allowed.startswith("__"):
        return f"label{allowed}"
    return allowed if re.match(r"[a-zA-Z_]", allowed) else f"_{allowed}"


def escape(text: str) -> str:
    """*text* inside the double quotes of a label value, or in a HELP line."""
    readable = text.encode("utf-8", "backslashreplace").decode()
    return readable.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _write_family(stream: IO[bytes], name: str, definition: KPIDefinition, samples: Iterable[str]) -> None:
    unit = f" ({definition.unit})" if definition.unit else ""
    stream.write(f"# TYPE {name} gauge\n# HELP {name} {escape(definition.help + unit)}\n".encode())
    for sample in samples:
        stream.write(f"{name}{sample}".encode())


def _labels(labels: Mapping[str, Any], entry: Entry) -> str:
    """The labels in braces. What is unknown, or no single value, is left out."""
    scalars = {k: v for k, v in labels.items() if isinstance(v, (str, int, float, bool)) and k != UUID_LABEL}
    names = _names([*scalars, UUID_LABEL], label_name, "labels")
    values = {**scalars, UUID_LABEL: entry.test_uuid or ""}
    return "{" + ",".join(f'{names[k]}="{escape(filters.exact(v))}"' for k, v in values.items()) + "}"


def _names(names: Iterable[str], mapping: Any, what: str) -> dict[str, str]:
    """Each of *names* in OpenMetrics."""
    mapped: dict[str, str] = {}
    for name in names:
        new = mapping(name)
        for other, taken in mapped.items():
            if taken == new:
                both = f"the {what} '{other}' and '{name}'"
                raise WorkloadError(f"{both} are both '{new}' in OpenMetrics: rename one")
        mapped[name] = new
    return mapped


def _timestamp(metadata: Any) -> str:
    """The end of the test, else its start, in seconds since 1970; nothing where neither is known."""
    for name in ("end", "start"):
        moment = getattr(metadata, name, None)
        if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
            return f" {moment.timestamp():.3f}"
    return ""
