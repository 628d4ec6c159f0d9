"""``matbench download``: addresses of results trees in, a results directory out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from .. import store
from ..analyze.words import plural
from ..config import DownloadMode
from ..download import session
from ..download.addresses import Place, parse, read_list
from ..download.fetch import Outcome
from ..download.wanted import Wish
from ..errors import ConfigError, DownloadError
from .options import DIR, FILE, Command, flag, not_given, option, strength
from .printing import first, progress_bar, warn
from .run import load_workload, no_results
from .shared_options import workload_option

MODES = ("cache_only", "prefer_cache", "important", "all")
MOST_NAMED = 1000
"""So much of what was left out, or failed, is named one by one."""
JOBS, MAX_BYTES = 8, 100 * 2**30


@click.command("download", cls=Command)
@option(
    "--url",
    config_key="download.url",
    metavar="ADDRESS",
    help="What to fetch: a directory or an archive, as a path, file://, http://, https://, s3://bucket/prefix "
    "or hf://datasets/OWNER/NAME/PATH.",
)
@option(
    "--url-file",
    config_key="download.url_file",
    **FILE,
    help="A file of addresses, one a line: each goes in a subdirectory, which may be named after it.",
)
@option(
    "--mode",
    config_key="download.mode",
    type=click.Choice(MODES),
    default="prefer_cache",
    metavar="MODE",
    help="cache_only, prefer_cache (a test's cache, its important files where it has none), important or all.",
)
@option("--results-dirname", config_key="test_directory", **DIR, help="Where it goes: the results directory.")
@workload_option
@option("--jobs", type=click.IntRange(min=1, max=64), default=JOBS, metavar="N", help="Files fetched at a time.")
@option(
    "--max-bytes",
    type=click.IntRange(min=1),
    default=MAX_BYTES,
    metavar="N",
    help="Refuse to fetch or to unpack more than this; 100 GiB unless given.",
)
@flag(
    "--save-to-artifacts",
    config_key="download.save_to_artifacts",
    help="Also copy what was fetched into the directory that ARTIFACT_DIR names.",
)
def command(
    url: str | None,
    url_file: Path | None,
    mode: DownloadMode,
    results_dirname: Path | None,
    workload: str | None,
    jobs: int,
    max_bytes: int,
    save_to_artifacts: bool,
) -> None:
    """Fetch results: from a directory, a web server, S3, the Hugging Face Hub or an archive.

    A second call fetches only what is missing or has changed. Credentials come from the environment, ~/.netrc or
    ~/.aws, never from the address.
    """
    if results_dirname is None:
        raise ConfigError(no_results())
    places = _places(url, url_file)
    artifacts = session.artifacts_directory(os.environ) if save_to_artifacts else None
    wish = _wish(mode, workload)
    with progress_bar("fetching") as progress:
        outcomes = session.download(places, wish, results_dirname, max_bytes=max_bytes, jobs=jobs, progress=progress)
    warn([note for outcome in outcomes for note in outcome.notes], MOST_NAMED)
    problems = [f"{outcome.address}: {problem}" for outcome in outcomes for problem in outcome.problems]
    if not problems or any(outcome.fetched or outcome.held for outcome in outcomes):
        click.echo(_summary(outcomes, results_dirname))
    if artifacts is not None:
        copy = session.save_to_artifacts(results_dirname, artifacts, jobs=jobs)
        click.echo(f"Copied to {copy}")
    if problems:
        raise DownloadError("\n".join(first(problems, MOST_NAMED)))


def _places(url: str | None, url_file: Path | None) -> list[Place]:
    if url and url_file:
        of_url, of_file = strength("url"), strength("url_file")
        if of_url == of_file:
            raise ConfigError("both --url and --url-file are given: leave one out")
        url, url_file = (url, None) if of_url > of_file else (None, url_file)
    if url_file:
        return read_list(url_file)
    if not url:
        raise ConfigError(not_given("address", "--url ADDRESS", "download.url"))
    return [Place(parse(url))]


def _wish(mode: DownloadMode, name: str | None) -> Wish | None:
    """What is to be fetched of the tests, by the mode and the workload; None for whole trees."""
    if mode == "all":
        return None
    if not name:
        given = not_given("workload", "--workload NAME", "workload")
        raise ConfigError(f"{given}; only --mode all does without one")
    workload = load_workload(name)
    return Wish(
        mode,
        workload.name,
        layouts=store.layouts_of(workload),
        cache_filename=workload.store.cache_filename,
        artifacts=store.declared_files(workload),
        companions=store.COMES_WITH_A_CACHE,
        can_read_cache=lambda content: store.can_read_cache(content, workload),
    )


def _summary(outcomes: Sequence[Outcome], root: Path) -> str:
    fetched, size = sum(each.fetched for each in outcomes), sum(each.fetched_bytes for each in outcomes)
    held = sum(each.held for each in outcomes)
    known = [each.tests for each in outcomes if each.tests is not None]
    of_tests = f" of {sum(known):,} {plural(sum(known), 'test')}" if known else ""
    kept = f", {held:,} {'was' if held == 1 else 'were'} here already" if held else ""
    return f"Fetched {fetched:,} {plural(fetched, 'file')}{of_tests} ({size / 1e6:,.1f} MB){kept}: {root}"
