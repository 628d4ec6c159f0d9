"""What ``matbench visualize`` does: pages are written, and what they say is told; or the application is served."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pydantic

from .. import yaml_file
from ..analyze.handling import standing
from ..analyze.study import Study
from ..analyze.wording import analyses
from ..analyze.words import count_of
from ..bucket import BucketPath
from ..config import keep_view
from ..errors import ConfigError, MatbenchError, VerdictError, did_you_mean
from ..history import Location
from ..history.alarms import Action, AlarmEvent
from ..history.location import is_loopback
from ..matrix import Matrix
from ..plotting import catalogue, explore, pictures
from ..plotting.report_best import limited
from ..plotting.report_compare import CompareReport
from ..plotting.site import Written, check_choices, write_site
from ..runs.answers import BestAnswer
from ..runs.judging import deal
from ..runs.opening import Opening, names_of
from ..validation import Section, mismatches
from ..workload import Workload
from . import run
from .options import configuration
from .printing import say, warn
from .shared_options import EVERYTHING, PLOTS_FILE, Locate, RunOptions

if TYPE_CHECKING:
    from ..plotting.app.access import Network, Writing
    from ..plotting.app.data import Progress


def show(
    workload: Workload,
    selection: RunOptions,
    locate: Locate,
    *,
    generate: Sequence[str],
    generate_id: Sequence[str],
    plots_file: Path | None,
    report_dest: Path,
    single_file: bool,
    host: str,
    port: int | None,
    allow_writing: bool,
    user_header: str | None,
    proxy: Sequence[Network],
    format: Sequence[str],
    cfg: Sequence[tuple[str, str]],
    figure_size: tuple[int, int] | None,
) -> None:
    """Do what the command's options say: write pages, or serve the application."""
    drawn = [kind for kind in dict.fromkeys(format) if kind != "html"]
    if figure_size and not drawn:
        raise ConfigError("`figure-size` needs --format=png, svg or pdf")
    if generate or generate_id or single_file or drawn:
        names = listed(workload, generate, generate_id, plots_file)
        drawing = pictures.Pictures(pictures.find_browser(), drawn, figure_size) if drawn else None
        study, chosen = run.start(selection, locate), dict(cfg)
        if chosen:
            check_choices(study, names, chosen)
        how: dict[str, Any] = {"single_file": single_file, "html": "html" in format, "drawing": drawing}
        _tell(study, write_site(study, report_dest, names, cfg=chosen, **how), report_dest, chosen)
        return
    if cfg:
        raise ConfigError("--cfg is for pages that are written (--generate); in the application it is in the address")
    if (user_header or proxy) and not allow_writing:
        raise ConfigError("--user-header and --proxy say who may write, which nobody may without --allow-writing")
    opening = run.opened(selection, locate)
    serve(opening, report_dest, host, port, writing_by(host, user_header, proxy) if allow_writing else None)


def _tell(study: Study, written: Written, report_dest: Path, cfg: Mapping[str, str]) -> None:
    """Say what is best, and what was *written*; VerdictError: not all of it could be."""
    for line in BestAnswer(limited(study, cfg)).verdict():
        say(line)
    if study.has_analysis and study.analysis is not None:  # a page of it was written
        say(" ".join(analyses.headlines(study.analysis)))
        if analyses.is_untold(study.analysis):
            say(CompareReport(catalogue.catalogue_of(study)).summary())
    first = written.pages[0] if written.pages else report_dest / pictures.FOLDER
    counts = ((len(written.pages), "page"), (len(written.pictures), "picture"))
    files = [count_of(count, word) for count, word in counts if count] or ["no picture"]
    say(f"Reports: {first} ({', '.join(files)}, {written.size_bytes / 1e6:.1f} MB)")
    if written.failures:
        raise VerdictError("\n".join([*written.failures, "All other parts of the reports are there."]))


def listed(
    workload: Workload, generate: Sequence[str], generate_id: Sequence[str], plots_file: Path | None
) -> list[str]:
    """The pages that are named, or that *plots_file* lists, with the kept views; its pages that nobody listed are said.

    Raises:
        WorkloadError: a page of *workload* is none.
        ConfigError: nothing lists what is asked for.
    """
    catalogue.check(workload)
    plots_file = find_plots_file(plots_file, workload.source)
    names = names_to_write(generate, generate_id, plots_file, workload.name)
    if names and not generate_id and not any(generate):
        names += explore.views(configuration().all_views, workload.name, {})
        own = [report.name for report in workload.pages()[1]]
        forgotten = [name for name in own if not {name, name.removeprefix("report: ")} & {*names}]
        if forgotten:
            listing = plots_file or PLOTS_FILE
            say(f"Not generated, as {listing} doesn't list it: {', '.join(forgotten)}.", err=True)
    return names


class _Selection(Section):
    id: str
    workload: str | None = None
    generate: list[str]


class _PlotsFile(Section):
    visualize: list[_Selection]


def read_plots_file(path: Path, workload: str, ids: Sequence[str] = ()) -> list[str]:
    """The names to generate, each once, in order: of the selections *ids*, or of all that are for *workload*."""
    selections = _parse(path)
    by_id: dict[str, _Selection] = {}
    for selection in selections:
        if selection.id in by_id:
            raise ConfigError(f"{path}: the id '{selection.id}' is under visualize twice")
        by_id[selection.id] = selection
    for wanted in ids:
        if wanted not in by_id:
            raise ConfigError(f"{path} has no id '{wanted}' under visualize: {did_you_mean(wanted, by_id)}")
    chosen = [by_id[wanted] for wanted in ids] or [each for each in selections if each.workload in (None, workload)]
    return list(dict.fromkeys(name for selection in chosen for name in selection.generate))


def _parse(path: Path) -> list[_Selection]:
    file = yaml_file.read(path)
    try:
        return _PlotsFile.model_validate(file.content).visualize
    except pydantic.ValidationError as error:
        problems = [
            f"{path}:{file.line(problem.path)}: {problem.field} {problem.reason}"
            for problem in mismatches(error, file.content)
        ]
        raise ConfigError("\n".join(problems)) from error


def find_plots_file(named: Path | None, source: Path | None) -> Path | None:
    """The file that is *named*, looked up in ``data/`` too: here, and where the workload's *source* is."""
    if named is None or named.is_absolute() or named.exists():
        return named
    beside = [] if source is None else [source / "data" / named, *source.glob(f"visualizations/**/data/{named}")]
    return next((path for path in (Path("data") / named, *beside) if path.is_file()), named)


def names_to_write(generate: Sequence[str], ids: Sequence[str], plots_file: Path | None, workload: str) -> list[str]:
    """The names of what to write: those in *generate*, and those that the plots file lists under *ids*, or at all.

    Raises:
        ConfigError: there is no file that could list *ids*.
    """
    named = [part for name in generate if name != EVERYTHING for part in name.removeprefix("stats=").split("&stats=")]
    if named and not ids:
        return named
    if plots_file is None and PLOTS_FILE.is_file():
        plots_file = PLOTS_FILE
    if ids and plots_file is None:
        raise ConfigError(
            f"--generate-id {ids[0]}: there is no {PLOTS_FILE} here that could list it; name the file with "
            "--plots-file, or a report with --generate"
        )
    listed = [] if plots_file is None else read_plots_file(plots_file, workload, ids)
    return list(dict.fromkeys([*named, *listed]))


def serve(opening: Opening, report_dest: Path, host: str, port: int | None, writing: Writing | None) -> None:
    """Serve the application until it is interrupted; people may write as *writing* says, where they may.

    Raises:
        WorkloadError: a page of the workload is none.
        MatbenchError: a directory doesn't exist.
    """
    from ..plotting.app import server  # the application: not for pages that are written
    from ..plotting.app.data import Source

    catalogue.check(opening.workload)
    config = configuration()
    opening.validate()
    here = [directory for directory in opening.directories if not isinstance(directory, BucketPath)]
    for directory in here:
        if not directory.exists():
            raise MatbenchError(f"the directory '{directory}' does not exist")
        if directory.is_dir() and not any(directory.iterdir()):
            warn([f"'{directory}' is empty: the pages show runs as they come"])
    if opening.directories:
        names_of(opening.directories)

    def read(progress: Progress | None) -> Matrix:
        everything = opening.read(progress)
        if opening.history is None:  # else what a filter names may be in the history alone
            opening.check_names(everything)
        return everything

    source = Source(
        workload=opening.workload,
        place=opening.place,
        roots=here,
        read=read,
        read_index=opening.read_index,
        filters=opening.parsed_filters,
        past=opening.read_past,
        given=opening.given,
        state=opening.state,
        deal=None if opening.history is None else functools.partial(_deal, opening.history),
        keep_view=None if config.views_file is None else functools.partial(keep_view, Path(config.views_file)),
        views=lambda: config.all_views,  # asked for in another thread, which has no command
    )
    with server.bound(host, port) as listener:
        app = server.make_app(source, report_dest, frozenset({host}), writing)
        click.echo(f"matbench: {server.address(listener)} (Ctrl-C ends it)")
        server.serve(app, listener)


def _deal(
    locate: Callable[[], Location],
    action: str,
    ids: Sequence[str],
    author: str,
    reason: str,
    until: str,
    raised: Sequence[AlarmEvent],
) -> str:
    actions = (Action.ACKNOWLEDGED, Action.RESOLVED, Action.REOPENED, Action.COMMENTED)
    wanted = next((each for each in actions if each.value == action), None)
    if wanted is None or (until and wanted is not Action.ACKNOWLEDGED):
        raise ConfigError("the page asked for something unknown" if wanted is None else "`until` is for acknowledging")
    alarms, notes = deal(locate(), wanted, ids, author=author, reason=reason, until=until or None, raised=raised)
    said = [f"{one.id} ({one.subject.kpi} of {one.subject.series}): {standing(one)}." for one in alarms]
    return " ".join([*said, *notes])


def writing_by(host: str, user_header: str | None, proxies: Sequence[Network]) -> Writing:
    """Who may write: the system's user on loopback, else whom the *proxies* name in *user_header*."""
    from ..plotting.app.access import Writing

    if user_header is None and not is_loopback(host):
        raise ConfigError(
            f"--allow-writing with --host={host} needs --user-header and --proxy: else anybody could write"
        )
    if (user_header is None) != (not proxies):
        raise ConfigError("--user-header and --proxy belong together: the header is believed only from these addresses")
    return Writing(user_header, tuple(proxies))
