"""A history that many write and read at once: writers, readers and an analysis, beside the plain driver in each engine.

First the driver alone is asked for all it can. Then matbench gets uploads and readers at that rate, and at a tenth of
it. One upload in eight is of the same runs as another writer's, at the same time. In the end the driver counts what is
there: each run that was sent, once.

    python benchmarks/history_load.py [--seconds 120] [--values 1000000] [--engines sqlite,postgresql,opensearch]

The servers are the genuine ones of the tests; lines of those that are missing are left out. ``opensearch-monthly`` is
OpenSearch with an index a month.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import datetime as dt
import functools
import multiprocessing
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

from builders import speed_workload  # noqa: E402
from history_support.payloads import payload, test_id  # noqa: E402

from benchmarks.history_drivers import LOAD, NEWEST, PAYLOADS, Driver, driver_of  # noqa: E402
from matrix_benchmarking import history, kpi  # noqa: E402
from matrix_benchmarking.analyze.verdict.analyse import analyse_runs  # noqa: E402
from matrix_benchmarking.cli import garbage_is_rare  # noqa: E402
from matrix_benchmarking.history import delivery, location, read, records  # noqa: E402
from matrix_benchmarking.history.opensearch_location import Credentials  # noqa: E402
from matrix_benchmarking.workload import RegressionKeys  # noqa: E402

KPIS, VERSIONS, AGAIN = 10, 100, 8
NAMES = ["speed", *(f"kpi_{number}" for number in range(1, KPIS))]
NOW = dt.datetime(2400, 1, 1, tzinfo=dt.UTC)
_ID, _END = "00000000-0000-4000-8000-000000000000", "2026-11-01T00:00:00.000000+00:00"


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """How much: *batch* runs an upload; *values* of KPIs, in series of :data:`VERSIONS`, are there at the start."""

    seconds: float = 120.0
    writers: int = 16
    readers: int = 8
    batch: int = 50
    values: int = 1_000_000


@dataclasses.dataclass(slots=True)
class Done:
    """What writers, or readers, did in one phase, of how many seconds; each took what *took* says."""

    seconds: float
    took: list[float] = dataclasses.field(default_factory=list)
    uploads: list[tuple[int, int]] = dataclasses.field(default_factory=list)
    """The writer and the number of each upload that was acknowledged."""
    added: int = 0
    late: int = 0
    errors: list[str] = dataclasses.field(default_factory=list)

    @property
    def rate(self) -> float:
        """How many a second."""
        return len(self.took) / self.seconds

    def __str__(self) -> str:
        if not self.took:
            return "none"
        took = sorted(self.took)
        return f"{took[len(took) // 2]:7.3f} {took[len(took) * 95 // 100]:7.3f} {took[-1]:7.3f} s"


@dataclasses.dataclass(frozen=True, slots=True)
class Phase:
    name: str
    writers: Done
    readers: Done


@dataclasses.dataclass(frozen=True, slots=True)
class Account:
    """What became of the ids that were sent: *lost* are not there, *doubled* more than once, *strange* never sent."""

    kept: int
    lost: Sequence[str]
    doubled: Sequence[str]
    strange: Sequence[str]

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.strange)

    def __str__(self) -> str:
        lost, doubled, strange = (f"{len(each):,}" for each in (self.lost, self.doubled, self.strange))
        return f"{self.kept:,} kept; lost {lost}, doubled {doubled}, never sent {strange}"


def account(sent: Collection[str], found: Iterable[str]) -> Account:
    """What became of the ids *sent*, of which those *found* are there."""
    there = collections.Counter(found)
    wanted = set(sent)
    return Account(
        len(there),
        sorted(wanted - there.keys()),
        sorted(run for run, times in there.items() if times > 1),
        sorted(there.keys() - wanted),
    )


def accounts(driver: Driver, sent: Collection[str]) -> dict[str, Account]:
    """Of runs, and of what else the engine keeps of each."""
    found = driver.ids()
    kpis = found.pop("kpis", None)
    of_each = {what: account(sent, ids) for what, ids in found.items()}
    if kpis is not None:
        of_each["kpis"] = account([f"{run}:{name}" for run in sent for name in NAMES], kpis)
    return of_each


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default="sqlite,postgresql,opensearch", help="those to measure")
    for field in dataclasses.fields(Load):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    options = vars(parser.parse_args())
    names = options.pop("engines").split(",")
    load = Load(**options)
    wrong = 0
    for name in names:
        with contextlib.ExitStack() as stack:
            try:
                place = stack.enter_context(ENGINES[name]())
            except BaseException as error:  # pytest's way to say that something is missing is no Exception
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"{name}: left out ({error})")
                continue
            with garbage_is_rare():  # as in a command
                wrong += not measure(name, place, load)
    sys.exit(bool(wrong))


def measure(name: str, place: history.Location, load: Load, say: Callable[[str], object] = print) -> bool:
    """Put *load* on the history at *place*, which is new, and *say* what happened; False if something went wrong."""
    say(
        f"{name}: {load.values:,} values at the start, {load.writers} writers of {load.batch} runs of {KPIS} KPIs an "
        f"upload, {load.readers} readers, {load.seconds:g} s each"
    )
    began = time.perf_counter()
    with history.open_history(place, writable=True) as kept:
        kept.push(map(history.record, _at_the_start(load.values // KPIS)))
    say(f"  filled in {time.perf_counter() - began:.1f} s")
    driver = driver_of(place)
    driver.settle()
    alone = _in_a_process(functools.partial(_analysis, place))
    floor = run_phase("driver", 0, load, _Floor(driver), None, None)
    rates = floor.writers.rate, floor.readers.rate
    header = " median     p95   worst"
    say(f"  {'':18} uploads a second    runs a second    {header}    reads a second     {header}")
    say(_line(floor, floor))
    phases, beside = [floor], list[_Analysis]()
    with tempfile.TemporaryDirectory(prefix="matbench-load-") as outboxes:
        for number, (of, share) in enumerate((("at its rate", 1.0), ("at a tenth", 0.1)), start=1):
            writes_a_second = max(rates[0] * share, 1e-6)
            ours = _Ours(place, Path(outboxes), dt.datetime.now(dt.UTC), load.writers / writes_a_second)
            analysis = functools.partial(_analysis, place)
            phase = run_phase(of, number, load, ours, (rates[0] * share, rates[1] * share), (analysis, beside))
            phases.append(phase)
            say(_line(phase, floor))
    for each, when in zip((alone, *beside), ("alone", "at its rate", "at a tenth"), strict=False):
        say(f"  analysed {when}: {each}")
    errors = [error for phase in phases for done in (phase.writers, phase.readers) for error in done.errors]
    for error, times in collections.Counter(errors).most_common(5):
        say(f"  {times} times: {error}")
    sent = {test_id(number) for number in range(load.values // KPIS)}
    for number, phase in enumerate(phases):
        for writer, upload in phase.writers.uploads:
            sent.update(_id(number, writer, upload, place) for place in range(load.batch))
    of_each = accounts(driver, sent)
    for what, each in of_each.items():
        say(f"  {what}: {each}{'' if each.is_right else '  WRONG'}")
    is_same = all(each.verdicts == alone.verdicts for each in beside)
    if not is_same:
        say("  the analyses beside the load say something else  WRONG")
    return is_same and not errors and all(each.is_right for each in of_each.values())


def _line(phase: Phase, floor: Phase) -> str:
    def compared(ours: Done, theirs: Done, times: int) -> str:
        ratio = ours.rate / theirs.rate if theirs.rate else 0.0
        return f"{ours.rate * times:9,.1f} ({ratio:4.2f} ×)"

    batch = phase.writers.added / max(len(phase.writers.took), 1)
    return (
        f"  {phase.name:18} {compared(phase.writers, floor.writers, 1)} {phase.writers.rate * batch:12,.0f}  "
        f"{phase.writers}  {compared(phase.readers, floor.readers, 1)}  {phase.readers}"
    )


class _Floor:
    """Writes and reads by the driver alone; rows are made of one beforehand."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        made = records.record(msgspec.json.decode(_template()), (1, 1))
        self._row = records.row_of(made)

    def write(self, phase: int, writer: int, upload: int, load: Load) -> int:
        row = self._row
        ids = [_id(phase, writer, upload, place) for place in range(load.batch)]
        now_us = time.time_ns() // 1000
        self._driver.insert(
            [
                row._replace(id=run, digest=run, measurement=run, time_us=now_us, payload=row.payload.replace(_ID, run))
                for run in ids
            ]
        )
        return load.batch

    def read(self) -> None:
        self._driver.read()


class _Ours:
    """Uploads and reads as the commands do."""

    def __init__(self, place: history.Location, outboxes: Path, start: dt.datetime, gap_s: float) -> None:
        self._place, self._outboxes, self._start, self._gap_s = place, outboxes, start, gap_s

    def write(self, phase: int, writer: int, upload: int, load: Load) -> int:
        if upload % AGAIN == 0 and load.writers > 1:  # the same runs as its neighbour, at the same time
            writer -= writer % 2
        end = (self._start + dt.timedelta(seconds=upload * self._gap_s)).isoformat()  # when it is to be uploaded

        def lines(stream: IO[bytes]) -> None:
            template = _template()
            for place in range(load.batch):
                run = _id(phase, writer, upload, place)
                stream.write(template.replace(_ID.encode(), run.encode()).replace(_END.encode(), end.encode()) + b"\n")

        delivered = delivery.upload(lines, self._place, self._outboxes / f"{phase}-{writer}-{time.time_ns()}").pushed
        assert delivered is not None
        if delivered.added + delivered.unchanged != load.batch:
            raise RuntimeError(f"an upload of {load.batch} runs became {delivered}"[:300])
        return delivered.added

    def read(self) -> None:
        with history.open_history(self._place, writable=False) as kept:
            found = [run.id for run in kept.runs(history.Query(LOAD, limit=NEWEST))]
            assert sum(1 for _ in kept.records_of(found[:PAYLOADS])) == min(len(found), PAYLOADS)


def run_phase(
    name: str,
    number: int,
    load: Load,
    side: _Floor | _Ours,
    rates: tuple[float, float] | None,
    beside: tuple[Callable[[], _Analysis], list[_Analysis]] | None,
) -> Phase:
    """Writers and readers at once; at *rates* of uploads and reads a second together, or as fast as they can."""
    fork = multiprocessing.get_context("fork")
    start = time.monotonic() + 0.5
    writers, readers, processes, pipes = Done(load.seconds), Done(load.seconds), [], []
    for kind, done, count in (("write", writers, load.writers), ("read", readers, load.readers)):
        for one in range(count):
            gap = None if rates is None else count / max(rates[kind == "read"], 1e-6)
            ours, theirs = fork.Pipe(duplex=False)
            arguments = (theirs, side, kind, number, one, load, start, gap, one / count)
            processes.append(fork.Process(target=_worker, args=arguments, daemon=True))
            pipes.append((ours, theirs, done))
    for process in processes:
        process.start()
    for _, theirs, _ in pipes:
        theirs.close()
    if beside is not None:
        beside[1].append(_in_a_process(beside[0]))
    for ours, _, done in pipes:
        found: Done = ours.recv()
        done.took += found.took
        done.uploads += found.uploads
        done.added += found.added
        done.errors += found.errors
        done.seconds = max(done.seconds, found.seconds)
    for process in processes:
        process.join()
    return Phase(name, writers, readers)


def _worker(
    pipe: Any,
    side: _Floor | _Ours,
    kind: str,
    phase: int,
    one: int,
    load: Load,
    start: float,
    gap: float | None,
    offset: float,
) -> None:
    """Write or read until the time is over, an upload or a read each *gap* seconds; then send what was done."""
    done, number = Done(load.seconds), 0
    while True:
        due = start if gap is None else start + (number + offset) * gap
        now = time.monotonic()
        if max(now, due) >= start + load.seconds:
            break
        time.sleep(max(0.0, due - now))
        began = time.monotonic()
        try:
            if kind == "write":
                done.added += side.write(phase, one, number, load)
                again = number % AGAIN == 0 and load.writers > 1 and isinstance(side, _Ours)
                done.uploads.append((one - one % 2 if again else one, number))
            else:
                side.read()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted and said
            last = traceback.extract_tb(error.__traceback__)[-1]
            done.errors.append(f"{kind}: {type(error).__name__}: {str(error)[:200]} ({last.filename}:{last.lineno})")
        done.took.append(time.monotonic() - began)
        number += 1
    done.seconds = max(load.seconds, time.monotonic() - start)
    pipe.send(done)


@dataclasses.dataclass(frozen=True, slots=True)
class _Analysis:
    series: int
    verdicts: tuple[tuple[str, int], ...]
    read_s: float
    judged_s: float
    cpu_s: float

    def __str__(self) -> str:
        said = ", ".join(f"{count:,} {name}" for name, count in self.verdicts)
        return (
            f"{self.series:,} series: read {self.read_s:.1f} s, judged {self.judged_s:.1f} s, "
            f"{self.cpu_s:.1f} s of CPU ({said})"
        )


def _analysis(place: history.Location) -> _Analysis:
    """Read and judge what was there at the start."""
    workload = _workload()
    began, cpu = time.perf_counter(), time.process_time()
    matrix = read.read_matrix(workload, place)
    read_s = time.perf_counter() - began
    found = analyse_runs(matrix, workload, data="load", now=NOW)
    outcomes = collections.Counter(verdict.outcome.value for verdict in found.verdicts)
    judged_s = time.perf_counter() - began - read_s
    return _Analysis(outcomes.total(), tuple(sorted(outcomes.items())), read_s, judged_s, time.process_time() - cpu)


def _workload() -> Any:
    def one(name: str) -> Any:
        def value(lts_payload: Any) -> Any:
            return lts_payload.results.speed

        value.__name__ = name
        return kpi.HigherBetter(kpi.KPIMetadata(help="How fast it is", unit="m/s")(value))

    made = speed_workload(models_kpis=kpi.collect([one(name) for name in NAMES]))
    return dataclasses.replace(made, regression=RegressionKeys(comparison_keys=["version"]))


def _at_the_start(runs: int) -> Iterator[dict[str, Any]]:
    """Runs of as many configurations as have :data:`VERSIONS` versions each."""
    configurations = max(1, runs // VERSIONS)
    for number in range(runs):
        build, configuration = divmod(number, configurations)
        settings = {"hw_type": f"gpu-{configuration % 4}", "vus": configuration // 4, "version": f"1.{build}.0"}
        values: dict[str, float | None] = dict.fromkeys(NAMES, 100.0 + number * 7919 % 97 / 97)
        made = payload(number, values, settings=settings, throughput=[0.1 * each for each in range(20)])
        made["metadata"]["measurement"] = f"{number:032x}"
        yield made


@functools.cache
def _template() -> bytes:
    """A run of the load, in which its id, which is its measurement too, and its time are to be replaced."""
    values: dict[str, float | None] = dict.fromkeys(NAMES, 100.0)
    settings = {"hw_type": "gpu-1", "vus": 8, "version": "2.0.0"}
    more = [0.1 * each for each in range(20)]
    made = payload(0, values, workload=LOAD, settings=settings, time=_END, throughput=more)
    made["metadata"]["measurement"] = _ID
    return msgspec.json.encode(made).replace(test_id(0).encode(), _ID.encode())


def _id(phase: int, writer: int, upload: int, place: int) -> str:
    return f"{phase:08x}-{writer:04x}-4000-8000-{upload * 1000 + place:012x}"


def _in_a_process(call: Callable[[], Any]) -> Any:
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    process = fork.Process(target=lambda: theirs.send(call()))
    process.start()
    theirs.close()
    found = ours.recv()
    process.join()
    return found


@contextlib.contextmanager
def _sqlite() -> Iterator[history.Location]:
    with tempfile.TemporaryDirectory(prefix="matbench-load-") as directory:
        yield history.SQLiteLocation(Path(directory) / "h.db")


@contextlib.contextmanager
def _postgresql() -> Iterator[history.Location]:
    from history_support.postgresql_server import PostgreSQLServer

    server = PostgreSQLServer()
    try:
        server.start()
        yield location.parse(server.url, {})[0]
    finally:
        server.stop()


@contextlib.contextmanager
def _opensearch(is_monthly: bool = False) -> Iterator[history.Location]:
    from history_support.opensearch_server import OpenSearchServer

    with tempfile.TemporaryDirectory(prefix="matbench-load-") as directory:
        server = OpenSearchServer(Path(directory), ["-Xmx2g"])  # it lives for long: with the whole compiler
        try:
            server.start()
            yield history.OpenSearchLocation(server.url, "runs", Credentials(), is_monthly=is_monthly)
        finally:
            server.stop()


ENGINES = {
    "sqlite": _sqlite,
    "postgresql": _postgresql,
    "opensearch": _opensearch,
    "opensearch-monthly": functools.partial(_opensearch, is_monthly=True),
}


if __name__ == "__main__":
    main()
