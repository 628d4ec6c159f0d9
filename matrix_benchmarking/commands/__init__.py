"""The commands: one file each, imported when it is used. A command parses options, calls, prints.

What is imported within their functions costs what ``--help`` and refused options shall not: analyses, with numpy, .1 s,
the application .4 s more.
"""

from __future__ import annotations

import importlib
import keyword
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

COMMANDS = {
    "benchmark": "Run a benchmark file: servers, load, monitor, one test directory a point.",
    "download": "Fetch results from a directory, a web server, S3 or an archive.",
    "parse": "Parse a results directory; write the matrix, LTS payloads, metrics or a table.",
    "check": "Look for what is odd about runs before you trust an answer.",
    "visualize": "Open plots and reports in an application, or write them as static pages.",
    "upload_lts": "Keep the LTS payloads of a results directory in a history.",
    "download_lts": "Write the LTS payloads of a history to files.",
    "history": "Show what is in a history; export, import, prune, flush.",
    "alarms": "List alarms; acknowledge, resolve, open them again.",
    "analyze_lts": "Judge the newest runs against their history: is something worse?",
    "compare": "Compare two results trees, or two versions: is the second one worse?",
    "generate_lts_schema": "Write the JSON Schema of a workload's LTS payloads.",
    "inputs": "Prepare the inputs of a load: filter, sample, see what is left.",
    "import": "Read a table with a row a run, such as a CSV, without writing code.",
    "new": "Start a workload: parser, KPIs, benchmark file, sample, test.",
}
"""The commands by name, each with its one line of help, so that ``matbench --help`` imports none."""

SHORT = {"run": ("benchmark", "--run=true")}
"""What stands for a command with an option."""
ELSEWHERE = {"inputs": "matbench_projects.encoder_bench.prepare"}
"""The modules of commands that live with the workload whose files they make."""


def canonical(name: str) -> str:
    """The name of a command as it is in :data:`COMMANDS`: ``upload-lts`` is ``upload_lts``."""
    return name.replace("-", "_")


def load_command(name: str) -> click.Command:
    own = f".{name}_" if keyword.iskeyword(name) else f".{name}"
    module = importlib.import_module(ELSEWHERE.get(name, own), __name__)
    command: click.Command = module.command
    return command


def leaves() -> dict[str, click.Command]:
    """All commands that do something, by name; those of a group as ``GROUP_NAME``."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = load_command(name)
        below: dict[str, click.Command] = getattr(command, "commands", {})
        found |= {f"{name}_{each}": sub for each, sub in below.items()} if below else {name: command}
    return found
