"""The options that several commands have: which runs of which workload, which history, where an analysis goes."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click
import msgspec

from ..errors import ConfigError
from ..history import Location, location
from ..history.opensearch_location import of_instance
from .options import DIR, DIR_OR_BUCKET, FILE, configuration, flag, gathered, is_typed, option, strength
from .printing import warn

if TYPE_CHECKING:
    from ..config import Config
    from ..named_cluster import NamedCluster

WORSE, SUSPECTED = "worse", "suspected"
PLOTS_FILE, EVERYTHING = Path("data/plots.yaml"), ""  # and what stands for all that it lists
Locate = Callable[[], Location]
"""Gives the location of the history; warnings about it go to stderr."""


class Read(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """What *read* makes of a text; its ValueError is the sentence about one that means nothing.

    Several in an environment variable are separated by commas.
    """

    envvar_list_splitter: ClassVar[str] = ","

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self.read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str | list):  # it was read before
            return value
        try:
            return self.read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def named(form: str, example: str, kind: Callable[[str], Any] = str.strip) -> Read:
    """``NAME=VALUE``, where *form* is more precise about both, as a pair of the name and *kind* of the value."""

    def pair(text: str) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        with contextlib.suppress(ValueError):
            if equals and all(name.strip().split("/", 1)):
                return name.strip(), kind(value)
        raise ValueError(f"'{text}' is not {form}, as in {example}")

    return Read("pair", pair)


def _usd(text: str) -> float:
    price = float(text)
    if not 0 <= price < float("inf"):
        raise ValueError
    return price


def _names(value: str | list[object]) -> tuple[str, ...]:
    texts = value if isinstance(value, list) else [one.replace("\\,", ",") for one in re.split(r"(?<!\\),", value)]
    names = tuple(name for text in texts if (name := str(text).strip()))
    if texts and not names:
        raise ValueError(f"{value!r} holds no name; leave the option out for all")
    return names


def _cluster(text: str) -> NamedCluster:
    from ..named_cluster import read  # pydantic, which takes longer than all else of 'matbench --help'

    return read(text)


cluster_option = option(
    "--cluster",
    config_key="cluster",
    type=Read("cluster", _cluster),
    metavar="CLUSTER",
    help="On these machines: a Dask scheduler's address (tcp://host:8786), {slurm: {…}}, {ssh: [HOST, …]}, {local: N}.",
)
PRICE = named("[VENDOR/]HW_TYPE=USD_PER_HOUR", "aws/nvidia-l4=0.8", _usd)
NAMES = Read("names", _names)


class RunOptions(msgspec.Struct, frozen=True):
    workload: str | None
    results_dirname: Path | None
    filters: str | None
    price: Sequence[tuple[str, float]]
    workload_option: Sequence[tuple[str, str]]
    jobs: int | None
    cluster: NamedCluster | None = None
    lts_results_dirname: Path | None = None
    against: Sequence[Path] = ()
    order: str | None = None
    headline: str | None = None
    ignored_keys: Sequence[str] = ()
    settings_from: str | None = None


class AnalysisOutput(msgspec.Struct, frozen=True):
    report_dest: Path | None
    summary_yaml_dest: Path | None
    exit_zero: bool
    fail_on: str = WORSE


workload_option = option(
    "--workload", config_key="workload", metavar="NAME", help="The workload: a short name, a module or a .py file."
)
against = option(
    "--against",
    config_key="",
    **DIR_OR_BUCKET,
    multiple=True,
    help="Another directory, told apart by the setting 'tree'; on Compare the old side, unless its "
    "version or times are newer. Can be given several times.",
)
lts_results = option(
    "--lts-results-dirname",
    config_key="",
    **DIR,
    help="A directory of LTS payloads, as download_lts writes it, instead of a results directory.",
)
order_option = option(
    "--order",
    config_key="order",
    metavar="FILE|git:DIR",
    help="Which version came after which: a file, one version a line, the oldest first; or git:DIR, the first-parent "
    "history of a checkout.",
)
headline_option = option(
    "--headline", config_key="", metavar="KPI", help="Rank by this KPI, in the place of the workload's own headline."
)
ignored_option = option(
    "--ignored-keys",
    type=NAMES,
    default=(),
    metavar="NAMES",
    help="Settings that divide no series, beside the workload's own: image,engine.",
)
since_option = option(
    "--since", metavar="TIME", help="Only runs from this time on: 2026-01-31, an ISO 8601 time, or 30d, 2w, 12h ago."
)
kpi_filter = option(
    "--kpi-filter",
    type=NAMES,
    default=(),
    metavar="NAMES",
    help="Only these KPIs, separated by commas; * stands for any characters: throughput,*_latency.",
)
replace_option = flag("--replace", help="Let payloads take the place of other contents of the same runs.")

selection = gathered(
    "selection",
    RunOptions,
    option(
        "--results-dirname",
        config_key="test_directory",
        **DIR_OR_BUCKET,
        help="The results directory: the tree that holds the test directories, also s3://bucket/prefix.",
    ),
    workload_option,
    option(
        "--filters",
        metavar="FILTERS",
        help="Only these tests: hw_type=cpu-1:cpu-2,batch_size=32 (a backslash escapes , : and =).",
    ),
    option(
        "--price",
        config_key="prices",
        type=PRICE,
        multiple=True,
        metavar="[VENDOR/]HW_TYPE=USD",
        help="Price in USD per hour; can be given several times, and wins over the configuration's.",
    ),
    option(
        "--settings-from",
        config_key="settings_from",
        metavar="PATTERN",
        help="Settings that names of directories and files say: results/{hw_type}/{engine}-{version}.",
    ),
    option(
        "--workload-option",
        config_key="workload_options",
        type=named("NAME=VALUE", "warm_up_epochs=3"),
        multiple=True,
        metavar="NAME=VALUE",
        help="Tell the workload something, such as warm_up_epochs=3; can be given several times.",
    ),
    option(
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        help="Processes that parse; automatic unless given, 1 for none.",
    ),
    cluster_option,
    also=("lts_results_dirname", "against", "order", "headline", "ignored_keys"),
)
"""The options that select tests; the command gets them, and the others about it, as one argument ``selection``."""

reports = gathered(
    "output",
    AnalysisOutput,
    option("--report-dest", **DIR, help="Write the reports to this directory: index.html, and what CI services read."),
    option("--summary-yaml-dest", **FILE, help="Write MatrixBenchmarking's summary to this file."),
    option(
        "--fail-on",
        type=click.Choice([WORSE, SUSPECTED]),
        default=WORSE,
        metavar="WORD",
        help="worse, or suspected: end with exit status 1 for what one or two blocks of runs alone support, too.",
    ),
    flag("--exit-zero", help="Report a regression, and end with exit status 0 all the same."),
)
"""The options that say where the analysis goes; the command gets them as one argument ``output``."""


def located(
    config: Config,
    history: str | None = None,
    opensearch_host: str | None = None,
    opensearch_port: int | None = None,
    opensearch_username: str | None = None,
    opensearch_index: str | None = None,
) -> Location:
    """The location of the history: what is given, else the configured instance of OpenSearch, else ``matbench.db``."""
    configured = config.lts.opensearch
    configured = configured.model_copy(update={"index": opensearch_index or configured.index})
    found: Location
    if opensearch_host is None and history is None and configured.instance is not None:
        found, warnings = of_instance(configured.instance, os.environ, configured)
    else:
        server = None if opensearch_host is None else f"https://{opensearch_host}:{opensearch_port or 9200}"
        text = server or history or location.DEFAULT
        found, warnings = location.parse(text, os.environ, configured=configured, username=opensearch_username)
    warn(warnings)
    return found


def _locating(history: str | None, opensearch_host: str | None, **others: Any) -> Locate:
    """Locates the history: by the location or by the host, whichever was said more explicitly."""
    if history is not None and opensearch_host is not None:
        of_history, of_host = strength("history"), strength("opensearch_host")
        if of_history == of_host:
            raise ConfigError("--history and --opensearch-host both say where the history is: give one of them")
        history, opensearch_host = (history, None) if of_history > of_host else (None, opensearch_host)
    if opensearch_host is not None and ("/" in opensearch_host or "@" in opensearch_host):
        raise ConfigError("--opensearch-host is the name of a host; --history takes a whole address")
    is_server = history is not None and not history.lower().strip().startswith(("sqlite:", "postgresql:"))
    for name in others:
        is_allowed = opensearch_host is not None or (is_server and name != "opensearch_port")
        if is_typed(name) and not is_allowed:
            raise ConfigError(f"--{name.replace('_', '-')} is about an OpenSearch server: name it by --opensearch-host")
    config = configuration()  # now: the application locates in a thread of its own, where click knows no command
    return functools.cache(lambda: located(config, history, opensearch_host, **others))


place = gathered(
    "locate",
    _locating,
    option(
        "--history",
        config_key="history",
        metavar="LOCATION",
        help="Where the history is: sqlite:///matbench.db, postgresql://host/database or https://host:9200/index.",
    ),
    option("--opensearch-host", config_key="", metavar="HOST", help="Host of an OpenSearch server with TLS."),
    option("--opensearch-port", config_key="", type=click.IntRange(1, 65535), metavar="PORT", help="Its port; 9200."),
    option("--opensearch-username", config_key="", metavar="NAME", help="User name at the OpenSearch server."),
    option(
        "--opensearch-index",
        config_key="lts.opensearch.index",
        metavar="NAME",
        help="Index of the payloads on the OpenSearch server.",
    ),
)
"""``--history`` and its aliases; the command gets what locates the history as one argument ``locate``."""
