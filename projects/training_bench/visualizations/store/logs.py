"""What a training wrote, and the load within its epochs: bytes and JSON in, numbers out.

``timings.feather`` has one row an epoch. The system log holds samples of cores, memory and GPUs, as fractions:
``time[]`` (seconds since 1970), ``main_memory[]``, ``cpus_load[][]``, ``gpus_load[][]`` and ``gpus_memory[][]``: one
entry a sample, with one number a device in the nested ones. matbench's own ``utilization.json`` has this form too. An
empty vector says that the device is not there or was not measured: unknown, not zero. matbench's monitor adds
``processes.script[]``: how many cores the training itself took, and ``gpus_held_back[][]``, 1 where heat slowed a GPU.

As the benchmark behind the public layout does it, an epoch's load is the mean of the samples from its start to its end,
and an epoch is not used where the log begins after its start or ends before its end.
"""

from __future__ import annotations

import bisect
import collections
import datetime as dt
import itertools
import math
import statistics
import types
from collections.abc import Sequence

from matrix_benchmarking import plausible
from matrix_benchmarking.errors import needing
from matrix_benchmarking.moments import of_seconds
from matrix_benchmarking.plausible import is_number

REQUIRED = ("epoch_index", "time", "start_time", "end_time")
PARTS = ("read_s", "decode_s", "compute_s", "wait_s", "read_bytes")
"""Columns that a loop may add: parts of the epoch in seconds, and the bytes that it read from storage."""
MOST_EPOCHS = 1_000_000
LATEST_S = 7_258_118_400.0  # the year 2200; milliseconds since 1970 would be the year 50,000
Epoch = types.SimpleNamespace


def parse_timings(content: bytes) -> list[types.SimpleNamespace]:
    """The epochs in the order of their index; of several with one, which a restart makes, that which started last.

    Each has ``index``, ``duration_s``, ``start`` and ``end`` (seconds since 1970), ``earlier``, how many others of its
    index there are, and, for each of :data:`PARTS`, a number or None.

    Raises:
        ValueError: it is no feather file, or not one of timings.
    """
    columns = _columns(content)
    rows = zip(*(columns[name] for name in REQUIRED), strict=True)
    epochs = [
        types.SimpleNamespace(
            index=int(index),
            duration_s=float(duration),
            start=float(start),
            end=float(end),
            **{name: columns[name][row] if name in columns else None for name in PARTS},
        )
        for row, (index, duration, start, end) in enumerate(rows)
    ]
    for epoch in epochs:
        if epoch.duration_s <= 0 or epoch.end < epoch.start:
            raise ValueError(f"epoch {epoch.index} has no duration, or ends before it starts")
        span = epoch.end - epoch.start
        if epoch.end > LATEST_S:
            raise ValueError(f"epoch {epoch.index} ends after the year 2200: its times want to be seconds since 1970")
        if span and not 1 / plausible.OF_UNITS < epoch.duration_s / span < plausible.OF_UNITS:
            raise ValueError(f"epoch {epoch.index} is {contradiction(epoch)}")
    for (index, _), count in collections.Counter((epoch.index, epoch.start) for epoch in epochs).most_common(1):
        if count > 1:
            raise ValueError(f"epoch {index} stands there {count} times, with the same start")
    last: dict[int, Epoch] = {}
    for epoch in sorted(epochs, key=lambda epoch: epoch.start):
        epoch.earlier = last[epoch.index].earlier + 1 if epoch.index in last else 0
        last[epoch.index] = epoch
    return [last[index] for index in sorted(last)]


SAME_DURATION = 0.01
"""Up to this share a duration is that from the start of its epoch to its end: of real runs they differ by 0.000005."""


SHORT, FEWEST_BEFORE = 5, 3
"""A last epoch may have been cut short if those before it, of so many, took so many times as long."""


def contradiction(epoch: Epoch) -> str:
    return (
        f"{epoch.duration_s:,.6g} s long by its 'time', and {epoch.end - epoch.start:,.6g} s from its start to its end"
    )


def doubts_of(epochs: Sequence[Epoch]) -> list[str]:
    """Sentences on epochs that were repeated or cut short, or don't last from their start to their end."""
    sentences = []
    repeated = [epoch for epoch in epochs if epoch.earlier]
    if repeated:
        count = sum(epoch.earlier for epoch in repeated)
        what = f"{count} {'row' if count == 1 else 'rows'} of epochs that come again later"
        sentences.append(f"{what}, as after a restart, {'is' if count == 1 else 'are'} left out")
    *before, last = [one.duration_s for one in epochs] or [0.0]
    if len(before) >= FEWEST_BEFORE and SHORT * last < (usual := statistics.median(before)):
        lasted = f"the last epoch took {last:,.4g} s, and those before it {usual:,.4g} s"
        sentences.append(f"{lasted}: was it cut short, as by a number of steps? It counts like the others")
    wrong = [one for one in epochs if abs(one.duration_s - (one.end - one.start)) > SAME_DURATION * one.duration_s]
    if wrong:
        sentences.append(
            f"{len(wrong)} of {len(epochs)} epochs contradict themselves: one is {contradiction(wrong[0])}"
        )
    return sentences


def _columns(content: bytes) -> dict[str, list[object]]:
    """The columns that are known, as lists of numbers; None only in those that are optional."""
    with needing("a table in Feather", "parquet"):
        import pyarrow
        from pyarrow import feather
    try:
        table = feather.read_table(pyarrow.BufferReader(content))
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"is not a feather file: {str(error).splitlines()[0][:200]}") from error
    absent = [name for name in REQUIRED if name not in table.column_names]
    if absent:
        raise ValueError(f"is not a table of timings: it has no column {', '.join(absent)}")
    if table.num_rows > MOST_EPOCHS:
        raise ValueError(f"has {table.num_rows:,} epochs; up to {MOST_EPOCHS:,} are read")
    wanted = [name for name in (*REQUIRED, *PARTS) if table.column_names.count(name) == 1]
    columns = {name: table.column(name).to_pylist() for name in wanted}
    for name in REQUIRED:
        if name not in columns or not all(map(_is_part, columns[name])):
            raise ValueError(f"is not a table of timings: '{name}' holds something else than numbers from 0 on")
    return {name: [value if _is_part(value) else None for value in values] for name, values in columns.items()}


def _is_part(value: object) -> bool:
    return is_number(value) and value >= 0


Samples = Sequence[float | None]
ROUNDING = 1e-6
"""By how much a fraction may be beyond 0 to 1."""


def parse_system_log(content: object) -> types.SimpleNamespace:
    """The log with the devices of each sample in one number; None in a sample that has no device.

    Returns:
        ``time``; ``gpu`` and ``cpu`` (means over the devices), ``process`` (the training's part of ``cpu``),
        ``gpu_memory`` (the maximum) and ``main_memory``: for each sample, but not longer than the log's own vector;
        ``cores``, how many there are, None where unknown; ``doubts``, sentences on what did not fit.

    Raises:
        ValueError: it is no system log.
    """
    if not isinstance(content, dict):
        raise ValueError("is not a system log: it is no JSON object")
    time = _numbers(content, "time")
    if any(later < earlier for earlier, later in itertools.pairwise(time)):
        raise ValueError("is not a system log: its times go backwards")
    gpus, cpus = _rows(content, "gpus_load"), _rows(content, "cpus_load")
    gpu_memory = _rows(content, "gpus_memory")
    main_memory = _fractions(_numbers(content, "main_memory"), "main_memory")
    cores = max(map(len, cpus), default=0) or None
    used = _of_process(content)
    log = types.SimpleNamespace(
        time=time,
        gpu=[_mean(row) for row in gpus],
        cpu=[_mean(row) for row in cpus],
        process=[min(1.0, cores_used / cores) for cores_used in used] if cores else [],
        gpu_memory=[max(row, default=None) for row in gpu_memory],
        main_memory=main_memory,
        cores=cores,
        doubts=[],
    )
    held_back = [max(row, default=None) for row in _rows(content, "gpus_held_back")]
    log.doubts += plausible.held_back(mean([one for one in held_back if one is not None]))
    rows: dict[str, Sequence[object]] = {"gpus_load": gpus, "gpus_memory": gpu_memory, "cpus_load": cpus}
    for name, values in {**rows, "main_memory": main_memory, "processes.script": used}.items():
        log.doubts += _doubts(name, values, len(time))
    for name in ("gpu", "cpu", "process", "gpu_memory", "main_memory"):
        setattr(log, name, _known(getattr(log, name)[: len(time)]))
    return log


def highest(values: Samples) -> float | None:
    """The largest known sample; None of nothing."""
    return max((value for value in values if value is not None), default=None)


def _doubts(name: str, values: Sequence[object], samples: int) -> list[str]:
    """Sentences on a vector of another length than ``time``, and on samples without a device beside some with one."""
    sentences = []
    if values and len(values) != samples:
        what = "what is beyond its end is unknown" if len(values) < samples else "the rest is left out"
        sentences.append(f"the log's '{name}' has {len(values)} samples where 'time' has {samples}: {what}")
    lengths = {len(row) for row in values if isinstance(row, list)}
    if 0 in lengths and len(lengths) > 1:
        empty = sum(not row for row in values)
        sentences.append(f"{empty} of {len(values)} samples of the log's '{name}' are empty, and left out")
    if len(lengths - {0}) > 1:
        counts = " or ".join(str(length) for length in sorted(lengths - {0}))
        sentences.append(f"the log's '{name}' is sometimes of {counts} devices: means are over those that are there")
    return sentences


def _known(values: list[float | None]) -> list[float | None]:
    """The samples; none at all where the device was never there."""
    return values if any(value is not None for value in values) else []


def _mean(row: Sequence[float]) -> float | None:
    return math.fsum(row) / len(row) if row else None


def _of_process(content: dict[str, object]) -> list[float]:
    """How many cores the training took, sample by sample; empty where it was not watched."""
    processes = content.get("processes")
    if not isinstance(processes, dict) or "script" not in processes:
        return []
    values = _numbers(processes, "script")
    if any(value < 0 for value in values):
        raise ValueError("is not a system log: 'processes.script' holds something else than numbers of cores")
    return values


def _rows(content: dict[str, object], name: str) -> list[list[float]]:
    rows = content.get(name) or []
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError(f"is not a system log: '{name}' is no list of lists")
    return [_fractions(row, name) for row in rows]


def _fractions(values: Sequence[float], name: str) -> list[float]:
    if not all(is_number(value) and -ROUNDING <= value <= 1 + ROUNDING for value in values):
        raise ValueError(f"is not a system log: '{name}' holds something else than fractions from 0 to 1")
    return [min(1.0, max(0.0, value)) for value in values]


def _numbers(content: dict[str, object], name: str) -> list[float]:
    values = content.get(name)
    if values is None and name != "time":
        return []
    if not isinstance(values, list) or not all(map(is_number, values)):
        raise ValueError(f"is not a system log: '{name}' is no list of numbers")
    return values


WINDOW = 5
"""How many samples the moving mean of a curve takes, unless somebody says otherwise."""
CURVE_POINTS = 101
"""To how many points a curve is brought: one for each percent of an epoch."""


def moments(epochs: Sequence[Epoch]) -> list[dt.datetime]:
    """When the first epoch started and the last one ended; nothing where there is none, or these are no times."""
    ends = (min(epoch.start for epoch in epochs), max(epoch.end for epoch in epochs)) if epochs else ()
    return of_seconds(*ends)


def counted(epochs: Sequence[Epoch], warm_up: int) -> Sequence[Epoch]:
    """The epochs after the first *warm_up*."""
    return epochs[warm_up:]


def within(epoch: Epoch, time: Sequence[float], values: Samples) -> list[float] | None:
    """The known samples from the start of *epoch* to its end; None where some are missing at either end.

    *values* may be shorter than *time*: then the log of this device ended earlier.
    """
    known = time[: len(values)]
    if not known or known[0] > epoch.start or known[-1] < epoch.end:
        return None
    first, behind = bisect.bisect_left(known, epoch.start), bisect.bisect_right(known, epoch.end)
    return [value for value in values[first:behind] if value is not None]


def loads(epochs: Sequence[Epoch], time: Sequence[float], values: Samples) -> list[float]:
    """The mean load of each epoch that can be used and has a sample."""
    inside = (within(epoch, time, values) for epoch in epochs)
    return [math.fsum(samples) / len(samples) for samples in inside if samples]


def curve(samples: Sequence[float], window: int = WINDOW) -> list[float] | None:
    """The load over an epoch's progress: the moving mean over *window* samples, at CURVE_POINTS places.

    Its first and last value stand for 0 and 100 %, those between are interpolated linearly. None for fewer samples than
    the window has.
    """
    import numpy

    if len(samples) < window:
        return None
    means = numpy.convolve(samples, numpy.full(window, 1 / window), mode="valid")
    places = numpy.linspace(0, 1, CURVE_POINTS)
    return [float(value) for value in numpy.interp(places, numpy.linspace(0, 1, len(means)), means)]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation (n − 1); None of fewer than two."""
    if len(values) < 2:
        return None
    middle = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))
