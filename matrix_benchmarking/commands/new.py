"""``matbench new``: a name in; a working workload, with a test and a sample, out."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from .. import scaffold
from ..errors import ConfigError
from .options import DIR, Command, flag, option


@click.command("new", cls=Command)
@click.argument("name", metavar="NAME")
@option("--dest", config_key="", **DIR, help="Where the directory NAME is made; here unless given.")
@flag(
    "--in-checkout",
    config_key="",
    help="Make it a package of the checkout that is here: in projects/, data/samples/ and tests/projects/.",
)
@flag("--dry-run", config_key="", help="List the files; write nothing.")
def command(name: str, dest: Path | None, in_checkout: bool, dry_run: bool) -> None:
    """Start a workload: a directory NAME with all that one needs.

    What it measures, how fast hashes are, is an example that runs on any machine; the places to change are marked.
    Nothing that exists is overwritten. The next three commands are printed.
    """
    if in_checkout and dest is not None:
        raise ConfigError("--in-checkout says where it goes: leave out --dest, or --in-checkout")
    scaffold.check_name(name)
    new = scaffold.in_checkout(name, Path()) if in_checkout else scaffold.standalone(name, dest or Path())
    if dry_run:
        scaffold.check_free(new)
        for path in sorted(new.files):
            click.echo(path)
        return
    scaffold.write(new)
    made = ", ".join(str(root) for root in new.roots)
    click.echo(f"made {made} ({len(new.files)} files); README.md says what they are. Next:", err=True)
    reading = [f"--workload={new.workload}", f"--results-dirname={new.results}"]  # measure, read, look
    click.echo(shlex.join(["matbench", "benchmark", str(new.benchmark_file), "--run"]))
    click.echo(shlex.join(["matbench", "parse", *reading]))
    click.echo(shlex.join(["matbench", "visualize", *reading, "--generate"]))
    if in_checkout:
        package = new.workload.replace("projects", "matbench_projects", 1)
        names = f"{package.removesuffix('.visualizations')} and {package}"
        click.echo(f"To install it with matbench, add {names} to setup.cfg (packages, entry points).", err=True)
