"""What a command is made of: options that know their environment variable and their key in config.yaml."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from .. import bucket
from ..errors import ConfigError
from . import leaves

if TYPE_CHECKING:
    from ..config import Config

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

BY_FLAG, BY_ENVIRONMENT, BY_FILE = 3, 2, 1
"""How explicitly an option was given. Names that match nothing are errors where a person typed them, by a flag."""
PATH, PATH_OR_STDOUT = click.Path(path_type=Path), click.Path(path_type=Path, allow_dash=True)
NO_PROM_WORKLOAD = "it has no effect here, where the parsers of the workload read what Prometheus recorded"


class _Place(click.Path):
    """A directory, or a place in a bucket."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or not value.startswith(bucket.BEGINNING):
            return super().convert(value, param, ctx)
        if not value.removeprefix(bucket.BEGINNING).partition("/")[0]:
            self.fail(f"'{value}' should be s3://bucket/prefix", param, ctx)
        return bucket.BucketPath(value)


PLACE = _Place(path_type=Path)
DIR: dict[str, Any] = {"type": PATH, "metavar": "DIR"}
DIR_OR_BUCKET: dict[str, Any] = {"type": PLACE, "metavar": "DIR"}
FILE: dict[str, Any] = {"type": PATH, "metavar": "FILE"}
FILE_OR_STDOUT: dict[str, Any] = {"type": PATH_OR_STDOUT, "metavar": "FILE"}


@dataclasses.dataclass(slots=True)
class Invocation:
    """What one call of ``matbench`` knows beside the options of its command (click's ``ctx.obj``)."""

    debug: bool = False
    config: Config = dataclasses.field(init=False)


class CommandOption(click.Option):
    """An option with an environment variable of its name, and a key in config.yaml."""

    def __init__(self, *args: Any, config_key: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.config_key = config_key  # dotted, below matbench:; None: in the command's own section; empty: none
        self.envvar = f"MATBENCH_{str(self.name).upper()}"

    def key_for(self, section: str) -> str:
        return f"{section}.{self.name}" if self.config_key is None else self.config_key


class Command(click.Command):
    """A command that takes from its *section* of config.yaml what neither a flag nor the environment gives."""

    def __init__(self, *args: Any, section: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        config_file = "Configuration file; config.yaml of the current directory if it has a matbench: block."
        preset = "Apply the values of this preset of the configuration file."
        self.params += [
            CommandOption(["--config"], config_key="", metavar="FILE", expose_value=False, help=config_file),
            CommandOption(["--preset"], config_key="preset", metavar="NAME", expose_value=False, help=preset),
            CommandOption(["--debug"], config_key="debug", **DEBUG),
        ]
        self.section = section or str(self.name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        help_option = self.get_help_option(ctx)
        wants_help = help_option is not None and given.get(str(help_option.name))
        if not wants_help and not ctx.resilient_parsing:
            set_debug(ctx, None, bool(given.get("debug")))
            path = given.get("config") or os.environ.get("MATBENCH_CONFIG")
            preset = given.get("preset") or os.environ.get("MATBENCH_PRESET") or None
            from .. import config  # pydantic, which takes longer than all else of 'matbench --help'

            known = config.load(Path(path) if path else None, preset=preset, model=in_configuration())
            ctx.ensure_object(Invocation).config = known
            if known.prom_workload is not None:
                click.echo(f"warning: matbench.prom_workload: {NO_PROM_WORKLOAD}", err=True)
            ctx.default_map = _defaults(self, known)
        return super().parse_args(ctx, args)


class CommandGroup(click.Group):
    """Commands in the order in which they were added; the first one is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_for_help = bool(args) and args[0] in ctx.help_option_names
        if not asks_for_help and (not args or args[0].startswith("-")):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def option(*flags: str, config_key: str | None = None, **attributes: Any) -> Callable[[C], C]:
    return click.option(*flags, cls=CommandOption, config_key=config_key, **attributes)


def flag(*flags: str, default: bool = False, **attributes: Any) -> Callable[[C], C]:
    """A yes-or-no option whose value may be left out: ``--pretty``, ``--pretty=True``, ``--pretty=no``."""
    kind: dict[str, Any] = {"is_flag": False, "flag_value": "true", "type": click.BOOL, "metavar": "[BOOLEAN]"}
    return option(*flags, default=default, **kind, **attributes)


def together(*decorators: Callable[[Any], Any]) -> Callable[[C], C]:
    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def gathered(
    argument: str, make: Callable[..., Any], *options: Callable[[Any], Any], also: Sequence[str] = ()
) -> Callable[[C], C]:
    """Several options of which a command gets one *argument*: what *make* makes of their values."""

    def decorate(function: Any) -> Any:
        @functools.wraps(function)
        def with_argument(**values: Any) -> Any:
            own = {name: values.pop(name) for name in names if name in values}
            return function(**values, **{argument: make(**own)})

        before = len(getattr(function, "__click_params__", ()))
        decorated: Any = together(*options)(with_argument)
        names = [*also, *(param.name for param in decorated.__click_params__[before:])]
        return decorated

    return decorate


def configuration() -> Config:
    return click.get_current_context().ensure_object(Invocation).config


def strength(name: str) -> int:
    """How explicitly the option *name* was given: ``BY_FLAG``, ``BY_ENVIRONMENT``, ``BY_FILE``, or 0 for not at all."""
    known = {
        ParameterSource.COMMANDLINE: BY_FLAG,
        ParameterSource.ENVIRONMENT: BY_ENVIRONMENT,
        ParameterSource.DEFAULT_MAP: BY_FILE,
    }
    source = click.get_current_context().get_parameter_source(name)
    return 0 if source is None else known.get(source, 0)


def is_typed(name: str) -> bool:
    """Whether a person gave the option *name* on the command line: names in it that match nothing are errors."""
    return strength(name) == BY_FLAG


def once(option: str, pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The *pairs* of an *option* that can be given several times. Raises ConfigError: two values for one name."""
    found: dict[str, T] = {}
    for name, value in pairs:
        if found.setdefault(name, value) != value:
            raise ConfigError(f"{option}: {name} is given two values, {found[name]} and {value}")
    return found


def not_given(what: str, flag: str, key: str) -> str:
    env = "MATBENCH_" + flag.split()[0].removeprefix("--").replace("-", "_").upper()
    return f"no {what} given: use {flag}, {env} or matbench.{key} in config.yaml"


def set_debug(ctx: click.Context, param: click.Parameter | None, value: bool) -> None:
    """Remember ``--debug``, wherever on the line it stands."""
    if value:
        ctx.ensure_object(Invocation).debug = True


DEBUG: dict[str, Any] = {
    "is_flag": True,
    "is_eager": True,
    "expose_value": False,
    "callback": set_debug,
    "help": "Show the stack trace of an error.",
}
"""What ``--debug`` is, before the command and after it."""


@functools.cache
def in_configuration() -> type[Config]:
    """The keys of config.yaml, with those of all commands' options."""
    from ..config import with_options

    sections: dict[str, dict[str, Any]] = {}
    keys: dict[str, str] = {}
    for name, command in leaves().items():
        options = [param for param in command.params if isinstance(param, CommandOption)]
        sections[name] = {str(each.name): _value_type(each) for each in options if each.config_key is None}
        keys |= {str(each.name): each.config_key for each in options if each.config_key}
    return with_options(sections, keys)


def _defaults(command: Command, config: Config) -> dict[str, Any]:
    """Values from *config* for the command's options; mappings are left to the command to merge."""
    defaults: dict[str, Any] = {}
    for param in command.params:
        key = param.key_for(command.section) if isinstance(param, CommandOption) else ""
        value = config.get(key) if key else None
        if value is None or isinstance(value, Mapping):
            continue
        defaults[str(param.name)] = [value] if param.multiple and isinstance(value, str) else value
    return defaults


def _value_type(param: CommandOption) -> Any:
    kinds = {click.types.BoolParamType: bool, click.types.IntParamType: int, click.types.FloatParamType: float}
    single: Any = next((kind for type, kind in kinds.items() if isinstance(param.type, type)), str)
    return list[single] | single if param.multiple else single
