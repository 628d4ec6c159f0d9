"""What ``matbench benchmark`` does with a benchmark file, and shows: the plan, a run, the end of what one left behind.

Without a terminal the progress is a line a point, else a bar.
"""

from __future__ import annotations

import contextlib
import functools
import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from .. import filters, lts
from ..analyze.words import count_of
from ..benchmark import campaign
from ..benchmark import file as files
from ..benchmark.campaign import Listener, Report
from ..benchmark.file import BenchmarkFile
from ..benchmark.plan import Group, Plan, describe_point, price_of
from ..benchmark.run_directory import Outcome, place_of
from ..errors import ConfigError, MatbenchError, VerdictError, WorkloadError
from ..named_cluster import NamedCluster
from ..workload import Workload
from .options import BY_ENVIRONMENT, PLACE, configuration, is_typed, once, strength
from .printing import answer_console, printable, warn, write
from .run import load_workload

if TYPE_CHECKING:
    from rich.progress import Progress


def carry_out(
    path: Path | None, *, run: bool, generate: Path | None, cleanup: bool, file_schema: bool, **options: Any
) -> None:
    """Do with the benchmark file at *path* what its command's options say."""
    if file_schema:
        own = [files.read(path).driver] if path is not None else []
        click.echo(json.dumps(files.json_schema(*own), indent=2))
        return
    if path is None and not (cleanup and options["results_dirname"]):
        raise ConfigError(
            "no benchmark file given: name it as the argument, with --benchmark-file FILE or MATBENCH_BENCHMARK_FILE"
        )
    content = files.read(path) if path is not None else None
    chosen = _merge(content, options, path)
    if cleanup:
        results = chosen["results_dirname"]
        click.echo("\n".join(campaign.cleanup(results) or [f"nothing is left behind in {results}"]))
        return
    assert content is not None
    assert path is not None
    if generate is None and content.generate is not None and not run:
        generate = Path(content.generate)
    plan = _plan(files.with_settings(content, chosen["setting"]), path, chosen)
    if generate is not None:
        write(generate, lambda stream: _write_points(plan, stream))
    elif run:
        _run(plan, path, chosen)
    else:
        print_plan(plan, _again(path, chosen))
        if chosen["cluster"] is not None and (plan.to_do() or plan.open_searches()):
            from ..benchmark.cluster import start  # what one machine doesn't need

            with listening(plan) as listener:
                shares = start.shares(plan, chosen["cluster"], _prices(chosen), listener)
            print_shares(plan, chosen["cluster"], shares)


def _merge(content: BenchmarkFile | None, options: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """The options, those that the benchmark file sets taking the place of config.yaml's and of defaults."""
    chosen = dict(options)
    if content is not None:
        for name in content.model_fields_set & options.keys():
            if strength(name) < BY_ENVIRONMENT:
                chosen[name] = getattr(content, name)
    if isinstance(chosen["expe_to_run"], str):
        chosen["expe_to_run"] = shlex.split(chosen["expe_to_run"])
    if chosen["max_duration"] is not None:
        chosen["max_duration"] = files.seconds(chosen["max_duration"])
    if chosen["results_dirname"] is None and path is not None:
        chosen["results_dirname"] = f"results/{path.stem}"
    chosen["results_dirname"] = PLACE.convert(chosen["results_dirname"], None, None)
    return chosen


def _plan(content: BenchmarkFile, path: Path, chosen: Mapping[str, Any]) -> Plan:
    workload = _workload(content.workload)
    changed: dict[str, object] = {"path_tpl": chosen["path_tpl"]} if chosen["path_tpl"] else {}
    if isinstance(chosen["script_tpl"], str):
        changed |= {"script_tpl": chosen["script_tpl"], **dict.fromkeys(content.driver.sections)}
    plan = Plan(
        content.model_copy(update=changed),
        path.parent,
        place_of(chosen["results_dirname"]),
        filters=filters.parse(chosen["filters"] or ""),
        experiments=list(chosen["expe_to_run"] or ()),
        price_of=price_of(workload, _prices(chosen)),
        keep_failed=chosen["keep_failed"],
        results=chosen["results_dirname"],
    )
    warn(plan.notes)
    if plan.file.requires and chosen["cluster"] is None:
        needs = ", ".join(plan.file.requires)
        warn([f"requires ({needs}) is for a cluster: without one this machine measures all points, whatever it has"])
    for what, others in plan.measured_otherwise().items():
        were = f"{count_of(len(others), 'done point')} {'was' if len(others) == 1 else 'were'}"
        said = f"{were} measured with another {what} than now, such as"
        first = [f"{said} '{place.relative_to(plan.root)}'" for place in others[:1]]
        warn([f"{each}: move them away to have them measured again" for each in first])
    settings = [*(point.settings for point in plan.points), *(search.settings for search in plan.searches)]
    if workload is not None:
        refused = dict.fromkeys(sentence for each in settings for sentence in lts.refused_settings(workload, each))
        warn([f"{sentence}: strict payloads and the history will refuse these runs" for sentence in refused])
    if is_typed("price"):
        from ..runs.opening import check_prices

        check_prices(settings, list(dict(chosen["price"])), workload)
    return plan


def _workload(name: str | None) -> Workload | None:
    try:
        return None if name is None else load_workload(name)
    except WorkloadError as error:
        warn([f"the benchmark file's {error}; its prices and labels are unknown"])
        return None


def _prices(chosen: Mapping[str, Any]) -> dict[str, float]:
    return {**configuration().prices, **once("--price", chosen["price"])}


def _write_points(plan: Plan, stream: IO[bytes]) -> None:
    for point in plan.points:
        stream.write(json.dumps(describe_point(plan, point), ensure_ascii=False).encode() + b"\n")
    for case in plan.searches:
        described = {"experiment": case.experiment, "settings": dict(case.settings), "search": case.range.model_dump()}
        stream.write(json.dumps(described, ensure_ascii=False).encode() + b"\n")


def _run(plan: Plan, path: Path, chosen: Mapping[str, Any]) -> None:
    repeat = ["matbench", "benchmark", str(path), "--results-dirname=repeated", *_settings(chosen), "--run"]
    limits = {"max_duration_s": chosen["max_duration"], "max_usd": chosen["max_usd"]}
    with _interruptible(), listening(plan) as listener:
        common: dict[str, Any] = {"stop_on_error": chosen["stop_on_error"], "repeat": repeat}
        elsewhere = None
        if chosen["cluster"] is not None:
            from ..benchmark.cluster import start  # what one machine doesn't need

            there = {**common, "listener": listener, "prices": _prices(chosen)}
            elsewhere = functools.partial(start.carry_out, plan, chosen["cluster"], **there)
        report = campaign.run(plan, listener, **limits, **common, elsewhere=elsewhere)
    _conclude(plan, report, chosen, path)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Take a request to end, or the end of the terminal, as Ctrl-C, so that everything is stopped in good order."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    taken = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        # Who ignores the hangup (nohup) wants to go on after it.
        if signal.getsignal(number) is not signal.SIG_IGN and threading.current_thread() is threading.main_thread():
            taken[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


def _again(path: Path, chosen: Mapping[str, Any]) -> list[str]:
    words = ["matbench", "benchmark", str(path), f"--results-dirname={chosen['results_dirname']}", *_settings(chosen)]
    words += [f"--filters={chosen['filters']}"] if chosen["filters"] else []
    words += [f"--expe-to-run={name}" for name in chosen["expe_to_run"] or ()]
    words += [f"--cluster={chosen['cluster'].text}"] if chosen["cluster"] and is_typed("cluster") else []
    return [*words, *_typed(chosen, "max_usd", "max_duration", "stop_on_error", "keep_failed"), "--run"]


def _settings(chosen: Mapping[str, Any]) -> list[str]:
    """What says how a point is measured, and what it costs."""
    settings = [f"--setting={name}={value}" for name, value in chosen["setting"]]
    return [*settings, *_typed(chosen, "script_tpl", "path_tpl", "price")]


def _typed(chosen: Mapping[str, Any], *names: str) -> list[str]:
    """The options *names* that a person gave, as words of another command line."""
    words = []
    for name in filter(is_typed, names):
        values = [f"{of}={usd:.10g}" for of, usd in chosen[name]] if name == "price" else [chosen[name]]
        shown = [f"{value:.10g}" if isinstance(value, float) else str(value) for value in values if value is not None]
        words += [f"--{name.replace('_', '-')}={value}" for value in shown]
    return words


def _conclude(plan: Plan, report: Report, chosen: Mapping[str, Any], path: Path) -> None:
    done, again = report.succeeded, shlex.join(_again(path, chosen))
    parts = [f"{count_of(done, 'point')} measured"]
    parts += [f"{report.failed} failed"] if report.failed else []
    parts += [f"{report.not_started} not started"] if report.not_started else []
    parts += [f"{report.left} left"] if report.left else []
    searches = len(plan.open_searches()) - len(report.searches)
    parts += [f"{searches} × search left"] if searches and not report.not_started else []
    parts += [f"{report.spent_usd:.2f} USD spent"] if report.spent_usd >= 0.005 else []
    click.echo(f"{plan.results}: {', '.join(parts)}.")
    _print_answers(plan, [*filter(None, plan.answers), *report.searches])
    if done or not (report.left or report.failed or report.not_started):
        workload = [f"--workload={plan.file.workload}"] if plan.file.workload else []
        words = [f"--results-dirname={plan.results}", *workload, *_typed(chosen, "price")]
        click.echo(f"Next: matbench parse {shlex.join(words)}")
    if report.left_behind:
        raise MatbenchError("\n".join(report.left_behind))
    if report.broken:
        raise MatbenchError(f"{report.broken}; what is measured stays, go on with: {again}")
    if report.interrupted:
        click.echo(f"Interrupted; go on with: {again}", err=True)
        raise KeyboardInterrupt
    if report.stopped_by:
        click.echo(f"Stopped: {report.stopped_by}; go on with: {again}", err=True)
    if report.not_started:
        raise MatbenchError(f"{count_of(report.not_started, 'point')} could not be started")
    errors = sum("error" in found for found in report.searches)
    if report.failed or errors:
        then = "as what a search has measured they aren't run again"
        if errors or any(point.key in plan.found and not plan.found[point.key].done for point in plan.points):
            then = f"they are run again with: {shlex.join(_again(path, {**chosen, 'keep_failed': None}))}"
        raise VerdictError(f"{count_of(report.failed or errors, 'point')} failed; {then}")


def _print_answers(plan: Plan, searches: Sequence[Mapping[str, Any]]) -> None:
    for found in searches:
        told = [name for name in plan.varying(found["experiment"]) if name in found["settings"]]
        where = "".join(f", {name} {found['settings'][name]}" for name in told)
        click.echo(f"search {found['experiment']}{where}: {found.get('reason') or found.get('error')}")


def print_plan(plan: Plan, again: Sequence[str]) -> None:
    from rich.table import Table

    table = Table("experiment", "settings that vary", box=None, pad_edge=False, header_style="bold")
    for heading in ("points", "done", "failed", "interrupted", "to do"):
        table.add_column(heading, justify="right")
    names = dict.fromkeys([*(p.experiment for p in plan.points), *(c.experiment for c in plan.searches)])
    for name in names:
        table.add_row(*_row(plan, name))
    console = answer_console()
    console.print(table)
    to_do = len(plan.to_do())
    groups = [group for group in plan.groups() if group.target is not None]
    targets = {group.key for group in groups}
    parts = [f"{to_do:,} of {len(plan.points):,} points to run"] if plan.points else []
    searches = plan.open_searches()
    runs = count_of(sum(map(plan.usual, searches)), "run")
    parts += [f"{len(searches)} {'search' if len(searches) == 1 else 'searches'} of about {runs}"] if searches else []
    parts += [f"on {len(targets)} {'target' if len(targets) == 1 else 'targets'}"] if targets else []
    click.echo(f"\n{', '.join(parts) or 'all searches are done'}; into {plan.results}")
    seconds, usd = plan.estimate()
    cost = "unknown, as the time is" if targets else "nothing that is paid for"
    if any(plan.usd_per_hour(group.target, group.settings) is None for group in groups):
        cost = "unknown (give --price HW_TYPE=USD_PER_HOUR)"
    elif usd is not None and targets:
        cost = "less than 0.01 USD" if usd < 0.005 else f"about {usd:,.2f} USD"
    click.echo(f"time: {duration(seconds)}; cost: {cost}")
    _print_answers(plan, [*filter(None, plan.answers)])
    if to_do or searches:
        click.echo(f"Nothing was started. Run it: {shlex.join(again)}")
    else:
        click.echo("Everything is done.")


def print_shares(plan: Plan, named: NamedCluster, shares: Mapping[str, Sequence[Group]]) -> None:
    """What each host of a cluster would measure."""
    at_a_time = "one point" if named.points_per_host == 1 else f"{named.points_per_host} points"
    where = "to the shared results directory" if named.results == "share" else "back to this machine"
    where = where if plan.bucket is None else f"to {plan.bucket}"
    click.echo(f"\nOn {named}, {at_a_time} at a time on a host; runs go {where}:")
    for host, pieces in shares.items():
        points = sum(len(piece.points) for piece in pieces)
        rounds = sorted({piece.round for piece in pieces if piece.round is not None})
        parts = [f"{points:,} {'point' if points == 1 else 'points'}"]
        parts += [f"of round {', '.join(map(str, rounds))}"] if rounds else []
        searches = sum(len(piece.searches) for piece in pieces)
        parts += [f"and {searches} × search"] if searches else []
        needs = sorted({name for piece in pieces for name in piece.requires})
        parts += [f"for its {', '.join(needs)}"] if needs else []
        click.echo(f"  {host}: {' '.join(parts)}")


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown (a script's duration is known once it has run)"
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def _row(plan: Plan, experiment: str) -> list[str]:
    points = [point for point in plan.points if point.experiment == experiment]
    searches = [case for case in plan.searches if case.experiment == experiment]
    to_search = sum(case.experiment == experiment for case in plan.open_searches())
    statuses = [plan.status(point) for point in points]
    measured = [run.done for case in searches for run in plan.measured(case)]
    counts = [statuses.count("done"), statuses.count("failed"), statuses.count("interrupted")]
    to_do = len(points) - counts[0]
    searching, left = (f"{count} × search" if count else "" for count in (len(searches), to_search))
    varying = ", ".join(plan.varying(experiment)) or "none"
    shown = [" + ".join(filter(None, [f"{len(points):,}" if points else "", searching]))]
    counts = [counts[0] + measured.count(True), counts[1] + measured.count(False), counts[2]]
    shown += [f"{counts[0]:,}", *(f"{count:,}" if count else "–" for count in counts[1:])]
    return [experiment, varying, *shown, " + ".join(filter(None, [f"{to_do:,}" if points else "", left])) or "0"]


class Lines(Listener):
    """A line for each point that has ended."""

    def __init__(self, plan: Plan) -> None:
        self._total, self._ended = len(plan.to_do()), 0
        self._searching, self._unit = bool(plan.open_searches()), plan.driver.unit

    def say(self, line: str) -> None:
        click.echo(f"{time.strftime('%H:%M:%S')} {printable(line)}", err=True)

    def note(self, sentence: str) -> None:
        self.say(sentence)

    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None:
        self._ended += 1
        of = "" if self._searching else f"/{self._total}"
        self.say(f"[{self._ended}{of}] {path}{f' on {host}' if host else ''}: {told(outcome, self._unit)}")


class Bar(Lines):
    """A bar with the throughput of the moment, or who is at work, below the lines of what went wrong."""

    def __init__(self, plan: Plan, progress: Progress) -> None:
        super().__init__(plan)
        self._progress = progress
        self._task = progress.add_task("starting", total=None if self._searching else self._total, now="")

    def say(self, line: str) -> None:
        self._progress.console.print(printable(line))

    def starts(self, what: str) -> None:
        self._progress.update(self._task, description=printable(what))

    def point_ends(self, path: Path, outcome: Outcome, host: str = "") -> None:
        if outcome.exit_code:
            super().point_ends(path, outcome, host)
        else:
            self._ended += 1
        self._progress.update(self._task, completed=self._ended, now=printable(told(outcome, self._unit)))

    def rate(self, throughput: float) -> None:
        self._progress.update(self._task, now=f"{throughput:,.0f} {self._unit}")

    def standing(self, hosts: int, spent_usd: float) -> None:
        at_work = f"{hosts} {'host' if hosts == 1 else 'hosts'}"
        self._progress.update(self._task, now=f"{at_work} · {spent_usd:.2f} USD" if spent_usd >= 0.005 else at_work)


@contextlib.contextmanager
def listening(plan: Plan) -> Iterator[Listener]:
    if not sys.stderr.isatty():
        yield Lines(plan)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[now]} · left", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, markup=False, highlight=False), transient=True) as progress:
        yield Bar(plan, progress)


def told(outcome: Outcome, unit: str) -> str:
    if outcome.exit_code:
        return f"failed ({outcome.problem or f'exit status {outcome.exit_code}'})"
    if outcome.throughput is None:
        return f"done in {outcome.wall_s:.1f} s" if outcome.wall_s is not None else "done"
    p95 = "" if outcome.p95_ms is None else f", p95 {outcome.p95_ms:.1f} ms"
    failed = f", {100 * outcome.error_rate:.3g} % failed" if outcome.error_rate else ""
    return f"{outcome.throughput:,.1f} {unit}{p95}{failed}"
