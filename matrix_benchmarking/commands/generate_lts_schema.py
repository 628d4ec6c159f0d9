"""``matbench generate_lts_schema``: the JSON Schema of a workload's LTS payloads."""

from __future__ import annotations

import json
from pathlib import Path

import click

from .. import lts
from .options import FILE_OR_STDOUT, Command, option
from .printing import write
from .run import load_workload
from .shared_options import workload_option


@click.command("generate_lts_schema", cls=Command)
@workload_option
@option("--file", **FILE_OR_STDOUT, default="-", help="Where the schema is written; - is standard output.")
def command(workload: str | None, file: Path) -> None:
    """Write the JSON Schema (2020-12) of a workload's LTS payloads.

    It describes one payload, and accepts an array of payloads, as --output-lts writes it, too.
    """
    schema = lts.payload_schema(load_workload(workload))
    text = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    write(file, lambda stream: stream.write(text.encode()))
