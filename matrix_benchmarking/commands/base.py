"""What a command is made of: options that know their environment variable and their key in config.yaml.

Precedence: flag, then environment ``MATBENCH_<FLAG>``, then preset, then config.yaml.
"""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from .. import config
from ..config import CommandOptions
from . import leaves

if TYPE_CHECKING:
    from ..config import CommandOptions, Config

C = TypeVar("C", bound=Callable[..., Any])


@dataclasses.dataclass(slots=True)
class Invocation:
    """What one call of ``matbench`` knows beside the options of its command (click's ``ctx.obj``)."""

    debug: bool = False
    config: Config | None = None


class Option(click.Option):
    """An option with an environment variable of its name, and a key in config.yaml.

    Attributes:
        config_key: dotted key below ``matbench:``; None for a key of this name in the command's own
            section; empty for an option that can't be in the file.
    """

    def __init__(self, *args: Any, config_key: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.config_key = config_key
        self.envvar = f"MATBENCH_{str(self.name).upper()}"

    def key_for(self, command: str) -> str:
        """The option's dotted key below ``matbench:``, empty where it has none."""
        return f"{command}.{self.name}" if self.config_key is None else self.config_key


class Command(click.Command):
    """A command that takes from config.yaml what neither a flag nor the environment gives.

    Attributes:
        section: the name of its section in config.yaml; that of the command unless given.
    """

    def __init__(self, *args: Any, section: str | None = None, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section or str(self.name)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        help_option = self.get_help_option(ctx)
        wants_help = help_option is not None and given.get(str(help_option.name))
        if not wants_help and not ctx.resilient_parsing:
            set_debug(ctx, None, bool(given.get("debug")))
            config = _load_config(given.get("config"), given.get("preset"))
            ctx.ensure_object(Invocation).config = config
            ctx.default_map = _defaults(self, self.section, config)
        return super().parse_args(ctx, args)


class Group(click.Group):
    """Commands in the order in which they were added; the first one is meant where none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        asks_for_help = bool(args) and args[0] in ctx.help_option_names
        if not asks_for_help and (not args or args[0].startswith("-")):
            args = [next(iter(self.commands)), *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


def option(*flags: str, config_key: str | None = None, **attributes: Any) -> Callable[[C], C]:
    """Like ``click.option``, for an :class:`Option`."""
    return click.option(*flags, cls=Option, config_key=config_key, **attributes)


def flag(*flags: str, help: str, config_key: str | None = None, default: bool = False) -> Callable[[C], C]:
    """A yes-or-no option whose value may be left out: ``--pretty``, ``--pretty=True``, ``--pretty=no``."""
    return option(
        *flags,
        config_key=config_key,
        is_flag=False,
        flag_value="true",
        type=click.BOOL,
        default=default,
        metavar="[BOOLEAN]",
        help=help,
    )


def strength(ctx: click.Context, name: str) -> int:
    """How explicitly the option *name* was given: 3 by a flag, 2 by the environment, 1 by config.yaml, 0 not at all."""
    sources = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP, ParameterSource.ENVIRONMENT)
    source = ctx.get_parameter_source(name)
    if source is ParameterSource.COMMANDLINE:
        return 3
    return sources.index(source) if source in sources else 0


def set_debug(ctx: click.Context, param: click.Parameter | None, value: bool) -> None:
    """Remember ``--debug``, wherever on the line it stands."""
    if value:
        ctx.ensure_object(Invocation).debug = True


@functools.cache
def in_configuration() -> CommandOptions:
    """The options of all commands, as config.yaml may hold them."""
    sections: dict[str, dict[str, Any]] = {}
    keys: dict[str, str] = {}
    for name, command in leaves().items():
        options = [param for param in command.params if isinstance(param, Option)]
        sections[name] = {str(each.name): _value_type(each) for each in options if each.config_key is None}
        keys |= {str(each.name): each.config_key for each in options if each.config_key}
    return CommandOptions(sections, keys)


def _load_config(path: str | None, preset: str | None) -> Config:
    path = path or os.environ.get("MATBENCH_CONFIG")
    preset = preset or os.environ.get("MATBENCH_PRESET")
    return config.load(Path(path) if path else None, preset=preset or None, options=in_configuration())


def _defaults(command: click.Command, section: str, config: Config) -> dict[str, Any]:
    """Values from *config* for the command's options; mappings are left to the command to merge."""
    defaults: dict[str, Any] = {}
    for param in command.params:
        key = param.key_for(section) if isinstance(param, Option) else ""
        value = config.get(key) if key else None
        if value is None or isinstance(value, Mapping):
            continue
        defaults[str(param.name)] = [value] if param.multiple and isinstance(value, str) else value
    return defaults


def _value_type(param: Option) -> Any:
    """The type of an option's value in config.yaml."""
    single: Any = str
    if isinstance(param.type, click.types.BoolParamType):
        single = bool
    elif isinstance(param.type, click.types.IntParamType):
        single = int
    elif isinstance(param.type, click.types.FloatParamType):
        single = float
    return list[single] | single if param.multiple else single
