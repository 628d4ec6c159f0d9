"""``matbench inputs``: a dataset in; those of its inputs that a load is to have out, with what was and what is now."""

from __future__ import annotations

import base64
import io
import math
import os
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from matrix_benchmarking.commands.options import FILE, Command, option
from matrix_benchmarking.commands.printing import answer_console, say
from matrix_benchmarking.commands.shared_options import Read
from matrix_benchmarking.download import hub
from matrix_benchmarking.errors import ConfigError, needing

from .inputs import Input, InputsError, InputsFile, read_source, write_inputs

if TYPE_CHECKING:
    from rich.table import Table

Bounds = tuple[int, float]

BINS, BAR = 12, 18
_STEPS = (1, 2, 5, 10)
_WORD_OR_SIGN = re.compile(r"\w+|[^\w\s]")


def _bounds(text: str) -> Bounds:
    """``LEAST:MOST``, of which one may be left out."""
    given = re.fullmatch(r"(\d{0,15}):(\d{0,15})", text, re.ASCII)
    bounds = (int(given[1] or 0), float(given[2] or math.inf)) if given else (1, 0.0)
    if bounds[0] > bounds[1] or text == ":":
        raise ValueError(f"'{text}' is not LEAST:MOST, as in 16:512, :512 or 16:")
    return bounds


BOUNDS = Read("bounds", _bounds)


@click.command("inputs", cls=Command)
@click.argument("source", metavar="SOURCE")
@option("--output", required=True, **FILE, help="The .jsonl that is written, for a load's inputs.")
@option("--column", metavar="NAME", help="The column with the texts or images; 'input' unless given.")
@option("--label", metavar="NAME", help="The column with the labels.")
@option("--tokens", type=BOUNDS, metavar="LEAST:MOST", help="Keep texts of so many tokens.")
@option(
    "--tokenizer",
    **FILE,
    help="A tokenizer.json, by which tokens are counted; words and signs are unless given.",
)
@option(
    "--pixels",
    type=BOUNDS,
    metavar="LEAST:MOST",
    help="Keep images whose longer side has so many.",
)
@option("--sample", type=click.IntRange(min=1), metavar="N", help="Keep N of them, chosen at random.")
@option("--seed", type=int, default=0, metavar="N", help="Another seed gives another sample.")
def command(
    source: str,
    output: Path,
    column: str | None,
    label: str | None,
    tokens: Bounds | None,
    tokenizer: Path | None,
    pixels: Bounds | None,
    sample: int | None,
    seed: int,
) -> None:
    """Prepare the inputs of a load: filter by tokens or image size, sample, look at what is left.

    SOURCE is what a benchmark file's inputs may be: texts, .jsonl, .json, .csv, .parquet, a directory of images, or
    such a file at hf://datasets/OWNER/NAME/PATH. The order stays that of the source, also in a sample.
    """
    if output.suffix != ".jsonl":
        raise ConfigError(f"--output={output} has to end in .jsonl, as which inputs are read again")
    if not source.startswith(hub.SCHEME) and os.path.realpath(output) == os.path.realpath(source):
        raise ConfigError(f"--output={output} is the source: name another file")
    inputs = read_source(InputsFile(file=source, column=column, label=label), Path())
    if _are_images(inputs):
        if tokens or tokenizer:
            raise ConfigError("--tokens and --tokenizer are about texts, and these are images: --pixels filters them")
        unit, sizes, bounds = "pixels", _longer_sides(inputs, source), pixels
    else:
        if pixels:
            raise ConfigError("--pixels is about images, and these are texts: --tokens filters them")
        unit = "tokens" if tokenizer else "words, signs"
        sizes, bounds = _lengths([each.input for each in inputs], tokenizer), tokens
    least, most = bounds or (0, math.inf)
    fitting = [index for index, size in enumerate(sizes) if least <= size <= most]
    wanted = f"{least:,} {unit} or more" if most == math.inf else f"{least:,} to {most:,.0f} {unit}"
    if not fitting:
        raise InputsError(
            f"none of the {len(inputs):,} inputs has {wanted}: they have {min(sizes):,} to {max(sizes):,}"
        )
    if sample is not None and sample > len(fitting):
        raise ConfigError(f"--sample={sample} is more than the {len(fitting):,} inputs that there are to choose from")
    kept = fitting if sample is None else sorted(random.Random(seed).sample(fitting, sample))  # noqa: S311
    write_inputs([inputs[index] for index in kept], output)
    answer_console().print(distributions(unit, sizes, [sizes[index] for index in kept]))
    if bounds:
        say(f"{len(fitting):,} of {len(inputs):,} inputs have {wanted}")
    if sample is not None:
        say(f"{sample:,} of {len(fitting):,} were chosen with seed {seed}")
    say(f"made {output}. In a benchmark file: load: {{inputs: {output}}}", err=True)


def _are_images(inputs: Sequence[Input]) -> bool:
    images = sum(each.input.startswith("data:image/") for each in inputs)
    if images and images < len(inputs):
        raise InputsError(f"{images:,} of the {len(inputs):,} inputs are images and the others texts: give one kind")
    return images > 0


def _lengths(texts: list[str], path: Path | None) -> list[int]:
    if path is None:
        return [len(_WORD_OR_SIGN.findall(text)) for text in texts]
    with needing("--tokenizer", "server"):
        from tokenizers import Tokenizer
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises nothing more precise
        raise ConfigError(f"--tokenizer={path} is no tokenizer.json that can be read: {error}") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    whole = [text.encode("utf-8", "replace").decode() for text in texts]  # JSON may hold half a character
    return [len(each.ids) for each in tokenizer.encode_batch(whole)]


def _longer_sides(inputs: Sequence[Input], source: str) -> list[int]:
    with needing("images", "server"):
        from PIL import Image
    sizes = []
    for number, each in enumerate(inputs, 1):
        try:
            with Image.open(io.BytesIO(base64.b64decode(each.input.partition(",")[2]))) as image:
                sizes.append(max(image.size))
        except (OSError, ValueError, Image.DecompressionBombError) as error:
            raise InputsError(
                f"image {number} of {source} is none that can be read ({type(error).__name__})"
            ) from error
    return sizes


def distributions(unit: str, before: Sequence[int], after: Sequence[int]) -> Table:
    """How many inputs have which size, *before* and *after*; fits into 80 columns."""
    edges = _edges(before)
    tops = [*(edge - 1 for edge in edges[1:]), max(before)]
    rows = [[f"{low:,}" if low == top else f"{low:,}–{top:,}"] for low, top in zip(edges, tops, strict=True)]
    for sizes in (before, after):
        counts = _counts(sizes, edges)
        width = len(f"{max(counts):,}")
        for row, count in zip(rows, counts, strict=True):
            row.append(f"{count:>{width},} {_bar(count / max(counts))}")
    from rich.table import Table

    made = Table()
    made.add_column(unit, justify="right", no_wrap=True)
    for title in (f"before: {len(before):,}", f"after: {len(after):,}"):
        made.add_column(title, no_wrap=True)
    for row in rows:
        made.add_row(*row)
    made.add_section()
    pairs = zip(_summary(before).items(), _summary(after).values(), strict=True)
    for (name, was), now in pairs:
        made.add_row(name, f"{was:,.0f}", f"{now:,.0f}")
    return made


def _summary(sizes: Sequence[int]) -> dict[str, float]:
    ordered = sorted(sizes)
    median, p95 = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95))
    mean = sum(ordered) / len(ordered)
    return {"least": ordered[0], "median": median, "mean": mean, "p95": p95, "most": ordered[-1]}


def _edges(sizes: Sequence[int]) -> list[int]:
    """Round lower bounds of about BINS ranges at most; the last one has the hundredth that is longest as well."""
    ordered = sorted(sizes)
    low, high = ordered[0], ordered[int(0.99 * (len(ordered) - 1))]
    wanted = max(1, (high - low) / BINS)
    power = 10 ** math.floor(math.log10(wanted))
    step = next(each * power for each in _STEPS if each * power >= wanted)
    return list(range(low // step * step, high + 1, step))


def _counts(sizes: Sequence[int], edges: Sequence[int]) -> list[int]:
    counts = [0] * len(edges)
    for size in sizes:
        counts[sum(edge <= size for edge in edges[1:])] += 1
    return counts


def _bar(share: float) -> str:
    """Eighths of a block, at least one where there is anything."""
    whole, rest = divmod(max(round(8 * BAR * share), share > 0), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()
