"""``matbench visualize``: a results tree in; an application to explore it, or static HTML reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from . import run
from .options import Command, Invocation, Selection, against, common, flag, lts_results, option, selection

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PLOTS_FILE = Path("data/plots.yaml")
EVERYTHING = ""


class ReportName(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """The name of a report; several in an environment variable are separated by commas."""

    name = "report"
    envvar_list_splitter: ClassVar[str] = ","

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value).strip()


@click.command("visualize", cls=Command)
@selection
@lts_results
@against
@option(
    "--generate",
    type=ReportName(),
    multiple=True,
    is_flag=False,
    flag_value=EVERYTHING,
    metavar="[REPORT]",
    help="Write this report, such as 'report: Error report'; can be given several times. "
    "Without a name: all that the plots file lists.",
)
@option(
    "--generate-id",
    type=ReportName(),
    multiple=True,
    metavar="ID",
    help="Write the reports that the plots file lists under this id.",
)
@option(
    "--plots-file",
    config_key="config_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"YAML file that lists the reports; {DEFAULT_PLOTS_FILE} if it is there, else every report.",
)
@option(
    "--report-dest",
    type=click.Path(path_type=Path),
    default="report",
    show_default=True,
    metavar="DIR",
    help="The directory that the pages are written to.",
)
@flag("--single-file", help="Write one HTML file with everything in it, for viewers that show a single file.")
@option("--host", default="127.0.0.1", show_default=True, metavar="NAME", help="Where the application listens.")
@option(
    "--port",
    type=click.IntRange(min=0, max=65535),
    metavar="N",
    help="The application's port; unless given 8050, or the next one that is free.",
)
@common
@click.pass_obj
def command(
    invocation: Invocation,
    selection: Selection,
    generate: Sequence[str],
    generate_id: Sequence[str],
    plots_file: Path | None,
    report_dest: Path,
    single_file: bool,
    host: str,
    port: int | None,
) -> None:
    """Open the plots and reports of a results directory in an application, on this machine.

    With --generate, --generate-id or --single-file: write the reports as static HTML pages, with an index, and print
    the best configuration and where the index is.
    """
    assert invocation.config is not None
    if not (generate or generate_id or single_file):
        from .application import open_application

        open_application(invocation.config, selection, report_dest, host, port)
        return
    from ..analyze.best import rank
    from ..plotting.site import write_site
    from .best_table import print_verdict

    names = names_to_generate(generate, generate_id, plots_file, run.load_workload(selection.workload).name)
    work = run.start(invocation.config, selection)
    results_dirname = run.results_of(selection)
    pages = write_site(work.matrix, work.workload, report_dest, names, results_dirname, single_file=single_file)
    print_verdict(rank(work.matrix, work.workload))
    click.echo(f"Reports: {run.printable(str(pages[0]))}")


def names_to_generate(generate: Sequence[str], ids: Sequence[str], plots_file: Path | None, workload: str) -> list[str]:
    """The reports of *workload* that the options ask for; empty for all that there are.

    Raises:
        ConfigError: the plots file can't be used.
    """
    from ..plotting import plots_file as plots

    named = [name for name in generate if name != EVERYTHING]
    if named and not ids:
        return named
    if plots_file is None and (ids or DEFAULT_PLOTS_FILE.is_file()):
        plots_file = DEFAULT_PLOTS_FILE
    listed = [] if plots_file is None else plots.read(plots_file, workload, ids)
    return list(dict.fromkeys([*named, *listed]))
