"""``matbench benchmark``: a benchmark file in; the plan, or a tree of finished test directories out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .options import DIR_OR_BUCKET, FILE, PATH, PATH_OR_STDOUT, Command, flag, option
from .shared_options import PRICE, cluster_option, named


@click.command("benchmark", cls=Command)
@click.argument("benchmark_file_argument", metavar="[BENCHMARK_FILE]", required=False, type=PATH)
@option("--benchmark-file", **FILE, help="The benchmark file; also the argument.")
@option(
    "--results-dirname",
    config_key="test_directory",
    **DIR_OR_BUCKET,
    help="Where the test directories go, also s3://bucket/prefix; results/<name of the benchmark file> unless given.",
)
@flag("--run", config_key="", help="Run what is not done yet. Without it the plan is printed.")
@option(
    "--generate",
    is_flag=False,
    flag_value="-",
    type=PATH_OR_STDOUT,
    metavar="[FILE]",
    help="Write the points (settings, directory, command) as JSON Lines, without running them; - is standard output.",
)
@option(
    "--setting",
    config_key="",
    multiple=True,
    type=named("NAME=VALUE", "version=1.4.0"),
    metavar="NAME=VALUE",
    help="Another value for one of the file's settings: version=1.4.0. Given several times for one: all of them.",
)
@option("--filters", metavar="FILTERS", help="Only these points: image=onnx-int8,vus=8:16.")
@option("--expe-to-run", multiple=True, metavar="NAME", help="Only this experiment. May be given several times.")
@flag("--stop-on-error", help="Stop after the first point that fails.")
@flag("--keep-failed", help="Don't run failed points again.")
@option("--path-tpl", metavar="TEMPLATE", help="Test directory of a point: {hw_type}/vus_{vus}__repeat_{repeat}.")
@option("--script-tpl", metavar="COMMAND", help="Run this command for each point, with settings in braces.")
@option("--max-usd", type=click.FloatRange(min=0, min_open=True), metavar="USD", help="Never spend more than this.")
@option("--max-duration", metavar="DURATION", help="Start no point after this time: 90s, 30m or 2h.")
@option(
    "--price",
    config_key="prices",
    type=PRICE,
    multiple=True,
    metavar="[VENDOR/]HW_TYPE=USD",
    help="USD per hour of a target, for the estimate and --max-usd. May be given several times.",
)
@cluster_option
@flag(
    "--cleanup", config_key="", help="End servers and tear down paid targets that an earlier run left behind, and stop."
)
@flag("--file-schema", config_key="", help="Print the JSON Schema of benchmark files, and stop.")
def command(benchmark_file_argument: Path | None, benchmark_file: Path | None, **options: Any) -> None:
    """Run a benchmark file: servers, load, monitor, one test directory a point.

    Without --run nothing is started: the plan is printed, with the number of points, what they will take and
    cost, and which are done. What is finished is never run again; what failed or was interrupted is.
    """
    from .benchmark_file import carry_out  # with all that runs benchmarks: other commands know the options alone

    carry_out(benchmark_file_argument or benchmark_file, **options)
