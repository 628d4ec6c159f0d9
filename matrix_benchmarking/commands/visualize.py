"""``matbench visualize``: results or a history in; an application to explore them, or static HTML reports."""

from __future__ import annotations

import ipaddress
from typing import Any

import click

from . import run
from .options import DIR, FILE, Command, flag, option
from .shared_options import (
    EVERYTHING,
    PLOTS_FILE,
    Locate,
    Read,
    RunOptions,
    against,
    headline_option,
    ignored_option,
    lts_results,
    named,
    order_option,
    place,
    selection,
)

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
@ignored_option
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
    help=f"YAML file that lists the reports; {PLOTS_FILE} if it is there, else every report.",
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
def command(selection: RunOptions, locate: Locate, **options: Any) -> None:
    """Open the plots and reports of a results directory, or of a history, in an application on this machine.

    With --generate, --generate-id, --single-file or another --format than html: write the reports as static HTML
    pages with an index, or their figures as pictures, and print the best configuration and where they are. With a
    directory and a history, 'KPI history' compares the results with the runs of the history, from version to version.
    """
    workload = run.load_workload(selection.workload)
    from .pages import show  # with all that draws pages: other commands know the options alone

    show(workload, selection, locate, **options)
