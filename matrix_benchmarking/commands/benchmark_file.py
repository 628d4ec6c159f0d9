"""What ``matbench benchmark`` does with a benchmark file: the plan, a run of it, or the end of what one left behind."""

from __future__ import annotations

import contextlib
import functools
import json
import shlex
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import click

from .. import filters, lts
from ..analyze.words import count_of
from ..benchmark import campaign
from ..benchmark import file as files
from ..benchmark.campaign import Report
from ..benchmark.file import BenchmarkFile
from ..benchmark.plan import Plan, describe_point, price_of
from ..benchmark.run_directory import place_of
from ..errors import ConfigError, MatbenchError, VerdictError, WorkloadError
from ..workload import Workload
from .benchmark_shown import listening, print_plan, print_shares
from .options import BY_ENVIRONMENT, PLACE, configuration, is_typed, once, strength
from .printing import warn, write
from .run import load_workload


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
        if chosen["cluster"] is not None and (plan.to_do() or plan.searches):
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
    if others := plan.measured_otherwise():
        were = "was" if len(others) == 1 else "were"
        said = f"{count_of(len(others), 'done point')} {were} measured by another command than the file's"
        warn([f"{said}, such as '{others[0].relative_to(plan.root)}': move them away to have them measured again"])
    settings = [*(point.settings for point in plan.points), *(search.settings for search in plan.searches)]
    if workload is not None:
        refused = dict.fromkeys(sentence for each in settings for sentence in lts.refused_settings(workload, each))
        warn([f"{sentence}: strict payloads and the history will refuse these runs" for sentence in refused])
    if is_typed("price"):
        from ..runs.opening import check_prices

        check_prices(settings, list(dict(chosen["price"])))
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
    _conclude(plan, report, shlex.join(_again(path, chosen)))


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
    return [*words, "--run"]


def _settings(chosen: Mapping[str, Any]) -> list[str]:
    return [f"--setting={name}={value}" for name, value in chosen["setting"]]


def _conclude(plan: Plan, report: Report, again: str) -> None:
    done = report.succeeded
    parts = [f"{count_of(done, 'point')} measured"]
    parts += [f"{report.failed} failed"] if report.failed else []
    parts += [f"{report.not_started} not started"] if report.not_started else []
    parts += [f"{report.left} left"] if report.left else []
    parts += [f"{report.spent_usd:.2f} USD spent"] if report.spent_usd >= 0.005 else []
    click.echo(f"{plan.results}: {', '.join(parts)}.")
    for found in report.searches:
        told = [name for name in plan.varying(found["experiment"]) if name in found["settings"]]
        where = "".join(f", {name} {found['settings'][name]}" for name in told)
        click.echo(f"search {found['experiment']}{where}: {found.get('reason') or found.get('error')}")
    workload = f" --workload={plan.file.workload}" if plan.file.workload else ""
    if done or not (report.left or report.failed or report.not_started):
        click.echo(f"Next: matbench parse --results-dirname={shlex.quote(str(plan.results))}{workload}")
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
    if report.failed or any("error" in found for found in report.searches):
        failed = report.failed or sum("error" in found for found in report.searches)
        raise VerdictError(f"{count_of(failed, 'point')} failed; they are run again with: {again}")
