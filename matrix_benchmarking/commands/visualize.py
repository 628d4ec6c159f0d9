"""``matbench visualize``: a results tree or a history in; static HTML reports out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from . import run
from .options import Command, Invocation, Selection, common, flag, lts_results, option, selection
from .place import Place, place, reads_history

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
@place
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
@common
@click.pass_obj
def command(
    invocation: Invocation,
    selection: Selection,
    place: Place,
    generate: Sequence[str],
    generate_id: Sequence[str],
    plots_file: Path | None,
    report_dest: Path,
    single_file: bool,
) -> None:
    """Write reports of a results directory, or of a history, as static HTML pages, with an index.

    With both, 'KPI history' compares the results with the runs of the history, from version to version. Prints the best
    configuration and where the index is.
    """
    from ..analyze.best import rank
    from ..plotting.site import write_site
    from .best_table import print_verdict

    assert invocation.config is not None
    names = names_to_generate(generate, generate_id, plots_file, run.load_workload(selection.workload).name)
    selection = reads_history(invocation.config, place, selection)
    work = run.start(invocation.config, selection)
    results_dirname = run.results_of(selection)
    pages = write_site(
        work.matrix, work.workload, report_dest, names, results_dirname, single_file=single_file, past=work.past
    )
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
