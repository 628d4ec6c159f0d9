"""The options that commands share: which tests of which workload, with which configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from .base import Command, Group, Invocation, Option, flag, option, set_debug, strength

if TYPE_CHECKING:
    from ..history import Location

__all__ = [
    "Command",
    "Group",
    "Invocation",
    "NamedText",
    "Option",
    "Price",
    "RunOptions",
    "UsedHistory",
    "against",
    "common",
    "flag",
    "lts_results",
    "option",
    "order_option",
    "selection",
    "set_debug",
    "strength",
    "workload_option",
]

C = TypeVar("C", bound=Callable[..., Any])

TYPED = 3
"""So strong is an option that a person gave on the command line; names in it that match nothing are errors."""


class Price(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """``[VENDOR/]HW_TYPE=USD_PER_HOUR`` as a pair of name and price."""

    name = "price"
    envvar_list_splitter: ClassVar[str] = ","

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, equals, price = str(value).rpartition("=")
        parts = name.strip().split("/", 1)
        try:
            usd = float(price)
        except ValueError:
            usd = -1.0
        if not (equals and all(parts) and 0 <= usd < float("inf")):
            self.fail(f"'{value}' is not [VENDOR/]HW_TYPE=USD_PER_HOUR, as in aws/nvidia-l4=0.8", param, ctx)
        return name.strip(), usd


class NamedText(click.ParamType):  # type: ignore[type-arg] # generic since click 8.4 only
    """``NAME=VALUE`` as a pair of texts; *example* is for the sentence about what isn't one."""

    name = "named text"
    envvar_list_splitter: ClassVar[str] = ","

    def __init__(self, example: str) -> None:
        self.example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, tuple):
            return value
        name, equals, text = str(value).partition("=")
        if not (equals and name.strip()):
            self.fail(f"'{value}' is not NAME=VALUE, as in {self.example}", param, ctx)
        return name.strip(), text.strip()


@dataclasses.dataclass(frozen=True, slots=True)
class UsedHistory:
    """A history that a command reads besides a results directory, or in its place.

    Attributes:
        locate: gives its location; raises HistoryError where it is none.
        is_matrix: the tests come from it.
        is_required: it was named on the command line, so the command fails where it can't be read.
    """

    locate: Callable[[], Location]
    is_matrix: bool
    is_required: bool


@dataclasses.dataclass(frozen=True, slots=True)
class RunOptions:
    """Which tests of which workload a command is about, from the options that commands share.

    ``prices`` are those given as options, in USD per hour by ``vendor/hw_type`` or ``hw_type``; ``workload_options``
    are texts by name; ``history`` is for commands that read one (:func:`.place.reads_history`). ``typed``
    are the names of the options that a person gave on the command line: what others name need not be in each tree.
    Where ``is_newest_build``, the results directory is the newest build, and the payloads are its past.
    """

    workload: str | None
    results_dirname: Path | None
    filters: str
    prices: Mapping[str, float]
    workload_options: Mapping[str, str]
    jobs: int | None
    lts_results_dirname: Path | None = None
    against: tuple[Path, ...] = ()
    history: UsedHistory | None = None
    typed: frozenset[str] = frozenset()
    is_newest_build: bool = False


def common(function: C) -> C:
    """The options of every command: ``--config``, ``--preset`` and ``--debug``."""
    decorators = [
        option(
            "--config",
            config_key="",
            metavar="FILE",
            expose_value=False,
            help="Configuration file; config.yaml of the current directory if it has a matbench: block.",
        ),
        option(
            "--preset",
            config_key="preset",
            metavar="NAME",
            expose_value=False,
            help="Apply the values of this preset of the configuration file.",
        ),
        option(
            "--debug",
            config_key="debug",
            is_flag=True,
            default=False,
            is_eager=True,
            expose_value=False,
            callback=set_debug,
            help="Show the stack trace of an error.",
        ),
    ]
    for decorator in reversed(decorators):
        function = decorator(function)
    return function


def workload_option(function: C) -> C:
    """``--workload``."""
    help = "The workload: a short name, a module or a .py file."
    return option("--workload", config_key="workload", metavar="NAME", help=help)(function)


def selection(function: C) -> C:
    """The options that select tests; the command gets them as one argument ``selection``."""

    @functools.wraps(function)
    def with_selection(
        *args: Any,
        workload: str | None,
        results_dirname: Path | None,
        filters: str | None,
        price: tuple[tuple[str, float], ...],
        workload_option: tuple[tuple[str, str], ...],
        jobs: int | None,
        lts_results_dirname: Path | None = None,
        against: tuple[Path, ...] = (),
        **others: Any,
    ) -> Any:
        told = dict(workload_option)
        selected = RunOptions(
            workload, results_dirname, filters or "", dict(price), told, jobs, lts_results_dirname, against
        )
        ctx = click.get_current_context()
        typed = frozenset(name for name in ("filters", "price") if strength(ctx, name) >= TYPED)
        selected = dataclasses.replace(selected, typed=typed)
        return function(*args, selection=selected, **others)

    decorators: list[Callable[[Any], Any]] = [
        option(
            "--results-dirname",
            config_key="test_directory",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="The results directory: the tree that holds the test directories.",
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
            type=Price(),
            multiple=True,
            metavar="[VENDOR/]HW_TYPE=USD",
            help="Price in USD per hour; can be given several times, and wins over the configuration's.",
        ),
        option(
            "--workload-option",
            config_key="workload_options",
            type=NamedText("warm_up_epochs=3"),
            multiple=True,
            metavar="NAME=VALUE",
            help="Tell the workload's parsers something, such as warm_up_epochs=3; can be given several times.",
        ),
        option(
            "--jobs",
            type=click.IntRange(min=1),
            metavar="N",
            help="Processes that parse; automatic unless given, 1 for none.",
        ),
    ]
    decorated: Any = with_selection
    for decorator in reversed(decorators):
        decorated = decorator(decorated)
    result: C = decorated
    return result


def against(function: C) -> C:
    """``--against``, for commands that show several trees beside each other."""
    help = (
        "Another directory of the same kind, shown beside the first; the setting 'tree' tells them apart. "
        "Can be given several times."
    )
    kind = click.Path(path_type=Path)
    return option("--against", config_key="", type=kind, multiple=True, metavar="DIR", help=help)(function)


def lts_results(function: C) -> C:
    """``--lts-results-dirname``, for commands that read payloads as well as a results directory."""
    help = "A directory of LTS payloads, as download_lts writes it, instead of a results directory."
    kind = click.Path(path_type=Path)
    return option("--lts-results-dirname", config_key="", type=kind, metavar="DIR", help=help)(function)


def order_option(function: C) -> C:
    """``--order``; the command gets it as text."""
    help = (
        "Which version came after which: a file, one version a line, the oldest first; or git:DIR, the first-parent "
        "history of a checkout."
    )
    return option("--order", config_key="order", metavar="FILE|git:DIR", help=help)(function)
