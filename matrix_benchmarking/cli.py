"""The ``matbench`` command line: finds the command, and turns errors into sentences and exit statuses.

0: fine. 1: the verdict is bad. 2: the command could not be carried out. 130: interrupted. 141: whoever
read the output stopped reading.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Sequence

import click

from .commands import COMMANDS, SHORT, canonical, load_command
from .commands.options import DEBUG, Invocation, option
from .commands.printing import printable, silence_stdout
from .errors import MatbenchError, did_you_mean, os_reason, place, shortened
from .version import __version__

INTERRUPTED, BROKEN_PIPE, NOT_CARRIED_OUT = 130, 141, 2
_LONGEST_LINE = 10_000


class LazyGroup(click.Group):
    """The commands of :data:`COMMANDS`, each imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = canonical(cmd_name)
        return load_command(name) if name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        args = [*SHORT.get(args[0], args[:1]), *args[1:]]
        name = canonical(args[0])
        if name not in COMMANDS and not ctx.resilient_parsing:
            raise click.UsageError(f"no command '{args[0]}': {did_you_mean(name, [*COMMANDS, *SHORT])}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> int:
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            silence_stdout()
            return BROKEN_PIPE
        return 0

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [*COMMANDS.items(), *((name, f"Short for {words[0]} --run.") for name, words in SHORT.items())]
            )


@click.group(
    "matbench",
    cls=LazyGroup,
    context_settings={
        "token_normalize_func": lambda token: token.replace("_", "-"),
        "help_option_names": ["-h", "--help"],
    },
)
@click.version_option(__version__, prog_name="matbench")
@option("--debug", **DEBUG)
def matbench() -> None:
    """From benchmark artifacts to answers: which configuration is cheapest, can I trust that number,
    did the new build make it worse?

    Each option can be set by flag, by environment (MATBENCH_<FLAG>) or in config.yaml, in this order.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``matbench`` with *arguments* (the process's own by default); gives the exit status."""
    _open_standard_streams()
    invocation = Invocation()
    with garbage_is_rare():
        args = None if arguments is None else list(arguments)
        call = functools.partial(matbench.main, args, prog_name="matbench", standalone_mode=False, obj=invocation)
        return _guarded(call, invocation)


@contextlib.contextmanager
def garbage_is_rare() -> Iterator[None]:
    """Look for it once ten million objects are new, a gigabyte: of 100,000 runs nearly all live to the end.

    Looking more often took a third of the time. What serves for days looks more often all the same.
    """
    before = gc.get_threshold()
    gc.set_threshold(10_000_000, 5, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _open_standard_streams() -> None:
    """Connect streams that were closed by whoever started us to nothing, before a file takes their number."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        continue
    os.close(descriptor)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))  # noqa: SIM115


def _guarded(call: Callable[[], int], invocation: Invocation) -> int:
    """The status of *call*; whatever it raises becomes a sentence on stderr."""
    try:
        return call()
    except MatbenchError as error:
        return _say(str(error), error.exit_status, invocation)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return NOT_CARRIED_OUT
    except click.ClickException as error:
        return _say(_sentence(error), NOT_CARRIED_OUT, invocation)
    except (KeyboardInterrupt, click.Abort):
        return _say("interrupted", INTERRUPTED, invocation)
    except OSError as error:
        if error.filename is None:
            silence_stdout()
        where = f"{error.filename}: " if error.filename else "input or output failed: "
        return _say(f"{where}{os_reason(error)}", NOT_CARRIED_OUT, invocation)
    except SystemExit as error:
        what = f"some code called sys.exit({'' if error.code is None else repr(error.code)[:80]}){place(error)}"
        return _say(f"{what}: nothing is known to be done", NOT_CARRIED_OUT, invocation)
    except Exception as error:  # noqa: BLE001 - the outermost frame: a bug becomes a sentence, too
        hint = "" if invocation.debug else " (run with --debug for the stack trace)"
        reason = f"{type(error).__name__}: {error}".removesuffix(": ")
        outside = _outside(error)
        what = f"code of a workload stopped{outside}" if outside else "internal error"
        return _say(f"{what}: {reason}{hint}", NOT_CARRIED_OUT, invocation)


def _outside(error: BaseException) -> str:
    """Where the code is that raised *error*, or called what raised it, if it is neither ours nor a library's."""
    ours, libraries = os.path.dirname(__file__), map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))
    foreign = ("<", *libraries)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename.startswith(ours):
            break
        if not frame.filename.startswith(foreign):
            return f" in {os.path.relpath(frame.filename)}, line {frame.lineno}"
    return ""


def _say(sentence: str, status: int, invocation: Invocation) -> int:
    if invocation.debug:
        traceback.print_exc()
    lines = [shortened(line, _LONGEST_LINE) for line in sentence.split("\n")]
    click.echo(f"matbench: {printable(chr(10).join(lines))}", err=True)
    return status


def _sentence(error: click.ClickException) -> str:
    message = error.format_message()
    message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    hint = f" (see '{context.command_path} --help')" if context is not None else ""
    is_too_early = isinstance(error, click.NoSuchOption) and context is not None and context.parent is None
    return message.rstrip(".") + (" before the command: options come after it" if is_too_early else "") + hint
