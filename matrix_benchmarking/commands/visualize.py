"""``matbench visualize``: results or a history in; an application to explore them, or static HTML reports."""

from __future__ import annotations

import datetime as dt
import functools
import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..analyze.words import plural
from ..bucket import BucketPath
from ..errors import ConfigError, MatbenchError, VerdictError
from ..plotting import plots_file as plots
from . import run
from .options import DIR, FILE, Command, configuration, flag, option
from .printing import say
from .shared_options import Read, against, headline_option, lts_results, named, order_option, place, selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..history import Location
    from ..history.alarms import AlarmEvent
    from ..matrix import Matrix
    from ..plotting.app.data import Progress
    from ..plotting.app.writing import Network, Writing
    from ..plotting.site import Written
    from ..runs.opening import Opening
    from .shared_options import Locate, RunOptions

DEFAULT_PLOTS_FILE = Path("data/plots.yaml")
EVERYTHING = ""
FORMATS = ("html", "png", "svg", "pdf")


REPORT_NAME = Read("report", str.strip)


def size(text: str) -> tuple[int, int]:
    width, _, height = text.strip().lower().partition("x")
    if not all(side.isdecimal() and 100 <= int(side) <= 10_000 for side in (width, height)):
        raise ValueError("expected a width and a height between 100 and 10,000, such as 640x400")
    return int(width), int(height)


@click.command("visualize", cls=Command)
@selection
@lts_results
@against
@place
@order_option
@headline_option
@option(
    "--generate",
    type=REPORT_NAME,
    multiple=True,
    is_flag=False,
    flag_value=EVERYTHING,
    metavar="[REPORT]",
    help="Write this report, such as 'report: Error report', or this plot; can be given several times. "
    "Without a name: all that the plots file lists.",
)
@option(
    "--generate-id",
    type=REPORT_NAME,
    multiple=True,
    metavar="ID",
    help="Write the reports that the plots file lists under this id.",
)
@option(
    "--plots-file",
    config_key="config_file",
    **FILE,
    help=f"YAML file that lists the reports; {DEFAULT_PLOTS_FILE} if it is there, else every report.",
)
@option(
    "--report-dest", **DIR, default="report", show_default=True, help="The directory that the pages are written to."
)
@flag("--single-file", help="Write one HTML file with everything in it, for viewers that show a single file.")
@option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="NAME",
    help="Where the application listens; whoever reaches it can read the results.",
)
@option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    metavar="N",
    help="The application's port; unless given 8050, or the next one that is free.",
)
@flag(
    "--allow-writing",
    help="Let people deal with alarms and keep views on the pages: on this machine alone, as the system's user, or "
    "with --user-header.",
)
@option(
    "--user-header",
    metavar="NAME",
    help="The header in which a proxy says who somebody is, such as X-Forwarded-User; believed only from --proxy.",
)
@option(
    "--proxy",
    type=Read("proxy", ipaddress.ip_network),
    multiple=True,
    metavar="ADDRESS",
    help="The address, or the network, of such a proxy; can be given several times.",
)
@option(
    "--format",
    type=click.Choice(FORMATS),
    multiple=True,
    default=("html",),
    show_default="html",
    metavar="[html|png|svg|pdf]",
    help="What to write: the pages (html), each of their figures in DIR/figures (png, svg, pdf; needs kaleido and "
    "Chromium); can be given several times.",
)
@option(
    "--cfg",
    type=named("KEY=VALUE", "quantile=p95"),
    multiple=True,
    metavar="KEY=VALUE",
    help="What to choose of a page's or a figure's controls, as in the application; can be given several times.",
)
@option(
    "--figure-size",
    type=Read("size", size),
    metavar="WxH",
    help="The width and height of each such figure in CSS pixels (96 an inch; a PNG has two dots for each), "
    "such as 640x400.",
)
def command(
    selection: RunOptions,
    locate: Locate,
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
    """Open the plots and reports of a results directory, or of a history, in an application on this machine.

    With --generate, --generate-id, --single-file or another --format than html: write the reports as static HTML
    pages with an index, or their figures as pictures, and print the best configuration and where they are. With a
    directory and a history, 'KPI history' compares the results with the runs of the history, from version to version.
    """
    from ..plotting import catalogue  # its pages' imports: .2 s

    workload = run.load_workload(selection.workload)
    catalogue.check(workload)
    drawn = [kind for kind in dict.fromkeys(format) if kind != "html"]
    if figure_size and not drawn:
        raise ConfigError("`figure-size` needs --format=png, svg or pdf")
    if not (generate or generate_id or single_file or drawn):
        if cfg:
            raise ConfigError(
                "--cfg is for pages that are written (--generate); in the application it is in the address"
            )
        opening = run.opened(configuration(), selection, locate)
        _serve(opening, report_dest, host, port, _writing(host, user_header, proxy) if allow_writing else None)
        return
    from ..analyze.wording import verdicts as wording
    from ..plotting import explore, pictures
    from ..plotting.report_best import limited
    from ..plotting.report_compare import CompareReport
    from ..plotting.site import check_choices, write_site
    from ..runs.answers import BestAnswer

    drawing = pictures.Pictures(pictures.find_browser(), drawn, figure_size) if drawn else None
    plots_file = found_plots_file(plots_file, workload.source)
    names = names_to_generate(generate, generate_id, plots_file, workload.name)
    if EVERYTHING in generate and names:
        own = [
            *(report.name for report in workload.pages()[1]),
            *explore.views(configuration().all_views, workload.name, {}),
        ]
        forgotten = [name for name in own if not {name, name.removeprefix("report: ")} & {*names}]
        if forgotten:
            listing = plots_file or DEFAULT_PLOTS_FILE
            say(f"Not generated, as {listing} doesn't list it: {', '.join(forgotten)}.", err=True)
    study = run.start(selection, locate)
    html, chosen = "html" in format, dict(cfg)
    if chosen:
        check_choices(study, names, chosen)
    written = write_site(study, report_dest, names, single_file=single_file, html=html, drawing=drawing, cfg=chosen)
    for line in BestAnswer(limited(study, chosen)).verdict():
        say(line)
    if study.has_analysis and study.analysis is not None:  # a page of it was written
        say(wording.headline(study.analysis))
        if wording.is_untold(study.analysis):
            say(CompareReport(catalogue.catalogue_of(study)).summary())
    first = written.pages[0] if written.pages else report_dest / pictures.FOLDER
    say(f"Reports: {first} ({files_label(written)})")
    if written.failures:
        raise VerdictError("\n".join([*written.failures, "All other parts of the reports are there."]))


def _writing(host: str, user_header: str | None, proxies: Sequence[Network]) -> Writing:
    from ..plotting.app.writing import Writing

    if user_header is None and not is_loopback(host):
        raise ConfigError(
            f"--allow-writing with --host={host} needs --user-header and --proxy: else anybody could write"
        )
    if (user_header is None) != (not proxies):
        raise ConfigError("--user-header and --proxy belong together: the header is believed only from these addresses")
    return Writing(user_header, tuple(proxies))


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _serve(opening: Opening, report_dest: Path, host: str, port: int | None, writing: Writing | None) -> None:
    """Serve the application until it is interrupted. That the directories exist is checked before."""
    from ..plotting.app import server  # dash and numpy: .5 s
    from ..plotting.app.data import Source
    from ..runs.opening import names_of

    config = configuration()
    opening.validate()
    here = [directory for directory in opening.directories if not isinstance(directory, BucketPath)]
    for directory in here:
        if not directory.exists():
            raise MatbenchError(f"the directory '{directory}' does not exist")
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
        keep_view=_keep_view(config.views_file),
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
    from ..analyze.handling import standing
    from ..history.alarms import Action
    from ..runs.dealing import deal

    actions = (Action.ACKNOWLEDGED, Action.RESOLVED, Action.REOPENED, Action.COMMENTED)
    wanted = next((each for each in actions if each.value == action), None)
    if wanted is None or (until and wanted is not Action.ACKNOWLEDGED):
        raise ConfigError("the page asked for something unknown" if wanted is None else "`until` is for acknowledging")
    alarms, notes = deal(locate(), wanted, ids, author=author, reason=reason, until=until or None, raised=raised)
    now = dt.datetime.now(dt.UTC)
    said = [f"{one.id} ({one.subject.kpi} of {one.subject.series}): {standing(one, now)}." for one in alarms]
    return " ".join([*said, *notes])


def _keep_view(file: str | None) -> Callable[[str, str], str] | None:
    if file is None:
        return None
    from .. import views

    return functools.partial(views.keep, Path(file))


def files_label(written: Written) -> str:
    counts = ((len(written.pages), "page"), (len(written.pictures), "picture"))
    parts = [f"{count} {plural(count, word)}" for count, word in counts if count]
    return ", ".join([*(parts or ["no picture"]), f"{written.size_bytes / 1e6:.1f} MB"])


def found_plots_file(named: Path | None, source: Path | None) -> Path | None:
    """The file that is *named*, looked up in ``data/`` too: here, and where the workload's *source* is."""
    if named is None or named.is_absolute() or named.exists():
        return named
    beside = [] if source is None else [source / "data" / named, *source.glob(f"visualizations/**/data/{named}")]
    return next((path for path in (Path("data") / named, *beside) if path.is_file()), named)


def names_to_generate(generate: Sequence[str], ids: Sequence[str], plots_file: Path | None, workload: str) -> list[str]:
    named = [part for name in generate if name != EVERYTHING for part in name.removeprefix("stats=").split("&stats=")]
    if named and not ids:
        return named
    if ids and plots_file is None and not DEFAULT_PLOTS_FILE.is_file():
        raise ConfigError(
            f"--generate-id {ids[0]}: there is no {DEFAULT_PLOTS_FILE} here that could list it; name the file with "
            "--plots-file, or a report with --generate"
        )
    if plots_file is None and (ids or DEFAULT_PLOTS_FILE.is_file()):
        plots_file = DEFAULT_PLOTS_FILE
    listed = [] if plots_file is None else plots.read(plots_file, workload, ids)
    return list(dict.fromkeys([*named, *listed]))
